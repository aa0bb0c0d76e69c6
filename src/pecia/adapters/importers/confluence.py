"""Confluence: the HTML export of a space, a zip with one page a file."""

import re
from datetime import UTC, datetime
from urllib.parse import unquote

from bs4 import Tag

from pecia.adapters.importers.frontmatter import clean_tag, format_time, with_frontmatter
from pecia.adapters.importers.html_markdown import (
    attribute,
    classes_of,
    code_block,
    extract_data_images,
    first_tag,
    local_link,
    mark_task,
    parse_html,
    tags_of,
    text_of,
    to_markdown,
)
from pecia.adapters.importers.model import ConvertedExport, ImportedAttachment, ImportedNote
from pecia.adapters.importers.note_names import UniqueNames, safe_file_name, safe_part
from pecia.adapters.importers.source_tree import SourceTree, UnusableFile, require_some
from pecia.kernel.errors import Json
from pecia.kernel.text.links.name_index import folder_of
from pecia.kernel.text.links.resolver import normalize_path

EXPECTED = "the HTML export of a Confluence space: a zip, or its folder"
SITE_FOLDERS = ("images/icons/", "styles/", "images/")
_ID = re.compile(r"(?:^|_)(\d+)\.html$")
_DATE = re.compile(r"(?:on|modified|updated)\s+([A-Z][a-z]{2} \d{1,2}, \d{4})")
_ATTACHMENT = re.compile(r"attachments/(\d+)/(\d+)(\.\w+)?$")
_LANGUAGE = re.compile(r"brush:\s*([\w+#-]+)")


def convert_confluence(tree: SourceTree) -> ConvertedExport:
    """Pages keep the hierarchy that their breadcrumbs say."""
    return _ConfluenceConversion(tree).convert()


