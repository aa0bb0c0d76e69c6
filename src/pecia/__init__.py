"""Pecia: one server in which agents and people find, read, compile, write, layer and remember."""

__version__ = "0.1.0"
