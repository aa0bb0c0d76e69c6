"""A space, opened for one caller: what they may see of it, as it lies on the disk now."""

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from anyio.to_thread import run_sync

from pecia.kernel.corpus.search import Corpus
from pecia.kernel.errors import InvalidFormat, NotFound, PeciaError, Unprocessable
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.tool.call import Call
from pecia.rooms.wiki import disk, journal
from pecia.rooms.wiki.config.files import PROJECT_FILE, ConfigFiles
from pecia.rooms.wiki.config.merge import Effective
from pecia.rooms.wiki.config.rules import Card, card, shared
from pecia.rooms.wiki.disk import Stamp
from pecia.rooms.wiki.facts import Facts
from pecia.rooms.wiki.graph import Graph, graph_of
from pecia.rooms.wiki.history.history import History
from pecia.rooms.wiki.history.port import OpenVersions
from pecia.rooms.wiki.library import Library
from pecia.rooms.wiki.live.filing import Filing
from pecia.rooms.wiki.names import document_name
from pecia.rooms.wiki.preview import Preview, Ways, preview_of, read_ui_lock
from pecia.rooms.wiki.recovery import (
    check_finished,
    record_outcome,
    report_outcome,
    roll_back,
)
from pecia.rooms.wiki.roots import SpaceRoots
from pecia.rooms.wiki.space import SQL, Meant, Place, Space, find_meant_space, find_space
from pecia.rooms.wiki.stored import readable

_log = Log(__name__)
MOST_GRAPHS = 8


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the content folder: its name, its path there and the state of its file."""

    name: str
    path: str
    stamp: Stamp

    @property
    def extension(self) -> str:
        return self.path[len(self.name) :]


@dataclass(frozen=True, slots=True)
class Opened:
    """What one caller sees of a space. `root` is the folder of its documents."""

    wiki: "Wiki"
    call: Call
    space: Space
    settings: Effective
    root: Path
    lead: str
    """From the project to the root, with a slash at its end; nothing where they are the same."""
    documents: Mapping[str, Document]
    hidden: Mapping[str, Document]
    """For the house alone: documents that this caller may not see."""
    others: Mapping[str, Stamp]
    """Files that are no documents: all for who sees the space whole, else those that the store
    knows and shows."""
    preview: Preview
    version: int | None
    """Of the documents; None where one of them was written since."""

    @property
    def history(self) -> History:
        return History(self.space.folder, self.lead, self.wiki.versions)

    def find(self, name: str, field: str = "docName") -> Document:
        """The document of that name; none, and none that the caller may see, are the same."""
        wanted = document_name(name, field)
        found = self.documents.get(wanted)
        if found is None:
            raise NotFound(f"no document {wanted!r}", field=field, docName=wanted)
        return found

    async def written(self, name: str, path: str) -> Document:
        """A document as its file is now that it was written."""
        stamp = await run_sync(disk.stamp, self.root, path)
        return Document(name, path, stamp or Stamp(0, 0, 0))

    async def text(self, document: Document) -> str:
        """The document as it is now."""
        body = await run_sync(disk.read, self.root, document.path)
        text = readable(body)
        if text is None:
            raise Unprocessable(f"{document.path!r} is no text", path=document.path)
        return text

    async def facts(self) -> dict[str, Facts]:
        """What every document that the caller sees says of itself, by name."""
        stamps = {it.path: it.stamp for it in self.documents.values()}
        found = await self.wiki.library.facts(self.place, stamps)
        return {it.name: found[it.path] for it in self.documents.values() if it.path in found}

    async def facts_of(self, documents: Sequence[Document]) -> dict[str, Facts]:
        """The same, of a few."""
        stamps = {it.path: it.stamp for it in documents}
        found = await self.wiki.library.facts(self.place, stamps)
        return {it.name: found[it.path] for it in documents if it.path in found}

    async def graph(self) -> Graph:
        """The links among the documents that the caller sees."""
        return await self.wiki.graph(self)

    def card(self, document: Document, facts: Facts) -> Card:
        """Title, description and tags, with what the folder rules add."""
        return card(facts, shared(self.settings.config.folders, self.lead + document.path))

    def returned(self, documents: Sequence[str]) -> None:
        """Note for the audit which files were given out."""
        self.call.returned(self.space.source_id, [self.lead + it for it in documents])

    def holding(self, document: Document) -> "Opened":
        """The same after this document was written."""
        documents = {**self.documents, document.name: document}
        return replace(self, documents=documents, version=None)

    @property
    def place(self) -> Place:
        caller, space = self.call.caller, self.space
        return Place(caller.tenant_id, space.source_id, space.folder, self.lead)


Seen: TypeAlias = tuple[Place, tuple[str, ...]]
"""A place, and which of its documents somebody may not see."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A graph, and the version of the documents that it is of."""

    version: int | None
    graph: Graph


