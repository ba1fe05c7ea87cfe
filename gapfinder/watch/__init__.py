"""Stays with a training that runs for days: sees its step times, and captures when they change."""
