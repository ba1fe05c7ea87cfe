"""Many reports at once: each is measured by one task, wherever that runs, and only what is kept of it travels."""
