"""What is written about a rule or a fault, once: `gapfinder explain` prints it and docs/ is made from it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

_WIDTH = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """What a rule's finding means.

    Attributes:
        code: the rule's code.
        title: what the finding says, when nothing more is known.
        meaning: what goes on.
        measured: which numbers it rests on, and when it speaks.
        change: what to do, the most promising first; the first one or two are a finding's advice.
        beware: what it does not mean.
    """

    code: str
    title: str
    meaning: str
    measured: str
    change: tuple[str, ...]
    beware: str

    def markdown(self) -> str:
        """Return the page as a section of Markdown that reads well in a terminal."""
        return _joined(
            f"## {self.code}",
            f"**{self.title}.** {self.meaning}",
            f"*Measured:* {self.measured}",
            "*Change:*",
            _bullets(self.change),
            f"*It does not mean:* {self.beware}",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """Something that goes wrong in distributed training, as the person in front of it would say it.

    Attributes:
        code: its name for `gapfinder explain`.
        title: the symptom.
        causes: likely causes, the most likely first.
        checks: (what it tells, command) to run.
        remedies: what to do.
        findings: codes of the findings that show it in a profile; empty where no profile can.
        shown: what in a profile shows it, or why nothing does.
    """

    code: str
    title: str
    causes: tuple[str, ...]
    checks: tuple[tuple[str, str], ...]
    remedies: tuple[str, ...]
    findings: tuple[str, ...] = ()
    shown: str

    def markdown(self) -> str:
        """Return the fault as a section of Markdown that reads well in a terminal."""
        commands = "\n".join(f"# {tells}\n{command}" for tells, command in self.checks)
        codes = ", ".join(f"`{code}`" for code in self.findings)
        return _joined(
            f"## {self.code}",
            f"**{self.title}.**",
            "*Likely causes:*",
            _bullets(self.causes),
            "*Check:*",
            f"```bash\n{commands}\n```",
            "*Change:*",
            _bullets(self.remedies),
            f"*In a profile:* {self.shown}" + (f" Findings: {codes}." if codes else ""),
        )


def _joined(*blocks: str) -> str:
    return "\n\n".join(_wrapped(block) for block in blocks) + "\n"


def _wrapped(block: str) -> str:
    """Wrap a paragraph; lists and commands are laid out already."""
    return block if "\n" in block or block.startswith("- ") else _filled(block)


def _bullets(items: tuple[str, ...]) -> str:
    return "\n".join(_filled(item, first="- ", rest="  ") for item in items)


def _filled(text: str, *, first: str = "", rest: str = "") -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
