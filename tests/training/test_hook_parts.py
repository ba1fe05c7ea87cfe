"""Window, place, annotators and status of the hook, and what `gapfinder run` reads back."""

import importlib.util
import json
import pickle
import sys
import threading
from types import SimpleNamespace

import pytest

from gapfinder.errors import InputError
from gapfinder.training.environment import CAPTURE_RANGE, CaptureWindow
from gapfinder.training.startup._gapfinder_hook import marks, optimizers
from gapfinder.training.startup._gapfinder_hook.annotators import Silence, UnavailableError, find_annotator
from gapfinder.training.startup._gapfinder_hook.place import find_place
from gapfinder.training.startup._gapfinder_hook.recorder import Recorder
from gapfinder.training.startup._gapfinder_hook.status import StatusFile
from gapfinder.training.startup._gapfinder_hook.window import CAPTURE_RANGE as RANGE_OF_HOOK
from gapfinder.training.startup._gapfinder_hook.window import Window
from gapfinder.training.status import read_statuses

_STATUS = {
    "rank": 3,
    "local_rank": 1,
    "world_size": 4,
    "steps": 7,
    "is_window_opened": True,
    "is_window_closed": False,
    "opened_at_step": 2,
    "annotator": "nvtx",
    "trouble": None,
}


def _torch(*, rank=None, world_size=None):
    distributed = SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: rank is not None,
        get_rank=lambda: rank,
        get_world_size=lambda: world_size,
    )
    return SimpleNamespace(distributed=distributed)


@pytest.mark.parametrize(("first", "end"), [(-1, None), (3, 3), (None, 0), (5, 2)])
def test_a_window_without_steps_is_refused(first, end):
    with pytest.raises(InputError, match="are no window"):
        CaptureWindow(first=first, end=end)


def test_both_sides_name_the_same_range():
    assert f"{RANGE_OF_HOOK}@*" == CAPTURE_RANGE


def test_window_text_goes_there_and_back(tmp_path):
    window = Window.parse(f"{CaptureWindow(first=2, end=4)} each")
    place = find_place(_torch(rank=1, world_size=2), {"LOCAL_RANK": "1"})
    calls = []
    annotator = SimpleNamespace(
        domain="domain", prepare=str.upper, start=lambda *args: calls.append(args) or "token", end=calls.append
    )
    for step in range(6):
        window.move(step, annotator=annotator, place=place, status=StatusFile(str(tmp_path)))
        calls.append(step)
    assert calls == [0, 1, ("GAPFINDER CAPTURE", "domain"), 2, 3, "token", 4, 5]
    assert Window.parse("") is None


@pytest.mark.parametrize(
    ("text", "spacing"),
    [("10:30", 4), ("10:13", 1), ("2:10 each", 2), (":16", 4), ("0:1000", 8), (":", 8), ("5:", 8)],
)
def test_four_marks_or_more_fall_into_a_window(text, spacing):
    assert Window.parse(text).mark_spacing() == spacing


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (0, 0, 1)),
        ({"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "SLURM_PROCID": "0"}, (5, 1, 8)),
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}, (2, 0, 4)),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, (1, 1, 2)),
        ({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "1", "SLURM_NTASKS": "9"}, (3, 1, 4)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, (0, 0, 1)),
        ({"RANK": "9", "WORLD_SIZE": "8"}, (0, 0, 1)),
        ({"RANK": "-1", "WORLD_SIZE": "x"}, (0, 0, 1)),
    ],
)
def test_place_as_the_launcher_tells(environment, expected):
    place = find_place(_torch(), environment)
    assert (place.rank, place.local_rank, place.world_size) == expected
    assert not place.is_final


def test_the_process_group_knows_better():
    place = find_place(
        _torch(rank=6, world_size=16), {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_LOCALID": "2"}
    )
    assert (place.rank, place.world_size, place.is_final) == (6, 16, True)
    assert place.mark.startswith("rank=6 local_rank=2 world_size=16 host=")


def test_no_annotator_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "nvtx", None)
    with pytest.raises(UnavailableError, match=r"install the package nvtx for .*torch\.cuda\.nvtx: AttributeError"):
        find_annotator(SimpleNamespace(cuda=SimpleNamespace(nvtx=SimpleNamespace())))


