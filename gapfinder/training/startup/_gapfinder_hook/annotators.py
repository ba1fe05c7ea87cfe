"""Writes NVTX ranges, with the nvtx package in a domain of its own or else with torch, which knows no domains."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from types import ModuleType

DOMAIN = "gapfinder"


class Annotator(Protocol):
    """Writes NVTX events; `push` and `pop` nest per thread, `start` and `end` stand alone."""

    @property
    def name(self) -> str | None: ...
    def push(self, text: str) -> None: ...
    def pop(self) -> None: ...
    def start(self, text: str) -> Any: ...
    def end(self, token: Any) -> None: ...
    def mark(self, text: str) -> None: ...


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
        self._lib, self._domain, self._handle = lib, domain, domain.handle
        self._push, self._pop = lib.push_range, lib.pop_range
        self._phases: dict[str, Any] = {}
        self.push("gapfinder")  # whatever an unknown release lacks shows here, not inside the training
        self.pop()
        self.end(self.start("gapfinder"))

    def push(self, text: str) -> None:
        attributes = self._phases.get(text)
        if attributes is None:
            attributes = self._phases[text] = self._attributes(text)
        self._push(attributes, self._handle)

    def pop(self) -> None:
        self._pop(self._handle)

    def start(self, text: str) -> Any:
        return self._lib.start_range(self._attributes(text), self._handle)

    def end(self, token: Any) -> None:
        if isinstance(token, tuple):
            self._lib.end_range(*token)
        else:
            self._lib.end_range(token)

    def mark(self, text: str) -> None:
        self._lib.mark(self._attributes(text), self._handle)

    def _attributes(self, text: str) -> Any:
        if hasattr(self._domain, "get_event_attributes"):
            return self._domain.get_event_attributes(text)
        return self._lib.EventAttributes(self._lib.RegisteredString(self._handle, text))


class TorchAnnotator:
    """torch.cuda.nvtx, default domain."""

    name = "torch.cuda.nvtx"

    def __init__(self, torch: ModuleType) -> None:
        nvtx = torch.cuda.nvtx
        self.push, self.pop, self.mark = nvtx.range_push, nvtx.range_pop, nvtx.mark
        self.start, self.end = nvtx.range_start, nvtx.range_end
        self.end(self.start("gapfinder"))  # a build without NVTX raises RuntimeError


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
