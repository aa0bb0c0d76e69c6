"""Reads Evernote's ENEX, note by note. Pure.

Entities that a file declares are refused, and nothing is fetched: neither a DTD nor an entity.
"""

import binascii
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import md5
from xml.parsers import expat

from pecia.adapters.importers.source_tree import UnusableFile

PIECE_BYTES = 1_000_000
MAX_NOTE_BYTES = 100_000_000
MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class EnexResource:
    """An attachment, by the hash that the text of a note names it with."""

    hash: str
    mime: str
    file_name: str
    body: bytes


@dataclass(slots=True)
class EnexNote:
    title: str = ""
    content: str = ""
    created: str = ""
    updated: str = ""
    source_url: str = ""
    author: str = ""
    tags: list[str] = field(default_factory=list[str])
    resources: list[EnexResource] = field(default_factory=list[EnexResource])
    tasks: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    problems: list[str] = field(default_factory=list[str])


def read_enex(body: bytes) -> Iterator[EnexNote]:
    """The notes of a file; UnusableFile where it is no ENEX, after the notes before the fault."""
    reader = _EnexReader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = _refuse_entity
    for at in range(0, len(body), PIECE_BYTES):
        try:
            parser.Parse(body[at : at + PIECE_BYTES], at + PIECE_BYTES >= len(body))
        except expat.ExpatError as error:
            yield from reader.take()
            raise UnusableFile(f"it is no valid ENEX: {error}") from None
        yield from reader.take()
    if not reader.is_enex:
        raise UnusableFile("it is no ENEX: it has no element en-export")


def _refuse_entity(*_: object) -> None:
    raise UnusableFile("it declares XML entities, which no export of Evernote does")


class _EnexReader:
    """Keeps one note at a time."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.pieces: list[str] = []
        self.size = 0
        self.note = EnexNote()
        self.done: list[EnexNote] = []
        self.resource: dict[str, str] = {}
        self.task: dict[str, str] = {}
        self.is_enex = False

    def start(self, name: str, _: dict[str, str]) -> None:
        self.path.append(name)
        if len(self.path) > MAX_DEPTH:
            raise UnusableFile("its XML is nested too deep")
        self.is_enex = self.is_enex or name == "en-export"
        self.pieces = []
        if name == "note":
            self.note, self.size = EnexNote(), 0
        elif name == "resource":
            self.resource = {}
        elif name == "task":
            self.task = {}

    def text(self, data: str) -> None:
        self.size += len(data)
        if self.size > MAX_NOTE_BYTES:
            raise UnusableFile(f"a note in it is over {MAX_NOTE_BYTES} bytes")
        self.pieces.append(data)

    def end(self, name: str) -> None:
        said = "".join(self.pieces)
        self.pieces = []
        self.path.pop()
        parent = self.path[-1] if self.path else ""
        if name == "note":
            self.done.append(self.note)
        elif name == "resource":
            self._add_resource()
        elif name == "task":
            self.note.tasks.append(self.task)
        elif parent == "task":
            self.task[name] = said.strip()
        elif parent in ("resource", "resource-attributes", "data"):
            self.resource[name] = said.strip()
        elif parent == "note" or (parent == "note-attributes" and name in ("source-url", "author")):
            self._put(name, said)

    def take(self) -> list[EnexNote]:
        found, self.done = self.done, []
        return found

    def _put(self, name: str, said: str) -> None:
        match name:
            case "title":
                self.note.title = " ".join(said.split())
            case "content":
                self.note.content = said
            case "created":
                self.note.created = said.strip()
            case "updated":
                self.note.updated = said.strip()
            case "tag":
                self.note.tags.append(said.strip())
            case "source-url":
                self.note.source_url = said.strip()
            case "author":
                self.note.author = said.strip()
            case _:
                return

    def _add_resource(self) -> None:
        found = self.resource
        label = found.get("file-name") or found.get("mime") or "attachment"
        try:
            body = b64decode("".join(found.get("data", "").split()), validate=True)
        except (binascii.Error, ValueError):
            self.note.problems.append(f"{label}: its data is no base64")
            return
        # How Evernote names it; no secret is kept by it.
        digest = md5(body, usedforsecurity=False).hexdigest()
        self.note.resources.append(
            EnexResource(digest, found.get("mime", ""), found.get("file-name", ""), body)
        )
