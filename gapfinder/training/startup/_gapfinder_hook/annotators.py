"""Writes NVTX ranges, with the nvtx package in a domain of its own or else with torch, which knows no domains."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from types import ModuleType

DOMAIN = "gapfinder"
_MOST_KNOWN = 256


class Annotator(Protocol):
    """Writes NVTX events; `push` and `pop` nest per thread, `start` and `end` stand alone."""

    @property
    def name(self) -> str | None: ...
    def push(self, text: str) -> None: ...
    def pop(self) -> None: ...
    def start(self, text: str) -> Any: ...
    def end(self, token: Any) -> None: ...
    def mark(self, text: str) -> None: ...
    def expect(self, texts: list[str]) -> None: ...


class UnavailableError(Exception):
    """Nothing here can write NVTX."""


class Silence:
    """Writes nothing."""

    name = None

    def push(self, text: str) -> None: ...
    def pop(self) -> None: ...
    def start(self, text: str) -> Any: ...
    def end(self, token: Any) -> None: ...
    def mark(self, text: str) -> None: ...
    def expect(self, texts: list[str]) -> None: ...


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
        make = getattr(domain, "get_event_attributes", None)
        self._string = lib.RegisteredString
        self._make = make or (lambda text: lib.EventAttributes(lib.RegisteredString(domain.handle, text)))
        self._domain, self._handle = domain, domain.handle
        self._push, self._pop, self._start, self._end = lib.push_range, lib.pop_range, lib.start_range, lib.end_range
        self._mark = lib.mark
        self._known: dict[str, Any] = {}
        self._expected: dict[str, Any] = {}
        self._numbered = self._make("")
        self.push("gapfinder")  # whatever an unknown release lacks shows here, not inside the training
        self.pop()
        self.end(self.start("gapfinder"))

    def push(self, text: str) -> None:
        self._push(self._known.get(text) or self._attributes(text), self._handle)

    def pop(self) -> None:
        self._pop(self._handle)

    def start(self, text: str) -> Any:
        return self._start(self._known.get(text) or self._attributes(text), self._handle)

    def end(self, token: Any) -> None:
        if type(token) is tuple:
            self._end(*token)
        else:  # the package up to 0.2.11
            self._end(token)

    def mark(self, text: str) -> None:
        self._mark(self._known.get(text) or self._attributes(text), self._handle)

    def expect(self, texts: list[str]) -> None:
        # Many at once: one alone, when the caches hold what the training needs, takes ten times as long.
        self._expected = {text: self._string(self._handle, text) for text in texts}

    def _attributes(self, text: str) -> Any:
        if len(self._known) < _MOST_KNOWN and not text.startswith("step"):
            attributes = self._known[text] = self._make(text)
            return attributes
        # A step's text comes once: the package, which keeps what it makes, would take more and more memory and time.
        self._numbered.message = self._expected.pop(text, None) or self._string(self._handle, text)
        return self._numbered


class TorchAnnotator:
    """torch.cuda.nvtx, default domain."""

    name = "torch.cuda.nvtx"

    def __init__(self, torch: ModuleType) -> None:
        nvtx = torch.cuda.nvtx
        self.push, self.pop, self.mark = nvtx.range_push, nvtx.range_pop, nvtx.mark
        self.start, self.end = nvtx.range_start, nvtx.range_end
        self.end(self.start("gapfinder"))  # a build without NVTX raises RuntimeError

    def expect(self, texts: list[str]) -> None: ...


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
