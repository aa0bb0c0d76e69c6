"""Texts that are answers of a memory, and not something to remember. Pure.

An agent that stores whatever it read would otherwise store its memories again and again.
"""

import re

_ECHO = re.compile(
    r"\s*(?:[#*>\-\s]*)(?:"
    r"(?:retrieved|relevant|related|stored|existing|recalled|similar)\s+(?:memor(?:y|ies)|knowledge)\b"
    r"|(?:memory|knowledge|reasoning|workspace)\s+search\s+results?\b"
    r"|search\s+results?\s*(?:\(\d+\))?\s*:"
    r"|(?:cipher_)?(?:memory_search|search_reasoning_patterns|workspace_search)\b"
    r"|found\s+\d+\s+(?:memor(?:y|ies)|results?|patterns?)\b"
    r"|\{\s*\"success\"\s*:\s*(?:true|false)\s*,\s*\"(?:query|extraction|result)\""
    r")",
    re.IGNORECASE,
)


def is_echo(text: str) -> bool:
    """Whether a text begins like the answer to a search for memories."""
    return bool(_ECHO.match(text))
