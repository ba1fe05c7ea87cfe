"""Faults that stop a distributed training or spoil it, one entry per symptom, with what to check."""

from __future__ import annotations

from gapfinder.findings.machine_faults import MACHINE_FAULTS, NCCL_TESTS
from gapfinder.findings.page import Fault

_PROGRAM_FAULTS = (
    Fault(
        code="nccl-timeout",
        title="NCCL times out: watchdog caught collective operation timeout, or connection refused",
        causes=(
            (
                "A port of the data plane is blocked between machines (connections are refused or time out): the "
                "rendezvous works, the first collective does not."
            ),
            (
                "/etc/hosts differs between machines, or a host name resolves to 127.0.1.1, so ranks connect to the "
                "wrong place."
            ),
            (
                "One rank left the common path: it raised, skipped a batch, ran out of data early, or wrote a "
                "checkpoint for longer than the timeout."
            ),
            "One network card has negotiated a lower speed (see slow-network-card).",
        ),
        checks=(
            (
                "the fabric alone, without your program",
                NCCL_TESTS,
            ),
            (
                "the same names on every machine",
                "getent hosts node0 node1; md5sum /etc/hosts",
            ),
            (
                "the interface and transport NCCL chose",
                "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET torchrun train.py",
            ),
            (
                "which rank was in which collective (TORCH_FR_BUFFER_SIZE in newer versions)",
                "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 torchrun train.py",
            ),
            (
                "a firewall between machines",
                "nc -vz node1 29500",
            ),
        ),
        remedies=(
            ("Open the ports between the machines, and name the interface with NCCL_SOCKET_IFNAME and NCCL_IB_HCA."),
            "Make the hosts files equal, with one address for each machine.",
            "Let all ranks take the same number of steps; write checkpoints in the background.",
            "Raise the timeout of init_process_group only when you know what takes that long.",
        ),
        findings=(
            "straggler",
            "checkpoint-pause",
            "exposed-collective",
        ),
        shown=(
            "the last collective of all ranks but one has no end or waits; the missing rank's own report shows what "
            "it did."
        ),
    ),
    Fault(
        code="unused-parameter",
        title="DDP says: expected to have finished reduction, parameters not used in producing loss",
        causes=(
            (
                "A parameter gets no gradient in a step: a branch that was not taken, a frozen part that still "
                "requires gradients, an output that is not part of the loss."
            ),
            "Ranks take different branches, so their sets of gradients differ.",
        ),
        checks=(
            (
                "the names of the parameters",
                "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun train.py",
            ),
            (
                "on one GPU: parameters without gradient after backward",
                (
                    "python -c 'import train; train.one_step(); print([n for n, p in train.model.named_parameters() "
                    "if p.requires_grad and p.grad is None])'"
                ),
            ),
        ),
        remedies=(
            ("Let every parameter take part in the loss, or set requires_grad_(False) before wrapping the model."),
            ("Only where branches really differ set find_unused_parameters=True; it walks the graph in every step."),
            "Where the same parameters are always unused, static_graph=True finds that out once.",
        ),
        shown=(
            "nothing: the step does not end. With find_unused_parameters=True the host works longer before backward."
        ),
        findings=("launch-bound",),
    ),
    Fault(
        code="slower-than-one-gpu",
        title="Many GPUs are slower than one, or scale badly",
        causes=(
            "Communication is not hidden behind backward.",
            "The model or the batch per GPU is too small: compute is shorter than synchronisation.",
            "The link is slower than thought; the loader cannot feed all GPUs of the machine.",
        ),
        checks=(
            (
                "where the time goes: look at the blanks first, not at kernel times",
                "gapfinder analyze run.nsys-rep",
            ),
            (
                "what one synchronisation must cost",
                "gapfinder estimate all-reduce --bytes 14GB --ranks 8 --bandwidth 40Gb/s",
            ),
            (
                "how the GPUs are connected",
                "nvidia-smi topo -m",
            ),
        ),
        remedies=(
            (
                "Repair the overlap first; then synchronise less often (gradient accumulation) or fewer bytes "
                "(compression)."
            ),
            "Give each GPU more work: a larger batch per GPU, longer accumulation.",
            ("Set the speed-up you expect before you tune: communication, imbalance and memory bandwidth eat some."),
        ),
        findings=(
            "overlap-broken",
            "late-buckets",
            "single-stream",
            "slow-link",
            "launch-bound",
            "data-starved",
        ),
        shown="long exposed communication in every step, or idle time before it.",
    ),
    Fault(
        code="loss-jumps-after-resume",
        title="The loss jumps after resuming from a checkpoint",
        causes=(
            ("The states of the random generators were not restored (Python, NumPy, torch, CUDA, on each rank)."),
            (
                "The sampler starts again at the first sample: the offset inside the epoch, or set_epoch, is "
                "missing. Some data is seen twice and some never, and the loss can stay higher for good."
            ),
            (
                "Optimizer or learning rate schedule were not restored, or the global batch changed with the number "
                "of GPUs."
            ),
        ),
        checks=(
            (
                "the five parts: parameters, optimizer, random states, sampler offset, step",
                (
                    'python -c \'import torch; print(torch.load("last.pt", map_location="cpu", '
                    "weights_only=True).keys())'"
                ),
            ),
            (
                "save, run one step, load, run it again: both losses must be equal",
                "python train.py --steps 101; python train.py --resume step100.pt --steps 101",
            ),
        ),
        remedies=(
            "Save all five parts, on every rank what differs between ranks.",
            "Restore the sampler's offset and call set_epoch before the first batch.",
            "When the global batch changes, change the learning rate with it and warm up again.",
        ),
        shown="nothing: the time of a step does not depend on it.",
    ),
    Fault(
        code="one-gpu-out-of-memory",
        title="One GPU runs out of memory (OOM), the others do not",
        causes=(
            "Sequence lengths differ: that rank got the longest batch.",
            "The split is uneven: the embedding, the output layer or an expert sits on that GPU.",
            (
                "Another process holds memory there; often all ranks have a context on GPU 0, because the device was"
                " not set from LOCAL_RANK."
            ),
        ),
        checks=(
            (
                "who holds memory on which GPU",
                "nvidia-smi --query-compute-apps=gpu_bus_id,pid,used_memory --format=csv",
            ),
            (
                "the lengths of the samples",
                (
                    "python -c 'import train, numpy; print(numpy.percentile([len(s) for s in train.dataset], [50, "
                    "90, 99, 100]))'"
                ),
            ),
        ),
        remedies=(
            "Batch by tokens, pad to few lengths, pack sequences, or cut the longest.",
            "Call torch.cuda.set_device(local_rank) before anything else.",
            (
                "Split layers by memory as well as by time. Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "
                "(newer versions call it PYTORCH_ALLOC_CONF)."
            ),
        ),
        findings=(
            "unbalanced-input",
            "allocator-churn",
            "straggler",
        ),
        shown="compute time that varies by lane and step; frequent cudaMalloc and cudaFree on the full card.",
    ),
    Fault(
        code="silent-hang",
        title="The run hangs or exits without a word",
        causes=(
            "Ranks write to the same file on a shared file system and wait for its locks.",
            ("One process was killed (out of host memory, a signal), and the others wait for it in a collective."),
            "A deadlock: collectives in another order on some rank, or a data loader worker that died.",
        ),
        checks=(
            (
                "where every process stands",
                "pgrep -f train.py | xargs -n1 py-spy dump --pid",
            ),
            (
                "processes killed for memory",
                "journalctl -k --grep 'out of memory|oom-kill'",
            ),
            (
                "files that several ranks write",
                "lsof +D runs/ | awk '{print $2, $9}' | sort -k2 | uniq -f1 -D",
            ),
        ),
        remedies=(
            (
                "Give each rank its own log folder (torchrun --log-dir, --redirects 3), and let rank 0 alone write "
                "the rest."
            ),
            "Install a crash hook that writes the traceback of every thread (python -X faulthandler).",
            (
                "Leave TORCH_NCCL_ASYNC_ERROR_HANDLING at its default 3 (never 0), so that a dead rank ends the job "
                "instead of freezing it."
            ),
        ),
        findings=(
            "blocking-call",
            "capture-quality",
        ),
        shown="a last hole without end, with the launching thread in futex, flock or write.",
    ),
)
FAULTS: dict[str, Fault] = {fault.code: fault for fault in (*_PROGRAM_FAULTS, *MACHINE_FAULTS)}
"""Every fault by its code."""
