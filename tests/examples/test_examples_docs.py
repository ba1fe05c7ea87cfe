"""What documents say of the examples is how they begin: when faults set in, how large they are, how many parts there are."""

from __future__ import annotations

import ast

from documents import ROOT, SPELLED, telling, words
from test_examples import PARTS


def defaults(name: str) -> dict[str, object]:
    """What the options of an example are when not given, read from its source: running it needs torch."""
    tree = ast.parse((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found = {}
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            given = {keyword.arg: keyword.value for keyword in call.keywords}
            if "default" in given:
                found[ast.literal_eval(call.args[0])] = ast.literal_eval(given["default"])
    return found


def helps(name: str) -> dict[str, str]:
    """The help of each option of an example."""
    tree = ast.parse((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8"))
    return {
        ast.literal_eval(call.args[0]): ast.literal_eval(keyword.value)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"
        for keyword in call.keywords
        if keyword.arg == "help"
    }


SLOWING, SLOW_RANK = defaults("train_slowing"), defaults("train_slow_rank")
RANK, DATA_AT, RANK_AT = (SLOWING[f"--slow-{name}"] for name in ("rank", "data-at", "rank-at"))
ON_A_GPU = {name: told.rpartition("on a GPU try ")[2] for name, told in helps("template").items() if "GPU try" in told}
TOLD = [
    ("examples/README.md", f"rank {SLOW_RANK['--slow-rank']} has {SLOW_RANK['--slow-ms']:.0f} ms more to do per step"),
    ("examples/README.md", f"slow to load from step {DATA_AT}, rank {RANK} slow from step {RANK_AT} |"),
    ("examples/README.md", f"{SPELLED[defaults('train_accumulation')['--accumulate']]} micro-steps under `no_sync`"),
    *(
        (name, sentence.format(SPELLED[len(PARTS)]))
        for name, sentence in [
            ("examples/README.md", "checkpoints of {} parts"),
            ("CHANGELOG.md", "checkpoints of {} parts that survive"),
            ("docs/training.md", "A checkpoint has {} parts: model,"),
            ("docs/design.md", "when each of the {} parts of the checkpoint is spoiled"),
        ]
    ),
    *(
        (f"examples/{name}", "`" + " ".join(f"{option} {value}" for option, value in ON_A_GPU.items()) + "`")
        for name in ("README.md", "train_ddp.py", "train_plain.py")
    ),
    ("docs/long-runs.md", f"batches take {SLOWING['--slow-data-ms']:.0f} ms longer to load from step {DATA_AT} on"),
    (
        "docs/long-runs.md",
        f"rank {RANK} has {SLOWING['--slow-rank-ms']:.0f} ms more to do from step {RANK_AT} on",
    ),
]


@telling(TOLD)
def test_documents_tell_the_faults_of_the_examples(name, sentence):
    assert sentence in words(name)
