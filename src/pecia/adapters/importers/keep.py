"""Google Keep, as Google Takeout writes it: one JSON file for each note."""

from typing import Any, cast

import orjson

from pecia.adapters.importers.frontmatter import clean_tag, format_epoch, with_frontmatter
from pecia.adapters.importers.html_markdown import local_link, markdown_link
from pecia.adapters.importers.model import ConvertedExport, ImportedAttachment, ImportedNote
from pecia.adapters.importers.note_names import UniqueNames, safe_file_name, safe_part
from pecia.adapters.importers.source_tree import SourceTree, UnusableFile, require_some
from pecia.kernel.errors import Json

EXPECTED = "a Takeout of Keep: a zip or folder with one .json for each note"
ATTACHMENTS = "attachments"
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_EXTENSIONS = {".jpeg": ".jpg", ".jpg": ".jpeg"}


def convert_keep(tree: SourceTree) -> ConvertedExport:
    """Notes, lists, labels, dates and attachments. Deleted notes are left out."""
    return _KeepConversion(tree).convert()


class _KeepConversion:
    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.made = ConvertedExport()
        self.names = UniqueNames()
        self.files: dict[str, str] = {}

    def convert(self) -> ConvertedExport:
        found = [it for it in self.tree.paths if it.lower().endswith(".json")]
        require_some(dict.fromkeys(found), self.tree.label, EXPECTED)
        for path in found:
            try:
                self._convert(path, _parse(self.tree.read(path)))
            except UnusableFile as error:
                self.made.drop(path, str(error))
        for path in self.tree.paths:
            if path in self.files or path in found:
                continue
            # Takeout has every note a second time, as a page.
            if not path.lower().endswith((".html", ".css", ".txt")):
                self.made.drop(path, "no note has it attached")
        return self.made

    def _convert(self, path: str, note: dict[str, Json]) -> None:
        if note.get("isTrashed") is True:
            self.made.drop(path, "it was deleted in Keep")
            return
        leaf = path.rpartition("/")[2].removesuffix(".json")
        title = str(note.get("title") or "").strip()
        name = self.names.claim(safe_part(title.partition("\n")[0], safe_part(leaf)))
        parts = [_body(note), *self._attachments(path, name, note), *_links(note)]
        fields: dict[str, Json] = {
            "title": " ".join(title.split()) if title != name else None,
            "tags": [*_tags(note)],
            "created": _time(note.get("createdTimestampUsec")),
            "updated": _time(note.get("userEditedTimestampUsec")),
            "archived": note.get("isArchived") is True or None,
            "pinned": note.get("isPinned") is True or None,
        }
        body = "\n\n".join(it for it in parts if it)
        # Keep has no ids: a note is told from another by its file and when it was made.
        origin = f"{leaf}@{note.get('createdTimestampUsec', '')}"
        self.made.notes.append(ImportedNote(origin, name, with_frontmatter(fields, body)))

    def _attachments(self, path: str, name: str, note: dict[str, Json]) -> list[str]:
        folder = path.rpartition("/")[0]
        links: list[str] = []
        for row in _rows(note.get("attachments")):
            wanted = str(row.get("filePath") or "")
            found = self._find(folder, wanted)
            if found is None:
                self.made.drop(f"{path}: {wanted}", "the export does not have this attachment")
                continue
            if found not in self.files:
                target = f"{ATTACHMENTS}/{safe_file_name(found.rpartition('/')[2])}"
                self.files[found] = self.names.claim_file(target)
                self.made.attachments.append(
                    ImportedAttachment(found, self.files[found], self.tree.loader(found))
                )
            target = self.files[found]
            is_picture = target.lower().endswith(PICTURES)
            links.append(markdown_link(wanted, local_link(name, target), picture=is_picture))
        return links

    def _find(self, folder: str, wanted: str) -> str | None:
        """Takeout names `.jpeg` what it stores as `.jpg`, and the other way round."""
        place = f"{folder}/{wanted}" if folder else wanted
        stem, dot, extension = place.rpartition(".")
        other = f"{stem}{_EXTENSIONS.get(f'.{extension}', '.' + extension)}" if dot else place
        return next((it for it in (place, other) if it in self.tree.readers), None)


def _parse(body: bytes) -> dict[str, Json]:
    try:
        found: Json = orjson.loads(body)
    except ValueError as error:
        raise UnusableFile(f"it is no JSON: {error}") from None
    if not isinstance(found, dict) or "userEditedTimestampUsec" not in found:
        raise UnusableFile("it is no note of Keep")
    return found


def _body(note: dict[str, Json]) -> str:
    text = note.get("textContent")
    lines = [
        f"- [{'x' if row.get('isChecked') is True else ' '}] {_one_line(row.get('text'))}"
        for row in _rows(note.get("listContent"))
    ]
    parts = [text.strip("\n") if isinstance(text, str) else "", "\n".join(lines)]
    return "\n\n".join(it for it in parts if it)


def _links(note: dict[str, Json]) -> list[str]:
    found = [row for row in _rows(note.get("annotations")) if row.get("url")]
    return ["\n".join(f"- <{row['url']}> {_one_line(row.get('title'))}".rstrip() for row in found)]


def _tags(note: dict[str, Json]) -> list[str]:
    labels = [clean_tag(str(row.get("name") or "")) for row in _rows(note.get("labels"))]
    return [it for it in dict.fromkeys(labels) if it]


def _time(value: Json) -> str | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return format_epoch(cast(int, value) / 1e6) if is_number else None


def _rows(value: Json) -> list[dict[str, Any]]:
    return [it for it in value if isinstance(it, dict)] if isinstance(value, list) else []


def _one_line(value: Json) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
