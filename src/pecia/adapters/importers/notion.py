"""Notion: the zip of an export, with Markdown and CSV or with HTML."""

import csv
import re
from io import StringIO
from itertools import islice
from urllib.parse import unquote

from pecia.adapters.importers.frontmatter import clean_tag, with_frontmatter
from pecia.adapters.importers.html_markdown import local_link, markdown_link
from pecia.adapters.importers.model import ConvertedExport, ImportedAttachment, ImportedNote
from pecia.adapters.importers.note_names import UniqueNames, safe_file_name, safe_part
from pecia.adapters.importers.notion_html import convert_page
from pecia.adapters.importers.source_tree import SourceTree, UnusableFile, require_some
from pecia.kernel.errors import Json
from pecia.kernel.text.links.extract import find_links
from pecia.kernel.text.links.link import LinkKind
from pecia.kernel.text.links.name_index import folder_of
from pecia.kernel.text.links.resolver import normalize_path
from pecia.kernel.text.markdown.escapes import decode_path
from pecia.kernel.text.span import Edit, apply_edits

EXPECTED = "the zip of a Notion export (Markdown & CSV, or HTML), or its folder"
MAX_ROWS = 20_000
_ID = re.compile(r"[ -]?([0-9a-f]{32})$")
_WEB_ID = re.compile(r"https?://(?:www\.)?notion\.(?:so|site)/\S*?([0-9a-f]{32})(?:[?#].*)?$")
_EXPORT_FOLDER = re.compile(r"(?:[^/]*\.zip/)?(?:Export-[0-9a-f-]{8,}/)?")
_PROPERTY = re.compile(r"([^\s:][^:\n]{0,80}): (.*)")


def convert_notion(tree: SourceTree) -> ConvertedExport:
    """Pages keep their folders, and lose the ids in their names."""
    return _NotionConversion(tree).convert()


class _NotionConversion:
    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.made = ConvertedExport()
        self.unique = UniqueNames()
        self.paths = {_EXPORT_FOLDER.sub("", it, count=1): it for it in tree.paths}
        self.pages: dict[str, str] = {}
        """Names of the documents, by the paths of pages and databases in the export."""
        self.files: dict[str, str] = {}
        self.by_id: dict[str, str] = {}

    def convert(self) -> ConvertedExport:
        pages = [it for it in self.paths if _is_page(it, self.paths)]
        require_some(dict.fromkeys(pages), self.tree.label, EXPECTED)
        for path in sorted(pages, key=lambda it: (it.count("/"), it)):
            self._name_page(path)
        others = [it for it in self.paths if it not in self.pages]
        for path in sorted(others):
            self._name_file(path)
        for path, name in self.pages.items():
            try:
                self._convert(path, name)
            except UnusableFile as error:
                self.made.drop(path, str(error))
        return self.made

    def _name_page(self, path: str) -> None:
        stem = path.rpartition(".")[0].removesuffix("_all")
        found = _ID.search(stem)
        if found and found[1] in self.by_id and path.lower().endswith(".csv"):
            # The page of a database has its rows already.
            self.pages[path] = self.by_id[found[1]]
            return
        self.pages[path] = self.unique.claim(_clean(stem))
        if found:
            self.by_id.setdefault(found[1], self.pages[path])

    def _name_file(self, path: str) -> None:
        if path in ("index.html",) or _is_duplicate_csv(path, self.paths):
            # A list of the pages; rows that a view of the database shows.
            return
        folder, _, leaf = path.rpartition("/")
        lead = f"{_clean(folder)}/" if folder else ""
        target = self.unique.claim_file(f"{lead}{safe_file_name(unquote(leaf))}")
        self.files[path] = target
        origin = self.paths[path]
        self.made.attachments.append(
            ImportedAttachment(f"file/{path}", target, self.tree.loader(origin))
        )

    def _convert(self, path: str, name: str) -> None:
        source = self.paths[path]
        found = _ID.search(path.rpartition(".")[0].removesuffix("_all"))
        origin = found[1] if found else path
        lower = path.lower()
        if lower.endswith(".csv"):
            if name in {it.name for it in self.made.notes}:
                return
            text = self._convert_csv(path, name, self.tree.read_text(source))
        elif lower.endswith(".html"):
            page = convert_page(self.tree.read_text(source), lambda it: self._href(path, name, it))
            for problem in page.problems:
                self.made.drop(name, problem)
            origin = page.id or origin
            text = with_frontmatter(page.fields(name.rpartition("/")[2]), page.body)
        else:
            text = self._convert_markdown(path, name, self.tree.read_text(source))
        self.made.notes.append(ImportedNote(origin, name, text))

    def _convert_markdown(self, path: str, name: str, text: str) -> str:
        title, fields, body = _split_markdown(text)
        edits: dict[int, Edit] = {}
        for link in find_links(body):
            if link.kind is LinkKind.WIKI:
                continue
            href = self._href(path, name, link.target.address)
            if href is not None:
                edits[link.target.span.start] = Edit(link.target.span, href)
        if title and title != name.rpartition("/")[2]:
            fields = {"title": title, **fields}
        return with_frontmatter(fields, apply_edits(body, edits.values()))

    def _convert_csv(self, path: str, name: str, text: str) -> str:
        """A database as a table; its rows lead to their pages."""
        try:
            rows = [*islice(csv.reader(StringIO(text)), MAX_ROWS + 1)]
        except csv.Error as error:
            raise UnusableFile(f"it is no valid CSV: {error}") from None
        if not rows:
            raise UnusableFile("it is empty")
        if len(rows) > MAX_ROWS:
            self.made.drop(path, f"rows behind the first {MAX_ROWS}")
        folder = path.rpartition(".")[0].removesuffix("_all")
        below: dict[str, str] = {}
        for page, target in self.pages.items():
            if folder_of(page) == folder:
                below.setdefault(_title(page.rpartition(".")[0]).casefold(), target)
        width = max(len(it) for it in rows)
        lines: list[str] = []
        for number, row in enumerate(rows):
            cells = [_cell(it) for it in (*row, *[""] * (width - len(row)))]
            target = below.get(safe_part(row[0]).casefold()) if number and row else None
            if target is not None:
                cells[0] = markdown_link(cells[0], local_link(name, f"{target}.md"))
            lines.append(f"| {' | '.join(cells)} |")
        lines.insert(1, f"| {' | '.join(['---'] * width)} |")
        return "\n".join(lines) + "\n"

    def _href(self, path: str, name: str, address: str) -> str | None:
        """The address of a link in the import; None where it stays as it is."""
        web = _WEB_ID.match(address)
        if web is not None:
            page = self.by_id.get(web[1])
            return local_link(name, f"{page}.md") if page else None
        if re.match(r"[a-zA-Z][\w+.-]*:|//|#", address) or not address:
            return None
        target, _, anchor = address.partition("#")
        place = normalize_path(folder_of(path), decode_path(target))
        for found in (place, normalize_path("", decode_path(target))):
            if found is None:
                continue
            if found in self.pages:
                return local_link(name, f"{self.pages[found]}.md", anchor)
            if found in self.files:
                return local_link(name, self.files[found])
        known = _ID.search(decode_path(target).rpartition(".")[0])
        if known and known[1] in self.by_id:
            return local_link(name, f"{self.by_id[known[1]]}.md")
        self.made.drop(f"{name}: {address[:200]}", "the export does not have this file")
        return None


