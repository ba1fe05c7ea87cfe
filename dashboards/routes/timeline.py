"""Answers what the timeline asks for while somebody looks at it: stretches of time, holes, names and steps, as JSON."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from flask import Response, jsonify, request

from dashboards.components.hole_words import hole_cause, hole_sentence, lane_detail, stretch_sentence
from dashboards.data.details import hole_details
from dashboards.data.outline import cause_outlines, lane_outlines
from dashboards.data.searching import find_step, mark_at, search, step_numbers
from dashboards.data.walking import HoleFilter, Order, Walk, hole_at, holes_of_stretch, next_hole
from dashboards.data.windows import MOST_COLUMNS, Row, WindowRequest, answer
from dashboards.routes.parameters import chosen, lane_numbers, whole_number
from gapfinder.errors import GapfinderError, InputError, visible
from gapfinder.explanations import Cause
from gapfinder.findings.words import lane_name
from gapfinder.render.words import cause_words
from gapfinder.units import format_count, format_duration, format_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flask import Flask

    from dashboards.data.opening import OpenProfile
    from dashboards.data.searching import FoundMark
    from dashboards.data.walking import FoundHole
    from dashboards.view import View

    Asked = Mapping[str, str]
    Question = Callable[[OpenProfile, Asked], Mapping[str, object] | bytes]

_HOLES_LISTED = 20
_LONGEST_TEXT = 400


def register(server: Flask, view: View) -> None:
    """Let the server answer under /p/PROFILE/."""
    questions: dict[str, Question] = {
        "lanes": _lanes,
        "window": _window,
        "hole": _hole,
        "holes": _holes,
        "search": _search,
        "mark": _mark,
        "step": _step,
    }
    for name, question in questions.items():
        server.add_url_rule(f"/p/<profile>/{name}", f"timeline-{name}", partial(_answered, view, question))


def _answered(view: View, question: Question, profile: str) -> Response:
    """Answer a question about a profile; an error is {"error": line}: 404 without the profile, 400 for the question."""
    try:
        opened = view.profiles.get(profile)
    except GapfinderError as error:
        return _problem(error, status=404)
    try:
        body = question(opened, request.args)
    except GapfinderError as error:
        return _problem(error, status=400)
    response = Response(body, mimetype="application/json") if isinstance(body, bytes) else jsonify(body)
    response.headers["Cache-Control"] = "private, no-cache"  # kept, but asked for again: it may be prepared anew
    response.add_etag()
    response.make_conditional(request)
    return response


def _problem(error: GapfinderError, *, status: int) -> Response:
    response = jsonify({"error": str(error)})
    response.status_code = status
    response.headers["Cache-Control"] = "no-store"
    return response


def _lanes(profile: OpenProfile, _: Asked) -> Mapping[str, object]:
    """Return what there is: lanes from the top, causes of holes, and how long it all is."""
    analysis = profile.analysis
    lanes = [
        {
            "lane": one.lane,
            "label": lane_name(analysis, one.lane),
            "host": None if one.host is None else visible(one.host),
            "detail": lane_detail(analysis, one.lane),
            "rows": one.rows,
            "ranges_depth": one.ranges_depth,
            "calls_depth": one.calls_depth,
        }
        for one in lane_outlines(profile)
    ]
    causes = [
        {
            "cause": one.cause,
            "label": cause_words(one.cause),
            "text": f"{format_count(one.count, 'hole')}, {format_duration(one.total_ns)}",
        }
        for one in cause_outlines(profile.trace)
    ]
    return {"name": visible(profile.stored.name), "end": profile.trace.end_ns, "lanes": lanes, "causes": causes}


def _window(profile: OpenProfile, asked: Asked) -> bytes:
    start, end = _stretch(profile, asked)
    return answer(
        profile.trace,
        WindowRequest(
            start_ns=start,
            end_ns=end,
            columns=whole_number(asked, "columns", least=1, most=MOST_COLUMNS),
            lanes=lane_numbers(asked, count=len(profile.trace.lanes)),
            rows=chosen(asked, "rows", among=Row) or tuple(Row),
            causes=chosen(asked, "causes", among=Cause),
            min_hole_ns=whole_number(asked, "min_hole", default=0),
        ),
    )


def _stretch(profile: OpenProfile, asked: Asked) -> tuple[int, int]:
    start = whole_number(asked, "start", default=0)
    end = whole_number(asked, "end", default=max(profile.trace.end_ns, 1))
    if end <= start:
        raise InputError(f"the stretch is empty: it starts at {start} ns and ends at {end} ns")
    return start, end


def _among(profile: OpenProfile, asked: Asked) -> HoleFilter:
    return HoleFilter(
        lanes=lane_numbers(asked, count=len(profile.trace.lanes)),
        causes=chosen(asked, "causes", among=Cause),
        min_ns=whole_number(asked, "min_hole", default=0),
    )


def _hole(profile: OpenProfile, asked: Asked) -> Mapping[str, object]:
    """Return one hole by lane and place, or the one after another; {"hole": null} where there is no further one."""
    trace = profile.trace
    if "hole" in asked:
        lane = whole_number(asked, "lane")
        return {"hole": _told(profile, hole_at(trace, lane=lane, hole=whole_number(asked, "hole")))}
    after = None
    if "after" in asked:
        lane_text, _, hole_text = asked["after"].partition(".")
        place = {"lane of after": lane_text, "hole of after": hole_text}
        lane, hole = (whole_number(place, name) for name in place)
        after = hole_at(trace, lane=lane, hole=hole)
    walk = Walk(
        after=after,
        from_ns=whole_number(asked, "from", default=0),
        order=next(iter(chosen(asked, "order", among=Order)), Order.TIME),
        is_back=bool(whole_number(asked, "back", most=1, default=0)),
    )
    found = next_hole(trace, walk, among=_among(profile, asked))
    return {"hole": None if found is None else _told(profile, found)}


def _late_lane(profile: OpenProfile, found: FoundHole) -> int | None:
    """Return the lane that a hole was waiting for; None where it is due to something else, or nothing tells."""
    if found.cause is not Cause.EXPOSED_WAIT:
        return None
    collective = hole_details(profile, lane=found.lane, hole=found.hole).collective
    return None if collective is None else collective.late_lane


def _told(profile: OpenProfile, found: FoundHole) -> Mapping[str, object]:
    analysis = profile.analysis
    late_lane = _late_lane(profile, found)
    return {
        "lane": found.lane,
        "hole": found.hole,
        "start": found.start_ns,
        "end": found.end_ns,
        "name": lane_name(analysis, found.lane),
        "at": format_time(found.start_ns),
        "length": format_duration(found.length_ns),
        "why": hole_cause(analysis, found, late_lane=late_lane),
        "words": hole_sentence(analysis, found, late_lane=late_lane),
    }


def _holes(profile: OpenProfile, asked: Asked) -> Mapping[str, object]:
    """Return a stretch in words, and its longest holes."""
    start, end = _stretch(profile, asked)
    among = _among(profile, asked)
    holes = holes_of_stretch(profile.trace, start_ns=start, end_ns=end, among=among, limit=_HOLES_LISTED)
    longest = ""
    if holes.longest:
        first = holes.longest[0]
        why = hole_cause(profile.analysis, first, late_lane=_late_lane(profile, first))
        longest = f"{format_duration(first.length_ns)} {why}"
        longest += f" on {lane_name(profile.analysis, first.lane)}" if len(among.lanes) > 1 else ""
    words = stretch_sentence(profile.analysis, (start, end), lanes=among.lanes, holes=holes, longest=longest)
    return {"words": words, "count": holes.count, "holes": [_told(profile, found) for found in holes.longest]}


def _search(profile: OpenProfile, asked: Asked) -> Mapping[str, object]:
    """Return the next mark whose name contains a text, and how many there are."""
    text = asked.get("name", "")
    if not text.strip() or len(text) > _LONGEST_TEXT:
        raise InputError(f"name is {len(text)} characters long; give 1 to {_LONGEST_TEXT}")
    result = search(
        profile.trace,
        text=text,
        from_ns=whole_number(asked, "from", least=-1, default=-1),
        is_back=bool(whole_number(asked, "back", most=1, default=0)),
        lanes=lane_numbers(asked, count=len(profile.trace.lanes)),
    )
    if result.found is None:
        words = "no further one" if result.count else "nothing has such a name"
        return {"words": words, "count": result.count, "found": None}
    return {"words": f"one of {format_count(result.count)}", "count": result.count, "found": _mark_told(result.found)}


def _mark(profile: OpenProfile, asked: Asked) -> Mapping[str, object]:
    """Return one operation, step, range or call by lane, row and place."""
    rows = chosen(asked, "row", among=Row)
    if len(rows) != 1:
        raise InputError("row is missing; give one row of the timeline")
    place, op = whole_number(asked, "lane"), whole_number(asked, "op")
    return {"mark": _mark_told(mark_at(profile.trace, lane=place, row=rows[0], op=op))}


def _mark_told(found: FoundMark) -> Mapping[str, object]:
    return {
        "lane": found.lane,
        "row": found.row,
        "op": found.op,
        "start": found.start_ns,
        "end": found.end_ns,
        "name": visible(found.name),
        "depth": found.depth,
    }


def _step(profile: OpenProfile, asked: Asked) -> Mapping[str, object]:
    """Return the stretch of a step; an InputError tells which steps there are."""
    numbers = step_numbers(profile.trace)
    if numbers is None:
        raise InputError("no steps were found in this profile")
    known = f"steps are {numbers[0]} to {numbers[1]}"
    if not asked.get("number"):
        raise InputError(known)
    number = whole_number(asked, "number")
    found = find_step(profile.trace, number=number)
    if found is None:
        raise InputError(f"no step {number}; {known}")
    return {"number": number, "start": found.start_ns, "end": found.end_ns}
