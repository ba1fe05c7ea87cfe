"""What the side panel says about a hole or an operation; times are ns since the profile's origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dashboards.data.rows import Row
    from gapfinder.explanations import Cause
    from gapfinder.model import Hole


@dataclass(frozen=True, kw_only=True, slots=True)
class Timed:
    """Something with a name and a length.

    Attributes:
        name: whole, as captured.
    """

    name: str
    start_ns: int
    duration_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedOperation:
    """An operation that can be chosen on the timeline."""

    row: Row
    op: int
    time: Timed
    stream: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """The call that launched an operation.

    Attributes:
        delay_ns: from the begin of the call to the start of the operation.
        thread: the operating system's thread id.
    """

    call: Timed
    delay_ns: int
    thread: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Inside:
    """An event and how much of a hole it takes."""

    event: Timed
    inside_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StepAt:
    """The step that something lies in."""

    number: int
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenCollective:
    """A collective as one lane saw it.

    Attributes:
        instance: its number, the same on all lanes.
        wait_ns, transfer_ns: None without partners.
        late_lane: came last; None without partners, or where several did.
        size_bytes, bus_bandwidth: None where no payload tells.
    """

    operation: str
    communicator: str
    instance: int
    start_ns: int
    duration_ns: int
    ranks: int
    hidden_ns: int
    exposed_ns: int
    wait_ns: int | None
    transfer_ns: int | None
    late_lane: int | None
    size_bytes: int | None
    bus_bandwidth: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class HoleDetails:
    """One hole.

    Attributes:
        shares: ns by cause; they add up to the hole.
        measured: the hole in the analysis, with what was seen; None where it is not among the longest of its lane.
        before, after: compute or graph that ends where it starts, and starts where it ends; None at the window's edge.
        launch: of `after`; None where it was not captured.
        ranges: texts of the NVTX ranges around that launch, else around the hole's start, the outermost first.
        thread: that launched `after`, else that launches most; None where no call was captured.
        calls: CUDA and OS calls of that thread in the hole, those with most time in it first, not all of them.
        calls_count: all of them.
        overheads: of profiler and driver, on any thread of the process, likewise.
        collective: with the longest part in it, of those in the measured window.
        step: that it begins in.
    """

    lane: int
    hole: int
    start_ns: int
    duration_ns: int
    idle_ns: int
    exposed_ns: int
    copy_only_ns: int
    cause: Cause
    shares: dict[Cause, int]
    measured: Hole | None
    before: NamedOperation | None
    after: NamedOperation | None
    launch: Launch | None
    ranges: tuple[str, ...]
    thread: int | None
    calls: tuple[Inside, ...]
    calls_count: int
    overheads: tuple[Inside, ...]
    collective: SeenCollective | None
    step: StepAt | None


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationDetails:
    """One mark of a row: an operation, a step, a range or a call.

    Attributes:
        step: that it begins in, on the GPU; None outside of all.
        stream: of an operation; None otherwise.
        launch: of an operation; None where it was not captured.
        ranges: texts of the NVTX ranges around its launch, or at its begin on its thread, the outermost first.
        thread: of a range or call, or of the launch; the operating system's thread id.
        domain: of a range; None otherwise.
        collective: of a communication operation.
    """

    lane: int
    row: Row
    op: int
    time: Timed
    step: StepAt | None
    stream: int | None = None
    launch: Launch | None = None
    ranges: tuple[str, ...] = ()
    thread: int | None = None
    domain: str | None = None
    collective: SeenCollective | None = None
