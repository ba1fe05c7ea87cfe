"""What the browser and `gapfinder upload` ask for beside pages: timeline windows, uploads, health."""
