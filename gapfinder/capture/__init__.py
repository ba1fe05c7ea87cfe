"""Runs a training under nsys: finds nsys, builds its command line, runs it, and says what came of it."""
