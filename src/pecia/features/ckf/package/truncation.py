"""Detects truncated texts, by signs that no complete text has. Pure."""

import re

# Words that must be followed by something, in the five languages with cues.
_DANGLING = """
and or but because if that the of to with for a an e ou mas porque se que o a os as de do da com
para um uma y o pero porque si que el la los las del con un une le les des et mais parce où avec
pour und oder aber weil wenn dass der die das des dem den mit für ein eine
"""
DANGLING = frozenset(_DANGLING.split())
MIN_SENTENCE_WORDS = 8


def is_truncated(text: str) -> bool:
    """Ends in a comma or dash, in a dangling word, or with an open bracket."""
    stripped = text.rstrip()
    if stripped.endswith((",", ";", ":", "-", "/", "…", "...")):
        return True
    last = _LAST_WORD.search(stripped)
    if last and last[0].lower() in DANGLING and len(stripped.split()) > 1:
        return True
    return any(stripped.count(opening) > stripped.count(closing) for opening, closing in _PAIRS)


def is_truncated_label(text: str) -> bool:
    stripped = text.rstrip()
    return stripped.endswith((":", "-", "/")) or stripped.lower().endswith((" vs.", " vs"))


def is_unfinished(text: str) -> bool:
    """A statement of some length without an end; a list or a code needs none."""
    stripped = text.rstrip()
    return len(stripped.split()) > MIN_SENTENCE_WORDS and not _END.search(stripped)


_LAST_WORD = re.compile(r"[^\W\d_]+$")
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("“", "”"), ("«", "»"))
_END = re.compile(r"[.!?。！？؟।:)\]}\"'”»`0-9]$")
