"""Roam Research: the JSON of a graph, to Markdown outlines."""

import re
from typing import cast

import orjson

from pecia.adapters.importers.frontmatter import clean_tag, format_epoch, with_frontmatter
from pecia.adapters.importers.html_markdown import local_link
from pecia.adapters.importers.model import ConvertedExport, ImportedNote
from pecia.adapters.importers.note_names import UniqueNames, safe_part
from pecia.adapters.importers.source_tree import (
    MAX_EXPORT_BYTES,
    SourceTree,
    UnusableFile,
    require_some,
)
from pecia.kernel.errors import Json

EXPECTED = "the JSON export of a Roam graph, or a zip with it"
MAX_DEPTH = 60
_REFERENCE = re.compile(r"\(\(([\w-]{3,60})\)\)")
_ALIAS = re.compile(r"\[([^\]\n]*)\]\(\(\(([\w-]{3,60})\)\)\)")
_EMBED = re.compile(r"\{\{(?:\[\[)?embed(?:-path|-children)?(?:\]\])?:\s*(.*?)\s*\}\}")
_PAGE_ALIAS = re.compile(r"\[([^\]\n]*)\]\(\[\[([^\]\n]+)\]\]\)")
_PAGE_LINK = re.compile(r"(?<!!)(#?)\[\[((?:[^\[\]\n]|\[\[[^\[\]\n]*\]\])+)\]\]")
_TODO = re.compile(r"\{\{(?:\[\[)?(TODO|DONE)(?:\]\])?\}\}\s*")
_MACRO = re.compile(
    r"\{\{(?:\[\[)?(video|youtube|pdf|iframe|tweet|audio)(?:\]\])?:\s*(\S+?)\s*\}\}"
)
_ITALIC = re.compile(r"(?<!_)__(?=\S)(.+?)(?<=\S)__(?!_)")
_HIGHLIGHT = re.compile(r"\^\^(?=\S)(.+?)(?<=\S)\^\^")
_ATTRIBUTE = re.compile(r"([^:`\[\]{}\n]{1,100})::[ \t]*(.*)")
_CODE = re.compile(r"(`[^`\n]*`)")
_TABLE = re.compile(r"\{\{(?:\[\[)?table(?:\]\])?\}\}")


def convert_roam(tree: SourceTree) -> ConvertedExport:
    """Pages become documents, blocks lists; references lead to the block, which has an id."""
    made = ConvertedExport()
    graphs = [it for it in tree.paths if it.lower().endswith(".json")]
    require_some(dict.fromkeys(graphs), tree.label, EXPECTED)
    for path in tree.paths:
        if path not in graphs:
            made.drop(path, "it is no graph of Roam")
            continue
        try:
            _Graph(_parse(tree.read(path, MAX_EXPORT_BYTES)), made).convert()
        except UnusableFile as error:
            made.drop(path, str(error))
        except RecursionError:
            made.drop(path, "its blocks are nested too deep")
    return made


def _parse(body: bytes) -> list[dict[str, Json]]:
    try:
        found: Json = orjson.loads(body)
    except ValueError as error:
        raise UnusableFile(f"it is no JSON: {error}") from None
    pages = [it for it in found if isinstance(it, dict)] if isinstance(found, list) else []
    if not pages or not all(isinstance(it.get("title"), str) for it in pages):
        raise UnusableFile("it is no graph of Roam: a list of pages with titles")
    return pages


