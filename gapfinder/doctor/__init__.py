"""Checks what a machine needs before a long training: nsys, GPUs, network, libraries, limits. Reads only."""

from gapfinder.doctor.check import Area, Check, Status
from gapfinder.doctor.examine import CODES, examine
from gapfinder.doctor.machine import Machine, this_machine

__all__ = ["CODES", "Area", "Check", "Machine", "Status", "examine", "this_machine"]
