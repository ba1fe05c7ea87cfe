"""The start-up folder in processes that never see torch, or a torch that is not what the hook expects."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gapfinder.training.environment import STARTUP_FOLDER, CaptureWindow, hook_environment
from gapfinder.training.status import read_statuses

_SHOW = "import sys; sys.stdout.write(','.join(sorted(n for n in sys.modules if 'gapfinder' in n or n == 'hidden')))"


@pytest.fixture
def run(tmp_path):
    def run(script, *, path="", **variables):
        base = {key: value for key, value in os.environ.items() if not key.startswith("GAPFINDER")}
        base["PYTHONPATH"] = str(path)
        environment = base | hook_environment(window=None, status_folder=tmp_path, environment=base) | variables
        return subprocess.run(
            [sys.executable, "-c", script], check=False, env=environment, capture_output=True, text=True
        )

    return run


def test_little_is_loaded_before_torch(run):
    assert run(_SHOW).stdout == "_gapfinder_hook,_gapfinder_hook.watch"


@pytest.mark.parametrize("variables", [{"GAPFINDER_HOOK": "off"}, {"GAPFINDER_HOOK_STATUS": ""}])
def test_nothing_is_loaded_where_it_is_off(run, variables):
    assert run(_SHOW, **variables).stdout == ""


def test_the_hidden_sitecustomize_runs_and_keeps_its_name(run, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['hidden'] = sys\nMINE = 1\n")
    done = run(f"import sitecustomize; assert sitecustomize.MINE; {_SHOW}", path=tmp_path)
    assert (done.stdout, done.stderr) == ("_gapfinder_hook,_gapfinder_hook.watch,hidden", "")


def test_an_error_of_the_hidden_sitecustomize_stays_its_own(run, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("raise ValueError('mine')\n")
    done = run(_SHOW, path=tmp_path)
    assert done.stdout == "_gapfinder_hook,_gapfinder_hook.watch"
    assert "ValueError: mine" in done.stderr


def test_a_torch_that_lacks_parts_is_left_alone(run, tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("WORKS = True\n")
    done = run("import torch, inspect; assert torch.WORKS; assert 'WORKS' in inspect.getsource(torch)", path=tmp_path)
    (status,) = read_statuses(tmp_path)
    assert done.returncode == 0
    assert re.fullmatch(r"gapfinder: training is not marked: \w+Error: .+\n", done.stderr)
    assert done.stderr.strip().endswith(str(status.trouble))
    assert (status.steps, status.annotator) == (0, None)


def test_a_torch_that_cannot_be_imported_fails_as_ever(run, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no libtorch')\n")
    script = """
for _ in range(2):
    try:
        import torch
    except ImportError as error:
        assert str(error) == 'no libtorch'
    else:
        raise SystemExit(9)
"""
    done = run(script, path=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_environment_puts_the_hook_first_and_once():
    own = str(STARTUP_FOLDER)
    first = hook_environment(window=CaptureWindow(first=10, end=30), status_folder=Path("x"), environment={})
    assert first == {
        "PYTHONPATH": own,
        "GAPFINDER_HOOK_STATUS": str(Path("x").absolute()),
        "GAPFINDER_HOOK_WATCH": "",
        "GAPFINDER_HOOK_WINDOW": "10:30",
    }
    again = hook_environment(
        window=None, status_folder=Path("x"), environment={"PYTHONPATH": os.pathsep.join(("/a", own, "/b"))}
    )
    assert again["PYTHONPATH"] == os.pathsep.join((own, "/a", "/b"))
    assert again["GAPFINDER_HOOK_WINDOW"] == ""
