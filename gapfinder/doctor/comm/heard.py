"""Hears what ranks say on the launcher's output: who came, what each does, and the result."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.training.startup._gapfinder_comm.telling import MARK

if TYPE_CHECKING:
    from typing import Any

_LAST_WORDS = ("done", "failed", "ended")


@dataclass(kw_only=True, slots=True)
class HeardRank:
    """One rank.

    Attributes:
        stage: what it began last.
        heard_at: when it said something last, on the clock of time.monotonic.
        last_word: done, failed or ended, once it has ended in order; else None.
        error: of a rank that failed.
    """

    rank: int
    host: str
    pid: int
    heard_at: float
    stage: str = "starting"
    last_word: str | None = None
    error: str = ""


class Heard:
    """All that was heard.

    Attributes:
        ranks: those that came, by rank.
        world_size: how many there should be; None while none has come.
        is_spread: other launchers may have started the ranks that do not come, and nothing is heard of those.
        stage: what was begun last of all.
        moved_at: when something was begun or ended last.
        failures: ranks that failed, the first one first.
    """

    def __init__(self, *, now: float) -> None:
        self.ranks: dict[int, HeardRank] = {}
        self.world_size: int | None = None
        self.is_spread = False
        self.stage = "starting"
        self.moved_at = now
        self.failures: list[int] = []
        self._parts: dict[int, str] = {}
        self._of: int | None = None

    def take(self, line: str, *, now: float) -> bool:
        """Return whether the line is a rank's word; launchers may put something before and after it."""
        _, mark, rest = line.partition(MARK)
        if not mark:
            return False
        try:
            said, _ = json.JSONDecoder().raw_decode(rest)
        except json.JSONDecodeError:
            return False
        self._hear(said, now=now)
        return True

    def report(self) -> dict[str, Any] | None:
        """Return the result; None while pieces of it are missing."""
        if self._of is None or len(self._parts) < self._of:
            return None
        text = "".join(self._parts[number] for number in range(self._of))
        result: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(text)))
        return result

    def _hear(self, said: dict[str, Any], *, now: float) -> None:
        number, word = said["rank"], said["word"]
        if word == "hello":
            self.world_size, self.is_spread = said["world_size"], said["is_spread"]
            self.ranks[number] = HeardRank(rank=number, host=said["host"], pid=said["pid"], heard_at=now)
        rank = self.ranks.get(number)
        if rank is None:
            return
        rank.heard_at = now
        if word != "beat":
            self.moved_at = now
        if word == "stage":
            rank.stage = self.stage = said["stage"]
        elif word == "part":
            self._parts[said["number"]], self._of = said["text"], said["of"]
        elif word in _LAST_WORDS:
            rank.last_word, rank.error = word, said.get("error", "")
            if word == "failed":
                self.failures.append(number)
