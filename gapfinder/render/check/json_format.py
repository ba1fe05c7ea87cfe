"""A check's report for other programs: JSON whose names are a contract."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from gapfinder.render.check.sections import headline

if TYPE_CHECKING:
    from gapfinder.compare.verdict import Verdict

CHECK_SCHEMA_VERSION = 1


def render_check_json(verdict: Verdict) -> str:
    """Return the report as JSON; docs/json.md describes it."""
    document = {
        "schema_version": CHECK_SCHEMA_VERSION,
        "verdict": verdict.outcome,
        "exit_code": verdict.exit_code,
        "created": verdict.created,
        "summary": headline(verdict),
        "limits": [asdict(one) for one in verdict.judgements],
        "reasons": list(verdict.reasons),
        "notes": list(verdict.notes),
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
