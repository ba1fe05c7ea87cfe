"""Checks what a machine needs before a long training: nsys, GPUs, network, libraries, limits. Reads only."""
