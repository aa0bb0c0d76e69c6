"""What a text in the corpus is, and whose words they are. Pure.

The `extractor` of a revision ends in who wrote it, where a person or an agent wrote it here.
"""

from collections.abc import Iterable
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
AUTHORED_PROTOCOL = "wiki"


def with_writer(extractor: str, writers: Iterable[str]) -> str:
    """The extractor's name with who wrote the text: agents only, or a person too."""
    by_agents = all(it.startswith(AGENT_WRITER) for it in writers)
    return f"{extractor} {AGENT_WRITER if by_agents else PERSON_WRITER}"


def provenance_of(protocol: str, extractor: str = "") -> Provenance:
    """The provenance of a revision, by the protocol of its source and its extractor."""
    match extractor.rpartition(" ")[2] if protocol == AUTHORED_PROTOCOL else "":
        case "agent":
            return Provenance.AGENT
        case "person":
            return Provenance.PERSON
        case _:
            return _BY_PROTOCOL.get(protocol, Provenance.ORIGINAL)
