"""Measures how the ranks of a job reach each other, and names the slow card or link."""

from gapfinder.doctor.comm.checks import CODES, checks_of
from gapfinder.doctor.comm.link import GivenLink, find_link
from gapfinder.doctor.comm.measured import Measured
from gapfinder.doctor.comm.session import Probed, ProbeRequest, probe

__all__ = ["CODES", "GivenLink", "Measured", "ProbeRequest", "Probed", "checks_of", "find_link", "probe"]
