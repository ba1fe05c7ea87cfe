"""A snapshot as JSON and back: the same bytes for the same snapshot, and nothing taken on trust when it is read."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from math import inf
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast, get_args, get_origin, get_type_hints

from gapfinder.budget import Budget
from gapfinder.compare.snapshot import SNAPSHOT_VERSION, FindingTotal, LaneSnapshot, Snapshot
from gapfinder.errors import InputError, visible
from gapfinder.explanations import Cause, KernelTotal, Severity
from gapfinder.units import format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from _typeshed import DataclassInstance

    Reader = Callable[[object, str], object]

Result = TypeVar("Result")

LARGEST_BYTES = 256 * 1024 * 1024
"""A file of more bytes, or a text of more characters, is no snapshot."""

_LARGEST = 2**63
_SHOWN = 60
# What the annotations in snapshot.py name, which has no use for them at run time.
_NAMES = {kind.__name__: kind for kind in (Budget, Cause, KernelTotal, Severity)}
_VERSION_KEY = "schema_version"


def snapshot_to_json(snapshot: Snapshot) -> str:
    """Return the snapshot as ASCII JSON with one lane, collective, kernel or finding on a line."""
    members = {_VERSION_KEY: SNAPSHOT_VERSION, **_object(snapshot)}
    lines = [f"{json.dumps(name)}: {_lines(value)}" for name, value in members.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(value: object) -> str:
    if not isinstance(value, list) or not any(isinstance(item, dict) for item in value):
        return json.dumps(value, allow_nan=False)
    return "[\n" + ",\n".join(json.dumps(item, allow_nan=False) for item in value) + "\n]"


def _object(value: DataclassInstance) -> dict[str, object]:
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _plain(value: Any) -> object:  # noqa: ANN401 (any field of a result)
    if is_dataclass(value) and not isinstance(value, type):
        return _object(value)
    if isinstance(value, dict):
        return {str(key): _plain(value[key]) for key in sorted(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def snapshot_from_json(text: str, *, source: str) -> Snapshot:
    """Return the snapshot that `snapshot_to_json` wrote.

    Args:
        text: from anywhere; it is checked whole.
        source: what errors call it.

    Raises:
        InputError: it is no snapshot, of another version, or has a value that cannot be.
    """
    try:
        document = _document(text)
        _check_version(document.pop(_VERSION_KEY, None))
        snapshot = _read(Snapshot, document, place="")
        _check_lanes_of(snapshot.findings, lanes=len(snapshot.lanes))
    except InputError as error:
        raise InputError(f"{visible(source)} is no snapshot of gapfinder: {error}") from error
    return snapshot


def _check_version(version: object) -> None:
    if isinstance(version, bool) or version != SNAPSHOT_VERSION:
        raise InputError(
            f"its {_VERSION_KEY} is {_shown(version)}, and this gapfinder reads {SNAPSHOT_VERSION}; save it again"
        )


def _document(text: str) -> dict[str, object]:
    if len(text) > LARGEST_BYTES:
        raise InputError(f"{format_count(len(text), 'character')} are more than one can have")
    try:
        document = json.loads(text, parse_constant=_no_number, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise InputError(f"an object is expected, not {_shown(document)}")
    return document


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name is there twice in one object")
    return members


def _read(kind: type[Result], value: object, *, place: str) -> Result:
    """Return `value` as the frozen dataclass `kind`, every field of it checked."""
    members = _expect(dict, value, place=place)
    readers = _readers(cast("Hashable", kind))
    if members.keys() != readers.keys():
        missing, unknown = sorted(readers.keys() - members.keys()), sorted(members.keys() - readers.keys())
        wrong = f"no {', '.join(missing)}" if missing else f"unknown {', '.join(map(_shown, unknown))}"
        raise InputError(f"{place or 'it'} has {wrong}")
    inner = f"{place}." if place else ""
    result = kind(**{name: read(members[name], f"{inner}{name}") for name, read in readers.items()})
    if isinstance(result, Budget):
        _check_budget(result, place=place)
    if isinstance(result, LaneSnapshot) and bool(result.steps) is (result.steps_reason is not None):
        raise InputError(f"{place} needs either steps or a steps_reason")
    return result


@cache
def _readers(kind: Hashable) -> dict[str, Reader]:
    return {name: _reader(hint) for name, hint in get_type_hints(kind, localns=_NAMES).items()}


def _reader(hint: Any) -> Reader:  # noqa: ANN401 (any annotation)
    """Return what reads a value of the annotated type; it takes the value and its place."""
    arguments = get_args(hint)
    if isinstance(hint, UnionType):
        (inner,) = (_reader(option) for option in arguments if option is not NoneType)
        return lambda value, place: None if value is None else inner(value, place)
    if get_origin(hint) is dict:
        key, item = map(_reader, arguments)
        return lambda value, place: {
            key(name, place): item(member, f"{place}[{_shown(name)}]")
            for name, member in _expect(dict, value, place=place).items()
        }
    return _tuple_reader(arguments) if get_origin(hint) is tuple else _plain_reader(hint)


def _tuple_reader(arguments: tuple[Any, ...]) -> Reader:
    """Return what reads a tuple: of one type and any length, or of as many values as types."""
    if arguments[-1] is ...:
        item = _reader(arguments[0])
        return lambda value, place: tuple(
            item(member, f"{place}[{index}]") for index, member in enumerate(_expect(list, value, place=place))
        )
    items = [_reader(argument) for argument in arguments]
    return lambda value, place: _fixed(items, value, place=place)


def _plain_reader(kind: type) -> Reader:
    if is_dataclass(kind):
        return lambda value, place: _read(kind, value, place=place)
    if issubclass(kind, StrEnum):
        return lambda value, place: _member(kind, value, place=place)
    return _NUMBERS.get(kind) or (lambda value, place: _expect(kind, value, place=place))


def _fixed(items: list[Reader], value: object, *, place: str) -> tuple[object, ...]:
    members = _expect(list, value, place=place)
    if len(members) != len(items):
        raise InputError(f"{place} has {format_count(len(members), 'value')} in place of {len(items)}")
    return tuple(item(member, f"{place}[{index}]") for index, (item, member) in enumerate(zip(items, members)))  # noqa: B905 (as many)


def _whole(value: object, place: str) -> int:
    number = _expect(int, value, place=place)
    if not 0 <= number < _LARGEST:
        raise InputError(f"{place} is {_shown(number)}, not from 0 to 2**63")
    return number


def _real(value: object, place: str) -> float:
    number = value if isinstance(value, float) else float(_whole(value, place))
    if not 0 <= number < inf:
        raise InputError(f"{place} is {_shown(value)}, not from 0 up")
    return number


def _member(kind: type[StrEnum], value: object, *, place: str) -> StrEnum:
    text = _expect(str, value, place=place)
    if text not in list(kind):
        raise InputError(f"{place} is {_shown(text)}, not one of {', '.join(kind)}")
    return kind(text)


def _expect(kind: type[Result], value: object, *, place: str) -> Result:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{place or 'it'} is {_shown(value)}, not {kind.__name__}")
    return value


def _check_budget(budget: Budget, *, place: str) -> None:
    parts = budget.compute_only_ns + budget.hidden_ns + budget.exposed_ns + budget.copy_only_ns
    if parts + budget.graph_only_ns + budget.idle_ns != budget.window_ns:
        raise InputError(f"the parts of {place} do not add up to its window_ns")
    if not budget.window_ns:
        raise InputError(f"{place} is of no time at all")


def _check_lanes_of(findings: tuple[FindingTotal, ...], *, lanes: int) -> None:
    for index, finding in enumerate(findings):
        if finding.lane is not None and finding.lane >= lanes:
            raise InputError(f"findings[{index}].lane is {finding.lane}, and there are {format_count(lanes, 'lane')}")


def _shown(value: object) -> str:
    text = visible(repr(value))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


_NUMBERS: dict[type, Reader] = {int: _whole, float: _real}
