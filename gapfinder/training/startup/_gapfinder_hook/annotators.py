"""Writes NVTX ranges, with the nvtx package in a domain of its own or else with torch, which knows no domains."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Callable, Protocol

if TYPE_CHECKING:
    from types import ModuleType

DOMAIN = "gapfinder"
_MOST_KNOWN = 256

Write = Callable[..., Any]


class Annotator(Protocol):
    """Writes NVTX events; what is pushed and popped nests per thread, what is started and ended stands alone.

    Attributes:
        name: of the package, for the status.
        domain: what all but `end` take as their last argument.
        push, start, mark: take what `prepare` makes of a text: in a step, each is one call of a compiled function.
        pop: ends what was pushed last.
        end: ends what `start` returned.
    """

    @property
    def name(self) -> str | None: ...
    @property
    def domain(self) -> Any: ...
    @property
    def push(self) -> Write: ...
    @property
    def pop(self) -> Write: ...
    @property
    def start(self) -> Write: ...
    @property
    def end(self) -> Write: ...
    @property
    def mark(self) -> Write: ...
    def prepare(self, text: str) -> Any:
        """Return what writes `text`, which may come again."""

    def prepare_ahead(self, texts: list[str]) -> list[Any]:
        """Return the same for texts that come once; those returned before are void."""


class UnavailableError(Exception):
    """Nothing here can write NVTX."""


class Silence:
    """Writes nothing."""

    name = domain = None

    def push(self, text: str, domain: Any) -> None: ...
    def pop(self, domain: Any) -> None: ...
    def start(self, text: str, domain: Any) -> None: ...
    def end(self, token: Any) -> None: ...
    def mark(self, text: str, domain: Any) -> None: ...
    def prepare(self, text: str) -> str:
        return text

    def prepare_ahead(self, texts: list[str]) -> list[str]:
        return texts


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
        handle = self.domain = domain.handle
        self._make = getattr(domain, "get_event_attributes", None) or (
            lambda text: lib.EventAttributes(lib.RegisteredString(handle, text))
        )
        self._domain = domain  # whose end would be the handle's
        self._make_text = lib.RegisteredString
        self._known: dict[str, Any] = {}
        self._reused: list[Any] = []
        self.push: Write = lib.push_range
        self.pop: Write = lib.pop_range
        self.start: Write = lib.start_range
        self.mark: Write = lib.mark
        # whatever an unknown release lacks shows here, not inside the training
        self.push(self.prepare("gapfinder"), handle)
        self.pop(handle)
        token = self.start(self.prepare_ahead(["gapfinder"])[0], handle)
        is_pair = isinstance(token, tuple)  # from 0.2.12 on
        self.end: Write = (lambda pair: lib.end_range(*pair)) if is_pair else lib.end_range
        self.end(token)

    def prepare(self, text: str) -> Any:
        attributes = self._known.get(text) or self._make(text)
        if len(self._known) < _MOST_KNOWN:
            self._known[text] = attributes
        return attributes

    def prepare_ahead(self, texts: list[str]) -> list[Any]:
        # The same attributes again, and texts past their class's own `__call__`: the package keeps all that it makes,
        # more and more for texts that come once, and to look there takes longer than to make one. Many texts at once:
        # one alone, when the caches hold what the training needs, takes ten times as long.
        make = functools.partial(type.__call__, self._make_text, self.domain)
        while len(self._reused) < len(texts):
            self._reused.append(self._make(f"gapfinder {len(self._reused)}"))
        reused = self._reused[: len(texts)]
        for attributes, text in zip(reused, texts):
            attributes.message = make(text)
        return reused


class TorchAnnotator:
    """torch.cuda.nvtx, default domain."""

    name = "torch.cuda.nvtx"
    domain = None

    def __init__(self, torch: ModuleType) -> None:
        nvtx = torch.cuda.nvtx
        self.push: Write = lambda text, _: nvtx.range_push(text)
        self.pop: Write = lambda _: nvtx.range_pop()
        self.start: Write = lambda text, _: nvtx.range_start(text)
        self.mark: Write = lambda text, _: nvtx.mark(text)
        self.end: Write = nvtx.range_end
        self.end(self.start("gapfinder", None))  # a build without NVTX raises RuntimeError

    def prepare(self, text: str) -> str:
        return text

    def prepare_ahead(self, texts: list[str]) -> list[str]:
        return texts


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
