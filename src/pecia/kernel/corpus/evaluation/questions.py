"""Questions whose answers are known to stand on certain pages, and how well those were found. Pure.

A file of them holds a JSON object a line, in the layout of FinanceBench or of the handbook in
`examples`: see docs/retrieval.md.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import orjson

from pecia.kernel.errors import InvalidFormat

# Pages in such a file are counted from 0, ours from 1.
_FIRST_PAGE = 0
CUTOFF = 10


@dataclass(frozen=True, slots=True)
class EvidencePage:
    """A page of a file; None for a file without pages."""

    key: str
    page_no: int | None


@dataclass(frozen=True, slots=True)
class EvaluationQuestion:
    """`evidence` are pairs of a document's name and a page of it, as files are paged here.

    No page means all of a document.
    """

    id: str
    text: str
    document: str
    evidence: frozenset[tuple[str, int | None]]
    answer: str = ""

    def is_of_document(self, place: EvidencePage) -> bool:
        return _is_named(place.key, self.document)

    def is_evidence(self, place: EvidencePage) -> bool:
        return any(
            page in (None, place.page_no) and _is_named(place.key, name)
            for name, page in self.evidence
        )


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """At which place, counted from 1, the document and the page came first; None for nowhere."""

    id: str
    document_at: int | None
    page_at: int | None


def read_questions(text: str) -> tuple[EvaluationQuestion, ...]:
    """The questions of a file that have an answer. An error names the line and the field."""
    lines = enumerate(text.split("\n"), start=1)
    read = (_question(number, line) for number, line in lines if line.strip())
    found = tuple(it for it in read if it is not None)
    if not found:
        raise InvalidFormat("there is no question in it", field="file", expected="JSON lines")
    return found


def score_question(question: EvaluationQuestion, found: Sequence[EvidencePage]) -> QuestionOutcome:
    return QuestionOutcome(
        question.id,
        _first(map(question.is_of_document, found)),
        _first(map(question.is_evidence, found)),
    )


def compute_hit_rates(outcomes: Sequence[QuestionOutcome], deep: int = CUTOFF) -> dict[str, float]:
    """The share of questions whose document, and whose page, came first or among the first."""
    return {
        "document@1": _share(it.document_at == 1 for it in outcomes),
        f"document@{deep}": _share((it.document_at or deep + 1) <= deep for it in outcomes),
        "page@1": _share(it.page_at == 1 for it in outcomes),
        f"page@{deep}": _share((it.page_at or deep + 1) <= deep for it in outcomes),
    }


def _question(number: int, line: str) -> EvaluationQuestion | None:
    entry = _object(number, line)
    if "sources" in entry:
        return _read_sourced(number, entry)
    document = _text(number, entry, "doc_name")
    evidence = entry.get("evidence")
    listed = cast(list[object], evidence) if isinstance(evidence, list) else []
    if not listed:
        raise _bad(number, "evidence", "a list of pages", entry.get("evidence"))
    pages = frozenset(_page(number, document, it) for it in listed)
    id_, answer = entry.get("financebench_id") or entry.get("id"), entry.get("answer")
    return EvaluationQuestion(
        id=str(id_ or number),
        text=_text(number, entry, "question"),
        document=document,
        evidence=pages,
        answer=answer if isinstance(answer, str) else "",
    )


def _read_sourced(number: int, entry: Mapping[str, object]) -> EvaluationQuestion | None:
    """A question of the handbook's layout; one that has no source has no answer to be found."""
    given = entry["sources"]
    if not isinstance(given, list):
        raise _bad(number, "sources", "a list", given)
    sources = [_source(number, it) for it in cast(list[object], given)]
    if not sources:
        return None
    id_, answer = entry.get("id"), entry.get("answer")
    return EvaluationQuestion(
        id=str(id_ or number),
        text=_text(number, entry, "question"),
        document=sources[0][0],
        evidence=frozenset(sources),
        answer=answer if isinstance(answer, str) else "",
    )


def _source(number: int, given: object) -> tuple[str, int | None]:
    entry: Mapping[str, object] = (
        cast(Mapping[str, object], given) if isinstance(given, dict) else {}
    )
    page = entry.get("page")
    if page is not None and (not isinstance(page, int) or isinstance(page, bool) or page < 1):
        raise _bad(number, "sources.page", "a page, counted from 1", page)
    return _text(number, entry, "path"), page


def _page(number: int, document: str, given: object) -> tuple[str, int]:
    entry: Mapping[str, object] = (
        cast(Mapping[str, object], given) if isinstance(given, dict) else {}
    )
    page = entry.get("evidence_page_num")
    if not isinstance(page, int) or isinstance(page, bool) or page < _FIRST_PAGE:
        raise _bad(number, "evidence.evidence_page_num", "a page, counted from 0", page)
    name = entry.get("evidence_doc_name") or entry.get("doc_name") or document
    return str(name), page - _FIRST_PAGE + 1


def _object(number: int, line: str) -> Mapping[str, object]:
    try:
        read: object = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InvalidFormat(f"line {number} is not JSON: {error}", field="file") from None
    if not isinstance(read, dict):
        raise InvalidFormat(f"line {number} is not an object", field="file")
    return cast(Mapping[str, object], read)


def _text(number: int, entry: Mapping[str, object], name: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str) or not value.strip():
        raise _bad(number, name, "a text", value)
    return value


def _bad(number: int, name: str, expected: str, got: object) -> InvalidFormat:
    actual = "nothing" if got is None else type(got).__name__
    return InvalidFormat(
        f"line {number}: {name} must be {expected}", field=name, expected=expected, got=actual
    )


def _is_named(key: str, document: str) -> bool:
    """Whether a file is that document: by its name, with or without suffixes, in any case."""
    wanted, have = document.casefold(), key.casefold()
    # A path names its end of a key, and a bare name the last part of it.
    if "/" in wanted:
        return f"/{have}".endswith(f"/{wanted}")
    return wanted in _names(have.rpartition("/")[2])


def _names(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]


def _first(hits: Iterable[bool]) -> int | None:
    return next((place for place, is_hit in enumerate(hits, start=1) if is_hit), None)


def _share(hits: Iterable[bool]) -> float:
    counted = [*hits]
    return round(sum(counted) / len(counted), 4) if counted else 0.0
