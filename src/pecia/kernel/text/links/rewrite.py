"""Links after documents moved: the least change that keeps every link on its document. Pure.

A link is rewritten only when, as it stands, it would no longer mean the same document, or would
mean it by a looser way than before. Only the path inside the link changes: its anchor, alias,
title, query, brackets and everything around it stay. Embedded files (`![[picture.png]]`) are found
by their base names and stay as they are.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pecia.kernel.text.links.extract import (
    find_block_links,
    find_frontmatter_links,
    find_unused_definitions,
)
from pecia.kernel.text.links.html import find_html_links, write_html_path
from pecia.kernel.text.links.link import Link, LinkKind
from pecia.kernel.text.links.name_index import NameIndex, folder_of, relative_path
from pecia.kernel.text.links.resolver import (
    AssetLink,
    LinkResolution,
    LinkRules,
    LookupRule,
    MissingLink,
    ResolvedLink,
    parse_reference,
    resolve_link,
    strip_extension,
)
from pecia.kernel.text.markdown.blocks import scan_blocks
from pecia.kernel.text.markdown.escapes import encode_path, unescape
from pecia.kernel.text.markdown.frontmatter import find_body_start
from pecia.kernel.text.span import Edit, apply_edits


@dataclass(frozen=True, slots=True)
class DocumentMoves:
    """Old to new: names of documents, and folders whose files of other kinds go with them."""

    documents: Mapping[str, str]
    folders: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())

    def of(self, path: str) -> str:
        """Where a document, a file or a place where nothing is yet, is now."""
        if path in self.documents:
            return self.documents[path]
        folder = path
        while folder:
            if folder in self.folders:
                return self.folders[folder] + path[len(folder) :]
            folder = folder_of(folder)
        return path


class LinkWording(NamedTuple):
    """All of a link in a document of a known folder that decides where it must lead after a rename.

    `address` is empty where the path has no colon: what follows the path then says nothing of it.
    """

    is_wiki: bool
    path: str
    address: str

    @classmethod
    def of(cls, link: Link) -> "LinkWording":
        path = link.target.path
        return cls(link.kind is LinkKind.WIKI, path, link.target.address if ":" in path else "")


class WrittenPath(NamedTuple):
    """All that decides how the new path is written: how the old one is, and where it stands. `tail`
    is empty where the new path has no colon, as in `LinkWording`."""

    wording: LinkWording
    raw: str
    tail: str
    lead: str
    is_html: bool
    is_in_frontmatter: bool


@dataclass(frozen=True, slots=True)
class JudgedLinks:
    """Links in documents that move from one folder to another, as far as it was asked: documents of
    a folder write the same links again and again."""

    targets: dict[LinkWording, str | None] = field(default_factory=dict[LinkWording, str | None])
    """Where they must lead; None where they stay as they are."""
    paths: dict[WrittenPath, str | None] = field(default_factory=dict[WrittenPath, str | None])
    """What is written; None where no spelling leads there."""
    destinations: dict[str, bool] = field(default_factory=dict[str, bool])
    """Whether what stands where a destination may stand must be rewritten."""


@dataclass(frozen=True, slots=True)
class DocumentRename:
    """One move with the names before and after it: make it once, rewrite many documents.

    Not only documents that link to what moved need it: a newcomer can make a base name ambiguous
    that others rely on. Rewriting a document whose links are unharmed gives it back unchanged.
    `is_place`: a path that is no document is a folder or a file, so that a link there is kept.
    """

    moves: DocumentMoves
    before: NameIndex
    after: NameIndex
    rules: LinkRules
    is_place: Callable[[str], bool]
    judged: dict[tuple[str, str], JudgedLinks] = field(
        default_factory=dict[tuple[str, str], JudgedLinks]
    )
    """By the folders before and after."""

    @classmethod
    def of(
        cls,
        moves: DocumentMoves,
        names: NameIndex,
        rules: LinkRules,
        is_place: Callable[[str], bool] = lambda path: False,
    ) -> "DocumentRename":
        arriving = {new: names.labels(old) for old, new in moves.documents.items()}
        after = names.with_changes(remove=moves.documents, add=arriving)
        return cls(moves, names, after, rules, is_place)

    def judged_from(self, source: str) -> JudgedLinks:
        """What is known of links in this document's folder."""
        key = (folder_of(source), folder_of(self.moves.of(source)))
        return self.judged.setdefault(key, JudgedLinks())


