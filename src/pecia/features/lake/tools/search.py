"""The search tool: lexical, semantic or hybrid; every hit with its position and citation."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, ValidationInfo, field_validator
from pydantic.functional_validators import BeforeValidator

from pecia.features.lake.capacity import SearchMetrics, SearchUser
from pecia.features.lake.core.cursor import (
    MAX_OFFSET,
    SearchCursor,
    advance_cursor,
    decode_search_cursor,
    encode_search_cursor,
)
from pecia.features.lake.downloads.link import DownloadLinks
from pecia.features.lake.model import SourceId
from pecia.features.lake.source_status import list_crawl_notes, name_sources
from pecia.kernel.corpus.connector_kind import ConnectorRegistry
from pecia.kernel.corpus.file_uri import file_uri
from pecia.kernel.corpus.provenance import (
    AGENT_WRITER,
    AUTHORED_PROTOCOL,
    NAMED_PROTOCOL,
    PERSON_WRITER,
    REPEATING,
    Provenance,
    author_ids,
    provenance_of,
)
from pecia.kernel.corpus.search.hydrate import HydratedChunk
from pecia.kernel.corpus.search.prefix import search_typed
from pecia.kernel.corpus.search.repetition import rank_below_originals
from pecia.kernel.corpus.search.rerank import MAX_PAGE_SHARE
from pecia.kernel.corpus.search.search import Corpus, SearchHit, SearchMode, SearchRequest
from pecia.kernel.corpus.search.search import SearchResult as Found
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    AnyTool,
    CitedOutput,
    Input,
    Output,
    ResourceLink,
    Tool,
    ToolResult,
)
from pecia.kernel.tool.passages import (
    DEFAULT_HITS,
    HitGroup,
    MoreInFile,
    Passage,
    PassagesOut,
    SearchNotes,
    count_fitting,
    first_words,
    fit_answer,
    group_hits,
    to_passages,
)

SQL = load_queries("pecia.features.lake.tools", "search.sql")
FEATURE = "lake"
MAX_CACHED_SOURCES = 10_000
SEMANTIC_OFF = "semantic search is off"
MAX_HITS = 100
CONSOLE_LINK = "For people, a hit opens at {}/#/read?source=SOURCE&key=KEY"
PAGES_END = f"only the first {MAX_OFFSET} hits can be paged: narrow the query"


def _instant(value: object) -> object:
    """A bare date is midnight UTC; a time without a zone is in UTC."""
    if not isinstance(value, str):
        return value
    try:
        if len(value) == len("2026-01-31"):
            return datetime.combine(date.fromisoformat(value), time(), UTC)
        read = datetime.fromisoformat(value)
    except ValueError:
        return value
    return read if read.tzinfo else read.replace(tzinfo=UTC)


Instant = Annotated[datetime, BeforeValidator(_instant)]


class SearchArguments(Input):
    query: str = Field(min_length=1, max_length=10_000, description="Most distinctive terms first.")
    source_id: SourceId | None = Field(default=None, description="Only this source.")
    limit: int = Field(default=20, ge=1, le=100)
    mode: Literal["hybrid", "lexical"] = Field(
        default="hybrid", description="lexical: keywords only."
    )
    path: str | None = Field(
        default=None, min_length=1, max_length=2000, description="Glob on the key: `reports/**`."
    )
    content_type: str | None = Field(
        default=None,
        max_length=200,
        pattern=r"^[A-Za-z0-9!#$&^_.+-]+/(\*|[A-Za-z0-9!#$&^_.+-]+)$",
        description="`text/html` or `text/*`.",
    )
    modified_after: Instant | None = Field(default=None, description="RFC 3339 or date; inclusive.")
    modified_before: Instant | None = Field(default=None, description="Exclusive.")
    author: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="A name, or `person` or `agent`: who wrote it last.",
    )
    cursor: str | None = Field(default=None, max_length=2000, description="From `next_cursor`.")
    rerank: bool = Field(default=True, description="False skips the rerank of hybrid.")
    explain: bool = Field(default=False, description="Say why each hit ranks where it does.")

    @field_validator("query")
    @classmethod
    def _asks_something(cls, query: str) -> str:
        if not query.strip():
            raise ValueError("it is blank")
        return query

    @field_validator("modified_before")
    @classmethod
    def _ends_after_it_begins(cls, end: datetime | None, given: ValidationInfo) -> datetime | None:
        begin = given.data.get("modified_after")
        if end is not None and begin is not None and end <= begin:
            raise ValueError("must be later than modified_after")
        return end


class SearchContent(SearchArguments):
    """The arguments for programs and pages."""

    typing: bool = Field(
        default=False,
        description="For search as you type: quick, lexical, the last word may be unfinished.",
    )

    @field_validator("typing")
    @classmethod
    def _asks_for_a_first_page(cls, typing: bool, given: ValidationInfo) -> bool:
        if typing and (given.data.get("cursor") is not None or given.data.get("explain")):
            raise ValueError("goes with neither cursor nor explain")
        return typing


class PassageSearch(SearchArguments):
    """The arguments for agents."""

    limit: int = Field(default=DEFAULT_HITS, ge=1, le=100)
    max_tokens: int | None = Field(
        default=None, ge=200, le=100_000, description="For the whole answer."
    )
    links: bool = Field(default=False, description="Signed download links, one per file.")


class HitOut(Output):
    source_id: str
    key: str
    seq: int
    title: str
    text: str
    truncated: bool
    snippet: str
    page_no: int | None
    char_start: int
    char_end: int
    ts_start_ms: int | None
    ts_end_ms: int | None
    revision: int
    url: str | None = Field(description="Opens the original, for some minutes.")
    rank: float
    match: float | None = Field(
        default=None, description="How likely it answers: the same scale in every search."
    )
    provenance: str = Field(description="original, written by a person or an agent, or a memory.")
    authors: list[str] = Field(
        default_factory=list[str],
        description="Who wrote it last: users, who may have let an agent, or the name in a commit.",
    )
    explain: dict[str, Any] | None = None


class SearchContentOut(Output):
    hits: list[HitOut]
    has_more: bool
    unlikely: bool = Field(
        default=False, description="No hit is likely to answer: they are only the nearest."
    )
    absent: list[str] = Field(
        default_factory=list[str],
        description="Words of the query that stand in no text you may see.",
    )
    more: list[MoreInFile] = Field(
        default_factory=list[MoreInFile],
        description="Files with more hits than a page shows of one.",
    )
    next_cursor: str | None = None
    degraded: list[str] = Field(
        default_factory=list[str], description="What was degraded, and why."
    )


@dataclass(frozen=True, slots=True)
class SourceFacts:
    protocol: str
    has_originals: bool


NO_FACTS = SourceFacts("", has_originals=False)


class SourceFactsCache:
    """What hits say of their sources. Immutable per source, so cached."""

    def __init__(self) -> None:
        self._known: dict[tuple[UUID, str], SourceFacts] = {}

    def get(self, caller: Caller, source_id: str) -> SourceFacts:
        return self._known.get((caller.tenant_id, source_id), NO_FACTS)

    async def load(self, tx: Transaction, caller: Caller, found: Found) -> None:
        sources = {it.passage.source_id for it in found.hits}
        unknown = sorted(it for it in sources if (caller.tenant_id, it) not in self._known)
        if not unknown:
            return
        if len(self._known) > MAX_CACHED_SOURCES:
            self._known.clear()
            unknown = sorted(sources)
        for row in await tx.fetch_all(SQL["sources"], sources=unknown):
            facts = SourceFacts(row["protocol"], has_originals=row["has_originals"])
            self._known[caller.tenant_id, row["id"]] = facts


@dataclass(frozen=True, slots=True)
class FoundHits:
    """The result of a search, with the provenance of the revisions that have one of their own.
    `authors` are names by file, where they were asked for.
    """

    result: Found
    cursor: SearchCursor
    extractors: Mapping[int, str]
    authors: Mapping[int, Sequence[str]]

    @property
    def is_unlikely(self) -> bool:
        """Whether none of the best hits is likely to answer. A later page does not tell."""
        return self.result.is_unlikely

    def more(self, taken: int) -> tuple[MoreInFile, ...]:
        """The files that have more hits than are shown of one, if the first `taken` are shown."""
        hits = [it.passage for it in self.result.hits]
        shown, left = (Counter(it.file_id for it in part) for part in (hits[:taken], hits[taken:]))
        later = Counter(self.result.more) + left
        uris = {it.file_id: file_uri(it.source_id, it.key) for it in hits}
        return tuple(
            MoreInFile(uri=uris[file], passages=later[file])
            for file, count in shown.items()
            if count >= MAX_PAGE_SHARE and later[file]
        )


@dataclass(frozen=True, slots=True)
class SearchTools:
    """The handlers."""

    corpus: Corpus
    links: DownloadLinks | None
    metrics: SearchMetrics
    kinds: ConnectorRegistry
    console_url: str = ""
    sources: SourceFactsCache = field(default_factory=SourceFactsCache)

    async def search_content(self, call: Call, ask: SearchContent) -> CitedOutput[SearchContentOut]:
        """Search everything you may see; start here. Locate: lead with the most distinctive terms
        and, if no hit answers, search again in the documents' own wording. Read: each hit's text
        holds its neighbours; when truncated, go on with get_file_window around its seq. Answer
        only from what you read and cite the file; if nothing answers, say so."""
        found = await self.find(call, ask, ask.limit)
        record_returned(call, found.result.hits)
        hits = [
            _format_hit(
                it,
                None if ask.typing else self._url(call, it.passage),
                self._title(call, it.passage),
                self._provenance(call, it.passage, found.extractors),
                found.authors.get(it.passage.file_id, ()),
            )
            for it in found.result.hits
        ]
        return CitedOutput(_format_answer(ask, found, hits), _citations(found.result))

    async def search_passages(self, call: Call, ask: PassageSearch) -> ToolResult:
        """Search everything you may see; start here. Lead with the most distinctive terms; if no
        hit answers, search again in the documents' own wording. Hits are verbatim passages: `read`
        goes on from one. Answer only from what you read and cite its URI; else say so."""
        found = await self.find(call, ask, min(ask.limit * 2, MAX_HITS))
        hits = found.result.hits
        groups, taken = group_hits(hits, ask.limit)
        passages = self.passages(call, ask, found, groups)
        left_out = 0
        is_scant = False
        if ask.max_tokens is not None:
            notes = replace(self._notes(ask, found, 0), more=found.more(taken))
            room = count_fitting(passages, notes, ask.max_tokens)
            if is_scant := not room:
                scant = [it.scant() for it in passages[:1]]
                room = count_fitting(scant, notes.scant(), ask.max_tokens)
            left_out = len(groups) - room
        if left_out:
            # What follows comes on the next page: none of it may be in a passage of this one.
            taken = groups[-left_out].position
            groups, _ = group_hits(hits[:taken], ask.limit)
            passages = self.passages(call, ask, found, groups)
        record_returned(call, hits[:taken])
        notes = self._notes(ask, found, taken)
        if is_scant:
            passages, notes = [it.scant() for it in passages], notes.scant()
        return fit_answer(passages, notes, ask.max_tokens, left_out)

    async def find(self, call: Call, ask: SearchArguments, limit: int) -> FoundHits:
        """The hits, under the caller's rights."""
        cursor = (
            decode_search_cursor(ask.cursor, _cursor_scope(ask))
            if ask.cursor is not None
            else SearchCursor()
        )
        question = _search_request(ask, cursor, limit)
        if ask.author is not None:
            question = replace(question, authors=await self._load_wanted(call.caller, ask.author))
        is_lean = isinstance(ask, PassageSearch)
        if is_lean:
            # Neighbours are joined to one passage, whose text is too short to show them all.
            question = replace(question, fold_neighbours=False)
        if isinstance(ask, SearchContent) and ask.typing:
            return await self._find_typed(call, question)
        with self.metrics.measure(SearchUser.of(call.caller), question.mode):
            prefetched = await self.corpus.prefetch(call.caller, question)
            async with self.corpus.store.reading(call.caller) as tx:
                question, notes = await _apply_mode_policy(tx, question)
                found = await self.corpus.search_in(tx, call.caller, question, prefetched)
                if not found.has_more:
                    notes = (*notes, *await self._crawl_notes(tx, question.source))
                await self.sources.load(tx, call.caller, found)
                extractors = await self._load_extractors(tx, call.caller, found)
                authors = {}
                if not is_lean:
                    authors = await self._load_authors(tx, call.caller, found, extractors)
        derived = {
            it.passage.id
            for it in found.hits
            if self._provenance(call, it.passage, extractors) in REPEATING
        }
        hits = tuple(rank_below_originals(found.hits, derived)) if derived else found.hits
        found = replace(found, hits=hits, degraded=(*notes, *found.degraded))
        return FoundHits(found, cursor, extractors, authors)

    async def _find_typed(self, call: Call, question: SearchRequest) -> FoundHits:
        with self.metrics.measure(SearchUser.of(call.caller), SearchMode.LEXICAL):
            async with self.corpus.store.reading(call.caller) as tx:
                found = await search_typed(self.corpus, tx, call.caller, question)
                await self.sources.load(tx, call.caller, found)
                extractors = await self._load_extractors(tx, call.caller, found)
        return FoundHits(found, SearchCursor(), extractors, {})

    async def _load_wanted(self, caller: Caller, author: str) -> frozenset[str]:
        """The authors to filter by. A name that is nobody's and one that is hidden find nothing."""
        if author in (AGENT_WRITER, PERSON_WRITER):
            return frozenset({author})
        async with self.corpus.store.reading(caller) as tx:
            rows = await tx.fetch_all(SQL["users_named"], name=author)
        return frozenset(row["author"] for row in rows)

    async def _load_authors(
        self, tx: Transaction, caller: Caller, found: Found, extractors: Mapping[int, str]
    ) -> dict[int, Sequence[str]]:
        """The names of authors by file, as far as the caller may know them."""
        names: dict[int, Sequence[str]] = {}
        hits = [it.passage for it in found.hits]
        users = {it.file_id: author_ids(extractors.get(it.revision_id, "")) for it in hits}
        if wanted := {it for them in users.values() for it in them}:
            known = await tx.fetch_all(SQL["user_names"], users=sorted(wanted))
            for file, them in users.items():
                names[file] = [row["name"] for row in known if row["id"] in them]
        named = {
            it.file_id
            for it in hits
            if self.sources.get(caller, it.source_id).protocol == NAMED_PROTOCOL
        }
        if named:
            rows = await tx.fetch_all(SQL["owners"], files=sorted(named))
            names |= {row["id"]: [row["owner"]] for row in rows}
        return names

    def _provenance(
        self, call: Call, it: HydratedChunk, extractors: Mapping[int, str]
    ) -> Provenance:
        protocol = self.sources.get(call.caller, it.source_id).protocol
        return provenance_of(protocol, extractors.get(it.revision_id, ""))

    async def _load_extractors(
        self, tx: Transaction, caller: Caller, found: Found
    ) -> dict[int, str]:
        authored = {
            it.passage.revision_id
            for it in found.hits
            if self.sources.get(caller, it.passage.source_id).protocol == AUTHORED_PROTOCOL
        }
        if not authored:
            return {}
        rows = await tx.fetch_all(SQL["extractors"], revisions=sorted(authored))
        return {row["id"]: row["extractor"] for row in rows}

    def passages(
        self, call: Call, ask: PassageSearch, found: FoundHits, groups: Sequence[HitGroup]
    ) -> list[Passage]:
        """The groups as passages, each with its provenance."""
        linked: set[int] = set()

        def provenance(it: HydratedChunk) -> Provenance:
            return self._provenance(call, it, found.extractors)

        def link(it: HydratedChunk) -> str | None:
            if not ask.links or it.file_id in linked:
                return None
            linked.add(it.file_id)
            return self._url(call, it)

        return to_passages(groups, provenance, link)

    def _notes(self, ask: PassageSearch, found: FoundHits, taken: int) -> SearchNotes:
        has_more = found.result.has_more or taken < len(found.result.hits)
        after = advance_cursor(found.cursor, taken) if has_more else None
        is_cut = has_more and after is None
        return SearchNotes(
            encode_search_cursor(after, _cursor_scope(ask)) if after else None,
            (*found.result.degraded, *([PAGES_END] if is_cut else [])),
            (CONSOLE_LINK.format(self.console_url),) if self.console_url else (),
            is_unlikely=found.is_unlikely,
            absent=found.result.absent,
            more=found.more(taken),
        )

    def _title(self, call: Call, it: HydratedChunk) -> str:
        """The title of a file; a memory is titled by its words."""
        is_memory = self.sources.get(call.caller, it.source_id).protocol == "memory"
        return first_words(it.text) if is_memory and not it.title else it.title

    async def _crawl_notes(self, tx: Transaction, source: str | None) -> tuple[str, ...]:
        unread = await tx.fetch_all(SQL["unread_sources"], source_id=source)
        return await list_crawl_notes(tx, unread, self.kinds) if unread else ()

    def _url(self, call: Call, it: HydratedChunk) -> str | None:
        if self.links is None or not self.sources.get(call.caller, it.source_id).has_originals:
            return None
        return self.links.url(call.caller, it.source_id, it.key, it.revision_id)


