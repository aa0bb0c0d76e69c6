"""How important a log message is, and what a client asked to hear. Pure."""

from typing import get_args

from mcp_types import LoggingLevel

LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)
"""From `debug` to `emergency`."""


def known(level: str) -> LoggingLevel:
    """Our word for a level as the protocol's."""
    return LEVELS[LEVELS.index(level)] if level in LEVELS else "info"


def is_wanted(level: LoggingLevel, least: str) -> bool:
    """Whether a message of that level reaches someone who asked for `least` and above."""
    return LEVELS.index(level) >= LEVELS.index(known(least))
