"""What the hook marks in training loops of many kinds."""

import pytest
from training_runs import SCENARIOS, outline, run_training

_BOTH = "forward( ) backward( )"
_LATER = f"{_BOTH} <micro-step 1 {_BOTH} micro-step 1> <micro-step 2 sync {_BOTH} micro-step 2 sync>"
_ONE = f"<micro-step 0 {_BOTH} micro-step 0>"
_TWO = f"{_ONE} <micro-step 1 {_BOTH} micro-step 1>"
_SYNCHRONISING = f"{_TWO} <micro-step 2 sync {_BOTH} micro-step 2 sync>"
_AGAIN = "<micro-step 0 forward( ) backward( ) backward( ) micro-step 0>"
_WITH_LOSS = "forward( ) forward( ) backward( )"

# In each, the step of the section before is still open, and the last one stays so.
_EXPECTED = {
    # Nothing of what came before the training: a validation without gradients, a file saved.
    "plain": (
        "gapfinder( ) <gapfinder gapfinder> "
        f"<step 0 data loading( ) data loading( ) <micro-step 0 {_WITH_LOSS} micro-step 0> optimizer( ) step 0> "
        f"<step 1 data loading( ) {_WITH_LOSS} optimizer( ) step 1> <step 2 data loading( ) checkpoint( )"
    ),
    # A second pass shows that there are micro-steps; the one before it has had no range.
    "accumulation": f"{_LATER} optimizer( ) <step 3 {_SYNCHRONISING} optimizer( ) step 3> <step 4",
    "two at once": (
        f"{_ONE} optimizer( ) optimizer( ) <step 5 {_ONE} optimizer( ) optimizer( ) step 5> "
        f"<step 6 {_ONE} optimizer( ) optimizer( ) step 6> <step 7"
    ),
    "adversaries": (
        f"{_ONE} optimizer( ) <micro-step 1 {_BOTH} micro-step 1> optimizer( ) "
        f"<step 8 {_ONE} optimizer( ) <micro-step 1 {_BOTH} micro-step 1> optimizer( ) step 8> "
        f"<step 9 {_ONE} optimizer( ) <micro-step 1 {_BOTH} micro-step 1> optimizer( ) step 9> <step 10"
    ),
    # Only its second call shows that the other optimizer is not waited for.
    "idle optimizer": (
        f"{_ONE} optimizer( ) <micro-step 1 {_BOTH} micro-step 1> optimizer( ) "
        f"<step 11 {_ONE} optimizer( ) step 11> <step 12 {_ONE} optimizer( ) step 12> <step 13"
    ),
    "closure": f"optimizer( {_TWO} ) <step 14 optimizer( {_TWO} ) step 14> <step 15",
    "overflow": f"{_ONE} optimizer( ) <step 16 {_ONE} optimizer( ) step 16> <step 17",
    "raising": (
        f"optimizer( ) <micro-step 0 forward( ) {_BOTH} micro-step 0> optimizer( ) "
        f"<micro-step 1 {_BOTH} micro-step 1> optimizer( ) <step 18"
    ),
    "second derivative": f"{_AGAIN} optimizer( ) <step 19 {_AGAIN} optimizer( ) step 19> <step 20",
    # The call of the late one that comes behind the step counts in no step.
    "late optimizer": (
        f"{_ONE} optimizer( ) <step 21 optimizer( ) {_ONE} optimizer( ) optimizer( ) step 21> "
        f"<step 22 {_ONE} optimizer( ) optimizer( ) step 22> <step 23"
    ),
    "built inside": f"{_ONE} optimizer( ) <step 24 {_ONE} optimizer( ) optimizer( ) step 24> <step 25",
    "scripted": "",
    "forked": "",
}


@pytest.fixture(scope="module")
def loops(tmp_path_factory):
    return run_training(tmp_path_factory.mktemp("loops"), SCENARIOS / "loops.py")


def test_training_runs_as_without_the_hook(loops):
    assert (loops.code, loops.stderr) == (0, "")


@pytest.mark.parametrize("name", _EXPECTED)
def test_marks(loops, name):
    assert outline(loops.section(name)) == _EXPECTED[name]


def test_everything_is_in_the_hooks_domain(loops):
    assert {call["domain"] for call in loops.calls if call["kind"] != "section"} == {"gapfinder"}


def test_each_step_tells_the_place(loops):
    status = next(status for status in loops.statuses if status.trouble is None)
    marks = [call["value"] for call in loops.calls if call["kind"] == "mark"]
    assert marks == [f"rank=0 local_rank=0 world_size=1 host={status.host}"] * 26


def test_status_counts_the_steps(loops):
    status = next(status for status in loops.statuses if status.trouble is None)
    assert (status.steps, status.annotator, status.is_window_opened) == (25, "nvtx", False)


def test_p58_forked_training_is_counted_but_not_marked(loops):
    status = next(status for status in loops.statuses if status.trouble is not None)
    assert status.trouble == "forked from a training without a new program, which nsys does not trace"
    assert (status.steps, status.annotator) == (1, None)
    assert status.pid not in {call["pid"] for call in loops.calls if call["kind"] != "section"}


def test_collections_of_garbage_are_marked(loops):
    assert "garbage collection( )" in outline(loops.section("scripted"), without=())
