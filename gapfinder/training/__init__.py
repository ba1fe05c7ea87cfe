"""What runs inside a training: the hook that marks steps and phases, and what it leaves for `gapfinder run`."""
