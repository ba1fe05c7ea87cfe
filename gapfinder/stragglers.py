"""How far lanes are apart from step to step, and which of them the others wait for; int64 nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SlowBy(StrEnum):
    """What makes a lane slower than the others; CLOCKS where lower clocks explain most of its longer compute."""

    COMPUTE = "compute"
    CLOCKS = "clocks"
    DATA_LOADING = "data loading"
    LAUNCHES = "launches"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Straggler:
    """A lane that is 20 % over the median of all lanes in most steps.

    Attributes:
        lane: the lane.
        steps: in how many steps, of how many.
        compute_ratio: its compute time to the median lane's, as a median over steps.
        launch_delay_ns: how much later its first launch of a step comes than the median lane's, median over steps.
        data_ratio: its data loading time to the median lane's; None where no such range was captured.
        what_differs: the strongest difference.
        lost_ns: what the other lanes waited for it, summed.
        clock_ratio: its median clock to the median lane's; None where no GPU metrics tell.
    """

    lane: int
    steps: tuple[int, int]
    compute_ratio: float
    launch_delay_ns: int
    data_ratio: float | None
    what_differs: SlowBy
    lost_ns: int
    clock_ratio: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StepSpread:
    """How far the lanes are apart in the step of one number, by their own time: the step without exposed communication.

    Attributes:
        number: of the step.
        lanes: how many have it complete; two or more.
        slowest_lane: the lane with the longest own time.
        slowest_own_ns, median_own_ns: its own time, and the median lane's.
        slowest_compute_ns, median_compute_ns: the longest compute of a lane, and the median lane's.
        longest_ns, median_ns: of the whole step, whatever the lane.
    """

    number: int
    lanes: int
    slowest_lane: int
    slowest_own_ns: int
    median_own_ns: int
    slowest_compute_ns: int
    median_compute_ns: int
    longest_ns: int
    median_ns: int
