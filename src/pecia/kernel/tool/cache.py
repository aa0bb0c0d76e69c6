"""What is computed once for each tool, and forgotten when the app that has the tools is closed."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

MAX_TOOLS = 4096
_clear_caches: list[Callable[[], None]] = []


def cached_per_tool(function: Callable[[T], R]) -> Callable[[T], R]:
    """The function, its results kept by tool, which keeps the tool and all that it refers to."""
    cached: Any = lru_cache(MAX_TOOLS)(function)
    _clear_caches.append(cached.cache_clear)
    return cached


def forget_tools() -> None:
    """A tool refers to its app, with indexes and models: no closed one is kept for its schemas."""
    for clear in _clear_caches:
        clear()
