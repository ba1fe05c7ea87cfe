"""Compares measured trainings: baselines, thresholds, the regression check, differences and history."""
