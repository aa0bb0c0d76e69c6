"""Search hits as agents read them: one passage per place, within a budget of tokens. Pure.

Neighbouring hits of a file are one passage of several pieces, copies in other files are named.
Some clients show their model only the text of an answer, others only its data: both hold every
passage, and a budget counts both.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Any, TypeAlias

import orjson
from pydantic import Field

from pecia.kernel.corpus.file_uri import file_uri
from pecia.kernel.corpus.provenance import Provenance
from pecia.kernel.corpus.search.excerpt import (
    drop_last_headings,
    find_table_header,
    trim_to_sentences,
    trim_to_words,
)
from pecia.kernel.corpus.search.hydrate import HydratedChunk, SearchHit
from pecia.kernel.errors import Json
from pecia.kernel.text.markdown.frontmatter import find_body_start
from pecia.kernel.text.span import Span
from pecia.kernel.text.tokens import estimate_tokens
from pecia.kernel.tool.model import Output, TextContent, ToolResult

DEFAULT_HITS = 8
PASSAGE_TOKENS = 165
"""Of one passage on average, where the caller names no budget."""
MIN_PASSAGE_TOKENS = 40
MIN_ONLY_PASSAGE_TOKENS = 12
"""Of a passage that is the only one: rather a few words than no hit."""
_FIT_STEPS = 6
# A share that is exactly what a text needs must not be a character short of it.
_ROUNDING = 1e-6
SCANT_TITLE_CHARS = 20
# The first passages are read most: they get more of the budget.
_WEIGHTS = (2.0, 1.5, 1.4, 1.3, 1.2)
_TAIL_WEIGHT = 0.35
MAX_WHERE_CHARS = 120
MAX_TITLE_CHARS = 100
CUT = "…"
MAX_HEADINGS = 3
MAX_LEAD_CHARS = 160
"""Of a paragraph before the chunk that continues it."""
MAX_COPIES = 3
MAX_GROUP = 3
"""Neighbouring hits in one passage; more begin another."""

ProvenanceOf: TypeAlias = Callable[[HydratedChunk], Provenance]
LinkOf: TypeAlias = Callable[[HydratedChunk], str | None]

UNLIKELY = "Nothing here seems to answer this. Nearest:"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The text around one hit, at `start` of its file. `core` and `focus` are spans of the file:
    what ranked, and the words in it that matched."""

    start: int
    text: str
    core: Span
    focus: Span
    prefix: str = ""
    """The header of the table that `text` starts in."""
    core_prefix: str = ""
    """The same for `core`."""
    marks: tuple[Span, ...] = ()
    """Where words of the query stand in `focus`."""

    def prefix_at(self, start: int) -> str:
        """The header of the table that the text from there on is in the middle of."""
        prefix = self.core_prefix if start >= self.core.start else self.prefix
        return find_table_header(self.text, start - self.start) or prefix


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of one file with its hits. `facts` are for programs and not in the text."""

    uri: str
    title: str
    where: str
    provenance: Provenance
    excerpts: tuple[Excerpt, ...]
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    copies: tuple[str, ...] = ()
    """URIs of files that say the same there."""

    def scant(self) -> "Passage":
        """For a budget without room for a whole one: what it needs to be cited and read."""
        facts = {name: self.facts[name] for name in ("seq", "match") if name in self.facts}
        title = first_words(self.title, SCANT_TITLE_CHARS)
        return replace(self, title=title, where="", copies=(), facts=facts)


class MoreInFile(Output):
    """A file with more hits than a page shows of one."""

    uri: str
    passages: int = Field(description="At least so many of its passages come on later pages.")


@dataclass(frozen=True, slots=True)
class SearchNotes:
    """What an answer says beside its hits. `is_unlikely`: none of them is likely to answer."""

    next_cursor: str | None = None
    degraded: tuple[str, ...] = ()
    standing: tuple[str, ...] = ()
    is_unlikely: bool = False
    absent: tuple[str, ...] = ()
    more: tuple["MoreInFile", ...] = ()

    def scant(self) -> "SearchNotes":
        """What no answer is without, however small its budget."""
        return replace(self, standing=(), more=())


class PassageOut(Output):
    uri: str = Field(description="Cite it; `read` takes it.")
    title: str
    where: str | None = Field(default=None, description="Headings, page, slide, sheet or time.")
    kind: str = Field(description="original, written by a person or an agent, memory, derived.")
    text: str = Field(description="Verbatim; … is a cut.")
    spans: list[list[int]] = Field(description="Of the text in the file, in code points.")
    source_id: str | None = None
    key: str | None = None
    seq: int | None = None
    revision: int | None = None
    id: str | None = Field(default=None, description="Of a memory.")
    rank: float | None = None
    match: float | None = Field(
        default=None, description="How likely it answers: the same scale in every search."
    )
    copies: list[str] | None = None
    repeats: str | None = Field(default=None, description="The original that says the same.")
    url: str | None = None
    explain: dict[str, Any] | None = None


class PassagesOut(Output):
    hits: list[PassageOut]
    unlikely: bool | None = Field(
        default=None, description="No hit is likely to answer: they are only the nearest."
    )
    absent: list[str] | None = Field(
        default=None, description="Words of the query that stand in no text you may see."
    )
    left_out: int | None = Field(default=None, description="Hits that max_tokens had no room for.")
    more: list[MoreInFile] | None = Field(
        default=None, description="Files with more hits than a page shows of one."
    )
    next_cursor: str | None = None
    degraded: list[str] | None = None
    standing: list[str] | None = Field(default=None, description="Remembered instructions.")


def count_fitting(passages: Sequence[Passage], notes: SearchNotes, max_tokens: int) -> int:
    """How many of the passages an answer of at most so many tokens has room for."""
    count = len(passages)
    while count:
        smallest = _smallest(passages[:count], notes, len(passages) - count)
        if estimate_answer(smallest) <= max_tokens:
            break
        count -= 1
    return count


def fit_answer(
    passages: Sequence[Passage],
    notes: SearchNotes,
    max_tokens: int | None = None,
    left_out: int = 0,
) -> ToolResult:
    """The answer: its passages as long as usual, or as long as so many tokens allow."""
    if max_tokens is None:
        return _answer(_fit(passages, PASSAGE_TOKENS * len(passages)), notes, left_out)
    best = _smallest(passages, notes, left_out)
    low, high = _smallest_budget(passages), float(max_tokens)
    budget = low + max_tokens - estimate_answer(best)
    for _ in range(_FIT_STEPS if passages else 0):
        answer = _answer(_fit(passages, budget), notes, left_out)
        if estimate_answer(answer) <= max_tokens:
            best, low = answer, budget
        else:
            high = budget
        budget = (low + high) / 2
    return best


def estimate_answer(answer: ToolResult) -> int:
    """The tokens of a whole answer: its text and its data."""
    texts = [it.text for it in answer.content if isinstance(it, TextContent)]
    return sum(map(estimate_tokens, [*texts, orjson.dumps(answer.structured).decode()]))


def first_words(text: str, limit: int = 60) -> str:
    """A title for a text that has none."""
    line = " ".join(text[: limit * 2].split()).lstrip("#>*- ")
    if len(line) <= limit:
        return line
    return f"{line[: trim_to_words(line, Span(0, limit), Span(0, 1)).end]}{CUT}"


@dataclass(frozen=True, slots=True)
class ShownPassage:
    passage: Passage
    spans: tuple[Span, ...]
    text: str


def _smallest(passages: Sequence[Passage], notes: SearchNotes, left_out: int = 0) -> ToolResult:
    return _answer(_fit(passages, _smallest_budget(passages)), notes, left_out)


def _smallest_budget(passages: Sequence[Passage]) -> float:
    return MIN_ONLY_PASSAGE_TOKENS if len(passages) == 1 else MIN_PASSAGE_TOKENS * len(passages)


def _fit(passages: Sequence[Passage], budget: float) -> list[ShownPassage]:
    """The passages, with the budget shared out by rank; what one does not need goes to others.

    Hits come first, and what is around them after that. A neighbouring hit that would be a few
    words is left out: what it would cost goes to the best hit of its passage.
    """
    pieces = max(1, int(budget / MIN_PASSAGE_TOKENS / max(1, len(passages))))
    passages = [replace(it, excerpts=it.excerpts[:pieces]) for it in passages]
    excerpts = [it for passage in passages for it in passage.excerpts]
    rates = [_token_rate(it.text) for it in excerpts]
    weights = [*_weights(passages)]
    cores = [it.core.size * rate for it, rate in zip(excerpts, rates, strict=True)]
    around = [
        max(0.0, (len(it.text) - it.core.size) * rate)
        for it, rate in zip(excerpts, rates, strict=True)
    ]
    inner = _share_out(cores, weights, budget)
    outer = _share_out(around, weights, max(0.0, budget - sum(inner)))
    shares = iter([first + more for first, more in zip(inner, outer, strict=True)])
    rate = iter(rates)
    shown: list[ShownPassage] = []
    for passage in passages:
        spans = [
            _cut(it, max(1, int(share / per_char + _ROUNDING)))
            for it, share, per_char in zip(passage.excerpts, shares, rate, strict=False)
        ]
        shown.append(_show(passage, spans))
    return shown


def _token_rate(text: str) -> float:
    """Tokens per character; never 0."""
    return max(1, estimate_tokens(text)) / max(1, len(text))


def _weights(passages: Sequence[Passage]) -> Iterator[float]:
    for number, passage in enumerate(passages):
        weight = _WEIGHTS[number] if number < len(_WEIGHTS) else _TAIL_WEIGHT
        yield weight
        yield from [weight / 2] * (len(passage.excerpts) - 1)


def _share_out(needs: Sequence[float], weights: Sequence[float], budget: float) -> list[float]:
    shares = [0.0] * len(needs)
    open_: set[int] = {*range(len(needs))}
    while open_:
        unit = budget / sum(weights[it] for it in open_)
        full = {it for it in open_ if needs[it] <= weights[it] * unit}
        if not full:
            return [
                it if number not in open_ else weights[number] * unit
                for number, it in enumerate(shares)
            ]
        for it in full:
            shares[it] = needs[it]
        budget -= sum(needs[it] for it in full)
        open_ -= full
    return shares


def _cut(excerpt: Excerpt, limit: int) -> Span:
    """The span of the file to show: the hit and some of its neighbours, or a part around what
    matched."""
    text, start = excerpt.text, excerpt.start
    whole = Span(0, len(text))
    core = _clip(Span(excerpt.core.start - start, excerpt.core.end - start), whole)
    if core.size <= limit:
        kept, inner = core, whole
    else:
        focus = _clip(Span(excerpt.focus.start - start, excerpt.focus.end - start), core)
        kept, inner = _clip(_densest(excerpt, focus, limit), core), core
    spare = limit - kept.size
    # More of what follows than of what precedes: answers follow.
    after = min(inner.end - kept.end, spare - min(kept.start - inner.start, spare // 3))
    before = min(kept.start - inner.start, spare - after)
    grown = Span(kept.start - before, kept.end + after)
    trimmed = drop_last_headings(text, trim_to_sentences(text, grown, kept), kept.end)
    return Span(start + trimmed.start, start + trimmed.end)


def _densest(excerpt: Excerpt, focus: Span, limit: int) -> Span:
    """The part of the focus, at most so long, that has most of the query's words: each counts once,
    and less the more often it stands in the focus. The first of several, exactly: a set of words
    has another order in every process, and `sum` rounds by it."""
    if focus.size <= limit:
        return focus
    shifted = [Span(it.start - excerpt.start, it.end - excerpt.start) for it in excerpt.marks]
    marks = [it for it in shifted if focus.start <= it.start and it.end <= focus.end]
    words = [it.of(excerpt.text).casefold() for it in marks]
    counts = Counter(words)
    best, best_worth = Span(focus.start, focus.start + limit), 0.0
    for number, first in enumerate(marks):
        inside = [it for it in marks[number:] if it.end - first.start <= limit]
        worth = fsum(1 / counts[word] for word in {*words[number : number + len(inside)]})
        if inside and worth > best_worth:
            best, best_worth = Span(first.start, inside[-1].end), worth
    return best


def _clip(span: Span, to: Span) -> Span:
    start = min(max(span.start, to.start), to.end)
    return Span(start, max(start, min(span.end, to.end)))


def _show(passage: Passage, spans: Sequence[Span]) -> ShownPassage:
    """The spans in the order of the file, with those that meet joined."""
    by_start = sorted(zip(spans, passage.excerpts, strict=True), key=lambda it: it[0])
    pieces: list[tuple[Span, str, str]] = []
    for span, excerpt in by_start:
        text = excerpt.text[span.start - excerpt.start : span.end - excerpt.start]
        if pieces and span.start <= pieces[-1][0].end:
            last, known, prefix = pieces[-1]
            more = text[max(0, last.end - span.start) :]
            pieces[-1] = (Span(last.start, max(last.end, span.end)), known + more, prefix)
        else:
            pieces.append((span, text, excerpt.prefix_at(span.start)))
    texts = [_with_prefix(pieces, number) for number in range(len(pieces))]
    return ShownPassage(passage, tuple(it for it, _, _ in pieces), f"\n{CUT}\n".join(texts))


def _with_prefix(pieces: Sequence[tuple[Span, str, str]], number: int) -> str:
    """A piece of a passage, with the header of its table unless the one before has it."""
    _, text, prefix = pieces[number]
    is_known = number > 0 and pieces[number - 1][2] == prefix
    return text.strip() if is_known else prefix + text.strip()


def _answer(shown: Sequence[ShownPassage], notes: SearchNotes, left_out: int) -> ToolResult:
    data = PassagesOut(
        hits=[_data(it) for it in shown],
        unlikely=True if shown and notes.is_unlikely else None,
        absent=[*notes.absent] or None,
        left_out=left_out or None,
        more=[*notes.more] or None,
        next_cursor=notes.next_cursor,
        degraded=[*notes.degraded] or None,
        standing=[*notes.standing] or None,
    )
    opening = [*describe_absent(notes.absent), *([UNLIKELY] if data.unlikely else [])]
    text = "\n\n".join([*opening, *_blocks(shown), *_closing_lines(shown, notes, left_out)])
    return ToolResult(data.model_dump(mode="json", exclude_none=True), (TextContent(text),))


def describe_absent(words: Sequence[str]) -> list[str]:
    """A sentence on the words of a query that nothing has; none where there are none."""
    return [f"No text here has: {', '.join(words)}."] if words else []


def _data(it: ShownPassage) -> PassageOut:
    passage = it.passage
    return PassageOut.model_validate(
        {
            **passage.facts,
            "uri": passage.uri,
            "title": passage.title[:MAX_TITLE_CHARS],
            "where": passage.where[:MAX_WHERE_CHARS] or None,
            "kind": passage.provenance.value,
            "text": it.text,
            "spans": [[span.start, span.end] for span in it.spans],
            "copies": [*passage.copies] or None,
        }
    )


def _blocks(shown: Iterable[ShownPassage]) -> Iterator[str]:
    for number, it in enumerate(shown, start=1):
        passage = it.passage
        title = " ".join(passage.title.split())[:MAX_TITLE_CHARS]
        where = f" — {passage.where[:MAX_WHERE_CHARS]}" if passage.where else ""
        chunk = f" chunk {passage.facts['seq']}" if "seq" in passage.facts else ""
        lines = [f"[{number}] {title}{where} ({passage.provenance.value})", f"{passage.uri}{chunk}"]
        if repeated := passage.facts.get("repeats"):
            lines.append(f"Repeats {repeated}: cite that")
        if passage.copies:
            lines.append(f"The same in {', '.join(passage.copies)}")
        # Quoted, so that no text can pass for the line of a hit.
        lines += [f"> {line}" for line in it.text.splitlines() if line.strip()]
        yield "\n".join(lines)


def _closing_lines(
    shown: Sequence[ShownPassage], notes: SearchNotes, left_out: int
) -> Iterator[str]:
    if left_out:
        yield f"{left_out} more hit{'s' if left_out > 1 else ''} did not fit into max_tokens."
    elif not shown:
        yield "Nothing was found. Search again in other words, or say that it is not here."
    for it in notes.more:
        yield f"{it.passages} or more other passages of {it.uri}: search with its key as `path`."
    if notes.next_cursor:
        yield f"More hits: the same search with cursor {notes.next_cursor}"
    yield from (f"Note: {it}" for it in notes.degraded)
    yield from (f"Standing: {it}" for it in notes.standing)


def no_link(_: HydratedChunk) -> str | None:
    return None


@dataclass(slots=True)
class HitGroup:
    """Hits of one place in a file, best first; and the same words in other files."""

    position: int
    """Of its first hit in the result."""
    hits: list[SearchHit]
    copies: list[HydratedChunk] = field(default_factory=list[HydratedChunk])

    def adjoins(self, hit: SearchHit) -> bool:
        """Whether the hit is a neighbour of one in the group, and there is room for it."""
        return len(self.hits) < MAX_GROUP and any(
            it.passage.file_id == hit.passage.file_id and abs(it.passage.seq - hit.passage.seq) == 1
            for it in self.hits
        )

    def repeats(self, hit: SearchHit) -> bool:
        return _words(hit.passage) == _words(self.hits[0].passage)


def group_hits(hits: Sequence[SearchHit], limit: int) -> tuple[list[HitGroup], int]:
    """At most `limit` groups, and how many of the hits they take up."""
    groups: list[HitGroup] = []
    for number, hit in enumerate(hits):
        if near := next((it for it in groups if it.adjoins(hit)), None):
            near.hits.append(hit)
        elif same := next((it for it in groups if it.repeats(hit)), None):
            same.copies.append(hit.passage)
        elif len(groups) == limit:
            return groups, number
        else:
            groups.append(HitGroup(number, [hit]))
    return groups, len(hits)


def to_passages(
    groups: Sequence[HitGroup], provenance: ProvenanceOf, link: LinkOf = no_link
) -> list[Passage]:
    """The groups as passages; what stands around a hit ends where another begins."""
    taken: dict[int, list[tuple[HitGroup, Span]]] = {}
    for group in groups:
        known = taken.setdefault(group.hits[0].passage.file_id, [])
        known += [(group, _core(it)) for it in group.hits]
    passages: list[Passage] = []
    for group in groups:
        known = taken[group.hits[0].passage.file_id]
        others = [span for owner, span in known if owner is not group]
        excerpts = [_excerpt(hit, others) for hit in group.hits]
        known += [(group, Span(it.start, it.start + len(it.text))) for it in excerpts]
        passages.append(_to_passage(group, tuple(excerpts), provenance, link))
    return passages


def _to_passage(
    group: HitGroup, excerpts: tuple[Excerpt, ...], provenance: ProvenanceOf, link: LinkOf
) -> Passage:
    best = group.hits[0]
    it, kind = best.passage, provenance(best.passage)
    facts: dict[str, Json] = {
        "source_id": it.source_id,
        "key": it.key,
        # Where reading begins: with the first of neighbouring hits, the best or not.
        "seq": min(hit.passage.seq for hit in group.hits),
        "revision": it.revision_id,
        "rank": round(best.rank, 4),
        "match": _best_match(group),
        "repeats": _repeated_uri(best),
        "url": link(it),
        "explain": dict(best.why) if best.why is not None else None,
    }
    title = it.title or (first_words(it.text) if kind is Provenance.MEMORY else it.key)
    others = {file_uri(copy.source_id, copy.key) for copy in group.copies}
    uri = file_uri(it.source_id, it.key)
    return Passage(
        uri,
        title,
        describe_position(it, [hit.passage.page_no for hit in group.hits]),
        kind,
        excerpts,
        facts,
        tuple(sorted(others - {uri})[:MAX_COPIES]),
    )


def _repeated_uri(hit: SearchHit) -> str | None:
    return file_uri(hit.repeats.source_id, hit.repeats.key) if hit.repeats else None


def _best_match(group: HitGroup) -> float | None:
    found = [it.match for it in group.hits if it.match is not None]
    return round(max(found), 3) if found else None


def describe_position(chunk: HydratedChunk, pages: Sequence[int | None] = ()) -> str:
    """Where a chunk stands: its headings, and its page, slide, sheet or time; and the pages of its
    neighbours. Long headings are cut, never the page."""
    path = [it for it in chunk.headings if it != chunk.title][-MAX_HEADINGS:]
    units = ", ".join(_units(chunk, sorted({it for it in pages if it is not None})))
    headings = " › ".join(path)
    room = max(0, MAX_WHERE_CHARS - len(units) - 2) if units else MAX_WHERE_CHARS
    if len(headings) > room:
        headings = f"{headings[: max(0, room - 1)]}{CUT}" if room > 1 else ""
    return ", ".join(it for it in (headings, units) if it)[:MAX_WHERE_CHARS]


def _units(chunk: HydratedChunk, pages: Sequence[int]) -> Iterator[str]:
    if len(pages) > 1:
        yield f"pages {pages[0]}–{pages[-1]}"
    elif chunk.page_no is not None:
        yield f"page {chunk.page_no}"
    elif chunk.ts_start_ms is not None:
        yield f"at {chunk.unit_label or f'{chunk.ts_start_ms // 1000} s'}"
    elif chunk.unit_label and chunk.unit_label not in chunk.headings:
        yield f"{_unit_name(chunk.content_type or '')} {chunk.unit_label}".strip()


def _unit_name(content_type: str) -> str:
    if "presentation" in content_type or "powerpoint" in content_type:
        return "slide"
    is_sheet = any(it in content_type for it in ("spreadsheet", "excel", "csv"))
    return "sheet" if is_sheet else ""


def _excerpt(hit: SearchHit, taken: Sequence[Span]) -> Excerpt:
    """The window of a hit, without what others show: a term is not with the chunk before."""
    it, window, core = hit.passage, hit.window, _core(hit)
    first = it.start if core.start in {by.start for by in taken} else core.start
    before = (min(by.end, first) for by in taken if by.start < it.start)
    after = (by.start if by.start > first else it.end for by in taken if by.end > it.end)
    start, end = max([window.span.start, *before]), min([window.span.end, *after])
    if start == 0:
        # The title stands above the passage already.
        start = _find_body(window.text, it.title, hit.focus)
    inside, last = max(start, core.start), min(core.end, end)
    return Excerpt(
        start,
        window.text[start - window.span.start : end - window.span.start],
        # A chunk of frontmatter alone is left for the text that it is about.
        core=Span(inside, last if inside < last else end),
        focus=hit.focus,
        prefix=window.prefix,
        core_prefix=it.prefix,
        marks=hit.marks,
    )


def _find_body(text: str, title: str, focus: Span) -> int:
    """Where the text of a file goes on after frontmatter, if what matched stands behind it, and
    after a heading that is its title; 0 where it has neither, or no more."""
    body = find_body_start(text)
    body = body if body <= focus.start < len(text) else 0
    heading, _, rest = text[body:].lstrip("\n").partition("\n")
    is_title = heading.startswith("#") and heading.strip("# ").casefold() == title.casefold()
    return len(text) - len(rest.lstrip("\n")) if is_title and rest.strip() else body


def _core(hit: SearchHit) -> Span:
    """The chunk, from where its paragraph begins if that is near: it may explain a term there."""
    it, window = hit.passage, hit.window
    paragraph = window.text[: it.start - window.span.start].rpartition("\n\n")[2]
    is_near = len(paragraph) <= MAX_LEAD_CHARS and paragraph.strip() and not it.prefix
    return Span(it.start - len(paragraph) if is_near else it.start, it.end)


def _words(chunk: HydratedChunk) -> list[str]:
    return chunk.text.split()
