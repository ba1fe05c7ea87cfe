"""Writes NVTX ranges, with the nvtx package in a domain of its own or else with torch, which knows no domains."""

from __future__ import annotations

import functools
import sys
from types import MethodType
from typing import TYPE_CHECKING, Any, Callable, Protocol

if TYPE_CHECKING:
    from types import ModuleType

DOMAIN = "gapfinder"
_MOST_KNOWN = 256

Write = Callable[[], Any]


class Annotator(Protocol):
    """Writes NVTX events; what is pushed and popped nests per thread, what is started and ended stands alone.

    `pusher`, `starters` and `marker` bind texts, so that writing is one call of a compiled function.
    """

    @property
    def name(self) -> str | None: ...
    def pusher(self, text: str) -> Write: ...
    def pop(self) -> object: ...
    def start(self, text: str) -> Any: ...
    def starters(self, texts: list[str]) -> list[Write]: ...
    def end(self, token: Any) -> object: ...
    def marker(self, text: str) -> Write: ...


class UnavailableError(Exception):
    """Nothing here can write NVTX."""


class Silence:
    """Writes nothing."""

    name = None

    def pusher(self, text: str) -> Write:
        return functools.partial(self.start, text)

    def pop(self) -> None: ...
    def start(self, text: str) -> Any: ...
    def starters(self, texts: list[str]) -> list[Write]:
        return [self.pusher(text) for text in texts]

    def end(self, token: Any) -> None: ...
    def marker(self, text: str) -> Write:
        return self.pusher(text)


class NvtxAnnotator:
    """The nvtx package, domain "gapfinder"."""

    name = "nvtx"

    def __init__(self) -> None:
        import nvtx

        # Through the package's inner functions: its public ones, from 0.2.12 on, ask the profiler whether the domain is
        # enabled and write nothing when it cannot answer. nsys 2022.4.2 cannot, and captures all the same.
        from nvtx._lib import lib

        if not nvtx.enabled():
            raise UnavailableError("NVTX_DISABLE is set")
        domain = lib.Domain(DOMAIN)
        if not hasattr(domain, "handle"):
            domain = object.__new__(lib.Domain)
            domain.handle = lib.DomainHandle(DOMAIN)
            domain.__init__(DOMAIN)
        handle = domain.handle
        self._make = getattr(domain, "get_event_attributes", None) or (
            lambda text: lib.EventAttributes(lib.RegisteredString(handle, text))
        )
        self._lib, self._domain, self._handle = lib, domain, handle
        self._known: dict[str, Any] = {}
        self._reused: list[Any] = []
        self.pop = MethodType(lib.pop_range, handle)
        self.pusher("gapfinder")()  # whatever an unknown release lacks shows here, not inside the training
        self.pop()
        token = self.starters(["gapfinder"])[0]()
        is_pair = isinstance(token, tuple)  # from 0.2.12 on
        self.end: Callable[[Any], object] = (lambda pair: lib.end_range(*pair)) if is_pair else lib.end_range
        self.end(token)

    def pusher(self, text: str) -> Write:
        return self._bound(self._lib.push_range, self._make(text))

    def start(self, text: str) -> Any:
        attributes = self._known.get(text) or self._make(text)
        if len(self._known) < _MOST_KNOWN:
            self._known[text] = attributes
        return self._lib.start_range(attributes, self._handle)

    def starters(self, texts: list[str]) -> list[Write]:
        # The same attributes again, and texts past their class's own `__call__`: the package keeps all that it makes,
        # more and more for texts that come once, and to look there takes longer than to make one. Many texts at once:
        # one alone, when the caches hold what the training needs, takes ten times as long.
        make = functools.partial(type.__call__, self._lib.RegisteredString, self._handle)
        while len(self._reused) < len(texts):
            self._reused.append(self._make(f"gapfinder {len(self._reused)}"))
        reused = self._reused[: len(texts)]
        for attributes, text in zip(reused, texts):
            attributes.message = make(text)
        return [self._bound(self._lib.start_range, attributes) for attributes in reused]

    def marker(self, text: str) -> Write:
        return self._bound(self._lib.mark, self._make(text))

    def _bound(self, function: Callable[..., Any], attributes: Any) -> Write:
        # as methods of methods: calling a functools.partial takes twice as long
        return MethodType(MethodType(function, attributes), self._handle)


class TorchAnnotator:
    """torch.cuda.nvtx, default domain."""

    name = "torch.cuda.nvtx"

    def __init__(self, torch: ModuleType) -> None:
        self._nvtx = torch.cuda.nvtx
        self.pop, self.start, self.end = self._nvtx.range_pop, self._nvtx.range_start, self._nvtx.range_end
        self.end(self.start("gapfinder"))  # a build without NVTX raises RuntimeError

    def pusher(self, text: str) -> Write:
        return functools.partial(self._nvtx.range_push, text)

    def starters(self, texts: list[str]) -> list[Write]:
        return [functools.partial(self.start, text) for text in texts]

    def marker(self, text: str) -> Write:
        return functools.partial(self._nvtx.mark, text)


def find_annotator(torch: ModuleType) -> Annotator:
    """Return the first annotator that works; raise UnavailableError, saying what to do, where none does."""
    try:
        return NvtxAnnotator()
    except Exception as error:  # noqa: BLE001 - a package of any age may fail in any way
        package = f"{type(error).__name__}: {error}"
    try:
        return TorchAnnotator(torch)
    except Exception as error:
        raise UnavailableError(
            f"nothing writes NVTX here; install the package nvtx for {sys.executable} "
            f"(nvtx: {package}; torch.cuda.nvtx: {type(error).__name__}: {error})"
        ) from error
