"""How the references' words and units become ours. Pure: text in, value out, ValueError if not."""

from collections.abc import Mapping


class NotApplicable(Exception):
    """The variable is set, but for another program: it counts as absent."""


def parse_milliseconds(text: str) -> float:
    """`60000` is 60 seconds."""
    return _number(text) / 1000


def convert_log_level(text: str) -> str:
    """The levels of Node loggers and of MCP, as the four of ours."""
    word = text.strip().lower()
    return _LEVELS.get(word, word)


def convert_debug(text: str) -> str:
    """`DEBUG=cipher:*` asks for our debug level; other programs share the variable."""
    if "cipher:" in text or "pecia:" in text:
        return "debug"
    raise NotApplicable


_LEVELS: Mapping[str, str] = {
    "silly": "debug",
    "trace": "debug",
    "verbose": "debug",
    "notice": "info",
    "warn": "warning",
    "critical": "error",
    "alert": "error",
    "emergency": "error",
}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number of milliseconds") from None
