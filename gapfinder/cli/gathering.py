"""Options that belong together reach a command as one value."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature

Command = Callable[..., object]
Decorator = Callable[[Command], Command]


def gathered(name: str, make: Callable[..., object], *options: Decorator) -> Decorator:
    """Return a decorator that adds options and hands the command what `make` builds of them, as argument `name`."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def gathering(**given: object) -> object:
            value = make(**{key: given.pop(key) for key in signature(make).parameters})
            return command(**{name: value}, **given)

        decorated: Command = gathering
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate
