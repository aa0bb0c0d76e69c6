"""A space, opened for one caller: what they may see of it, as it is on disk now."""

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from anyio.to_thread import run_sync

from pecia.features.wiki.config.files import PROJECT_FILE, ConfigFiles, merge_files
from pecia.features.wiki.config.folder_rules import (
    DocumentCard,
    TemplateNames,
    build_card,
    match_folder_defaults,
)
from pecia.features.wiki.config.merge import EffectiveConfig
from pecia.features.wiki.core.document import decode_any_charset
from pecia.features.wiki.core.graph import LinkGraph, build_link_graph
from pecia.features.wiki.core.metadata import DocumentMetadata
from pecia.features.wiki.core.names import (
    EXTENSIONS,
    parse_document_name,
    parse_document_uri,
    split_extension,
)
from pecia.features.wiki.core.similar import find_namesakes
from pecia.features.wiki.history.history import SpaceHistory
from pecia.features.wiki.history.port import OpenVersions
from pecia.features.wiki.live.flush import LiveFlusher
from pecia.features.wiki.preview import PreviewLinks, PreviewSettings, choose_preview, read_ui_lock
from pecia.features.wiki.space_recovery import SpaceRecovery
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.disk import FileStamp
from pecia.features.wiki.storage.journal import JOURNAL_PATH
from pecia.features.wiki.storage.roots import SpaceRoots
from pecia.features.wiki.store import (
    SQL,
    Space,
    SpaceAmbiguous,
    SpaceLocation,
    SpaceSelector,
    find_session_space,
    find_space,
    list_space_names,
)
from pecia.features.wiki.sync import SpaceSync, SyncedScan, WikiDocument
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.errors import (
    Collision,
    InvalidFormat,
    InvalidInput,
    Json,
    NotFound,
    PeciaError,
    Unavailable,
    Unprocessable,
    list_hint,
)
from pecia.kernel.identity.caller import Caller
from pecia.kernel.layered_dict import LayeredDict
from pecia.kernel.store.store import Store, Transaction
from pecia.kernel.text.links.name_index import NameIndex
from pecia.kernel.text.links.resolver import WIKI_RULES, LinkRules
from pecia.kernel.tool.call import Call

MAX_CACHED_GRAPHS = 8
MAX_SEARCHED_SPACES = 50
"""Of several spaces, those in which a document is looked for whose space was not named."""
ANSWER_S = 5.0
"""Time left of a call's deadline when it stops waiting for the first graph, and says so."""


@dataclass(frozen=True, slots=True)
class OpenSpace:
    """What one caller sees of a space. `root` is the content folder."""

    wiki: "Wiki"
    call: Call
    space: Space
    settings: EffectiveConfig
    root: Path
    prefix: str
    """From the project to the root, with a trailing slash; empty where they are the same."""
    documents: LayeredDict[str, WikiDocument]
    hidden: Mapping[str, WikiDocument]
    """Internal: documents that this caller may not see."""
    other_files: Mapping[str, FileStamp]
    """Files that are not documents: all if the caller sees the whole space, else the visible ones
    from the store."""
    preview: PreviewLinks
    folders: Mapping[str, object] | None = None
    """The folders of the space, if the caller sees the whole of it."""
    unreadable: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files and folders that cannot be documents, and why, if the caller sees the whole space."""
    is_indexed: bool = True
    """False: the store has not all documents yet. A caller who does not see the whole space then
    sees those that it has."""

    @property
    def history(self) -> SpaceHistory:
        return self.wiki.recovery.history(self.location)

    def parse_uri(self, text: str, field: str) -> str | None:
        """The path from the project that the URI of a file names; None for what is no URI."""
        address = parse_document_uri(text)
        if address is not None and address.source_id != self.space.source_id:
            raise InvalidInput(
                f"{text[:200]!r} is in another source than the space {self.space.name!r}",
                field=field,
                got=text[:500],
                hint=f"Its source is {address.source_id!r}: name that space, or none.",
            )
        return None if address is None else address.key

    def parse_path(self, text: str, field: str = "docName") -> str:
        """The path of a document from the content folder: as it is given, or by the URI of a
        hit."""
        key = self.parse_uri(text, field)
        return text if key is None else key.removeprefix(self.prefix)

    def parse_name(self, text: str, field: str = "docName") -> str:
        """The name of a document, given as one or by the URI of a hit."""
        return parse_document_name(self.parse_path(text, field), field)

    def find(self, name: str, field: str = "docName") -> WikiDocument:
        """The document of that name; a missing and an invisible one raise the same error."""
        wanted = self.parse_name(name, field)
        found = self.documents.get(wanted)
        if found is None:
            self.require_markdown(wanted, field)
            raise self.refuse_unknown(
                f"no document {wanted!r}", wanted, field=field, docName=wanted
            )
        return found

    def refuse_unknown(self, message: str, name: str, **fields: Json) -> NotFound:
        """The error for a name that no visible document has, with those that may be meant."""
        meant = find_namesakes(name, self.documents)
        if not meant:
            return NotFound(message, **fields, hint=list_hint("list_documents"))
        named = " or ".join(map(repr, meant))
        return NotFound(f"{message}; did you mean {named}?", **fields, similar=[*meant])

    def require_markdown(self, path: str, field: str) -> None:
        """Refuse a file that is there, but is no document."""
        if path in self.other_files:
            raise InvalidFormat(
                f"{path!r} is not a Markdown document: only {' and '.join(EXTENSIONS)} files are "
                "read and edited by this tool",
                field=field,
                got=path[:200],
            )

    async def restat(self, name: str, path: str) -> WikiDocument:
        """A document with the new stamp of its file, after a write."""
        stamp = await run_sync(disk.stat_file, self.root, path)
        return WikiDocument(name, path, stamp or FileStamp(0, 0, 0))

    def has_place(self, target: str) -> bool:
        """Whether a link target that is no document is a folder or another file."""
        if target in self.other_files:
            return True
        if self.folders is not None:
            return target in self.folders
        lead = f"{target}/"
        return any(it.startswith(lead) for it in (*self.documents, *self.other_files))

    async def text(self, document: WikiDocument) -> str:
        """The current text of the document."""
        return self.decode(document, await run_sync(disk.read, self.root, document.path))

    def decode(self, document: WikiDocument, body: bytes) -> str:
        """The text of the document's file."""
        text = decode_any_charset(body)
        if text is None:
            raise Unprocessable(
                f"{document.path!r} is not a text file",
                path=document.path,
                hint="It has bytes of no charset that is known: no tool of the wiki shows them.",
            )
        return text

    async def load_metadata(self) -> dict[str, DocumentMetadata]:
        """The metadata of every document that the caller sees, by name."""
        stamps = {it.path: it.stamp for it in self.documents.values()}
        found = await self.wiki.sync.load_metadata(self.location, stamps)
        return {it.name: found[it.path] for it in self.documents.values() if it.path in found}

    async def load_metadata_of(
        self, documents: Sequence[WikiDocument]
    ) -> dict[str, DocumentMetadata]:
        """The same, for a few documents."""
        stamps = {it.path: it.stamp for it in documents}
        found = await self.wiki.sync.load_metadata(self.location, stamps)
        return {it.name: found[it.path] for it in documents if it.path in found}

    async def graph(self) -> LinkGraph:
        """The links among the documents that the caller sees."""
        return await self.wiki.graph(self)

    async def graph_soon(self) -> LinkGraph | None:
        """The same; None if it is still being built after a start."""
        return await self.wiki.graph_soon(self)

    async def graph_of(self, documents: Sequence[WikiDocument]) -> LinkGraph:
        """The links of these documents alone, by the names of all."""
        facts = await self.load_metadata_of(documents)
        names = await self.wiki.names_of(self.documents)
        return await run_sync(build_link_graph, facts, self.link_rules, names)

    @property
    def link_rules(self) -> LinkRules:
        return replace(WIKI_RULES, roots=self.settings.config.links.site_roots)

    def card(self, document: WikiDocument, facts: DocumentMetadata) -> DocumentCard:
        """Title, description and tags, with what the folder rules add."""
        return build_card(
            facts, match_folder_defaults(self.settings.config.folders, self.prefix + document.path)
        )

    @property
    def template_names(self) -> TemplateNames:
        return TemplateNames.of(self.settings.config)

    def record_returned(self, documents: Sequence[str]) -> None:
        """Record for the audit log which files were returned."""
        self.call.record_returned(self.space.source_id, [self.prefix + it for it in documents])

    async def look_again(self) -> "OpenSpace":
        """The space as its files are by now, for a writer, who has its lock: the store may be
        behind. For a caller who does not see all of it, only the store knows what is theirs."""
        looked = await self.wiki.sync.look(self.location)
        every, scan = looked.documents, looked.scan
        if self.space.is_whole:
            files, folders = scan.other_files, scan.rules
            return replace(self, documents=every, other_files=files, folders=folders)
        seen = {it.path for it in self.documents.values()}
        hidden = {it.path for it in self.hidden.values()}
        if any(it.path not in seen and it.path not in hidden for it in every.values()):
            raise Collision("documents were added to the space meanwhile; try again")
        return replace(
            self,
            documents=LayeredDict((name, it) for name, it in every.items() if it.path in seen),
            hidden={name: it for name, it in every.items() if it.path in hidden},
        )

    def with_document(self, document: WikiDocument) -> "OpenSpace":
        """A copy of the space after this document was written."""
        documents = self.documents.copy()
        documents[document.name] = document
        return replace(self, documents=documents)

    @property
    def location(self) -> SpaceLocation:
        caller, space = self.call.caller, self.space
        return SpaceLocation(caller.tenant_id, space.source_id, space.folder, self.prefix)


@dataclass(frozen=True, slots=True)
class VisibleFiles:
    """What a caller sees of a space, and the documents that they do not."""

    documents: LayeredDict[str, WikiDocument]
    hidden: Mapping[str, WikiDocument]
    other_files: Mapping[str, FileStamp]
    folders: Mapping[str, object] | None = None


GraphKey: TypeAlias = tuple[SpaceLocation, tuple[str, ...], tuple[tuple[str, str], ...]]
"""A location, the documents in it that a caller may not see, and the roots of links."""


@dataclass(frozen=True, slots=True)
class CachedGraph:
    """A graph, and the documents it was built from."""

    documents: LayeredDict[str, WikiDocument]
    graph: LinkGraph


@dataclass(slots=True)
class Wiki:
    """All spaces of a server."""

    store: Store
    corpus: Corpus
    configs: ConfigFiles
    versions: OpenVersions
    roots: SpaceRoots
    preview_settings: PreviewSettings = field(default_factory=PreviewSettings)
    start_wait_s: float = 2.0
    """How long a call waits for a space that is read for the first time since the start."""
    sync: SpaceSync = field(init=False)
    recovery: SpaceRecovery = field(init=False)
    flusher: LiveFlusher = field(init=False)
    _graphs: "OrderedDict[GraphKey, CachedGraph]" = field(init=False)
    _names: tuple[LayeredDict[str, WikiDocument], NameIndex] | None = None

    def __post_init__(self) -> None:
        self.recovery = SpaceRecovery(self.store, self.versions, claims=self.roots.claims)
        self.sync = SpaceSync(self.store, queue=self.recovery.queue)
        self.flusher = LiveFlusher(self.recovery, self.roots)
        self._graphs = OrderedDict()

    async def open_early(
        self, call: Call, cwd: str | None, space: str | None, document: str | None = None
    ) -> OpenSpace:
        """The same, for tools that read: after a start the files alone, before all are indexed."""
        return await self.open(call, cwd, space, document, wait_s=self.start_wait_s)

    async def open(
        self,
        call: Call,
        cwd: str | None,
        space: str | None,
        document: str | None = None,
        *,
        wait_s: float | None = None,
    ) -> OpenSpace:
        """The space that the caller means, freshly synced. The URI of a document names its own.
        Where it must be named, the error names the one that has this document."""
        if cwd is None and space is None and document is not None:
            address = parse_document_uri(document)
            space = address.source_id if address else None
        async with self.store.reading(call.caller) as tx:
            stored = await self.configs.load_stored(tx, call.caller)
            try:
                found = await self._find_space(tx, call, cwd, space)
            except SpaceAmbiguous as error:
                if document is None:
                    raise
                raise await self._rank_spaces(tx, call, error, document, stored) from None
        found = await self._with_real_folder(call, found)
        # Together: each visit to a thread costs as much as what is read there.
        project = await run_sync(_look_at_project, self.configs, found.folder, stored)
        settings, lead = project.settings, project.prefix
        root = found.folder / lead
        place = SpaceLocation(call.caller.tenant_id, found.source_id, found.folder, lead)
        await self.recovery.recover(place, has_journal=project.has_journal)
        if found.is_behind:
            # Live edits are acknowledged as stored, so every reader must see them: flush first.
            await self.flusher.flush_all(place)
        looked = (
            await self.sync.sync(place, call.progress)
            if wait_s is None
            else await self.sync.sync_early(place, wait_s)
        )
        seen = await self._load_visible(call, found, looked, lead)
        return OpenSpace(
            wiki=self,
            call=call,
            space=found,
            settings=settings,
            root=root,
            prefix=lead,
            documents=seen.documents,
            hidden=seen.hidden,
            other_files=seen.other_files,
            preview=self._choose_preview(found, settings, project.ui_lock),
            folders=seen.folders,
            unreadable=looked.scan.refused if found.is_whole else {},
            is_indexed=looked.is_indexed,
        )

    async def _load_visible(
        self, call: Call, space: Space, looked: SyncedScan, lead: str
    ) -> "VisibleFiles":
        every, scan = looked.documents, looked.scan
        if space.is_whole:
            return VisibleFiles(every, {}, scan.other_files, scan.rules)
        async with self.store.reading(call.caller) as tx:
            keys = await _load_visible_keys(tx, space)
        return VisibleFiles(
            LayeredDict((name, it) for name, it in every.items() if lead + it.path in keys),
            {name: it for name, it in every.items() if lead + it.path not in keys},
            {path: it for path, it in scan.other_files.items() if lead + path in keys},
        )

    async def overview(self, caller: Caller) -> list[str] | None:
        """The spaces that the caller may see; None without any."""
        async with self.store.reading(caller) as tx:
            return await list_space_names(tx) or None

    async def resolve_space(self, call: Call, cwd: str | None, name: str | None) -> Space:
        """The space alone, with the real path of its folder; nothing in it is read."""
        async with self.store.reading(call.caller) as tx:
            found = await self._find_space(tx, call, cwd, name)
        return await self._with_real_folder(call, found)

    async def _find_space(
        self, tx: Transaction, call: Call, cwd: str | None, name: str | None
    ) -> Space:
        if cwd is None and name is None:
            return await find_session_space(tx, SpaceSelector.from_session(call.session))
        return await find_space(tx, cwd, name)

    async def _rank_spaces(
        self,
        tx: Transaction,
        call: Call,
        error: SpaceAmbiguous,
        document: str,
        stored: str | None,
    ) -> SpaceAmbiguous:
        """The error with the spaces first in which the caller sees this document."""
        name = split_extension(document)[0]
        wanted: list[tuple[str, str]] = []
        names: dict[str, str] = {}
        for one in error.spaces[:MAX_SEARCHED_SPACES]:
            try:
                space = await self._with_real_folder(call, await find_space(tx, None, one))
                project = await run_sync(_look_at_project, self.configs, space.folder, stored)
            except PeciaError:
                # A space that cannot be opened now is no place to send anybody.
                continue
            names[space.source_id] = one
            # A document is named from the content folder, or from the project.
            leads = {project.prefix, ""}
            wanted += [(space.source_id, f"{it}{name}{end}") for it in leads for end in EXTENSIONS]
        source_ids, keys = [it for it, _ in wanted], [key for _, key in wanted]
        rows = await tx.fetch_all(SQL["spaces_with_file"], source_ids=source_ids, keys=keys)
        having = sorted(names[row["source_id"]] for row in rows)
        ranked = [*having, *(it for it in error.spaces if it not in having)]
        return SpaceAmbiguous(ranked, document if len(having) == 1 else None)

    async def _with_real_folder(self, call: Call, found: Space) -> Space:
        folder = await self.roots.resolve_folder(
            call.caller.tenant_id, found.folder, is_confined=found.is_confined
        )
        return replace(found, folder=folder)

    async def load_writer_names(self, call: Call) -> dict[str, str]:
        """Names of the writers of versions, as far as this caller may know."""
        async with self.store.reading(call.caller) as tx:
            rows = await tx.fetch_all(SQL["users"])
        kinds = ("agent", "principal")
        return {f"{kind}-{row['id']}": str(row["name"]) for row in rows for kind in kinds}

    async def preview(self, space: Space, settings: EffectiveConfig) -> PreviewLinks:
        return self._choose_preview(space, settings, await run_sync(read_ui_lock, space.folder))

    def _choose_preview(
        self, space: Space, settings: EffectiveConfig, lock: Mapping[str, Json] | None
    ) -> PreviewLinks:
        return choose_preview(
            space.folder, self.preview_settings, lock, settings.config.preview.baseUrl
        )

    async def graph(self, opened: OpenSpace) -> LinkGraph:
        """The graph of exactly these documents, cached across callers who see the same."""
        await self._wait_for_graph(opened, max(0.0, opened.call.remaining_s() - ANSWER_S))
        return await self._graph(opened, opened.documents, tuple(opened.hidden))

    async def graph_soon(self, opened: OpenSpace) -> LinkGraph | None:
        """The same; None if it is being built for the first time, and takes long."""
        try:
            await self._wait_for_graph(opened, self.start_wait_s)
        except Unavailable:
            return None
        return await self._graph(opened, opened.documents, tuple(opened.hidden))

    async def names_of(self, documents: LayeredDict[str, WikiDocument]) -> NameIndex:
        """The names alone. Those last asked for are kept."""
        if self._names is None or self._names[0] is not documents:
            self._names = documents, await run_sync(NameIndex.of, documents)
        return self._names[1]

    async def _wait_for_graph(self, opened: OpenSpace, limit_s: float) -> None:
        """Begin or join the first build of a graph: it goes on when the caller has left."""
        hidden = tuple(opened.hidden)
        key = (opened.location, hidden, opened.link_rules.roots)
        if key in self._graphs:
            return
        build = partial(self._graph, opened, opened.documents, hidden)
        if not await self.sync.work.wait(key, build, limit_s):
            raise Unavailable(
                "the links of this space are being read for the first time since the start",
                hint="try again in a moment",
            )
        if (made := self._graphs.get(key)) is not None:
            # A rename needs it; nobody waits for it here.
            index = partial(run_sync, made.graph.index_references)
            await self.sync.work.wait((key, "references"), index, 0)

    async def graph_of_all(
        self, opened: OpenSpace, documents: LayeredDict[str, WikiDocument]
    ) -> LinkGraph:
        """The graph of all documents, also those that the caller may not see: for renames."""
        if not opened.hidden:
            return await self.graph(opened)
        return await self._graph(opened, documents, ())

    async def _graph(
        self,
        opened: OpenSpace,
        documents: LayeredDict[str, WikiDocument],
        hidden: tuple[str, ...],
    ) -> LinkGraph:
        rules = opened.link_rules
        seen = (opened.location, hidden, rules.roots)
        kept = self._graphs.get(seen)
        if kept is not None and kept.documents is documents:
            self._graphs.move_to_end(seen)
            return kept.graph
        before = kept.documents if kept is not None else LayeredDict[str, WikiDocument]()
        differing = documents.changed_keys(before)
        news = [documents[it] for it in differing if it in documents]
        facts = await opened.load_metadata_of(news)
        gone = [it for it in differing if it not in documents]
        if kept is None:
            made = await run_sync(build_link_graph, facts, rules)
        else:
            # A document that was deleted just now has no metadata.
            gone += [it.name for it in news if it.name not in facts]
            made = await run_sync(kept.graph.with_changes, facts, gone)
        self._graphs[seen], self._names = CachedGraph(documents, made), None
        self._graphs.move_to_end(seen)
        while len(self._graphs) > MAX_CACHED_GRAPHS:
            self._graphs.popitem(last=False)
        return made