def _is_page(path: str, paths: dict[str, str]) -> bool:
    lower = path.lower()
    if lower.endswith(".csv"):
        return bool(_ID.search(path[:-4].removesuffix("_all"))) and not _is_duplicate_csv(
            path, paths
        )
    if lower.endswith(".html"):
        return path != "index.html"
    return lower.endswith(".md")


def _is_duplicate_csv(path: str, paths: dict[str, str]) -> bool:
    """`_all.csv` has every row, the other file those of one view."""
    if not path.lower().endswith(".csv") or path[:-4].endswith("_all"):
        return False
    return f"{path[:-4]}_all.csv" in paths


def _clean(stem: str) -> str:
    """A path without the ids in its parts."""
    return "/".join(safe_part(_ID.sub("", it)) for it in stem.split("/"))


def _title(stem: str) -> str:
    return safe_part(_ID.sub("", stem.rpartition("/")[2]))


def _split_markdown(text: str) -> tuple[str, dict[str, Json], str]:
    """The title, the properties of a database row, and the text."""
    lines = text.split("\n")
    title = ""
    if lines and lines[0].startswith("# "):
        title = lines.pop(0)[2:].strip()
    while lines and not lines[0].strip():
        lines.pop(0)
    fields: dict[str, Json] = {}
    count = 0
    for line in lines:
        found = _PROPERTY.fullmatch(line.rstrip())
        if found is None:
            break
        count += 1
        key = found[1].strip().lower()
        fields[key] = _tags(found[2]) if key == "tags" else found[2].strip()
    # Properties end with an empty line: otherwise it is a text that begins with a colon.
    if not count or (count < len(lines) and lines[count].strip()) or "](" in lines[0]:
        return title, {}, "\n".join(lines)
    return title, fields, "\n".join(lines[count:])


def _tags(text: str) -> Json:
    return [it for tag in text.split(",") if (it := clean_tag(tag))]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