def search_tools(it: SearchTools) -> tuple[AnyTool, ...]:
    name = "search_content"
    lean = Tool(FEATURE, name, Scope.SEARCH, PassageSearch, PassagesOut, it.search_passages)
    return (
        Tool(
            FEATURE,
            name,
            Scope.SEARCH,
            SearchContent,
            SearchContentOut,
            it.search_content,
            lean=lean,
        ),
    )


def record_returned(call: Call, hits: Sequence[SearchHit]) -> None:
    for hit in hits:
        call.record_returned(hit.passage.source_id, [hit.passage.key])


async def _apply_mode_policy(
    tx: Transaction, request: SearchRequest
) -> tuple[SearchRequest, list[str]]:
    """The request, lexical where semantic search is off, and a note on that."""
    if request.mode is SearchMode.LEXICAL:
        return request, []
    off = await tx.fetch_one(SQL["words_only"], "no tenant", source_id=request.source)
    if off["everywhere"]:
        return replace(request, mode=SearchMode.LEXICAL), [f"lexical only: {SEMANTIC_OFF} here"]
    names: list[str] = off["sources"]
    if not names:
        return request, []
    note = f"lexical only in {name_sources(names)}: {SEMANTIC_OFF} there"
    mode = SearchMode.LEXICAL if request.source in names else request.mode
    return replace(request, mode=mode), [note]


