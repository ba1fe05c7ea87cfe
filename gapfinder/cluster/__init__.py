"""Many reports at once: each is measured by one task, wherever that runs, and only what is kept of it travels.

Its modules are imported by name: `workers` loads no library, so that processes can be started before anything else.
"""
