"""An Obsidian vault: its notes as they are, with the tags of their text in the frontmatter too."""

import re

from pecia.adapters.importers.frontmatter import add_tags
from pecia.adapters.importers.model import ConvertedExport, ImportedAttachment, ImportedNote
from pecia.adapters.importers.source_tree import SourceTree, UnusableFile, require_some
from pecia.kernel.text.markdown.blocks import BlockKind, scan_blocks
from pecia.kernel.text.markdown.frontmatter import find_body_start

EXPECTED = "an Obsidian vault: a folder, or a zip of one, with .md files"
_TAG = re.compile(r"(?<![\w&/#\[(])#([\w/-]*[^\W\d_][\w/-]*)")
_CODE = re.compile(r"`+[^`]*`+|\[\[[^\]\n]*\]\]|\]\([^)\n]*\)|https?://\S+")


def convert_obsidian(tree: SourceTree) -> ConvertedExport:
    """Links and embeds keep their spelling: a space resolves them as Obsidian does."""
    made = ConvertedExport()
    _drop_settings(tree, made)
    paths = [it for it in tree.paths if not _is_hidden(it)]
    for path in paths:
        # Paths in a vault are its ids: the vault's name keeps two vaults apart.
        origin = f"{tree.label}/{path}"
        if not path.lower().endswith((".md", ".mdx")):
            made.attachments.append(ImportedAttachment(origin, path, tree.loader(path)))
            continue
        try:
            text = tree.read(path).decode()
        except UnusableFile as error:
            made.drop(path, str(error))
        except UnicodeDecodeError:
            made.drop(path, "it is not UTF-8")
        else:
            name = path.rpartition(".")[0]
            made.notes.append(ImportedNote(origin, name, add_tags(text, find_inline_tags(text))))
    require_some(dict.fromkeys(it.name for it in made.notes), tree.label, EXPECTED)
    return made


def find_inline_tags(text: str) -> list[str]:
    """The `#tags` in the text of a note, those in code and links left out."""
    found: list[str] = []
    for block in scan_blocks(text, find_body_start(text)):
        if block.kind in (BlockKind.TEXT, BlockKind.HEADING, BlockKind.TABLE):
            found += _TAG.findall(_CODE.sub(" ", block.span.of(text)))
    return [*dict.fromkeys(it.strip("/") for it in found)]


def _drop_settings(tree: SourceTree, made: ConvertedExport) -> None:
    for folder, reason in (
        (".obsidian", "settings of Obsidian"),
        (".trash", "notes that were deleted in Obsidian"),
    ):
        count = sum(it.startswith(f"{folder}/") for it in tree.paths)
        if count:
            made.drop(f"{folder}/", f"{reason} ({count} files)")
    hidden = [it for it in tree.paths if _is_hidden(it)]
    for path in hidden:
        if not path.startswith((".obsidian/", ".trash/")):
            made.drop(path, "a hidden file")


def _is_hidden(path: str) -> bool:
    return any(it.startswith(".") for it in path.split("/"))
