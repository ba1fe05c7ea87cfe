"""Faults that come from the machines a training runs on, and how to see them."""

from __future__ import annotations

from gapfinder.findings.page import Fault

NCCL_TESTS = "mpirun -np 16 -H node0:8,node1:8 ./build/all_reduce_perf -b 8 -e 1G -f 2 -g 1"

MACHINE_FAULTS = (
    Fault(
        code="slow-network-card",
        title="A large job times out or crawls: one network card (NIC) runs at 100 Mb/s",
        causes=(
            (
                "One card of one machine has negotiated a lower speed: a bad cable, port or transceiver. Every ring "
                "goes through it, so the whole job has its speed."
            ),
            "An InfiniBand port is in the wrong state or at a lower width.",
        ),
        checks=(
            (
                "speed of every card, on every machine",
                "for d in /sys/class/net/*/speed; do echo $d $(cat $d 2>/dev/null); done",
            ),
            (
                "state and rate of InfiniBand",
                "ibstat | grep -E 'State|Rate'",
            ),
            (
                "pairs of machines, one after the other",
                NCCL_TESTS,
            ),
        ),
        remedies=(
            ("Accept every cluster, and every repaired machine, with nccl-tests before the first training."),
            "Take the machine out; replace cable or transceiver; set the port's speed and width by hand.",
        ),
        findings=(
            "slow-link",
            "exposed-collective",
        ),
        shown=("a bus bandwidth far under the ideal on all lanes: the whole ring is as slow as its slowest link."),
    ),
    Fault(
        code="temporary-folder-full",
        title="The run dies every few hours without a log: /tmp or the log folder is full",
        causes=(
            ("Logs, core files, profiles or compile caches fill /tmp, and the process that writes next dies."),
            "The folder /tmp lies in memory (tmpfs), so full means out of host memory.",
        ),
        checks=(
            (
                "free space and free inodes of every temporary and log folder",
                "df -h /tmp /dev/shm ~ .; df -i /tmp",
            ),
            (
                "what fills it",
                "du -xsh /tmp/* 2>/dev/null | sort -h | tail",
            ),
        ),
        remedies=(
            ("Check the free space of every temporary and log folder at start, and refuse to start when it is low."),
            "Rotate logs; set TMPDIR, TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR to a large disk.",
            "Make the start script idempotent, so that a restart continues in the same state.",
        ),
        shown="nothing: it is the disk that says it.",
    ),
    Fault(
        code="slower-week-by-week",
        title="Every step is slower in the second week than in the first",
        causes=(
            "GPU memory is fragmented: communication buffers are allocated and freed again and again.",
            "A card or link got worse: clocks, PCIe width, a neighbour's job.",
            "Logs, checkpoints or a metrics list grow.",
        ),
        checks=(
            (
                "capture 20 steps now and compare",
                "gapfinder analyze now.nsys-rep",
            ),
            (
                "clocks and throttling over time",
                "nvidia-smi dmon -s pucvmet",
            ),
            (
                "width and generation of PCIe",
                "nvidia-smi -q -d PCI | grep -A4 -E 'Generation|Width'",
            ),
        ),
        remedies=(
            (
                "Keep buffers and process groups. Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (newer versions "
                "call it PYTORCH_ALLOC_CONF)."
            ),
            "Keep a profile of the first day: the same steps measured again show which cause grew.",
            "Restart elastically every day, from a checkpoint with all five parts.",
        ),
        findings=(
            "allocator-churn",
            "step-time-drift",
            "straggler",
            "slow-link",
        ),
        shown="allocator calls after warm-up; a lane that is steadily late.",
    ),
)