class _ConfluenceConversion:
    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.made = ConvertedExport()
        self.unique = UniqueNames()
        self.soups: dict[str, Tag] = {}
        self.pages: dict[str, str] = {}
        self.files: dict[str, str] = {}
        self.titles: dict[str, str] = {}
        self.labels: dict[str, str] | None = None

    def convert(self) -> ConvertedExport:
        found = [it for it in self.tree.paths if it.lower().endswith(".html")]
        for path in found:
            try:
                soup = parse_html(self.tree.read_text(path))
            except UnusableFile as error:
                self.made.drop(path, str(error))
                continue
            if first_tag(soup, "div", id="main-content") is None:
                if path.rpartition("/")[2] != "index.html":
                    self.made.drop(path, "it is no page of Confluence")
                continue
            self.soups[path] = soup
            self.titles[path] = _title(soup)
        require_some(self.soups, self.tree.label, EXPECTED)
        above = {it: self._parents(it) for it in self.soups}
        for path in sorted(self.soups, key=lambda it: (len(above[it]), it)):
            parts = [safe_part(it) for it in (*above[path], self.titles[path])]
            self.pages[path] = self.unique.claim("/".join(parts))
        for path in self.tree.paths:
            self._name_file(path)
        for path in sorted(self.soups):
            try:
                self._convert(path)
            except UnusableFile as error:
                self.made.drop(path, str(error))
        return self.made

    def _parents(self, path: str) -> list[str]:
        """Titles of the pages above, without that of the space itself."""
        crumbs = first_tag(self.soups[path], "ol", id="breadcrumbs")
        links = [] if crumbs is None else tags_of(crumbs, "a")
        known: list[str] = []
        for link in links[:20]:
            place = normalize_path(folder_of(path), unquote(attribute(link, "href")))
            if place in self.soups and place != path:
                known.append(self.titles[place])
        return known

    def _name_file(self, path: str) -> None:
        if path in self.soups or path.lower().endswith((".html", ".css")):
            return
        if "attachments/" not in path:
            if not any(it in path for it in SITE_FOLDERS):
                self.made.drop(path, "no page has it attached")
            return
        leaf = self._attachment_name(path) or path.rpartition("/")[2]
        self.files[path] = self.unique.claim_file(f"attachments/{safe_file_name(leaf)}")
        self.made.attachments.append(
            ImportedAttachment(f"file/{path}", self.files[path], self.tree.loader(path))
        )

    def _attachment_name(self, path: str) -> str | None:
        """The export names attachments by number; their page lists what they are called."""
        if self.labels is None:
            self.labels = {}
            for page, soup in self.soups.items():
                for link in tags_of(soup, "a"):
                    place = normalize_path(folder_of(page), unquote(attribute(link, "href")))
                    if place is not None and _ATTACHMENT.search(place) and text_of(link):
                        self.labels.setdefault(place, text_of(link))
        return self.labels.get(path)

    def _convert(self, path: str) -> None:
        soup, name = self.soups[path], self.pages[path]
        body = first_tag(soup, "div", id="main-content")
        assert body is not None
        labels = first_tag(soup, "div", id="labels-section")
        tags = [text_of(it) for it in tags_of(labels, "a")] if labels else []
        fields: dict[str, Json] = {
            "title": self.titles[path] if self.titles[path] != name.rpartition("/")[2] else None,
            "tags": [it for tag in tags if (it := clean_tag(tag))],
            "updated": _read_modified(soup),
        }
        self._tidy(body, path, name)
        found = _ID.search(path)
        origin = found[1] if found else path
        text = with_frontmatter(fields, to_markdown(body))
        self.made.notes.append(ImportedNote(origin, name, text))

    def _tidy(self, body: Tag, path: str, name: str) -> None:
        def save(leaf: str, data: bytes) -> str:
            target = self.unique.claim_file(f"attachments/{leaf}")
            origin = f"file/{path}#{len(self.made.attachments)}"
            self.made.attachments.append(ImportedAttachment(origin, target, lambda: data))
            return local_link(name, target)

        for problem in extract_data_images(body, save):
            self.made.drop(name, problem)
        for it in tags_of(body, "pre"):
            language = _LANGUAGE.search(attribute(it, "data-syntaxhighlighter-params"))
            text = it.get_text().strip("\n")
            it.replace_with(code_block(text, language[1] if language else ""))
        for it in tags_of(body, "ul"):
            if "inline-task-list" in classes_of(it):
                for item in tags_of(it, "li"):
                    mark_task(item, done="checked" in classes_of(item))
        for it in tags_of(body, "img"):
            if "emoticon" in classes_of(it):
                it.replace_with(attribute(it, "data-emoji-fallback") or attribute(it, "alt"))
            else:
                self._relink(it, "src", path, name)
        for it in tags_of(body, "a"):
            self._relink(it, "href", path, name)

    def _relink(self, tag: Tag, key: str, path: str, name: str) -> None:
        address = attribute(tag, key)
        if not address or re.match(r"[a-zA-Z][\w+.-]*:|//|#", address):
            return
        target, _, anchor = address.partition("#")
        place = normalize_path(folder_of(path), unquote(target.partition("?")[0]))
        if place in self.pages:
            tag[key] = local_link(name, f"{self.pages[place]}.md", unquote(anchor))
        elif place in self.files:
            tag[key] = local_link(name, self.files[place])
            if tag.name == "img" and not attribute(tag, "alt"):
                tag["alt"] = self.files[place].rpartition("/")[2]
        else:
            self.made.drop(f"{name}: {address[:200]}", "the export does not have this file")
            if tag.name == "a":
                tag.unwrap()


def _title(soup: Tag) -> str:
    """The heading is `Space : Title`."""
    said = text_of(first_tag(soup, "span", id="title-text")) or text_of(first_tag(soup, "title"))
    before, colon, after = said.partition(" : ")
    return after.strip() if colon and after.strip() else said or before


def _read_modified(soup: Tag) -> str | None:
    found = _DATE.search(text_of(first_tag(soup, "div", **{"class": "page-metadata"})))
    if found is None:
        return None
    try:
        return format_time(datetime.strptime(found[1], "%b %d, %Y").replace(tzinfo=UTC))
    except ValueError:
        return None