@dataclass(slots=True)
class Wiki:
    """All spaces of a server."""

    store: Store
    corpus: Corpus
    configs: ConfigFiles
    versions: OpenVersions
    roots: SpaceRoots
    ways: Ways = field(default_factory=Ways)
    library: Library = field(init=False)
    filing: Filing = field(init=False)
    _graphs: "OrderedDict[Seen, Kept]" = field(init=False)

    def __post_init__(self) -> None:
        self.library = Library(self.store)
        self.filing = Filing(self.store, self.versions, self.roots)
        self._graphs = OrderedDict()

    async def open(self, call: Call, cwd: str | None, space: str | None) -> Opened:
        """The space that the caller means, looked at anew."""
        found = await self.space(call, cwd, space)
        settings = await self.configs.effective(call, found)
        lead = await run_sync(content_lead, found.folder, settings.config.content.dir)
        root = found.folder / lead
        place = Place(call.caller.tenant_id, found.source_id, found.folder, lead)
        await self.recover(place)
        if found.is_behind:
            # What somebody was told is stored, everybody is shown.
            await self.filing.file_all(place)
        looked = await self.library.look(place)
        scan = looked.scan
        async with self.store.reading(call.caller) as tx:
            keys = await _visible(tx, found)
        every = {
            name: Document(name, path, scan.stamps[path])
            for name, path in sorted(scan.documents.items())
        }
        return Opened(
            wiki=self,
            call=call,
            space=found,
            settings=settings,
            root=root,
            lead=lead,
            documents={name: it for name, it in every.items() if lead + it.path in keys},
            hidden={name: it for name, it in every.items() if lead + it.path not in keys},
            others={
                it: scan.stamps[it] for it in scan.others if found.is_whole or lead + it in keys
            },
            preview=await self.preview(found, settings),
            version=looked.version,
        )

    async def space(self, call: Call, cwd: str | None, name: str | None) -> Space:
        """The space alone, nothing of it read, with the real path of its folder."""
        async with self.store.reading(call.caller) as tx:
            if cwd is None and name is None:
                found = await find_meant_space(tx, Meant.of(call.session))
            else:
                found = await find_space(tx, cwd, name)
        folder = await self.roots.opened(
            call.caller.tenant_id, found.folder, is_confined=found.is_confined
        )
        return replace(found, folder=folder)

    async def writers(self, call: Call) -> dict[str, str]:
        """Who the writers of versions are, as far as this caller may know."""
        async with self.store.reading(call.caller) as tx:
            rows = await tx.all(SQL["users"])
        kinds = ("agent", "principal")
        return {f"{kind}-{row['id']}": str(row["name"]) for row in rows for kind in kinds}

    async def recover(self, place: Place) -> None:
        """Undo a rename that was cut off, unless the store has it; keep what people did since."""
        if not await run_sync(disk.exists, place.project, journal.PLACE):
            return
        async with self.store.system() as tx:
            # Whoever is at it right now holds the turn, and takes the journal away at the end.
            await tx.run(SQL["lock_space"], **place.named())
            kept = await run_sync(journal.read, place.project, place.lead)
            if kept is None:
                return
            asked = kept.transaction
            is_finished = asked is not None and bool(
                await tx.value(SQL["was_committed"], transaction=asked)
            )
            settle = check_finished if is_finished else roll_back
            outcome = await run_sync(settle, place.root, kept)
            report_outcome(place.source_id, kept, outcome, is_finished=is_finished)
            history = History(place.project, place.lead, self.versions)
            try:
                await record_outcome(history, place.root, kept, outcome, is_finished=is_finished)
            except PeciaError as error:
                # The files are right. The journal stays, so that the versions are tried again.
                _log.failure("wiki.rename_recovered", error, space=place.source_id)
                return
            await run_sync(journal.forget, place.project)

    async def preview(self, space: Space, settings: Effective) -> Preview:
        lock = await run_sync(read_ui_lock, space.folder)
        return preview_of(space.folder, self.ways, lock, settings.config.preview.baseUrl)

    async def graph(self, opened: Opened) -> Graph:
        """The graph of exactly these documents; who sees the same shares it."""
        seen = (opened.place, tuple(opened.hidden))
        kept = self._graphs.get(seen)
        if kept is not None and opened.version is not None and kept.version == opened.version:
            self._graphs.move_to_end(seen)
            return kept.graph
        facts = await opened.facts()
        made = await run_sync(graph_of, facts, kept.graph if kept else None)
        self._graphs[seen] = Kept(opened.version, made)
        self._graphs.move_to_end(seen)
        while len(self._graphs) > MOST_GRAPHS:
            self._graphs.popitem(last=False)
        return made


def content_lead(project: Path, folder: str) -> str:
    """`content.dir` as the beginning of paths from the project, without links. Blocking.

    `project` is a real path. Whoever clones a project did not write its settings: neither they nor
    a link that came with it lead out of it.
    """
    parts = [it for it in folder.split("/") if it not in ("", ".")]
    try:
        real = Path(os.path.realpath(project.joinpath(*parts)))
    except OSError:
        # A link that may not be read leads out as well.
        real = Path("/")
    if ".." in parts or not real.is_relative_to(project):
        raise InvalidFormat(
            f"content.dir {folder!r} leaves the project",
            field="content.dir",
            got=folder,
            expected="a folder of the project, and no link out of it",
            hint=f"name another folder as content.dir in {PROJECT_FILE}",
        )
    return "".join(f"{it}/" for it in real.relative_to(project).parts)


async def _visible(tx: Transaction, space: Space) -> set[str]:
    rows = await tx.all(SQL["visible_keys"], source_id=space.source_id)
    return {row["key"] for row in rows}
