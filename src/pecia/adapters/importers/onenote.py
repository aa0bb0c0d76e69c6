"""OneNote: pages as web archives (.mht), as OneNote exports them, or as HTML of its service."""

import email
import email.policy
import re
from datetime import datetime
from email.message import EmailMessage
from hashlib import sha256
from urllib.parse import unquote, urljoin

from bs4 import Tag

from pecia.adapters.importers.frontmatter import format_time, with_frontmatter
from pecia.adapters.importers.html_markdown import (
    attribute,
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
from pecia.adapters.importers.source_tree import (
    MAX_EXPORT_BYTES,
    SourceTree,
    UnusableFile,
    require_some,
)
from pecia.kernel.errors import Json
from pecia.kernel.text.charset import decode

EXPECTED = "pages of OneNote as .mht or .html, or a folder or zip of them"
BINARY = (
    "it is a file of OneNote itself: in OneNote, File > Export > Page, Section or Notebook > "
    "Single File Web Page (*.mht)"
)
MAX_PARTS = 5000
_PAGE_ENDINGS = (".mht", ".mhtml", ".html", ".htm")


def convert_onenote(tree: SourceTree) -> ConvertedExport:
    """Folders stay; pictures and attachments inside a page become files."""
    made = ConvertedExport()
    names = UniqueNames()
    pages = [it for it in tree.paths if it.lower().endswith(_PAGE_ENDINGS)]
    used: set[str] = set()
    for path in tree.paths:
        if path.lower().endswith((".one", ".onepkg", ".onetoc2")):
            made.drop(path, BINARY)
            used.add(path)
    if not used:
        require_some(dict.fromkeys(pages), tree.label, EXPECTED)
    for path in pages:
        try:
            _Page(tree, path, names, made, used).convert()
        except (UnusableFile, RecursionError) as error:
            made.drop(path, str(error))
    for path in tree.paths:
        if path not in used and path not in pages:
            made.drop(path, "no page shows it")
    return made


class _Page:
    def __init__(
        self,
        tree: SourceTree,
        path: str,
        names: UniqueNames,
        made: ConvertedExport,
        used: set[str],
    ) -> None:
        self.tree, self.path, self.names, self.made, self.used = tree, path, names, made, used
        self.parts: dict[str, bytes] = {}
        self.base = ""
        self.targets: dict[str, str] = {}
        self.name = ""

    def convert(self) -> None:
        soup = parse_html(self._html())
        folder, _, leaf = self.path.rpartition("/")
        title = text_of(first_tag(soup, "title")) or leaf.rpartition(".")[0]
        lead = "".join(f"{safe_part(it)}/" for it in folder.split("/") if it)
        self.name = self.names.claim(lead + safe_part(title))
        body = first_tag(soup, "body") or soup
        created = _read_created(soup)
        self._tidy(body)
        fields: dict[str, Json] = {
            "title": title if title != self.name.rpartition("/")[2] else None,
            "created": created,
        }
        text = with_frontmatter(fields, to_markdown(body))
        self.made.notes.append(ImportedNote(f"{self.tree.label}/{self.path}", self.name, text))

    def _html(self) -> str:
        if not self.path.lower().endswith((".mht", ".mhtml")):
            return _decode(self.tree.read(self.path))
        body = self.tree.read(self.path, MAX_EXPORT_BYTES)
        message = email.message_from_bytes(body, policy=email.policy.default)
        html: str | None = None
        for number, part in enumerate(message.walk()):
            if number > MAX_PARTS:
                raise UnusableFile(f"it has over {MAX_PARTS} parts")
            if part.is_multipart():
                continue
            data = _payload(part)
            if html is None and part.get_content_type() == "text/html":
                html, self.base = _decode(data), str(part.get("Content-Location") or "")
                continue
            for key in (part.get("Content-Location"), part.get("Content-ID")):
                if key:
                    self.parts[unquote(str(key).strip("<> "))] = data
        if html is None:
            raise UnusableFile("it has no page in it")
        return html

    def _tidy(self, body: Tag) -> None:
        for problem in extract_data_images(body, self._save):
            self.made.drop(self.name, problem)
        for it in tags_of(body, "img"):
            self._show(it, "src")
            if not attribute(it, "alt"):
                it["alt"] = unquote(attribute(it, "src").rpartition("/")[2])[:100]
        for it in tags_of(body, "object"):
            # A file that is attached to the page.
            it.name = "a"
            it["href"] = attribute(it, "data")
            it.string = attribute(it, "data-attachment") or "attachment"
        for it in tags_of(body, "a"):
            self._show(it, "href")
        for it in tags_of(body, True):
            said = attribute(it, "data-tag")
            if not said.startswith("to-do"):
                continue
            item = it if it.name == "li" else it.find_parent("li")
            del it["data-tag"]
            if isinstance(item, Tag):
                mark_task(item, done="completed" in said)
            elif it.name == "p":
                mark_task(it, done="completed" in said)

    def _show(self, tag: Tag, key: str) -> None:
        address = attribute(tag, key)
        if not address or address.startswith("#"):
            return
        for place in (address, urljoin(self.base, address), address.removeprefix("cid:")):
            body = self.parts.get(unquote(place))
            if body is not None:
                leaf = unquote(place).replace("\\\\", "/").rpartition("/")[2]
                tag[key] = self._save(safe_file_name(leaf), body)
                return
        self._show_file(tag, key, address)

    def _show_file(self, tag: Tag, key: str, address: str) -> None:
        folder = self.path.rpartition("/")[0]
        place = f"{folder}/{unquote(address)}" if folder else unquote(address)
        if place in self.tree.readers and place not in self.used:
            self.used.add(place)
            tag[key] = self._save(safe_file_name(place.rpartition("/")[2]), self.tree.read(place))
        elif re.match(r"(?:file|onenote):", address, re.IGNORECASE) or (
            tag.name == "img" and not re.match(r"https?:", address)
        ):
            self.made.drop(f"{self.name}: {address[:200]}", "the export does not have it")
            if tag.name == "a":
                tag.unwrap()

    def _save(self, leaf: str, body: bytes) -> str:
        digest = sha256(body).hexdigest()
        if digest not in self.targets:
            target = self.names.claim_file(f"attachments/{leaf}")
            origin = f"{self.tree.label}/{self.path}#{len(self.targets)}"
            self.made.attachments.append(ImportedAttachment(origin, target, lambda: body))
            self.targets[digest] = target
        return local_link(self.name, self.targets[digest])


def _payload(part: EmailMessage) -> bytes:
    found = part.get_payload(decode=True)
    return found if isinstance(found, bytes) else b""


def _decode(body: bytes) -> str:
    found = decode(body)
    return found.text if found else body.decode(errors="replace")


def _read_created(soup: Tag) -> str | None:
    found = first_tag(soup, "meta", name="created")
    said = attribute(found, "content") if found else ""
    try:
        return format_time(datetime.fromisoformat(said[:19])) if said else None
    except ValueError:
        return None
