"""Finds the pages about a code or about words, and writes them all down for docs/."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from gapfinder.errors import InputError
from gapfinder.findings.faults import FAULTS
from gapfinder.findings.lost import CRITICAL_SHARE, MENTIONED_SHARE, WARNING_SHARE
from gapfinder.findings.registry import PAGES, plugins
from gapfinder.units import format_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gapfinder.findings.page import Fault, Page

_WORD = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*")
_IN_CODE, _IN_TITLE, _IN_TEXT = 8, 4, 1
_MOST_USES = 3
_SHORTEST_STEM = 4
_NOT_TELLING = frozenset({"a", "all", "and", "at", "for", "i", "in", "is", "it", "my", "of", "on", "the", "to", "why"})
_OTHERS = 5

RULES_HEAD = f"""# Rules

What each finding means. Written by `make docs` from `gapfinder/findings/rules/`; `gapfinder explain CODE` prints one.

**Severity** is the share of all lanes' time that was lost: critical from {format_share(CRITICAL_SHARE)}, warning from
{format_share(WARNING_SHARE)}, info below. Under {format_share(MENTIONED_SHARE)} a rule is silent, unless the fact
matters by itself. Findings come most lost time first, what is info last.

**Nothing is lost twice.** Every ns of a hole has one cause, and each cause is charged to one rule. Exposed transfer
goes to the first of these that applies: single-stream (all of a lane's), slow-nic and slow-link (what a good link
would save), many-small-collectives, zero-overlap-off, accumulation-not-skipping-sync, overlap-broken, late-buckets,
exposed-collective. It is divided among operations by their exposed time. Waiting goes to slow-node and then to
straggler, as far as those explain it, then to unbalanced-input or exposed-collective. Copies go to pageable-copies,
then to offload-copies or exposed-copies. In blanks too short for a hole, what small collectives expose goes to
many-small-collectives, and idle time to launch-bound where launches give little work. Host time that nothing
explains is launch-bound as long as the host launches, and host-code where it is silent. Warm-up belongs to no rule.

**Your own rules:** a function `rule(analysis: gapfinder.model.Analysis)` that returns a
`gapfinder.explanations.Finding`, several, or None, named in the entry point group `gapfinder.rules`. One that fails is
a note in the report, never a crash.
"""
FAULTS_HEAD = """# Faults

What stops a distributed training or spoils it, by symptom. Written by `make docs` from `gapfinder/findings/faults.py`;
`gapfinder explain WORDS...` searches it.
"""


def explain(words: Sequence[str]) -> str:
    """Return the page that `words` name, or the one that fits them best with the codes of others; Markdown.

    Raises:
        InputError: nothing fits; the message names the nearest codes.
    """
    asked = " ".join(words).strip().lower()
    code = re.sub(r"[\s_]+", "-", asked)
    pages: Mapping[str, Page | Fault] = {**PAGES, **FAULTS}
    if code in pages:
        return pages[code].markdown()
    if code in plugins():
        return f"## {code}\n\n{_plugin_words(code)}\n"
    texts = {name: page.markdown() for name, page in pages.items()}
    ranked = _ranked(asked, texts, pages) or _ranked(asked.replace(".", " "), texts, pages)
    if not ranked:
        nearest = get_close_matches(code, pages, n=3, cutoff=0.3) or list(pages)[:3]
        raise InputError(f"nothing is written about {' '.join(words)!r}; the nearest codes are {', '.join(nearest)}")
    best, *others = ranked
    see = f"\nSee also: {', '.join(others[:_OTHERS])}\n" if others else ""
    return pages[best].markdown() + see


def listing() -> str:
    """Return every code with its title."""
    width = max(map(len, (*PAGES, *FAULTS)))
    parts = []
    for title, pages in (("Findings", PAGES), ("Faults", FAULTS)):
        lines = [f"  {code:<{width}}  {page.title}" for code, page in pages.items()]
        parts.append("\n".join((title, *lines)))
    return "\n\n".join(parts) + "\n"


def rules_document() -> str:
    """Return docs/rules.md."""
    return "\n".join((RULES_HEAD, *(page.markdown() for page in PAGES.values())))


def faults_document() -> str:
    """Return docs/faults.md."""
    return "\n".join((FAULTS_HEAD, *(fault.markdown() for fault in FAULTS.values())))


def _plugin_words(name: str) -> str:
    """Return what a plug-in's rule says about itself."""
    try:
        text = plugins()[name].load().__doc__
    except Exception as error:
        raise InputError(f"the rule {name} cannot be loaded: {type(error).__name__}: {error}") from error
    return str(text or "This rule comes from a plug-in that does not explain it.").strip()


def _ranked(asked: str, texts: Mapping[str, str], pages: Mapping[str, Page | Fault]) -> list[str]:
    """Return the codes of the pages that hold any of the words, the best first."""
    stems = [_stem(word) for word in _WORD.findall(asked) if word not in _NOT_TELLING]
    scores = {}
    for code, text in texts.items():
        in_code, in_title, in_text = (
            [_uses(place, stem) for stem in stems] for place in (code, pages[code].title.lower(), text.lower())
        )
        scores[code] = _IN_CODE * sum(in_code) + _IN_TITLE * sum(in_title) + _IN_TEXT * sum(in_text)
    return sorted((code for code, score in scores.items() if score), key=lambda code: -scores[code])


def _stem(word: str) -> str:
    """Return a word without an ending that only changes its form."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word


def _uses(text: str, stem: str) -> int:
    """Return how often words of `text` begin with `stem`, counted no further than tells one page from another."""
    rest = "" if len(stem) >= _SHORTEST_STEM else "(?![a-z])"
    return min(len(re.findall(rf"(?<![a-z0-9]){re.escape(stem)}{rest}", text)), _MOST_USES)
