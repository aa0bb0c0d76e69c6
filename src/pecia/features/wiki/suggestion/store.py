"""Suggestions in the store, as far as the caller may see them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pecia.features.wiki.history.message import ClientProgram, client_of, writer_of
from pecia.features.wiki.store import SpaceLocation
from pecia.features.wiki.suggestion.pieces import ChangePiece
from pecia.kernel.errors import Conflict, NotFound, QuotaExceeded
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction
from pecia.kernel.tool.call import Call

SQL = load_queries("pecia.features.wiki.suggestion")
MAX_OPEN = 200
MAX_COMMENTS = 1_000
OPEN, ACCEPTED, REJECTED = "open", "accepted", "rejected"


@dataclass(frozen=True, slots=True)
class SuggestedPiece:
    """One piece, and what became of it."""

    number: int
    change: ChangePiece
    status: str
    decided_by: str | None
    decided_at: datetime | None


@dataclass(frozen=True, slots=True)
class SuggestionComment:
    number: int
    writer: str
    client: ClientProgram | None
    words: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A proposed change. `base` is the text it was made from, None where there was no document."""

    id: UUID
    path: str
    user_id: UUID | None
    writer: str
    client: ClientProgram | None
    summary: str | None
    base: str | None
    made_at: datetime
    pieces: tuple[SuggestedPiece, ...] = ()
    comments: tuple[SuggestionComment, ...] = ()

    @property
    def open_pieces(self) -> list[SuggestedPiece]:
        return [it for it in self.pieces if it.status == OPEN]

    def old(self, piece: SuggestedPiece) -> str:
        """What the piece replaces."""
        return (self.base or "")[piece.change.start : piece.change.end]


@dataclass(frozen=True, slots=True)
class SuggestionFilter:
    """`path` None is the whole space, `is_open` None open and closed ones."""

    path: str | None
    is_open: bool | None
    after: UUID | None
    limit: int


@dataclass(frozen=True, slots=True)
class Suggestions:
    """The suggestions of one space, within one transaction."""

    tx: Transaction
    location: SpaceLocation

    async def add(
        self,
        call: Call,
        path: str,
        base: str | None,
        pieces: Sequence[ChangePiece],
        summary: str | None,
    ) -> UUID:
        client = client_of(call)
        made = await self.tx.fetch_value(
            SQL["add"],
            source_id=self.location.source_id,
            key=self.location.key(path),
            writer=writer_of(call),
            client=[client.name, client.version] if client else None,
            summary=summary,
            base=None if base is None else base.encode(),
            starts=[it.start for it in pieces],
            ends=[it.end for it in pieces],
            news=[it.new.encode() for it in pieces],
            most=MAX_OPEN,
        )
        if made is None:
            raise QuotaExceeded(
                f"the document has {MAX_OPEN} open suggestions",
                max=MAX_OPEN,
                hint="accept_suggestion or reject_suggestion closes some.",
            )
        assert isinstance(made, UUID)
        return made

    async def list_page(self, which: SuggestionFilter) -> list[Suggestion]:
        """Newest first, with pieces and comments."""
        rows = await self.tx.fetch_all(
            SQL["list"],
            source_id=self.location.source_id,
            key=None if which.path is None else self.location.key(which.path),
            open=which.is_open,
            after=which.after,
            limit=which.limit,
        )
        return await self._complete(rows)

    async def get(self, id_: UUID) -> Suggestion:
        """One of them; one that the caller may not see does not exist."""
        asked = {"source_id": self.location.source_id, "id": id_}
        rows = await self.tx.fetch_all(SQL["one"], **asked)
        if not rows:
            raise no_suggestion(id_)
        return (await self._complete(rows))[0]

    async def count_open(self, path: str) -> int:
        asked = {"source_id": self.location.source_id, "key": self.location.key(path)}
        return int(await self.tx.fetch_value(SQL["count"], **asked) or 0)

    async def comment(self, call: Call, id_: UUID, words: str) -> int:
        """The number of the new comment."""
        client = client_of(call)
        made = await self.tx.fetch_value(
            SQL["comment"],
            source_id=self.location.source_id,
            id=id_,
            writer=writer_of(call),
            client=[client.name, client.version] if client else None,
            words=words.encode(),
            most=MAX_COMMENTS,
        )
        if made is None:
            raise QuotaExceeded(f"a suggestion has at most {MAX_COMMENTS} comments")
        return int(made)

    async def decide(self, call: Call, id_: UUID, numbers: Sequence[int], status: str) -> None:
        """Accept or reject pieces that are all open, or none of them."""
        rows = await self.tx.fetch_all(
            SQL["decide"],
            source_id=self.location.source_id,
            id=id_,
            numbers=[*numbers],
            status=status,
            writer=writer_of(call),
        )
        if len(rows) != len(set(numbers)):
            raise Conflict(
                "a piece was decided meanwhile", hint="Read the suggestion again: read_suggestion."
            )

    async def _complete(self, rows: Sequence[dict[str, Any]]) -> list[Suggestion]:
        ids = [row["id"] for row in rows]
        pieces: defaultdict[UUID, list[SuggestedPiece]] = defaultdict(list)
        comments: defaultdict[UUID, list[SuggestionComment]] = defaultdict(list)
        if ids:
            for row in await self.tx.fetch_all(SQL["pieces"], ids=ids):
                pieces[row["suggestion_id"]].append(_piece(row))
            for row in await self.tx.fetch_all(SQL["comments"], ids=ids):
                comments[row["suggestion_id"]].append(_comment(row))
        return [
            Suggestion(
                row["id"],
                str(row["key"]).removeprefix(self.location.prefix),
                row["user_id"],
                row["writer"],
                _client(row),
                row["summary"],
                None if row["base"] is None else bytes(row["base"]).decode(),
                row["made_at"],
                tuple(pieces[row["id"]]),
                tuple(comments[row["id"]]),
            )
            for row in rows
        ]


def no_suggestion(id_: UUID) -> NotFound:
    return NotFound(
        f"no suggestion {id_}", field="suggestion", hint="list_suggestions has those there are."
    )


def _piece(row: dict[str, Any]) -> SuggestedPiece:
    change = ChangePiece(row["start_char"], row["end_char"], bytes(row["new"]).decode())
    return SuggestedPiece(
        row["number"], change, row["status"], row["decided_by"], row["decided_at"]
    )


def _comment(row: dict[str, Any]) -> SuggestionComment:
    words = bytes(row["words"]).decode()
    return SuggestionComment(row["number"], row["writer"], _client(row), words, row["made_at"])


def _client(row: dict[str, Any]) -> ClientProgram | None:
    name = row["client_name"]
    return None if name is None else ClientProgram(name, row["client_version"])
