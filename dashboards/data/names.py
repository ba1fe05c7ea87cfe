"""Every name of a profile, read from its file when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import numpy as np
import pyarrow.compute as pc

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


class Names(Sequence[str]):
    """Texts by their code."""

    def __init__(self, texts: pa.LargeStringArray) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, code: int) -> str: ...
    @overload
    def __getitem__(self, code: slice) -> Sequence[str]: ...
    def __getitem__(self, code: int | slice) -> str | Sequence[str]:
        if isinstance(code, slice):
            return [str(text) for text in self._texts[code].to_pylist()]
        return str(self._texts[code].as_py())

    def containing(self, text: str) -> NDArray[np.bool_]:
        """Say which names contain a text, whatever its case; shape (names,)."""
        found = pc.match_substring(self._texts, text, ignore_case=True)
        return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)
