"""Which conversation a memory is a turn of, and who speaks in it. Pure."""

import re
from collections.abc import Iterable, Iterator

from pecia.features.memory.core.compare.vocabulary import VOCABULARY
from pecia.features.memory.model import Memory

# `Ana: …` or `Dr. Weiss (chair): …`, as transcripts have it.
_SPEAKER = re.compile(r"\s*(?P<name>[A-Z][\w.'’-]*(?: [A-Z(][\w.'’)-]*){0,3}):\s+\S")
# Lines that begin like one and are none.
_NO_SPEAKERS = frozenset(
    ("note", "todo", "update", "correction", "warning", "remember", "fix", "fact", "store", "port")
)
# Longer texts have a subject of their own.
MAX_CONTINUATION_CHARS = 600
_FIRST_WORD = re.compile(r"\w+(?:['’]\w+)?")


def speaker_of(memory: Memory) -> str | None:
    """Who said it, by what is known of it or by the text."""
    return memory.text_fact("said_by") or read_speaker(memory.text)


def named_speaker(memory: Memory) -> str | None:
    """Who is said to have said it. What a line begins with may be what it is about, as in `Heron:
    deploys go out on Mondays`: it is a speaker where the text speaks of `I` or to `you`."""
    said_by = memory.text_fact("said_by")
    if said_by is not None:
        return said_by
    name = read_speaker(memory.text)
    told = memory.text.partition(":")[2]
    is_speech = _FIRST_PERSONS.search(told) is not None or continues(told)
    return name if is_speech or memory.text_fact("sourceSessionId") else None


_FIRST_PERSONS = re.compile(
    r"\b(?:i|me|my|mine|we|us|our|ours|you|your|yours|ich|mich|mein\w*|wir|uns\w*|du|dich|dein\w*|je|"
    r"j['’]\w+|moi|mon|ma|mes|nous|notre|tu|toi|vous|yo|mi|nosotros|nuestr[ao]s?|eu|meu|minha|nós|"
    r"io|mio|mia|noi|ik|mijn|wij|ons|onze|jij|jag|jeg|vi|min)\b",
    re.IGNORECASE,
)


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


def continues(text: str) -> bool:
    """Whether a text begins as a reply does that says nothing without what was said before it:
    `Hmm, what if they keep retrying?`."""
    if len(text) > MAX_CONTINUATION_CHARS:
        return False
    found = _FIRST_WORD.search(text)
    return found is not None and found[0].lower() in VOCABULARY["replies"]


def find_continuations(turn: Memory, following: Iterable[Memory]) -> Iterator[Memory]:
    """Of the turns behind one, in their order, those in which its speaker goes on with it. Others
    may answer between."""
    speaker = speaker_of(turn)
    for it in following:
        if speaker_of(it) != speaker:
            continue
        if not continues(it.text):
            return
        yield it
