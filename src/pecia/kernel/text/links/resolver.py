"""The one resolver of links: what a link in a document means among the names of its space. Pure.

Which ways are tried, and in which order, is a `LinkRules`. The first way that finds anything
decides: one document is found, several are ambiguous, and both say by which way.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from pecia.kernel.text.links.link import Link, LinkKind
from pecia.kernel.text.links.name_index import NameIndex, folder_of
from pecia.kernel.text.markdown.escapes import decode_path


class LookupRule(StrEnum):
    ROOT = "root"
    """The path from the root is the document's name."""
    RELATIVE = "relative"
    """The path from the source's folder is."""
    SLUG = "slug"
    """The same, but for case, accents and punctuation."""
    FOLDER = "folder"
    """The path is a folder with an `index`, or with a document named like the folder."""
    SUFFIX = "suffix"
    """The name ends in the path."""
    LABEL = "label"
    """The path is a title or an alias."""


@dataclass(frozen=True, slots=True)
class LinkRules:
    """Where the features differ.

    `root_slash`: in a Markdown link, `/x` is a path from the root; otherwise it leaves the space,
    unless `roots` has the folder that it begins with, as the site that is made of the documents
    has it: `("/en", "docs/en")`. The longest one counts.
    `prefixes`: words that may stand before a colon, such as the names of layers.
    `wiki_query`: a question mark ends the path of a wiki link too.
    `frontmatter`: wiki links in the frontmatter are links.
    `html`: so are those of HTML tags, which are read as Markdown's.
    """

    wiki: tuple[LookupRule, ...]
    markdown: tuple[LookupRule, ...]
    root_slash: bool = True
    prefixes: frozenset[str] = field(default_factory=lambda: frozenset[str]())
    wiki_query: bool = False
    frontmatter: bool = False
    html: bool = False
    roots: tuple[tuple[str, str], ...] = ()

    def to_path(self, address: str) -> str | None:
        """The path from the root that an address of the site means."""
        return _swap_lead(address, self.roots)

    def to_address(self, path: str) -> str | None:
        """The address of the site that means a path from the root."""
        return _swap_lead(path, [(folder, lead) for lead, folder in self.roots])


def _swap_lead(path: str, pairs: Iterable[tuple[str, str]]) -> str | None:
    """With the other of a pair in the place of the longest one that it begins with."""
    for old, new in sorted(pairs, key=lambda it: -len(it[0])):
        if path == old or path.startswith(f"{old}/"):
            return new + path[len(old) :]
    return None


_LOOSE = (LookupRule.SLUG, LookupRule.FOLDER, LookupRule.SUFFIX, LookupRule.LABEL)
WIKI_RULES = LinkRules(
    wiki=(LookupRule.ROOT, LookupRule.RELATIVE, *_LOOSE),
    markdown=(LookupRule.RELATIVE, LookupRule.ROOT, *_LOOSE),
    root_slash=False,
    frontmatter=True,
    html=True,
)
CASCADE_RULES = LinkRules(
    wiki=(LookupRule.ROOT, LookupRule.RELATIVE, LookupRule.SUFFIX),
    markdown=(LookupRule.RELATIVE, LookupRule.ROOT),
    wiki_query=True,
)


@dataclass(frozen=True, slots=True)
class ResolvedLink:
    name: str
    way: LookupRule
    anchor: str | None = None
    prefix: str | None = None


@dataclass(frozen=True, slots=True)
class AmbiguousLink:
    names: tuple[str, ...]
    way: LookupRule
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class MissingLink:
    """No such document; `name` is what it would be called."""

    name: str
    anchor: str | None = None
    prefix: str | None = None


@dataclass(frozen=True, slots=True)
class AssetLink:
    """A file that is no document, by its path from the root."""

    path: str
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class SamePageLink:
    anchor: str | None


@dataclass(frozen=True, slots=True)
class ExternalUrl:
    url: str


@dataclass(frozen=True, slots=True)
class OutsideLink:
    """The path climbs above the root. Nothing there is ever looked at."""

    path: str


LinkResolution: TypeAlias = (
    ResolvedLink
    | AmbiguousLink
    | MissingLink
    | AssetLink
    | SamePageLink
    | ExternalUrl
    | OutsideLink
)


@dataclass(frozen=True, slots=True)
class LinkReference:
    """What a link says: a path with nothing left to decode, and an anchor.

    `address` is the same before anything was decoded. It alone says whether the link leaves the
    space: decoded, an address outside looks like a path, and `a%3Ab` looks like an address.
    `is_rooted`: it is an address of the site, and `path` is the one from the root.
    """

    path: str
    anchor: str | None
    wiki: bool
    address: str
    is_rooted: bool = False


def resolve_link(link: Link, source: str, names: NameIndex, rules: LinkRules) -> LinkResolution:
    """What the link means in the document named `source`."""
    if link.kind is LinkKind.AUTO:
        return ExternalUrl(link.target.path)
    return resolve_reference(parse_reference(link, rules), source, names, rules)


def parse_reference(link: Link, rules: LinkRules) -> LinkReference:
    path, anchor = link.target.path, link.target.anchor
    if link.kind is LinkKind.WIKI:
        path = path.partition("?")[0] if rules.wiki_query else path
        return LinkReference(path, anchor, True, link.target.address)
    anchor = None if anchor is None else decode_path(anchor)
    path, address = decode_path(path), link.target.address
    is_absolute = address.startswith("/") and not address.startswith("//")
    rooted = rules.to_path(path) if is_absolute else None
    return LinkReference(rooted or path, anchor, False, address, is_rooted=rooted is not None)


