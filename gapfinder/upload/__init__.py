"""Sends profiles to a dashboard: in slices, resumed after a broken connection, compared with their checksum."""

from gapfinder.upload.client import Client
from gapfinder.upload.sending import Sent, send_files, wait_for_job

__all__ = ["Client", "Sent", "send_files", "wait_for_job"]
