"""Refuses questions to callbacks that no page asks: Dash itself takes them for faults of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from flask import request

from dashboards import ids
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash import Dash

    Declared = Sequence[Mapping[str, str]]

_PATH = "/_dash-update-component"
_KINDS: dict[str, type] = {
    "pathname": str,
    "search": str,
    "value": str,
    "data": str,
    "n_clicks": int,
    "n_intervals": int,
    "clickData": dict,
    f"{ids.TIMELINE_SELECTION}.data": dict,
    f"{ids.LIVE_SHOWN}.data": dict,
}
"""What a property is, where it is not null: by its own name, or by its component's as well where that differs."""


def register(app: Dash) -> None:
    """Answer with a status of 400 what does not ask for one of the app's callbacks as the browser would."""

    def check() -> None:
        if request.path == _PATH and request.method == "POST":
            _check(_body(), callbacks=app.callback_map)

    app.server.before_request(check)


def _body() -> object:
    try:
        return request.get_json()
    except RecursionError as error:
        raise InputError("the JSON is nested too deep") from error


def _check(body: object, *, callbacks: Mapping[str, Mapping[str, object]]) -> None:
    output = body.get("output") if isinstance(body, dict) else None
    callback = callbacks.get(output) if isinstance(output, str) else None
    if not isinstance(body, dict) or callback is None or "callback" not in callback:
        raise InputError("no callback is asked for; load the page again")
    inputs, states = _declared(callback["inputs"]), _declared(callback["state"])
    is_whole = (
        _are_outputs(body.get("outputs"), callback["output"])
        and _are_told(body.get("inputs", []), inputs)
        and _are_told(body.get("state", []), states)
        and _are_changed(body.get("changedPropIds", []), inputs)
    )
    if not is_whole:
        raise InputError("the callback has other inputs or outputs, or values of another kind; load the page again")


def _declared(properties: object) -> Declared:
    return properties if isinstance(properties, list) else []


def _are_outputs(told: object, declared: object) -> bool:
    """Say whether the outputs are the callback's; a mark follows the property of one that other callbacks have too."""
    if isinstance(declared, list | tuple):
        return (
            isinstance(told, list)
            and len(told) == len(declared)
            and all(_are_outputs(one, wanted) for one, wanted in zip(told, declared, strict=True))
        )
    if not isinstance(told, dict) or told.get("id") != getattr(declared, "component_id", None):
        return False
    return str(told.get("property")).partition("@")[0] == getattr(declared, "component_property", None)


def _are_told(told: object, declared: Declared) -> bool:
    if not isinstance(told, list) or len(told) != len(declared):
        return False
    return all(_is_told(one, wanted) for one, wanted in zip(told, declared, strict=True))


def _is_told(told: object, declared: Mapping[str, str]) -> bool:
    """Say whether one input is as declared; that of a pattern is a list, of all components there are of it."""
    if isinstance(told, list):
        return declared["id"].startswith("{") and all(isinstance(one, dict) and _is_told(one, declared) for one in told)
    if not isinstance(told, dict) or told.get("property") != declared["property"]:
        return False
    return _is_id(told.get("id"), declared["id"]) and _is_kind(told.get("value"), declared)


def _is_id(told: object, declared: str) -> bool:
    if not declared.startswith("{") or not isinstance(told, dict):
        return told == declared
    pattern = json.loads(declared)
    return told.keys() == pattern.keys() and all(
        isinstance(part, str) and (isinstance(wanted, list) or part == wanted)
        for part, wanted in ((told[name], pattern[name]) for name in pattern)
    )


def _is_kind(value: object, declared: Mapping[str, str]) -> bool:
    name = declared["property"]
    kind = _KINDS.get(f"{declared['id']}.{name}") or _KINDS.get(name)
    return (
        value is None or kind is None or (isinstance(value, kind) and not isinstance(value, bool) and _is_text(value))
    )


def _is_text(value: object) -> bool:
    """Say whether a text is one: half of a surrogate pair can neither be stored nor sent."""
    return (
        not isinstance(value, str)
        or value.isascii()
        or not any("\ud800" <= character <= "\udfff" for character in value)
    )


def _are_changed(told: object, declared: Declared) -> bool:
    return isinstance(told, list) and all(isinstance(one, str) and _is_changed(one, declared) for one in told)


def _is_changed(told: str, declared: Declared) -> bool:
    text, _, name = told.rpartition(".")
    try:
        component = json.loads(text) if text.startswith("{") else text
    except (ValueError, RecursionError):
        return False
    return any(name == wanted["property"] and _is_id(component, wanted["id"]) for wanted in declared)