def _search_request(ask: SearchArguments, cursor: SearchCursor, limit: int) -> SearchRequest:
    return SearchRequest(
        query=ask.query,
        limit=limit,
        offset=cursor.offset,
        mode=SearchMode(ask.mode),
        source=ask.source_id,
        path=ask.path,
        content_type=ask.content_type,
        modified_after=ask.modified_after,
        modified_before=ask.modified_before,
        rerank=ask.rerank,
        explain=ask.explain,
    )


def _cursor_scope(ask: SearchArguments) -> Json:
    """What must be equal on every page of one search."""
    return ask.model_dump(
        mode="json", exclude={"cursor", "limit", "explain", "max_tokens", "links"}
    )


def _citations(found: Found) -> tuple[ResourceLink, ...]:
    """One link per file, in the order of the hits."""
    files = {(it.passage.source_id, it.passage.key): it.passage for it in found.hits}
    return tuple(
        ResourceLink(
            file_uri(it.source_id, it.key),
            name=it.key,
            title=it.title or None,
            mime_type=it.content_type,
        )
        for it in files.values()
    )


def _format_answer(
    ask: SearchContent, hits_found: FoundHits, hits: list[HitOut]
) -> SearchContentOut:
    found = hits_found.result
    has_pages = found.has_more and not ask.typing
    after = advance_cursor(hits_found.cursor, len(found.hits)) if has_pages else None
    is_cut = has_pages and after is None
    return SearchContentOut(
        hits=hits,
        has_more=found.has_more,
        unlikely=bool(hits) and hits_found.is_unlikely,
        absent=[*found.absent],
        more=[*hits_found.more(len(hits))],
        next_cursor=encode_search_cursor(after, _cursor_scope(ask)) if after else None,
        degraded=[*found.degraded, *([PAGES_END] if is_cut else [])],
    )


def _format_hit(
    hit: SearchHit,
    url: str | None,
    title: str,
    provenance: Provenance,
    authors: Sequence[str],
) -> HitOut:
    it = hit.passage
    return HitOut(
        source_id=it.source_id,
        key=it.key,
        seq=it.seq,
        title=title,
        text=hit.window.readable,
        truncated=hit.window.truncated,
        snippet=hit.snippet,
        page_no=it.page_no,
        char_start=it.start,
        char_end=it.end,
        ts_start_ms=it.ts_start_ms,
        ts_end_ms=it.ts_end_ms,
        revision=it.revision_id,
        url=url,
        rank=round(hit.rank, 6),
        match=None if hit.match is None else round(hit.match, 3),
        provenance=provenance.value,
        authors=[*authors],
        explain=dict(hit.why) if hit.why is not None else None,
    )
