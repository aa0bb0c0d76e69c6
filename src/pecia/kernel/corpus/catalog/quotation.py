"""Whether quotations stand in their files, to the character, as the caller may see them now."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pecia.kernel.corpus.file_uri import FileAddress
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction
from pecia.kernel.text.span import Span

SQL = load_queries("pecia.kernel.corpus.catalog", "quotation.sql")


class CitationState(StrEnum):
    HOLDS = "holds"
    REVISED = "the file has another revision"
    DIFFERS = "the file says something else there"
    ABSENT = "there is no such file"


@dataclass(frozen=True, slots=True)
class QuotedText:
    """`text` is said to be that of the file at `span`, in this revision, or in the newest."""

    file: FileAddress
    span: Span
    text: str
    revision: int | None = None


async def verify_quotations(
    tx: Transaction, quotations: Sequence[QuotedText]
) -> list[CitationState]:
    """The state of each, in order. A file that the caller may not see is absent."""
    if not quotations:
        return []
    rows = await tx.fetch_all(
        SQL["quoted_texts"],
        sources=[it.file.source_id for it in quotations],
        keys=[it.file.key for it in quotations],
        starts=[it.span.start for it in quotations],
        ends=[it.span.end for it in quotations],
    )
    found = {row["place"]: row for row in rows}
    states: list[CitationState] = []
    for number, it in enumerate(quotations, start=1):
        row = found.get(number)
        if row is None:
            states.append(CitationState.ABSENT)
        elif it.revision is not None and row["revision_id"] != it.revision:
            states.append(CitationState.REVISED)
        else:
            states.append(_compare(it, row["start"], row["text"]))
    return states


def _compare(it: QuotedText, start: int | None, text: str | None) -> CitationState:
    if start is None or text is None or not it.text:
        return CitationState.DIFFERS
    there = text[max(0, it.span.start - start) : it.span.end - start]
    is_same = there == it.text and len(there) == it.span.size
    return CitationState.HOLDS if is_same else CitationState.DIFFERS
