"""Where the program of each rank begins on a launcher's command line."""

from __future__ import annotations

import shlex

import pytest

from gapfinder.capture.launchers import divide, per_rank
from gapfinder.errors import InputError


@pytest.mark.parametrize(
    ("command", "ranks", "program"),
    [
        ("python train.py --lr 1", 1, "python train.py --lr 1"),
        ("torchrun train.py -n 3", 1, "train.py -n 3"),
        ("torchrun --standalone --nproc_per_node 8 train.py --nproc_per_node 3", 8, "train.py --nproc_per_node 3"),
        ("torchrun --nproc-per-node=gpu -t 3 --rdzv_conf timeout=9 train.py", None, "train.py"),
        ("torchrun --standalone -m pkg.train --standalone", 1, "pkg.train --standalone"),
        ("torchrun --no-python --nnodes 2 bash train.sh", 1, "bash train.sh"),
        ("torchrun --new-flag train.py x", 1, "train.py x"),
        ("torchrun --new-option 3 train.py x", 1, "train.py x"),
        ("python3.12 -u -m torch.distributed.run --nproc-per-node 2 -m pkg", 2, "pkg"),
        ("mpirun -np 4 --mca btl tcp,self -x PATH -H a:2,b:2 sh train.sh", 4, "sh train.sh"),
        ("mpirun --bind-to none --oversubscribe -n 2 sh -c x", 2, "sh -c x"),
        ("mpiexec -n 4 -genv NCCL_DEBUG INFO -ppn 2 sh train.sh", 4, "sh train.sh"),
        ("/usr/bin/srun -n8 --gpus-per-task=1 -l sh train.sh -n 3", 8, "sh train.sh -n 3"),
        ("srun --ntasks=16 -J name --exclusive sh train.sh", 16, "sh train.sh"),
    ],
)
def test_command_lines_are_divided(command, ranks, program):
    launch = divide(shlex.split(command))
    assert (launch.ranks, shlex.join(launch.program)) == (ranks, program)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("torchrun --nnodes 1 train.py --lr 1", "torchrun --nnodes 1 WRAP SPEC script train.py --lr 1"),
        ("torchrun --standalone -m pkg -m 3", "torchrun --standalone WRAP SPEC module pkg -m 3"),
        ("torchrun --no_python sh x.sh", "torchrun WRAP SPEC program sh x.sh"),
        ("torchrun --run-path train.py", "torchrun WRAP SPEC script train.py"),
        ("python -m torch.distributed.run -m pkg", "python -m torch.distributed.run WRAP SPEC module pkg"),
        ("mpirun -np 2 sh x.sh", "mpirun -np 2 /py WRAP SPEC program sh x.sh"),
        ("srun -n2 sh x.sh", "srun -n2 /py WRAP SPEC program sh x.sh"),
    ],
)
def test_each_rank_runs_the_wrapper(command, expected):
    assert shlex.join(per_rank(shlex.split(command), wrapper=("WRAP", "SPEC"), python="/py")) == expected


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("deepspeed train.py", "does not know how deepspeed starts its ranks"),
        ("python train.py", "does not know how python"),
        ("torchrun --standalone", "names no program"),
        ("mpirun -n 1 sh a : -n 1 sh b", "names several"),
    ],
)
def test_what_cannot_be_wrapped_is_refused(command, told):
    with pytest.raises(InputError, match=told):
        per_rank(shlex.split(command), wrapper=("WRAP", "SPEC"), python="/py")
