"""Writes docs/rules.md and docs/faults.md from what gapfinder explains: `make docs`."""

from __future__ import annotations

from pathlib import Path

from gapfinder.findings.explain import faults_document, rules_document

DOCUMENTS = {"rules.md": rules_document, "faults.md": faults_document}

if __name__ == "__main__":
    for name, document in DOCUMENTS.items():
        Path(__file__).with_name(name).write_text(document(), encoding="utf-8")
