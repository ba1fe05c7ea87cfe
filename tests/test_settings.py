from __future__ import annotations

import os
from pathlib import Path

import pytest

from gapfinder.errors import InputError
from gapfinder.settings import SETTINGS_KEYS, CountCopies, Settings, read_settings, settings_file

EVERY_KEY = """
min-gap = "2.5us"
window = "1s:2s"
steps = "3:8"
step-pattern = "epoch (?P<number>[0-9]+)"
communication-patterns = ["mine", "yours"]
compute-patterns = ["fused"]
count-copies = "peer"
gpus = [0, 3]
ranks = [5, 4]
top = 3
link-bandwidth = "400Gb/s"
baselines = "/data/baselines"
history = "/data/history.db"
"""
EXPECTED = Settings(
    min_gap_ns=2_500,
    window=(1_000_000_000, 2_000_000_000),
    step_range=(3, 8),
    step_pattern="epoch (?P<number>[0-9]+)",
    communication_patterns=("mine", "yours"),
    compute_patterns=("fused",),
    count_copies=CountCopies.PEER,
    gpus=(0, 3),
    ranks=(5, 4),
    top=3,
    link_bandwidth=50_000_000_000,
    baselines=Path("/data/baselines"),
    history=Path("/data/history.db"),
)


def test_every_key_is_read_alike_from_both_files(tmp_path):
    own = tmp_path / "gapfinder.toml"
    own.write_text(EVERY_KEY)
    project = tmp_path / "project" / "pyproject.toml"
    project.parent.mkdir()
    project.write_text("[tool.gapfinder]" + EVERY_KEY)
    assert read_settings(start=tmp_path) == EXPECTED
    assert read_settings(start=project.parent) == EXPECTED
    assert read_settings(file=project, start=tmp_path) == EXPECTED
    assert all(f"\n{key} = " in EVERY_KEY for key in SETTINGS_KEYS)


def test_a_place_starts_in_the_folder_of_its_file(tmp_path, monkeypatch):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "gapfinder.toml").write_text('baselines = "ci/baselines"\nhistory = "../history.db"\n')
    found = read_settings(start=below)
    assert (found.baselines, found.history) == (tmp_path / "ci/baselines", tmp_path / "../history.db")
    monkeypatch.chdir(tmp_path)
    assert read_settings(file=Path("gapfinder.toml"), start=below) == found
    for wrong in ('history = ""', "history = 3", 'baselines = "a\\u0000b"'):
        (tmp_path / "gapfinder.toml").write_text(wrong)
        with pytest.raises(InputError, match=r"gapfinder\.toml: (history|baselines): must be a"):
            read_settings(start=below)


def test_the_nearest_file_with_settings_is_taken_whole(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "gapfinder.toml").write_text('top = 1\nmin-gap = "1ms"\n')
    (inner / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert read_settings(start=inner) == Settings(top=1, min_gap_ns=1_000_000)
    (inner.parent / "pyproject.toml").write_text("[tool.gapfinder]\ntop = 2\n")
    assert read_settings(start=inner) == Settings(top=2)
    (inner.parent / "gapfinder.toml").write_text("top = 3\n")
    assert read_settings(start=inner) == Settings(top=3)
    (tmp_path / "named.toml").write_text("top = 4\n")
    assert read_settings(file=tmp_path / "named.toml", start=inner) == Settings(top=4)


def test_without_a_file_the_defaults_hold(tmp_path):
    assert read_settings(start=tmp_path) == Settings()
    assert settings_file(tmp_path) is None


def test_the_file_in_use_is_told(tmp_path):
    (tmp_path / "gapfinder.toml").write_text("top = 1\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert settings_file(inner) == tmp_path / "gapfinder.toml"
    (inner / "pyproject.toml").write_text("[tool.gapfinder]\n")
    assert settings_file(inner) == inner / "pyproject.toml"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tpo = 3", "unknown key 'tpo'; the keys are min-gap, window"),
        ("top = '3'", "top: must be a whole number, not '3'"),
        ("top = true", "top: must be a whole number"),
        ("top = -1", "top: must be a whole number"),
        ("top = 1.5", "top: must be a whole number"),
        ("min-gap = 100", "min-gap: must be a text in quotes, not 100"),
        ("min-gap = '100'", "min-gap: not a duration"),
        ("window = '2s'", "window: not a window"),
        ("steps = '3'", "steps: not a range of steps"),
        ("step-pattern = '('", "step-pattern: bad regular expression '('"),
        ("step-pattern = ''", "step-pattern: bad regular expression: it is empty"),
        ("step-pattern = 'a{99999999999999}'", "step-pattern: bad regular expression 'a{99999999999999}': "),
        ("compute-patterns = ['[[a]']", "compute-patterns: bad regular expression '[[a]': Possible nested set"),
        pytest.param(f"step-pattern = '{'(' * 3_000}'", "step-pattern: bad regular expression", id="deep pattern"),
        pytest.param(f"top = {'[' * 5_000}", "is not TOML", id="deep TOML"),
        pytest.param(f"steps = '0:{'9' * 5_000}'", "steps: not a range of steps", id="huge step"),
        ("communication-patterns = 'nccl'", "communication-patterns: must be a list in brackets, not 'nccl'"),
        ("communication-patterns = ['a', '[']", "communication-patterns: bad regular expression '['"),
        ("compute-patterns = [1]", "compute-patterns: must be a text in quotes, not 1"),
        ("count-copies = 'all'", "count-copies: must be one of none, collective, peer, not 'all'"),
        ("gpus = ['0']", "gpus: must be a whole number, not '0'"),
        ("ranks = 0", "ranks: must be a list in brackets, not 0"),
        ("top = ", "is not TOML"),
        ("top = 1\ntop = 2", "is not TOML"),
    ],
)
def test_what_cannot_be_used_names_file_and_key(tmp_path, text, words):
    file = tmp_path / "gapfinder.toml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        read_settings(start=tmp_path)
    assert str(caught.value).startswith(str(file))
    assert words in str(caught.value)


def test_a_named_file_must_have_settings(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*none\.toml: No such file"):
        read_settings(file=tmp_path / "none.toml", start=tmp_path)
    project = tmp_path / "pyproject.toml"
    project.write_text("[project]\n")
    with pytest.raises(InputError, match=r"has no table \[tool\.gapfinder\]"):
        read_settings(file=project, start=tmp_path)
    project.write_text("[tool]\ngapfinder = 3\n")
    with pytest.raises(InputError, match=r"tool\.gapfinder must be a table"):
        read_settings(file=project, start=tmp_path)


def test_what_is_too_large_or_no_file_is_not_read(tmp_path):
    large = tmp_path / "gapfinder.toml"
    large.write_text(f"top = 3 #{' ' * 131_063}")
    assert read_settings(start=tmp_path).top == 3
    large.write_text(f"top = 3 #{' ' * 131_064}")
    with pytest.raises(InputError, match="has more than 131,072 bytes"):
        read_settings(start=tmp_path)
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match=r"cannot read .*pipe\.toml: it is no file"):
        read_settings(file=pipe, start=tmp_path)


def test_bytes_that_are_no_text_are_told(tmp_path):
    (tmp_path / "gapfinder.toml").write_bytes(b"top = \xff")
    with pytest.raises(InputError, match="is not TOML"):
        read_settings(start=tmp_path)
