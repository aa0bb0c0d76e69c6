"""Bear backups (.bear2bk), and TextBundles and TextPacks of any program."""

import re
from typing import Any, cast
from urllib.parse import unquote

import orjson

from pecia.adapters.importers.frontmatter import add_tags, clean_tag, with_frontmatter
from pecia.adapters.importers.html_markdown import local_link
from pecia.adapters.importers.model import ConvertedExport, ImportedAttachment, ImportedNote
from pecia.adapters.importers.note_names import UniqueNames, safe_file_name, safe_part
from pecia.adapters.importers.obsidian import find_inline_tags
from pecia.adapters.importers.source_tree import SourceTree, UnusableFile, require_some
from pecia.kernel.errors import Json
from pecia.kernel.text.links.extract import find_links
from pecia.kernel.text.links.link import LinkKind
from pecia.kernel.text.markdown.escapes import decode_path
from pecia.kernel.text.span import Edit, apply_edits

EXPECTED = "a .bear2bk, .textbundle or .textpack, or a folder or zip of them"
_TEXTS = ("text.md", "text.markdown", "text.txt")
_SPACED_TAG = re.compile(r"(?<![\w#&/])#(?![\s#])([^#\n`]{1,80}?[^\s#`])#(?![\w#])")
_HIGHLIGHT = re.compile(r"(?<![\w:])::(?=\S)([^\n]+?)(?<=\S)::(?![\w:])")
_SIZE = re.compile(r"<!--\s*\{.*?\}\s*-->")


def convert_bear(tree: SourceTree) -> ConvertedExport:
    """Every bundle becomes a document. Trashed and encrypted notes are left out."""
    return _BearConversion(tree).convert()


class _BearConversion:
    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.made = ConvertedExport()
        self.unique = UniqueNames()
        self.titles: dict[str, str] = {}
        self.origins: set[str] = set()

    def convert(self) -> ConvertedExport:
        bundles = {
            it.rpartition("/")[0]: it
            for it in self.tree.paths
            if it.rpartition("/")[2].lower() in _TEXTS
        }
        require_some(bundles, self.tree.label, EXPECTED)
        found: list[tuple[str, str, str, dict[str, Any]]] = []
        for bundle, path in sorted(bundles.items()):
            try:
                text, info = self.tree.read_text(path), self._info(bundle)
            except UnusableFile as error:
                self.made.drop(path, str(error))
                continue
            if reason := _left_out(text, info):
                self.made.drop(bundle or path, reason)
                continue
            name = self.unique.claim(self._name(bundle, text))
            self.titles.setdefault(_heading(text).casefold(), name)
            found.append((bundle, name, text, info))
        for bundle, name, text, info in found:
            self._convert(bundle, name, text, info)
        self._drop_others(bundles)
        return self.made

    def _convert(self, bundle: str, name: str, text: str, info: dict[str, Any]) -> None:
        files = self._files(bundle, name)
        body = _SIZE.sub("", self._relink(text, name, files))
        heading = _heading(text)
        if heading or text.split("\n", 1)[0].strip() == "#":
            body = body.split("\n", 1)[1].lstrip("\n") if "\n" in body else ""
        tags = [clean_tag(it) for it in _SPACED_TAG.findall(body)]
        body = _SPACED_TAG.sub(lambda it: f"#{clean_tag(it[1])}", body)
        body = _HIGHLIGHT.sub(r"==\1==", body)
        tags = [*dict.fromkeys([*tags, *find_inline_tags(body)])]
        fields: dict[str, Json] = {
            "title": heading if heading != name else None,
            "created": _text(info.get("creationDate")),
            "updated": _text(info.get("modificationDate")),
            "archived": bool(info.get("archived")) or None,
            "pinned": bool(info.get("pinned")) or None,
        }
        origin = _text(info.get("uniqueIdentifier")) or bundle or self.tree.label
        if origin in self.origins:
            # A copy of a note has its id too.
            origin = f"{origin}/{bundle}"
        self.origins.add(origin)
        note = add_tags(with_frontmatter(fields, body), [it for it in tags if it])
        self.made.notes.append(ImportedNote(origin, name, note))

    def _files(self, bundle: str, name: str) -> dict[str, str]:
        lead = f"{bundle}/assets/" if bundle else "assets/"
        files: dict[str, str] = {}
        for path in self.tree.paths:
            if not path.startswith(lead):
                continue
            target = self.unique.claim_file(f"attachments/{safe_file_name(path[len(lead) :])}")
            files[path[len(lead) :]] = target
            self.made.attachments.append(
                ImportedAttachment(f"file/{path}", target, self.tree.loader(path))
            )
        return files

    def _relink(self, text: str, name: str, files: dict[str, str]) -> str:
        edits: dict[int, Edit] = {}
        for link in find_links(text):
            target = decode_path(link.target.path)
            if link.kind is LinkKind.WIKI:
                known = self.titles.get(target.partition("/")[0].casefold())
                if known is not None and known != target:
                    span = link.target.path_span
                    edits[span.start] = Edit(span, known)
            elif target.startswith("assets/"):
                found = files.get(unquote(target[7:])) or files.get(target[7:])
                if found is None:
                    self.made.drop(f"{name}: {target}", "the bundle does not have this file")
                    continue
                edits[link.target.span.start] = Edit(link.target.span, local_link(name, found))
        return apply_edits(text, edits.values())

    def _info(self, bundle: str) -> dict[str, Any]:
        path = f"{bundle}/info.json" if bundle else "info.json"
        if path not in self.tree.readers:
            return {}
        try:
            found: Json = orjson.loads(self.tree.read(path))
        except ValueError:
            return {}
        if not isinstance(found, dict):
            return {}
        own = found.get("net.shinyfrog.bear")
        return cast(dict[str, Any], own if isinstance(own, dict) else found)

    def _name(self, bundle: str, text: str) -> str:
        leaf = re.sub(r"\.(?:textbundle|textpack)$", "", bundle.rpartition("/")[2], flags=re.I)
        return safe_part(_heading(text), safe_part(leaf or self.tree.label))

    def _drop_others(self, bundles: dict[str, str]) -> None:
        known = {f"{it}/" if it else "" for it in bundles}
        for path in self.tree.paths:
            leaf = path.rpartition("/")[2]
            if leaf in ("info.json", "tags.json") or leaf.lower() in _TEXTS:
                continue
            if not any(path.startswith(f"{it}assets/") for it in known):
                self.made.drop(path, "it belongs to no note")


def _left_out(text: str, info: dict[str, Any]) -> str:
    if info.get("trashed"):
        return "it was deleted in Bear"
    if info.get("encrypted") or info.get("encryptedData") or info.get("locked"):
        return "it is encrypted: only Bear can open it"
    return "it is encrypted or empty" if not text.strip() else ""


def _heading(text: str) -> str:
    first = text.split("\n", 1)[0]
    return first[2:].strip() if first.startswith("# ") else ""


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
