"""What a text in the corpus is, and whose words they are. Pure.

The `extractor` of a revision ends in who wrote it, where a person or an agent wrote it here: the
kind of author, and the ids of their users.
"""

import re
from collections.abc import Sequence
from enum import StrEnum


class Provenance(StrEnum):
    ORIGINAL = "original"
    PERSON = "written by a person"
    AGENT = "written by an agent"
    MEMORY = "memory"
    DERIVED = "derived"


REPEATING = frozenset({Provenance.AGENT, Provenance.MEMORY, Provenance.DERIVED})
"""What may say again what another text says."""

AGENT_WRITER, PERSON_WRITER = "agent", "person"
# Sources that a feature writes by itself; the files of all others come from elsewhere.
_BY_PROTOCOL = {"memory": Provenance.MEMORY, "ckf": Provenance.DERIVED}
AUTHORED_PROTOCOL, NAMED_PROTOCOL = "wiki", "git"
"""Texts that were written here, and files that are stored with the name of their author."""
_USER = "[0-9a-f-]{36}"
_WRITER = re.compile(f"[a-z]+-({_USER})")
_AUTHORED = re.compile(f" (?P<kind>{AGENT_WRITER}|{PERSON_WRITER})(?P<users>(?: {_USER})*)$")


def with_writer(extractor: str, writers: Sequence[str]) -> str:
    """The extractor's name with who wrote the text: agents only, or a person too, and whose."""
    by_agents = all(it.startswith(AGENT_WRITER) for it in writers)
    kind = AGENT_WRITER if by_agents else PERSON_WRITER
    # What another program wrote has no user.
    users = dict.fromkeys(found[1] for it in writers if (found := _WRITER.fullmatch(it)))
    return " ".join((extractor, kind, *users))


def provenance_of(protocol: str, extractor: str = "") -> Provenance:
    """The provenance of a revision, by the protocol of its source and its extractor."""
    found = _AUTHORED.search(extractor) if protocol == AUTHORED_PROTOCOL else None
    if found is None:
        return _BY_PROTOCOL.get(protocol, Provenance.ORIGINAL)
    return Provenance.AGENT if found["kind"] == AGENT_WRITER else Provenance.PERSON


def author_ids(extractor: str) -> tuple[str, ...]:
    """The users who wrote a revision, or whose agents did."""
    found = _AUTHORED.search(extractor)
    return tuple(found["users"].split()) if found is not None else ()
