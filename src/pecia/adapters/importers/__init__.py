"""Exports of other note programs, converted to Markdown documents."""
