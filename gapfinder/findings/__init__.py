"""Rules that read an analysis and say what to change."""
