"""What is found out once for a whole report before its lanes are measured."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.classify import Classifier, Decision
from gapfinder.analysis.copies import collective_copies, peer_copies
from gapfinder.analysis.host_events import HostEvents
from gapfinder.analysis.host_names import overhead_causes, range_causes
from gapfinder.analysis.host_time import HostTime
from gapfinder.analysis.launches import Launches, launches_by_process
from gapfinder.analysis.ranks import RankMark, find_rank_marks
from gapfinder.analysis.step_ranges import StepRanges, find_step_ranges
from gapfinder.analysis.unseen import unseen_work
from gapfinder.settings import CountCopies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd

    from gapfinder.analysis.intervals import Bools
    from gapfinder.explanations import Cause
    from gapfinder.load import Profile
    from gapfinder.settings import Settings


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """One profile with everything that all its lanes need.

    Attributes:
        kernel_names: text of each kernel name, by code.
        decisions: what each kernel name counts as, by code.
        is_communication: shape (kernel names,).
        communication_copies, peer_copies: shape (copies,).
        launches: CUDA API calls by process key.
        call_names: text of each CUDA API call's name, by code.
        os_calls: calls into the operating system.
        overheads: what the profiler and the driver took for themselves, by cause.
        telling_ranges: NVTX ranges whose text says what the host was busy with, by cause.
        steps: step ranges by process key.
        rank_marks: who a process is in its job, by process key, where marks tell it.
        unseen_work: why idle time cannot be known, by process key, where launched work is not in the report.
    """

    profile: Profile
    kernel_names: list[str]
    decisions: list[Decision]
    is_communication: Bools
    communication_copies: Bools
    peer_copies: Bools
    launches: dict[int, Launches]
    call_names: list[str]
    os_calls: HostEvents
    overheads: dict[Cause, HostEvents]
    telling_ranges: dict[Cause, HostEvents]
    steps: dict[int, StepRanges]
    rank_marks: dict[int, RankMark]
    unseen_work: dict[int, str]
    _host_times: dict[int, HostTime] = field(default_factory=dict)

    def with_part(self, profile: Profile) -> Report:
        """Return this report with other kernels and calls: those that matter in a stretch of time."""
        return replace(self, profile=profile, launches=launches_by_process(profile.read_calls()), _host_times={})

    def rank(self, process: int) -> int | None:
        """Return the rank of a process, where its mark tells it."""
        mark = self.rank_marks.get(process)
        return mark.rank if mark else None

    def host_time(self, process: int) -> HostTime:
        """Return what the threads of a process did; only that of one process is kept, for lanes come in order."""
        if process not in self._host_times:
            self._host_times.clear()
            self._host_times[process] = HostTime(self, process)
        return self._host_times[process]


def prepare(profile: Profile, *, settings: Settings) -> Report:
    """Find out what all lanes of a report need: kinds of kernels and copies, launch calls, steps, ranks."""
    classifier = Classifier.of(settings)
    names = profile.kernels["name"].cat.categories.tolist()
    decisions = [classifier.decide(name) for name in names]
    calls = profile.read_calls()
    launches = launches_by_process(calls)
    peer = peer_copies(profile.copies)
    return Report(
        profile=profile,
        kernel_names=names,
        decisions=decisions,
        is_communication=np.array([decision.is_communication for decision in decisions], np.bool_),
        communication_copies=_communication_copies(profile, settings=settings, launches=launches, peer=peer),
        peer_copies=peer,
        launches=launches,
        call_names=calls["name"].cat.categories.tolist(),
        os_calls=HostEvents.of(profile.read_os_calls()),
        overheads=_by_cause(profile.read_overheads(), overhead_causes),
        telling_ranges=_by_cause(profile.ranges, range_causes),
        steps=find_step_ranges(profile.ranges, pattern=settings.step_pattern),
        rank_marks=find_rank_marks(profile.marks),
        unseen_work=unseen_work(profile, calls),
    )


def _communication_copies(profile: Profile, *, settings: Settings, launches: dict[int, Launches], peer: Bools) -> Bools:
    if settings.count_copies is CountCopies.NONE:
        return np.zeros(len(profile.copies), np.bool_)
    collective = collective_copies(profile.copies, ranges=profile.ranges, launches=launches)
    return collective | peer if settings.count_copies is CountCopies.PEER else collective


def _by_cause(
    frame: pd.DataFrame, name_causes: Callable[[Iterable[str]], list[Cause | None]]
) -> dict[Cause, HostEvents]:
    """Return the rows of a frame whose name says what the host was busy with, by cause."""
    events = HostEvents.of(frame)
    return events.by_cause(name_causes(events.texts))
