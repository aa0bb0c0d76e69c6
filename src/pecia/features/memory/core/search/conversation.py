"""Which conversation a memory is a turn of, and who speaks in it. Pure."""

import re

from pecia.features.memory.model import Memory

# `Ana: …` or `Dr. Weiss (chair): …`, as transcripts have it.
_SPEAKER = re.compile(r"\s*(?P<name>[A-Z][\w.'’-]*(?: [A-Z(][\w.'’)-]*){0,3}):\s+\S")
# Lines that begin like one and are none.
_NO_SPEAKERS = frozenset(
    ("note", "todo", "update", "correction", "warning", "remember", "fix", "fact", "store", "port")
)


def speaker_of(memory: Memory) -> str | None:
    """Who said it, by what is known of it or by the text."""
    return memory.text_fact("said_by") or read_speaker(memory.text)


def read_speaker(text: str) -> str | None:
    """The name that a line of a transcript begins with."""
    found = _SPEAKER.match(text)
    name = found["name"] if found else None
    return None if name is None or name.lower() in _NO_SPEAKERS else name


def conversation_of(memory: Memory) -> str | None:
    """A name of the conversation; None for a memory that is not a turn of one. Turns without a
    session are of one conversation if they were said in the same hour."""
    session = memory.text_fact("sourceSessionId")
    if session is not None:
        return session
    if speaker_of(memory) is None:
        return None
    folder = memory.key.rpartition("/")[0]
    return f"{folder} {memory.said_at:%Y-%m-%d %H}"
