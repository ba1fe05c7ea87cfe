"""The program of every rank of `gapfinder doctor --comm`; it imports only torch and the standard library."""
