"""Small reports for the timeline's tests: one with known holes, and one whose names are markup and worse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from databases import Call, Kernel, Range, nsys_database

if TYPE_CHECKING:
    from pathlib import Path

US = 1_000
MARKUP = "<img src=x onerror=\"document.title='owned'\"> & \u202ekernel\u202c"
MARKUP_SHOWN = "<img src=x onerror=\"document.title='owned'\"> & \\u{202e}kernel\\u{202c}"
SCRIPT = "<script>document.title='owned'</script>"


def two_lanes(path: Path) -> Path:
    """Holes of lane 0: 500 us from 1000 us, 2000 us from 2000 us; of lane 1: 200 us from 500 us. Steps 4 and 5.

    Nothing of lane 1 was launched in step 5. Times count from the first kernel, which is 1 ms after the report's start.
    """
    busy = {0: ((0, 1000), (1500, 2000), (4000, 5000)), 1: ((0, 500), (700, 5000))}
    kernels = [
        Kernel(
            start=(1000 + start) * US,
            end=(1000 + end) * US,
            device=device,
            name=f"gemm_{device}<float>(int)",
            correlation=10 * place + device,
        )
        for device, spans in busy.items()
        for place, (start, end) in enumerate(spans)
    ]
    starts = [one.start - (9 - 3 * one.device) * US for one in kernels]
    calls = [
        Call(start=start, end=start + US, correlation=one.correlation)
        for start, one in zip(starts, kernels, strict=True)
    ]
    ranges = [
        Range(start=900 * US, end=2400 * US, name="step 4"),
        Range(start=1100 * US, end=1300 * US, name="forward"),
        Range(start=2450 * US, end=5990 * US, name="step 5"),
    ]
    return nsys_database(path, kernels=kernels, calls=calls, ranges=ranges)


def hostile_database(path: Path) -> Path:
    """A report whose kernels, ranges and steps are named like markup."""
    kernels = [
        Kernel(start=0, end=1000 * US, name=MARKUP, correlation=1),
        Kernel(start=3000 * US, end=4000 * US, name=SCRIPT, correlation=2),
    ]
    calls = [Call(start=0, end=10 * US, correlation=1), Call(start=2900 * US, end=2990 * US, correlation=2)]
    ranges = [Range(start=900 * US, end=2950 * US, name=SCRIPT)]
    return nsys_database(path, kernels=kernels, calls=calls, ranges=ranges)


def no_gpu(path: Path) -> Path:
    """A report of six steps on the host, without any GPU work."""
    step = 100_000 * US
    ranges = [Range(start=place * step, end=place * step + step // 2, name=f"step {place}") for place in range(6)]
    return nsys_database(path, ranges=ranges)
