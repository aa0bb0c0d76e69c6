"""Numbered migrations of the feature."""
