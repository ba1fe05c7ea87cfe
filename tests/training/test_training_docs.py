"""docs/training.md: its examples are one script that runs, and it names all that there is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from forked_trainings import run_forked

from gapfinder import training
from gapfinder.training import SavePolicy, StepTimes

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_its_examples_run(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 7
    (tmp_path / "doc.py").write_text("\n".join(blocks))
    done = run_forked(["doc.py"], environment={**os.environ, "PYTHONPATH": str(ROOT)}, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "going on after step 0"
    assert "step 100: mean" in done.stderr
    names = sorted(path.name for path in (tmp_path / "checkpoints").glob("step-*"))
    assert names == ["step-000000020", "step-000000030", "step-000000040"]
    assert len((tmp_path / "steps-rank0.jsonl").read_text().splitlines()) == 2


def test_it_names_all_there_is():
    told = {"CrashGuard", "GpuFacts", "RankFacts", "Resumed", "SelfCheck", "Stateful", "StepTimes"}  # what calls return
    assert [name for name in training.__all__ if name not in told and f"{name}" not in TEXT] == []
    assert [field.name for field in fields(SavePolicy) if f"| `{field.name}` |" not in TEXT] == []
    assert [field.name for field in fields(StepTimes) if f"`{field.name}`" not in TEXT] == []


def test_its_defaults_are_those_of_the_code():
    rows = dict(re.findall(r"^\| `(\w+)` \| `?([^`|]+)`? \|", TEXT, re.MULTILINE))
    policy = SavePolicy()
    for name in ("every", "keep", "background"):
        assert rows[name] == str(getattr(policy, name))
    assert (rows["layout"], rows["new_world_size"]) == ("Layout.RANK_0", "NewWorldSize.REFUSE")
    assert float(rows["patience_s"]) == policy.patience_s


def test_importing_it_is_light(tmp_path):
    code = (
        "import sys, gapfinder.training\nfrom gapfinder.training import *\n"
        "print(*{'torch', 'pandas', 'numpy', 'nvtx', 'rich'} & sys.modules.keys())"
    )
    done = run("-c", code, folder=tmp_path)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_every_name_is_what_it_says():
    for name in training.__all__:
        assert getattr(training, name).__name__ == name
    assert set(training.__all__) <= set(dir(training))
    with pytest.raises(AttributeError, match="has no attribute 'checkpiont'"):
        _ = training.checkpiont