def resolve_reference(
    reference: LinkReference, source: str, names: NameIndex, rules: LinkRules
) -> LinkResolution:
    path, anchor = reference.path, reference.anchor
    prefix, colon, rest = path.partition(":")
    # A prefix has no escapes, so that it is the same before and after decoding.
    is_prefixed = colon and reference.address.startswith(f"{prefix}:")
    if is_prefixed and prefix in rules.prefixes and not rest.startswith("//"):
        return _behind_prefix(prefix, rest, anchor, names)
    if _leaves_space(reference, rules) and not (reference.wiki and names.find_exact(path)):
        return ExternalUrl(reference.address)
    if not path:
        return SamePageLink(anchor)
    places = _places(reference, source)
    if not places.forms:
        return OutsideLink(path)
    for way in rules.wiki if reference.wiki else rules.markdown:
        found = _try(way, places, names)
        if len(found) == 1:
            return ResolvedLink(found[0], way, anchor)
        if found:
            return AmbiguousLink(tuple(sorted(found)), way, anchor)
    if has_other_extension(path):
        return AssetLink(places.forms[0], anchor)
    return MissingLink(places.forms[0], anchor)


def candidate_paths(link: Link, source: str, rules: LinkRules) -> tuple[str, ...]:
    """All that the link could mean, as paths from the root, and as it is written."""
    if link.kind is LinkKind.AUTO:
        return ()
    places = _places(parse_reference(link, rules), source)
    return (places.path, *places.forms)


def strip_extension(path: str) -> str:
    return _DOCUMENT_EXTENSION.sub("", path)


def has_other_extension(path: str) -> bool:
    """Whether the path names a file of another kind. `v1.2` has no extension."""
    return bool(_EXTENSION.search(path)) and not _DOCUMENT_EXTENSION.search(path)


def normalize_path(folder: str, path: str) -> str | None:
    """The path from the root without dots, or None when it climbs above the root."""
    parts = folder.split("/") if folder else []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


@dataclass(frozen=True, slots=True)
class _Places:
    """What a path can mean: `forms` are full names in the order in which to prefer them."""

    path: str
    root: str | None
    relative: str | None
    forms: tuple[str, ...]
    anywhere: bool


def _places(reference: LinkReference, source: str) -> _Places:
    path = strip_extension(reference.path)
    root, relative = normalize_path("", path), normalize_path(folder_of(source), path)
    # A path that begins with a slash or a dot says where it starts.
    if path.startswith("/"):
        relative = None
    elif path.startswith(("./", "../")) or path in (".", ".."):
        root = None
    order = (root, relative) if reference.wiki else (relative, root)
    forms = tuple(it for it in order if it is not None)
    return _Places(path, root, relative, forms, len(forms) == 2)


def _try(way: LookupRule, places: _Places, names: NameIndex) -> tuple[str, ...]:
    match way:
        case LookupRule.ROOT:
            return names.find_exact(places.root) if places.root else ()
        case LookupRule.RELATIVE:
            return names.find_exact(places.relative) if places.relative else ()
        case LookupRule.SLUG:
            return next((found for it in places.forms if (found := names.find_by_slug(it))), ())
        case LookupRule.FOLDER:
            return next((found for it in places.forms if (found := _in_folder(it, names))), ())
        case LookupRule.SUFFIX:
            return names.find_by_suffix(places.path.strip("/")) if places.anywhere else ()
        case LookupRule.LABEL:
            return names.find_by_label(places.path) if places.anywhere else ()


def _in_folder(folder: str, names: NameIndex) -> tuple[str, ...]:
    lead = f"{folder}/" if folder else ""
    leaf = folder.rpartition("/")[2]
    inside = names.find_by_slug(f"{lead}index")
    return inside or (names.find_by_slug(f"{lead}{leaf}") if leaf else ())


def _behind_prefix(prefix: str, rest: str, anchor: str | None, names: NameIndex) -> LinkResolution:
    name = normalize_path("", strip_extension(rest))
    if not name:
        return OutsideLink(rest)
    found = names.find_exact(name)
    if found:
        return ResolvedLink(found[0], LookupRule.ROOT, anchor, prefix)
    return MissingLink(name, anchor, prefix)


def _leaves_space(reference: LinkReference, rules: LinkRules) -> bool:
    if reference.is_rooted:
        return False
    if reference.wiki:
        path = reference.path
        return path.startswith("//") or bool(_WIKI_ADDRESS.fullmatch(path))
    # Browsers pass over spaces before an address.
    address = reference.address.strip()
    if address.startswith("//") or _SCHEME.match(address):
        return True
    return reference.path.startswith("/") and not rules.root_slash


# "Note: this" is a title and a file's name, with or without brackets.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+:(?!\s)")
# A wiki link is a name before it is an address: "Topic:Some words" is a name.
_WIKI_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+:(?:\S*+|//.*+)")
_DOCUMENT_EXTENSION = re.compile(r"(?<=[^/])\.mdx?$", re.IGNORECASE)
_EXTENSION = re.compile(r"(?<=[^/])\.[A-Za-z][A-Za-z0-9]{0,9}$")