@dataclass(frozen=True, slots=True)
class ProjectState:
    """What the folder of a project says before its documents are looked at."""

    settings: EffectiveConfig
    prefix: str
    has_journal: bool
    ui_lock: Mapping[str, Json] | None


def _look_at_project(configs: ConfigFiles, project: Path, stored: str | None) -> ProjectState:
    """Blocking. `stored` are the caller's settings, if they are in the store."""
    settings = merge_files(configs.read_texts(project, stored))
    prefix = content_prefix(project, settings.config.content.dir)
    has_journal = disk.exists(project, JOURNAL_PATH)
    return ProjectState(settings, prefix, has_journal, read_ui_lock(project))


def content_prefix(project: Path, folder: str) -> str:
    """`content.dir` as a path prefix relative to the project, without links. Blocking.

    `project` is a real path. Whoever clones a project did not write its settings: neither they nor
    a link in it may lead outside.
    """
    parts = [it for it in folder.split("/") if it not in ("", ".")]
    try:
        real = Path(os.path.realpath(project.joinpath(*parts)))
    except OSError:
        # An unreadable link counts as leading outside.
        real = Path("/")
    if ".." in parts or not real.is_relative_to(project):
        raise InvalidFormat(
            f"content.dir {folder!r} leaves the project",
            field="content.dir",
            got=folder,
            expected="a folder of the project, not a link out of it",
            hint=f"set content.dir to another folder in {PROJECT_FILE}",
        )
    return "".join(f"{it}/" for it in real.relative_to(project).parts)


async def _load_visible_keys(tx: Transaction, space: Space) -> set[str]:
    rows = await tx.fetch_all(SQL["visible_keys"], source_id=space.source_id)
    return {row["key"] for row in rows}