class _Graph:
    def __init__(self, pages: list[dict[str, Json]], made: ConvertedExport) -> None:
        self.pages, self.made = pages, made
        names = UniqueNames()
        self.names = {
            str(page["title"]): names.claim(_document_name(str(page["title"]))) for page in pages
        }
        self.blocks: dict[str, tuple[str, dict[str, Json]]] = {}
        self.referenced: set[str] = set()
        for page in pages:
            self._index(str(page["title"]), page, 0)
            self._find_references(page)

    def convert(self) -> None:
        for page in self.pages:
            title = str(page["title"])
            name = self.names[title]
            attributes, children = _split_attributes(_children(page))
            lines: list[str] = []
            for child in children:
                lines += self._lines(name, child, 0)
            fields: dict[str, Json] = {
                "title": title if title != name.rpartition("/")[2] else None,
                "created": _time(page.get("create-time")),
                "updated": _time(page.get("edit-time")),
                **{key: self.text(name, value) for key, value in attributes.items()},
            }
            text = with_frontmatter(fields, "\n".join(lines))
            origin = str(page.get("uid") or title)[:900]
            self.made.notes.append(ImportedNote(origin, name, text))

    def _index(self, title: str, block: dict[str, Json], depth: int) -> None:
        if depth > MAX_DEPTH:
            return
        for child in _children(block):
            uid = child.get("uid")
            if isinstance(uid, str):
                self.blocks[uid] = (title, child)
            self._index(title, child, depth + 1)

    def _find_references(self, page: dict[str, Json]) -> None:
        waiting = [*_children(page)]
        while waiting:
            block = waiting.pop()
            self.referenced |= {*_REFERENCE.findall(str(block.get("string") or ""))}
            waiting += _children(block)

    def _lines(self, name: str, block: dict[str, Json], depth: int) -> list[str]:
        if depth > MAX_DEPTH:
            self.made.drop(name, f"blocks below level {MAX_DEPTH}")
            return []
        said = str(block.get("string") or "")
        level = block.get("heading")
        anchor = self._anchor(block)
        lead = "  " * depth
        if _TABLE.fullmatch(said.strip()):
            return ["", *_table(self, name, block), ""]
        text = self.text(name, said)
        if isinstance(level, int) and 1 <= level <= 6 and depth == 0 and "\n" not in text:
            lines = ["", f"{'#' * level} {text}{anchor}", ""]
            for child in _children(block):
                lines += self._lines(name, child, 0)
            return lines
        first, *rest = text.split("\n")
        lines = [f"{lead}- {first}{'' if rest else anchor}"]
        lines += [f"{lead}  {it}" if it else "" for it in rest]
        lines += [f"{lead} {anchor}"] if rest and anchor else []
        for child in _children(block):
            lines += self._lines(name, child, depth + 1)
        return lines

    def _anchor(self, block: dict[str, Json]) -> str:
        uid = block.get("uid")
        return f" ^{uid}" if isinstance(uid, str) and uid in self.referenced else ""

    def text(self, name: str, said: str) -> str:
        """The markup of a block as Markdown; code stays as it is."""
        if said.lstrip().startswith("```"):
            body = said.strip()
            return body if body.endswith("\n```") else re.sub(r"\s*```$", "\n```", body)
        parts = _CODE.split(said)
        return "".join(
            it if number % 2 else self._convert(name, it) for number, it in enumerate(parts)
        )

    def _convert(self, name: str, text: str) -> str:
        text = _TODO.sub(lambda it: "[x] " if it[1] == "DONE" else "[ ] ", text)
        text = _EMBED.sub(lambda it: self._embed(name, it[1]), text)
        text = _ALIAS.sub(lambda it: self._block_link(name, it[2], it[1], it[0]), text)
        text = _REFERENCE.sub(lambda it: self._block_link(name, it[1], "", it[0]), text)
        text = _PAGE_ALIAS.sub(lambda it: self._page_link(it[2], it[1]), text)
        text = _MACRO.sub(lambda it: f"<{it[2]}>", text)
        text = _PAGE_LINK.sub(lambda it: self._page_link(it[2], is_tag=bool(it[1])), text)
        return _HIGHLIGHT.sub(r"==\1==", _ITALIC.sub(r"*\1*", text))

    def _embed(self, name: str, said: str) -> str:
        found = _REFERENCE.fullmatch(said)
        if found is None or found[1] not in self.blocks:
            page = _PAGE_LINK.fullmatch(said)
            return f"!{self._page_link(page[2])}" if page else said
        target = self.names[self.blocks[found[1]][0]]
        return f"![[{target}#^{found[1]}]]"

    def _block_link(self, name: str, uid: str, label: str, written: str) -> str:
        if uid not in self.blocks:
            if label or not uid.isalpha():
                self.made.drop(f"{name}: {written}", "the export does not have this block")
            return label or written
        title, block = self.blocks[uid]
        said = label or _plain(str(block.get("string") or uid))
        return f"[{said}]({local_link(name, f'{self.names[title]}.md', f'^{uid}')})"

    def _page_link(self, title: str, label: str = "", *, is_tag: bool = False) -> str:
        if is_tag and title not in self.names:
            return f"#{clean_tag(title)}"
        target = self.names.get(title, _document_name(title))
        shown = label or title.replace("[[", "").replace("]]", "")
        return f"[[{target}]]" if shown == target else f"[[{target}|{shown}]]"


def _document_name(title: str) -> str:
    """A title with slashes is a path: that is how Roam groups pages."""
    parts = [safe_part(it) for it in title.replace("[[", "").replace("]]", "").split("/")[:10]]
    return "/".join(it.lstrip(".") or "Untitled" for it in parts)


def _split_attributes(
    blocks: list[dict[str, Json]],
) -> tuple[dict[str, str], list[dict[str, Json]]]:
    """Attributes at the top of a page are its fields, as far as they stand alone."""
    fields: dict[str, str] = {}
    for number, block in enumerate(blocks):
        found = _ATTRIBUTE.fullmatch(str(block.get("string") or ""))
        if found is None or _children(block) or not found[2].strip():
            return fields, blocks[number:]
        fields.setdefault(found[1].strip().lower(), found[2].strip())
    return fields, []


def _table(graph: _Graph, name: str, block: dict[str, Json]) -> list[str]:
    """A row is a chain of blocks, each the first child of the one before."""
    rows: list[list[str]] = []

    def walk(cell: dict[str, Json], before: list[str]) -> None:
        said = graph.text(name, str(cell.get("string") or "")).replace("\n", "<br>")
        row = [*before, said.replace("|", "\\|")]
        below = _children(cell)
        if not below or len(row) >= MAX_DEPTH:
            rows.append(row)
        for number, child in enumerate(below):
            walk(child, row if number == 0 else [""] * len(row))

    for first in _children(block):
        walk(first, [])
    if not rows:
        return []
    width = max(map(len, rows))
    lines = ["| " + " | ".join([*row, *[""] * (width - len(row))]) + " |" for row in rows]
    return [lines[0], "| " + " | ".join(["---"] * width) + " |", *lines[1:]]


def _plain(text: str) -> str:
    found = _TODO.sub("", _EMBED.sub("", text)).replace("[[", "").replace("]]", "")
    found = re.sub(r"[\[\]`*_^{}]", "", _REFERENCE.sub("…", found).partition("\n")[0])
    return found[:120].strip() or "block"


def _children(block: dict[str, Json]) -> list[dict[str, Json]]:
    found = block.get("children")
    return [it for it in found if isinstance(it, dict)] if isinstance(found, list) else []


def _time(value: object) -> str | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return format_epoch(cast(float, value) / 1e3) if is_number else None
