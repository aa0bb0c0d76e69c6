"""The exports that can be imported, by kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pecia.adapters.importers import (
    bear,
    confluence,
    evernote,
    keep,
    notion,
    obsidian,
    onenote,
    roam,
)
from pecia.adapters.importers.model import ConvertedExport
from pecia.adapters.importers.source_tree import SourceTree


@dataclass(frozen=True, slots=True)
class ImportKind:
    convert: Callable[[SourceTree], ConvertedExport]
    expected: str
    """What has to be at the path."""
    nested: tuple[str, ...] = ()
    """Endings of files that are archives with more of the export."""


KINDS: Mapping[str, ImportKind] = {
    "obsidian": ImportKind(obsidian.convert_obsidian, obsidian.EXPECTED),
    "notion": ImportKind(notion.convert_notion, notion.EXPECTED, (".zip",)),
    "evernote": ImportKind(evernote.convert_evernote, evernote.EXPECTED),
    "keep": ImportKind(keep.convert_keep, keep.EXPECTED),
    "roam": ImportKind(roam.convert_roam, roam.EXPECTED),
    "bear": ImportKind(bear.convert_bear, bear.EXPECTED, (".textpack", ".bear2bk")),
    "confluence": ImportKind(confluence.convert_confluence, confluence.EXPECTED),
    "onenote": ImportKind(onenote.convert_onenote, onenote.EXPECTED),
}


def convert_export(kind: ImportKind, tree: SourceTree) -> ConvertedExport:
    """The conversion, with what the tree itself could not offer among the dropped."""
    made = kind.convert(tree)
    made.dropped[:0] = [{"item": path, "reason": why} for path, why in tree.refused.items()]
    return made
