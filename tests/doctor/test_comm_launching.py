"""Where gapfinder's own program stands on the command lines of launchers."""

from __future__ import annotations

import pytest

from gapfinder.doctor.comm.launching import PROBE, probe_command
from gapfinder.errors import InputError


@pytest.fixture(autouse=True)
def tools(tmp_path, monkeypatch):
    for name in ("torchrun", "mpirun", "srun", "python", "apptainer", "env", "mylauncher"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize(
    ("command", "before"),
    [
        ("torchrun --nproc-per-node 4", "torchrun --nproc-per-node 4"),
        ("torchrun --nproc-per-node 4 train.py --lr 3", "torchrun --nproc-per-node 4"),
        ("torchrun --nproc-per-node 4 -m package.train", "torchrun --nproc-per-node 4"),
        ("torchrun --no-python --nnodes 2 bash go.sh", "torchrun --nnodes 2"),
        (
            "python -m torch.distributed.run --nproc_per_node=2 t.py",
            "python -m torch.distributed.run --nproc_per_node=2",
        ),
        ("mpirun -np 4", "mpirun -np 4 python"),
        ("mpirun -np 4 --mca btl tcp python", "mpirun -np 4 --mca btl tcp python"),
        ("mpirun -np 4 python3.12 train.py", "mpirun -np 4 python3.12"),
        ("srun -n 4 apptainer exec --nv image.sif python train.py", "srun -n 4 apptainer exec --nv image.sif python"),
        ("srun -n 4 apptainer exec image.sif", "srun -n 4 apptainer exec image.sif python"),
        ("srun -n 2 torchrun --nproc-per-node 8 train.py", "srun -n 2 torchrun --nproc-per-node 8"),
        ("env A=1 torchrun --nproc-per-node 8", "env A=1 torchrun --nproc-per-node 8"),
        ("mylauncher --ranks 4", "mylauncher --ranks 4 python"),
    ],
)
def test_the_probe_stands_where_the_training_would(command, before):
    made = probe_command(command.split(), arguments=("--token", "7"))
    assert list(made.words) == [*before.split(), str(PROBE), "--token", "7"]


def test_what_is_left_out_is_told():
    assert probe_command(["torchrun", "--nnodes", "2", "train.py", "--lr", "3"], arguments=()).left_out == (
        "train.py",
        "--lr",
        "3",
    )
    assert probe_command(["mpirun", "-np", "2", "python", "t.py"], arguments=()).left_out == ("t.py",)
    assert probe_command(["mylauncher", "python", "go.py"], arguments=()).left_out == ()


def test_a_launcher_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="'mpiexec' is no program on PATH"):
        probe_command(["mpiexec", "-n", "2"], arguments=())
    assert PROBE.is_file()
