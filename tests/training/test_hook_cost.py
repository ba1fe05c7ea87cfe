"""How many of the hook's Python functions run in a step: what each of them costs depends on the machine, this does not."""

import json

import pytest
from documents import words
from training_runs import run_training

from gapfinder.training.environment import CaptureWindow

_TRAINING = """
import collections, json, sys, torch
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.ones(64, 4))
entered = collections.Counter()

def note(frame, event, _):
    code = frame.f_code
    if event == "call" and "_gapfinder_hook" in code.co_filename:
        entered[code.co_name] += 1

batches = iter(loader)
for number in range(13):
    sys.setprofile(note if number == 12 else None)
    net(next(batches)).sum().backward()
    optimizer.step()
sys.setprofile(None)
print(json.dumps(entered))
"""


@pytest.mark.parametrize("window", [None, CaptureWindow(first=2, end=5)], ids=["marked", "behind the window"])
def test_a_step_runs_few_functions_of_the_hook(tmp_path, window):
    run = run_training(tmp_path, "-c", _TRAINING, window=window, is_forked=True)
    assert (run.code, run.stderr) == (0, "")
    entered = json.loads(run.stdout)
    assert entered == {
        "loading": 1,
        "forward": 3,  # each instead of torch's own
        "backward": 1,
        "step": 1,
    } | ({"<lambda>": 1} if window is None else {})  # ends a range for releases of nvtx from 0.2.12 on, as the stand-in
    if window is None:
        whole, own = sum(entered.values()), sum(entered.values()) - entered["forward"]
        assert f"run {whole} Python functions a step ({own} of the hook's own)" in words("docs/annotate.md")
