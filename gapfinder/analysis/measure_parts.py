"""Measures a report that is too large for memory in stretches of time; the result is that of measuring it at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.analysis.classify import Classifier
from gapfinder.analysis.cuts import windows_between
from gapfinder.analysis.host_names import graph_launch_names, launch_names
from gapfinder.analysis.host_time import CLOSE_CALLS_NS
from gapfinder.analysis.lanes import split_lanes
from gapfinder.analysis.measure import MeasuredReport, Measuring
from gapfinder.analysis.stretches import CountedCalls, Stretch
from gapfinder.analysis.survey import joined_survey, survey_lane
from gapfinder.load import Whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.analysis.cuts import Place, Windows
    from gapfinder.analysis.lane import LanePart
    from gapfinder.analysis.report import Report
    from gapfinder.analysis.survey import Scope, Survey
    from gapfinder.load import LargeProfile
    from gapfinder.settings import Settings


def kept_whole(settings: Settings) -> Whole:
    """Return what must be at hand of a large report all the time.

    Communication is compared with other lanes operation by operation, and launches of graphs show what was not traced.
    """
    classifier = Classifier.of(settings)
    return Whole(
        kernels=lambda names: [classifier.decide(name).is_communication for name in names],
        calls=graph_launch_names,
        launches=launch_names,
    )


def measure_parts(large: LargeProfile, *, settings: Settings, times: Sequence[int]) -> MeasuredReport:
    """Measure every lane of a report that the settings keep.

    Args:
        large: the report, opened with what `kept_whole` returns.
        settings: how it is measured.
        times: where about to cut it, in order; ns.
    """
    measuring = Measuring(large.profile, settings=settings)
    lanes = {(one.process, one.device): one for one in split_lanes(measuring.report)}
    windows = windows_between([large.cuts_from(time) for time in times], lanes=lanes)
    surveys: dict[Place, list[Survey]] = {place: [] for place in lanes}
    for between in windows:
        _survey(large, between, report=measuring.report, into=surveys)
    scopes = {
        place: scope
        for place, operations in lanes.items()
        if (scope := measuring.scope(operations, joined_survey(surveys[place]))) is not None
    }
    parts: dict[Place, list[LanePart]] = {place: [] for place in scopes}
    counted = {place: CountedCalls(large.calls) for place in scopes}
    for between in windows:
        _measure(large, between, measuring=measuring, scopes=scopes, counted=counted, into=parts)
    for place, scope in scopes.items():
        if scope.window is not None and parts[place]:
            measuring.add(lanes[place], parts[place], scope=scope, window=scope.window)
    return measuring.result()


def _survey(large: LargeProfile, between: Windows, *, report: Report, into: dict[Place, list[Survey]]) -> None:
    part = _part(large, between, report=report)
    for operations in split_lanes(part):
        place = operations.process, operations.device
        if between[place].duration_ns:
            into[place].append(survey_lane(operations, report=part, stretch=between[place]))


def _measure(  # noqa: PLR0913 (what is measured, how, and where it goes)
    large: LargeProfile,
    between: Windows,
    *,
    measuring: Measuring,
    scopes: dict[Place, Scope],
    counted: dict[Place, CountedCalls],
    into: dict[Place, list[LanePart]],
) -> None:
    stretches = {
        place: stretch
        for place, scope in scopes.items()
        if scope.window is not None and (stretch := Stretch.of(scope.window, between=between[place])) is not None
    }
    if not stretches:
        return
    part = _part(large, {place: between[place] for place in stretches}, report=measuring.report)
    for operations in split_lanes(part):
        place = operations.process, operations.device
        if place in stretches:
            measurement = measuring.stretch(operations, report=part, scope=scopes[place], stretch=stretches[place])
            into[place].append(measuring.part(measurement, counted=counted[place]))


def _part(large: LargeProfile, between: Windows, *, report: Report) -> Report:
    spans = {place: (window.start_ns, window.end_ns) for place, window in between.items()}
    return report.with_part(large.part(spans, margin=CLOSE_CALLS_NS))
