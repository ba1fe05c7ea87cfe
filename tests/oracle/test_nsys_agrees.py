"""NVIDIA's own report scripts on the same files: gaps and kernel sums agree to the nanosecond."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from gapfinder.analysis import analyze
from gapfinder.load import load_profile
from gapfinder.settings import Settings

ROOT = Path(__file__).parents[2]
SHARED = ROOT / ".." / "shared" / "profiles"
SAMPLES = ROOT / "sample_profiles"
# Whole CUDA graphs are not in any table that nsys 2022.4 reads (it takes them for gaps), so those files are left out.
SHARED_FILES = (
    "backward_a100_schema_3_27", "ddp_2ranks_rank0", "h100x2_sendrecv_after", "h100x2_sendrecv_before", "h100x2_window",
    "job128_ranks_0_1", "mpi_cloverleaf", "mpi_saxpy_schema_2_9", "no_metadata_2021", "nvtx_heavy_fuser",
    "recommender_2ranks_rank1", "recommender_8ranks_rank3", "train_1gpu_nvtx", "transformer_1gpu", "two_devices_0_and_3",
)  # fmt: skip
SAMPLE_FILES = ("broken_overlap", "data_starved", "fsdp", "healthy", "one_stream", "pipeline", "slow_rank")
MILLISECOND = 1_000_000

pytestmark = pytest.mark.nsys


@pytest.fixture(
    params=[*(SAMPLES / f"{n}.sqlite" for n in SAMPLE_FILES), *(SHARED / f"{n}.sqlite" for n in SHARED_FILES)],
    ids=lambda p: p.stem,
)
def profile(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of each file, as nsys may write beside what it reads."""
    if not request.param.exists():
        pytest.skip("the shared real profiles are not there")
    copy = tmp_path / request.param.name
    shutil.copyfile(request.param, copy)
    return copy


def nsys_rows(*arguments: str) -> list[dict[str, str]]:
    done = subprocess.run(["nsys", *arguments], check=True, capture_output=True, text=True)
    return list(csv.DictReader(line for line in done.stdout.splitlines() if line.strip()))


def test_gaps_equal_gpu_starv(profile: Path) -> None:
    rows = nsys_rows("analyze", "-q", "-r", "gpu-starv:rows=1000000:gap=1", "--format", "csv", str(profile))
    wanted: dict[tuple[int, int], Counter[str]] = {}
    for row in rows:
        lane = wanted.setdefault((int(row["PID"]), int(row["Device ID"])), Counter())
        lane.update(count=1, total=int(row["Duration (ns)"]))
    lanes = analyze([load_profile(profile)], settings=Settings(min_gap_ns=MILLISECOND)).lanes
    assert lanes
    for lane in lanes:
        nsys = wanted.get((lane.pid, lane.device), Counter())
        assert (lane.gaps.count, lane.gaps.total_ns) == (nsys["count"], nsys["total"])


def test_kernel_sums_equal_gpukernsum(profile: Path) -> None:
    instances: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row in nsys_rows("stats", "-q", "-r", "gpukernsum", "--format", "csv", str(profile)):
        instances[row["Name"]] += int(row["Instances"])
        total[row["Name"]] += int(row["Total Time (ns)"])
    kernels = load_profile(profile).kernels
    lengths = (kernels["end"] - kernels["start"]).groupby(kernels["name"].astype(str))
    assert lengths.count().to_dict() == dict(instances)
    assert lengths.sum().to_dict() == dict(total)
    lanes = analyze([load_profile(profile)]).lanes
    assert sum(lane.kernels for lane in lanes) == instances.total()