@dataclass(frozen=True, slots=True)
class RewrittenDocument:
    """`stranded` are links that no spelling could keep, such as a wiki link to a name with `#`."""

    text: str
    edits: tuple[Edit, ...]
    stranded: tuple[Link, ...]


def rewrite_links(text: str, source: str, rename: DocumentRename) -> RewrittenDocument:
    """The document `source`, by its name before the move, with its links as they must be after."""
    edits: dict[int, Edit] = {}
    stranded: list[Link] = []
    body_start = find_body_start(text)
    judged = rename.judged_from(source)
    for link in _links_and_definitions(text, body_start, rename.rules):
        wanted = find_new_target(link, source, rename, judged)
        if wanted is None:
            continue
        site = _Site(text, link, source, rename, link.span.end <= body_start)
        written = site.written_path(wanted)
        if written not in judged.paths:
            judged.paths[written] = site.spelling(wanted)
        path = judged.paths[written]
        if path is None:
            stranded.append(link)
        else:
            # All uses of a reference share one place, in its definition.
            edits[link.target.path_span.start] = Edit(link.target.path_span, path)
    changes = tuple(edits.values())
    return RewrittenDocument(apply_edits(text, changes), changes, tuple(stranded))


def find_new_target(
    link: Link, source: str, rename: DocumentRename, judged: JudgedLinks
) -> str | None:
    """Where the link must lead from now on, or None when it may stay as it is."""
    if link.kind is LinkKind.AUTO:
        return None
    wording = LinkWording.of(link)
    if wording not in judged.targets:
        judged.targets[wording] = _Site("", link, source, rename).new_target()
    return judged.targets[wording]


def _links_and_definitions(text: str, body_start: int, rules: LinkRules) -> list[Link]:
    """Links, and definitions that no link uses: somebody may use them next."""
    blocks = scan_blocks(text, body_start)
    links = find_block_links(text, blocks)
    ahead = find_frontmatter_links(text) if rules.frontmatter else []
    tagged = find_html_links(text, blocks) if rules.html else []
    return [*ahead, *links, *tagged, *find_unused_definitions(text, blocks, links)]


