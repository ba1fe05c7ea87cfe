"""Preparing a profile in a process of its own, with progress, cancel, and limits of memory and time."""