def test_torch_writes_where_the_package_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "nvtx", None)
    calls = []
    nvtx = SimpleNamespace(range_pop=lambda: None, range_end=calls.append, mark=calls.append)
    nvtx.range_push = nvtx.range_start = calls.append
    annotator = find_annotator(SimpleNamespace(cuda=SimpleNamespace(nvtx=nvtx)))
    annotator.push(annotator.prepare("forward"), annotator.domain)
    assert (annotator.name, calls[-1]) == ("torch.cuda.nvtx", "forward")


def test_a_status_is_read_as_it_was_written(tmp_path):
    StatusFile(str(tmp_path)).write(**_STATUS | {"trouble": "x" * 5000})
    (status,) = read_statuses(tmp_path)
    assert {name: getattr(status, name) for name in _STATUS} == _STATUS | {"trouble": "x" * 1000}


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b'{"rank": 3',
        b"[]",
        b"\xff\xfe",
        b"[" * 50_000,
        b"1" * 70_000,
        json.dumps(_STATUS).encode(),
        json.dumps(_STATUS | {"pid": 1, "host": "h", "steps": True}).encode(),
        json.dumps(_STATUS | {"pid": 1, "host": "h", "steps": -1}).encode(),
        json.dumps(_STATUS | {"pid": 1, "host": "h" * 2000}).encode(),
        json.dumps(_STATUS | {"pid": 1, "host": "h", "trouble": 3}).encode(),
    ],
)
def test_what_is_no_status_is_skipped(tmp_path, broken):
    (tmp_path / "broken.json").write_bytes(broken)
    (tmp_path / "folder.json").mkdir()
    good = _STATUS | {"pid": 7, "host": "h", "later": "names of a later release"}
    (tmp_path / "good.json").write_text(json.dumps(good))
    assert [status.pid for status in read_statuses(tmp_path)] == [7]


def test_a_folder_that_is_gone_has_no_statuses(tmp_path):
    assert read_statuses(tmp_path / "gone") == ()


def test_a_full_or_missing_folder_does_not_disturb(tmp_path):
    StatusFile(str(tmp_path / "gone")).write(**_STATUS)
    assert not StatusFile(str(tmp_path / "gone")).claim("opener")


def test_one_claims(tmp_path):
    assert [StatusFile(str(tmp_path)).claim("opener") for _ in range(3)] == [True, False, False]


def test_a_step_that_cloudpickle_takes_along_by_value_needs_no_hook_where_it_is_loaded():
    """It pickles the closure of the function, and what the function names; a recorder's weak references cannot be."""
    session = SimpleNamespace(annotator=Silence(), place_mark=None, mark_spacing=1)
    one = Recorder(session, is_grad_enabled=bool)
    step = optimizers._step(lambda optimizer, closure: (optimizer, closure), one)
    named = [step.__globals__[name] for name in step.__code__.co_names if name in step.__globals__]
    pickled = pickle.dumps((one, named))
    assert b"_gapfinder_hook" not in pickled
    there = optimizers._step(lambda optimizer, closure: (optimizer, closure), pickle.loads(pickled)[0])  # noqa: S301 - pickled above
    assert there("optimizer", closure=1) == ("optimizer", 1)


def test_a_lock_profiler_does_not_hide_who_trains(monkeypatch):
    """It puts locks of its own, which need not tell their owner, in place of those of `threading` before torch comes."""
    monkeypatch.setattr(threading, "RLock", SimpleNamespace)
    fresh = importlib.util.module_from_spec(marks.__spec__)
    marks.__spec__.loader.exec_module(fresh)
    one = fresh.Marks(Silence())
    told = [one.is_here()]
    one._train_here()
    told.append(one.is_here())
    other = threading.Thread(target=lambda: told.append(one.is_here()))
    other.start()
    other.join()
    assert told == [False, True, False]
