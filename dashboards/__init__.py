"""The interactive dashboard; it reads results made by `gapfinder` and is never imported by it at start-up."""
