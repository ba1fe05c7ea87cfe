"""Writes a copy of a report that can be given away: every number, and nothing that tells whose machine it was."""

from gapfinder.scrub.copying import Scrubbed, scrub

__all__ = ["Scrubbed", "scrub"]
