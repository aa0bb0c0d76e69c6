"""Commit messages: a subject, and a machine-readable line on who did what. Pure."""

import posixpath
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import orjson

from pecia.kernel.errors import Json
from pecia.kernel.tool.call import CLIENT_NAME, CLIENT_VERSION, Call

AGENT_INTERFACES = ("mcp", "stdio")


def writer_of(call: Call) -> str:
    """An agent if the call came over MCP, else a person; with the user both act for."""
    kind = "agent" if is_agent(call) else "principal"
    return f"{kind}-{call.caller.user_id}"


def is_agent(call: Call) -> bool:
    return call.trace.interface in AGENT_INTERFACES


@dataclass(frozen=True, slots=True)
class ClientProgram:
    """The program that a writer used, as it calls itself."""

    name: str
    version: str | None = None


def client_of(call: Call) -> ClientProgram | None:
    """The client of an agent's session; None where it does not say."""
    name, version = call.session.get(CLIENT_NAME), call.session.get(CLIENT_VERSION)
    if not isinstance(name, str):
        return None
    return ClientProgram(name, version if isinstance(version, str) else None)


ACTOR_PREFIX = "ok-actor: "
MAX_SUBJECT_CHARS = 72
CHECKPOINT, UPSTREAM, WIP = "checkpoint", "upstream", "wip"
FILE_SYSTEM = "file-system"
RENAME = "rename: "


@dataclass(frozen=True, slots=True)
class CommitNote:
    """`writer` is an id, not a name: names are looked up when shown."""

    writer: str
    subject: str
    docs: tuple[str, ...] = ()
    summary: str | None = None
    client: ClientProgram | None = None
    others: tuple[str, ...] = ()
    """Co-authors."""

    def message(self) -> str:
        """The whole commit message."""
        subject = self.subject if self.summary is None else f"{self.subject} — {self.summary}"
        actor: dict[str, Json] = {
            "v": 1,
            "writer_id": self.writer,
            "client_name": self.client and self.client.name,
            "docs": [*self.docs],
        }
        if self.client is not None and self.client.version:
            actor["client_version"] = self.client.version
        if self.summary is not None:
            actor["summaries"] = [self.summary]
        if self.others:
            actor["co_writers"] = [*self.others]
        return f"{_shorten(subject)}\n\n{ACTOR_PREFIX}{orjson.dumps(actor).decode()}\n"


@dataclass(frozen=True, slots=True)
class ParsedNote:
    """A parsed message. What cannot be parsed is left out."""

    subject: str
    kind: str
    writer: str
    docs: tuple[str, ...] = ()
    summaries: tuple[str, ...] = field(default=())
    others: tuple[str, ...] = field(default=())
    client: ClientProgram | None = None

    def client_fields(self) -> dict[str, Json]:
        """For a row of a timeline; empty where the writer's program is not known."""
        if self.client is None:
            return {}
        return {"clientName": self.client.name, "clientVersion": self.client.version}


def parse_note(message: str, author: str) -> ParsedNote:
    """The note in any commit message."""
    subject = message.partition("\n")[0]
    actor: dict[str, Json] = {}
    for line in message.splitlines():
        if line.startswith(ACTOR_PREFIX):
            actor = _object(line[len(ACTOR_PREFIX) :]) or actor
    writer = actor.get("writer_id")
    return ParsedNote(
        subject,
        _kind(subject),
        writer if isinstance(writer, str) else author,
        _texts(actor.get("docs")),
        _texts(actor.get("summaries")),
        _texts(actor.get("co_writers")),
        _client(actor),
    )


def _client(actor: dict[str, Json]) -> ClientProgram | None:
    name, version = actor.get("client_name"), actor.get("client_version")
    if not isinstance(name, str):
        return None
    return ClientProgram(name, version if isinstance(version, str) else None)


def _object(text: str) -> dict[str, Json]:
    try:
        found: Json = orjson.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def format_subject(docs: Sequence[str]) -> str:
    return f"wip: {_name_documents(docs)}" if docs else "wip: auto-save"


def _shorten(subject: str) -> str:
    is_long = len(subject) > MAX_SUBJECT_CHARS
    return f"{subject[: MAX_SUBJECT_CHARS - 1]}…" if is_long else subject


def _name_documents(docs: Sequence[str]) -> str:
    return docs[0] if len(docs) == 1 else f"{len(docs)} docs"


def narrow_note(note: ParsedNote, document: str, hidden: Collection[str]) -> ParsedNote:
    """The note for a reader of one document of the version, from whom others are hidden: as if the
    version were of the documents that they see. What its writers said may be about the others."""
    seen = [it for it in note.docs if it not in hidden]
    if len(seen) == len(note.docs):
        return note
    subject = _format_seen_rename(note, hidden)
    docs = seen if document in seen else [*seen, document]
    if note.kind == CHECKPOINT:
        subject = f"{CHECKPOINT}: saved"
    elif note.kind == UPSTREAM:
        subject = f"import: {_name_documents(docs)}"
    subject = _shorten(subject or format_subject(docs))
    return replace(note, subject=subject, docs=tuple(docs), summaries=(), others=())


def _format_seen_rename(note: ParsedNote, hidden: Collection[str]) -> str | None:
    """The subject of a rename by what the reader sees of it; None if they see no document at both
    names. A rename notes the old names and then the new ones."""
    if not note.subject.startswith(RENAME):
        return None
    half = len(note.docs) // 2
    pairs = zip(note.docs[:half], note.docs[half:], strict=False)
    moved = [(old, new) for old, new in pairs if old not in hidden and new not in hidden]
    if not moved:
        return None
    old, new = moved[0]
    if len(moved) > 1:
        # Of a folder: everything below it is called the same.
        old = posixpath.commonpath([it for it, _ in moved])
        new = new.removesuffix(moved[0][0].removeprefix(old)).rstrip("/")
    return f"{RENAME}{old} -> {new}"


def _kind(subject: str) -> str:
    if subject.startswith("checkpoint:"):
        return CHECKPOINT
    return UPSTREAM if subject.startswith("import:") else WIP


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(it for it in value if isinstance(it, str)) if isinstance(value, list) else ()
