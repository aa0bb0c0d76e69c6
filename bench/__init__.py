"""Measurements: ratios in one run, ours against the named alternative. Never a test."""
