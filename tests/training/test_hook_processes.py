"""The hook in processes of all kinds: which mark, which open the window, and what becomes of exit codes."""

from training_runs import SCENARIOS, outline, run_training

from gapfinder.training.environment import CaptureWindow

_TRAINING = """
import sys, torch
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
sys.exit(5)
"""


def test_workers_of_a_loader_mark_nothing(tmp_path):
    run = run_training(tmp_path, SCENARIOS / "workers.py", window=CaptureWindow(first=1, end=3), is_forked=True)
    assert (run.code, run.stderr) == (3, "")
    assert len({call["pid"] for call in run.calls}) == 1
    (status,) = run.statuses
    assert (status.steps, status.is_window_opened, status.is_window_closed) == (4, True, True)
    step = "data loading( ) forward( ) backward( ) optimizer( )"
    first = "data loading( ) data loading( ) <micro-step 0 forward( ) backward( ) micro-step 0> optimizer( )"
    assert outline(run.calls) == (
        f"gapfinder( ) <gapfinder gapfinder> <step 0 {first} step 0> "
        f"<gapfinder capture <step 1 {step} step 1> <step 2 data loading( ) data loading( ) {step} step 2> "
        "gapfinder capture>"
    )
    assert status.opened_at_step == 1


def test_one_of_several_processes_opens_the_window(tmp_path):
    run = run_training(tmp_path, SCENARIOS / "spawned.py", tmp_path / "store", window=CaptureWindow())
    assert run.code == 0, run.stderr
    first, second = run.statuses
    assert (first.rank, first.world_size, second.rank, second.world_size) == (0, 2, 1, 2)
    assert sorted((first.is_window_opened, second.is_window_opened)) == [False, True]
    opener = first if first.is_window_opened else second
    assert opener.is_window_closed
    assert (first.steps, second.steps) == (4, 4)
    capture = [call for call in run.calls if call["kind"] == "start" and call["value"][1] == "gapfinder capture"]
    assert [call["pid"] for call in capture] == [opener.pid]
    synchronising = [call for call in run.calls if call["kind"] == "start" and call["value"][1] == "micro-step 0 sync"]
    assert len(synchronising) == 2  # the first step shows that there is one pass in each


def test_compiled_training_is_compiled_as_without_the_hook(tmp_path):
    run = run_training(tmp_path, SCENARIOS / "compiled.py")
    assert run.code == 0, run.stderr
    assert run.stdout.splitlines() == ["3", "2 0", "Call to `torch._dynamo.graph_break()`"]
    (status,) = run.statuses
    assert (status.steps, status.trouble) == (5, None)  # nor is a compiled step marked
    starts = [call["value"] for call in run.calls if call["kind"] == "push" and call["value"] == "forward"]
    assert len(starts) == 3  # of the compiled module; inside a compiled function there are no calls to mark


def test_the_call_of_modules_pickles_by_its_name(tmp_path):
    text = "import pickle, torch; call = torch.nn.Module.__call__; assert pickle.loads(pickle.dumps(call)) is call"
    run = run_training(tmp_path, "-c", text, is_forked=True)
    assert (run.code, run.stderr) == (0, "")


def test_steps_are_told_where_torch_takes_its_own_hooks_off_optimizers(tmp_path):
    run = run_training(tmp_path, SCENARIOS / "unhooked_by_compile.py", is_forked=True)
    assert run.code == 0, run.stderr
    (status,) = run.statuses
    assert (status.steps, status.trouble) == (6, None)
    assert [call["value"] for call in run.calls if call["kind"] == "push"].count("optimizer") == 6


def test_trouble_in_the_hook_is_said_once_and_harms_nothing(tmp_path):
    window = CaptureWindow(first=2)
    run = run_training(tmp_path, "-c", _TRAINING, window=window, is_forked=True, NVTX_FAILS_AT="forward")
    assert run.code == 5
    (status,) = run.statuses
    assert status.trouble == "ValueError: stand-in fails"
    assert run.stderr == f"gapfinder: training is not marked: {status.trouble}\n"
    assert (status.steps, status.is_window_opened, status.annotator) == (4, False, "nvtx")
