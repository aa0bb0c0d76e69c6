"""Finding: one tool that searches by words and meaning, and says where each hit stands."""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, ValidationInfo, field_validator
from pydantic.functional_validators import BeforeValidator

from pecia.kernel.corpus.search import Answer as Found
from pecia.kernel.corpus.search import Ask, Corpus, Hit, Mode
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Answer, AnyTool, Input, Link, Output, Tool
from pecia.rooms.lake.capacity import Asker, Figures
from pecia.rooms.lake.links import Links
from pecia.rooms.lake.names import SourceId
from pecia.rooms.lake.place import MOST, Place, open_place, place_after, seal_place
from pecia.rooms.lake.uri import file_uri

SQL = load_queries("pecia.rooms.lake", "finding.sql")
ROOM = "lake"
# So many sources are named where more could be.
FEW = 5
MOST_KNOWN = 10_000
SWITCHED_OFF = "search by meaning is off"
PAGES_END = f"pages end after {MOST} hits: narrow the question to see the others"


def _instant(value: object) -> object:
    """A bare date is its first moment in UTC; a time without a zone is in UTC."""
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


class SearchContent(Input):
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
            raise ValueError("it must lie after modified_after: nothing is between them")
        return end


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
    explain: dict[str, Any] | None = None


class FoundOut(Output):
    hits: list[HitOut]
    has_more: bool
    next_cursor: str | None = None
    degraded: list[str] = Field(
        default_factory=list[str], description="What this answer had to do without, and why."
    )


class Openable:
    """Which sources have originals to open. What a source is, it stays: each is asked for once."""

    def __init__(self) -> None:
        self._known: dict[tuple[UUID, str], bool] = {}

    def has(self, caller: Caller, source_id: str) -> bool:
        return self._known.get((caller.tenant_id, source_id), False)

    async def learn(self, tx: Transaction, caller: Caller, found: Found) -> None:
        sources = {it.passage.source_id for it in found.hits}
        unknown = sorted(it for it in sources if (caller.tenant_id, it) not in self._known)
        if not unknown:
            return
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
            unknown = sorted(sources)
        rows = await tx.all(SQL["with_originals"], sources=unknown)
        having = {row["id"] for row in rows}
        self._known |= {(caller.tenant_id, it): it in having for it in unknown}


@dataclass(frozen=True, slots=True)
class Finding:
    """The handler."""

    corpus: Corpus
    links: Links | None
    figures: Figures
    openable: Openable = field(default_factory=Openable)

    async def search_content(self, call: Call, ask: SearchContent) -> Answer[FoundOut]:
        """Search everything you may see; start here. Locate: lead with the most distinctive terms
        and, if no hit answers, search again in the documents' own wording. Read: each hit's text
        holds its neighbours; when truncated, go on with get_file_window around its seq. Answer
        only from what you read and cite the file; if nothing answers, say so."""
        place = open_place(ask.cursor, _asked(ask)) if ask.cursor is not None else Place()
        question = _question(ask, place)
        with self.figures.measuring(Asker.of(call.caller), question.mode):
            ahead = self.corpus.ahead(call.caller, question)
            async with self.corpus.store.reading(call.caller) as tx:
                question, told = await _as_allowed(tx, question)
                found = await self.corpus.search_in(tx, call.caller, question, ahead)
                if self.links is not None:
                    await self.openable.learn(tx, call.caller, found)
        for hit in found.hits:
            call.returned(hit.passage.source_id, [hit.passage.key])
        hits = [_hit(it, self._url(call, it)) for it in found.hits]
        found = replace(found, degraded=(*told, *found.degraded))
        return Answer(_out(ask, place, found, hits), _citations(found))

    def _url(self, call: Call, hit: Hit) -> str | None:
        it = hit.passage
        if self.links is None or not self.openable.has(call.caller, it.source_id):
            return None
        return self.links.url(call.caller, it.source_id, it.key, it.revision_id)


def finding_tools(corpus: Corpus, links: Links | None, figures: Figures) -> tuple[AnyTool, ...]:
    it = Finding(corpus, links, figures)
    return (Tool(ROOM, "search_content", Scope.SEARCH, SearchContent, FoundOut, it.search_content),)


async def _as_allowed(tx: Transaction, question: Ask) -> tuple[Ask, list[str]]:
    """The question, by words alone where meaning is switched off; and what to tell of that."""
    if question.mode is Mode.LEXICAL:
        return question, []
    off = await tx.one(SQL["words_only"], "no tenant", source_id=question.source)
    if off["everywhere"]:
        return replace(question, mode=Mode.LEXICAL), [f"by words alone: {SWITCHED_OFF} here"]
    names: list[str] = off["sources"]
    if not names:
        return question, []
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    told = f"by words alone in {', '.join(names[:FEW])}{more}: {SWITCHED_OFF} there"
    mode = Mode.LEXICAL if question.source in names else question.mode
    return replace(question, mode=mode), [told]


def _question(ask: SearchContent, place: Place) -> Ask:
    return Ask(
        query=ask.query,
        limit=ask.limit,
        offset=place.offset,
        mode=Mode(ask.mode),
        source=ask.source_id,
        path=ask.path,
        content_type=ask.content_type,
        modified_after=ask.modified_after,
        modified_before=ask.modified_before,
        rerank=ask.rerank,
        explain=ask.explain,
    )


def _asked(ask: SearchContent) -> Json:
    """What must be the same on every page of one search."""
    return ask.model_dump(mode="json", exclude={"cursor", "limit", "explain"})


def _citations(found: Found) -> tuple[Link, ...]:
    """One link a file, in the order of the hits."""
    files = {(it.passage.source_id, it.passage.key): it.passage for it in found.hits}
    return tuple(
        Link(
            file_uri(it.source_id, it.key),
            name=it.key,
            title=it.title or None,
            mime_type=it.content_type,
        )
        for it in files.values()
    )


def _out(ask: SearchContent, place: Place, found: Found, hits: list[HitOut]) -> FoundOut:
    after = place_after(place, len(found.hits)) if found.has_more else None
    is_cut = found.has_more and after is None
    return FoundOut(
        hits=hits,
        has_more=found.has_more,
        next_cursor=seal_place(after, _asked(ask)) if after else None,
        degraded=[*found.degraded, *([PAGES_END] if is_cut else [])],
    )


def _hit(hit: Hit, url: str | None) -> HitOut:
    it = hit.passage
    return HitOut(
        source_id=it.source_id,
        key=it.key,
        seq=it.seq,
        title=it.title,
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
        explain=dict(hit.why) if hit.why is not None else None,
    )