@dataclass(frozen=True, slots=True)
class _Site:
    """One link in one document that may have moved, to others that may have moved."""

    text: str
    link: Link
    source: str
    rename: DocumentRename
    is_in_frontmatter: bool = False

    def new_target(self) -> str | None:
        """Where the link must lead from now on, or None when it may stay as it is."""
        before = self._before()
        place = _place(before)
        is_place = isinstance(before, MissingLink) and self.rename.is_place(before.name)
        if place is None or (self._is_wiki and not isinstance(before, ResolvedLink | MissingLink)):
            return None
        if isinstance(before, MissingLink) and not is_place:
            # What it was meant to be is not known, so that nothing written for it is right.
            return None
        wanted = self.rename.moves.of(place)
        if not isinstance(before, ResolvedLink) and wanted == place and not self._folder_changed:
            return None
        after = self._resolve(self.link)
        if _place(after) == wanted and self._looseness(after) <= self._looseness(before):
            return None
        return wanted

    def spelling(self, wanted: str) -> str | None:
        """The first spelling that leads there, beginning with the manner of the old one."""
        for path in self._spellings(wanted):
            written = self._write_path(path)
            if written and _place(self._resolve(self._with_path(written))) == wanted:
                return written
        return None

    def written_path(self, wanted: str) -> WrittenPath:
        to = self.link.target
        return WrittenPath(
            LinkWording.of(self.link),
            to.path_span.of(self.text),
            to.tail if ":" in wanted else "",
            # This tells `<x>` from `x`, and the quotes of an attribute.
            self.text[to.span.start - 1 : to.span.start],
            self.link.kind is LinkKind.HTML,
            self.is_in_frontmatter,
        )

    @property
    def _is_wiki(self) -> bool:
        return self.link.kind is LinkKind.WIKI

    @property
    def _new_folder(self) -> str:
        return folder_of(self.rename.moves.of(self.source))

    @property
    def _folder_changed(self) -> bool:
        return folder_of(self.source) != self._new_folder

    def _before(self) -> LinkResolution:
        return resolve_link(self.link, self.source, self.rename.before, self.rename.rules)

    def _resolve(self, link: Link) -> LinkResolution:
        source = self.rename.moves.of(self.source)
        return resolve_link(link, source, self.rename.after, self.rename.rules)

    def _looseness(self, resolution: LinkResolution) -> int:
        ways = self.rename.rules.wiki if self._is_wiki else self.rename.rules.markdown
        return ways.index(resolution.way) if isinstance(resolution, ResolvedLink) else 0

    def _spellings(self, wanted: str) -> Iterator[str]:
        reference = parse_reference(self.link, self.rename.rules)
        path = reference.path
        extension = path[len(strip_extension(path)) :]
        before = self._before()
        way = before.way if isinstance(before, ResolvedLink) else LookupRule.RELATIVE
        if reference.is_rooted:
            yield from self._addresses(wanted, path, extension)
        if way is LookupRule.FOLDER and folder_of(wanted):
            tail = "/" if path.endswith("/") else ""
            yield self._in_manner(folder_of(wanted), path, way) + tail
        if path.endswith("/"):
            yield f"{self._in_manner(wanted, path, way)}/"
        if way is LookupRule.SUFFIX:
            yield wanted.rpartition("/")[2] + extension
        yield self._in_manner(wanted, path, way) + extension
        # A name may look like an address or like a file of another kind.
        relative = relative_path(wanted, self._new_folder)
        if extension:
            yield f"./{relative}{extension}"
        yield from (wanted, f"./{relative}", f"{wanted}.md", f"./{relative}.md", f"/{wanted}.md")

    def _addresses(self, wanted: str, path: str, extension: str) -> Iterator[str]:
        """Addresses of the site: of the folder, where the old one was, and of the document."""
        if path.endswith("/") and (folder := self.rename.rules.to_address(f"/{folder_of(wanted)}")):
            yield f"{folder}/"
        if address := self.rename.rules.to_address(f"/{wanted}"):
            yield f"{address}/" if path.endswith("/") else address + extension
        # Out of every root: other programs read a path from the folder too.
        yield f"./{relative_path(wanted, self._new_folder)}{extension}"

    def _in_manner(self, wanted: str, path: str, way: LookupRule) -> str:
        """From the root if the old path was, or was a plain wiki link's; else from the folder."""
        if path.startswith("/"):
            return f"/{wanted}"
        if not path.startswith(("./", "../")) and (self._is_wiki or way is LookupRule.ROOT):
            return wanted
        relative = relative_path(wanted, self._new_folder)
        # Kept also before `../`: the way back finds it there.
        return f"./{relative}" if path.startswith("./") else relative

    def _write_path(self, path: str) -> str | None:
        """The path as it must be written at this place, if it can be."""
        if self.link.kind is LinkKind.HTML:
            return write_html_path(self.text, self.link, path)
        if not self._is_wiki:
            start = self.link.target.span.start
            angled = self.text[start - 1 : start] == "<"
            return encode_path(path, angled=angled, like=self.link.target.path_span.of(self.text))
        refused = _NOT_WIKI | _NOT_YAML if self.is_in_frontmatter else _NOT_WIKI
        writable = path == path.strip() and not path.endswith("\\") and not set(path) & refused
        return path if writable else None

    def _with_path(self, written: str) -> Link:
        path = written if self._is_wiki else unescape(written)
        return self.link._replace(target=self.link.target._replace(path=path))


def _place(resolution: LinkResolution) -> str | None:
    """The name or path that a link leads to, be there anything or not."""
    match resolution:
        case ResolvedLink(name=name, prefix=None) | MissingLink(name=name, prefix=None):
            return name
        case AssetLink(path=path):
            return path
        case _:
            return None


_NOT_WIKI = frozenset("#[]|\r\n")
# Quoted or not, these would end a value or be an escape.
_NOT_YAML = frozenset("\"'\\,{}:")
