"""Links of a document, written so that programs without our resolver follow them. Pure.

Wiki links become Markdown links, and looser Markdown links get the exact path. Everything else
stays, to the byte. Links in code are no links.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pecia.features.wiki.core.assets import find_nearest_file
from pecia.kernel.text.links.extract import find_block_links
from pecia.kernel.text.links.html import find_html_links, write_html_path
from pecia.kernel.text.links.link import Link, LinkKind
from pecia.kernel.text.links.name_index import NameIndex, folder_of, relative_path
from pecia.kernel.text.links.resolver import (
    WIKI_RULES,
    AmbiguousLink,
    AssetLink,
    MissingLink,
    ResolvedLink,
    SamePageLink,
    resolve_link,
)
from pecia.kernel.text.markdown.blocks import scan_blocks
from pecia.kernel.text.markdown.escapes import encode_path
from pecia.kernel.text.markdown.frontmatter import find_body_start
from pecia.kernel.text.span import Edit, apply_edits


@dataclass(frozen=True, slots=True)
class LinkTargets:
    """What links of a space can lead to. `pages` has the exported file of each document."""

    names: NameIndex
    pages: Mapping[str, str]
    files: Mapping[str, tuple[str, ...]]
    """Paths of the other files, by their last part in lower case."""
    anchor: Callable[[str], str] = field(default=lambda it: it)
    """The id of a heading, from what a link says of it."""

    def has_file(self, path: str) -> bool:
        return path in self.files.get(_leaf(path), ())


@dataclass(frozen=True, slots=True)
class StandardText:
    """A text with standard links, and what could not be made one."""

    text: str
    problems: tuple[str, ...] = ()


def index_files(paths: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Files by their last part, for `LinkTargets`."""
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted(paths):
        found[_leaf(path)] = (*found.get(_leaf(path), ()), path)
    return found


def standardize_links(text: str, name: str, page: str, targets: LinkTargets) -> StandardText:
    """The text of the document `name`, which is exported as the file `page`."""
    edits: dict[int, Edit] = {}
    problems: list[str] = []
    blocks = scan_blocks(text, find_body_start(text))
    for link in (*find_block_links(text, blocks), *find_html_links(text, blocks)):
        edit, problem = _standardize(text, link, name, page, targets)
        if edit is not None:
            edits[edit.span.start] = edit
        if problem:
            problems.append(problem)
    return StandardText(apply_edits(text, edits.values()), tuple(problems))


def _standardize(
    text: str, link: Link, name: str, page: str, targets: LinkTargets
) -> tuple[Edit | None, str]:
    written = link.span.of(text)
    match resolve_link(link, name, targets.names, WIKI_RULES):
        case ResolvedLink(name=target, anchor=anchor):
            problem = f"{written} is a link now: documents are not embedded" if link.embed else ""
            return _edit(text, link, page, targets, targets.pages[target], anchor), problem
        case AssetLink(path=path, anchor=anchor):
            found = _find_file(path, link, name, targets)
            if found is None:
                return None, f"{written} leads to no file of the export"
            return _edit(text, link, page, targets, found, anchor), ""
        case AmbiguousLink(names=names):
            return None, f"{written} may mean {' or '.join(names[:3])}"
        case SamePageLink(anchor=anchor) if link.kind is LinkKind.WIKI and anchor:
            href = f"#{encode_path(targets.anchor(anchor), angled=False)}"
            return Edit(link.span, f"[{_label(link, anchor)}]({href})"), ""
        case MissingLink():
            return None, f"{written} leads to no document"
        case _:
            return None, ""


def _edit(
    text: str, link: Link, page: str, targets: LinkTargets, path: str, anchor: str | None
) -> Edit | None:
    """The change that makes the link lead to that file, or None where it does already."""
    href = encode_path(relative_path(path, folder_of(page)), angled=False)
    if link.kind is LinkKind.WIKI:
        tail = f"#{encode_path(targets.anchor(anchor), angled=False)}" if anchor else ""
        is_picture = link.embed and path not in targets.pages.values()
        mark = "!" if is_picture else ""
        return Edit(link.span, f"{mark}[{_label(link, path)}]({href}{tail})")
    if link.target.path_span.of(text) == href:
        return None
    if link.kind is LinkKind.HTML:
        href = write_html_path(text, link, relative_path(path, folder_of(page)))
        return Edit(link.target.path_span, href)
    angled = text[link.target.span.start : link.target.span.start + 1] == "<"
    if angled:
        href = encode_path(relative_path(path, folder_of(page)), angled=True)
    return Edit(link.target.path_span, href)


def _find_file(path: str, link: Link, name: str, targets: LinkTargets) -> str | None:
    if targets.has_file(path):
        return path
    if link.kind is not LinkKind.WIKI:
        return None
    return find_nearest_file([*targets.files.get(_leaf(path), ())], name)


def _label(link: Link, fallback: str) -> str:
    said = link.text.strip() or fallback.rpartition("/")[2]
    if link.embed and _SIZE.fullmatch(said):
        # ![[picture.png|300]] names a width.
        said = fallback.rpartition("/")[2]
    return _BRACKET.sub(r"\\\g<0>", said)


def _leaf(path: str) -> str:
    return path.rpartition("/")[2].casefold()


_BRACKET = re.compile(r"[\[\]\\]")
_SIZE = re.compile(r"\d{1,5}(?:x\d{1,5})?")
