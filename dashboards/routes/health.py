"""Says that the server lives, to whoever asks: no token, and nothing about anybody's profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder import __version__

if TYPE_CHECKING:
    from flask import Flask

HEALTH = "/healthz"


def register(server: Flask) -> None:
    """Answer GET /healthz."""

    def health() -> dict[str, str | bool]:
        return {"ok": True, "version": __version__}

    server.add_url_rule(HEALTH, "health", health)
