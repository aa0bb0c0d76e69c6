"""Evernote: .enex files, one a notebook, to Markdown."""

import mimetypes
import re
from collections import Counter
from datetime import UTC, datetime
from hashlib import sha256

from bs4 import Tag

from pecia.adapters.importers.enex import EnexNote, EnexResource, read_enex
from pecia.adapters.importers.frontmatter import clean_tag, format_time, with_frontmatter
from pecia.adapters.importers.html_markdown import (
    attribute,
    code_block,
    extract_data_images,
    first_tag,
    local_link,
    mark_task,
    new_tag,
    parse_html,
    replace_with_text,
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

EXPECTED = "an .enex file of Evernote, or a folder or zip of them"
_NOTE_LINK = re.compile(
    r"evernote:|https?://(?:www\.|share\.|app\.)?evernote\.com/(?:shard/\S+/nl|note|shard/\S+/sh)/",
    re.IGNORECASE,
)
_CODE_BLOCK = re.compile(r"-en-codeblock:\s*true", re.IGNORECASE)
_LANGUAGE = re.compile(r"--en-syntaxLanguage:\s*([\w+#-]+)", re.IGNORECASE)
_CHECKED = re.compile(r"--en-checked:\s*true", re.IGNORECASE)
_UNCHECKED = re.compile(r"--en-checked:\s*false", re.IGNORECASE)
_HIGHLIGHT = re.compile(r"--en-highlight|-evernote-highlight:\s*true", re.IGNORECASE)


def convert_evernote(tree: SourceTree) -> ConvertedExport:
    """Every notebook becomes a folder, where there are several."""
    made = ConvertedExport()
    books = [it for it in tree.paths if it.lower().endswith(".enex")]
    require_some(dict.fromkeys(books), tree.label, EXPECTED)
    pages: list[_Page] = []
    names = UniqueNames()
    for path in tree.paths:
        if path not in books:
            made.drop(path, "it is no .enex file")
            continue
        folder = safe_part(path.rpartition("/")[2][:-5]) if len(books) > 1 else ""
        try:
            for note in read_enex(tree.read(path, MAX_EXPORT_BYTES)):
                pages.append(_Page(note, folder, names))
        except UnusableFile as error:
            made.drop(path, str(error))
    by_title = _index_titles(pages)
    _number_origins(pages)
    for page in pages:
        try:
            page.convert(by_title, names, made)
        except UnusableFile as error:
            made.drop(page.name, str(error))
    return made


def _index_titles(pages: "list[_Page]") -> dict[str, str]:
    """Notes by title, where only one has it: an export has no ids to find a linked note by."""
    found: dict[str, list[str]] = {}
    for page in pages:
        found.setdefault(page.note.title.casefold(), []).append(page.name)
    return {title: names[0] for title, names in found.items() if len(names) == 1}


def _number_origins(pages: "list[_Page]") -> None:
    """Notes with one title and one time are told apart by their order."""
    seen: Counter[str] = Counter()
    for page in pages:
        seen[page.origin] += 1
        if seen[page.origin] > 1:
            page.origin = f"{page.origin}#{seen[page.origin]}"


class _Page:
    def __init__(self, note: EnexNote, folder: str, names: UniqueNames) -> None:
        self.note, self.folder = note, folder
        part = safe_part(note.title)
        self.name = names.claim(f"{folder}/{part}" if folder else part)
        self.origin = f"{folder}/{note.title}@{note.created}"[:900]

    def convert(self, by_title: dict[str, str], names: UniqueNames, made: ConvertedExport) -> None:
        note = self.note
        for problem in note.problems:
            made.drop(f"{self.name}: {problem}", "an attachment is damaged")
        files = self._files(names, made)
        root = first_tag(parse_html(_without_prolog(note.content)), "en-note")
        body = ""
        if root is not None:
            self._tidy(root, files, by_title, names, made)
            body = to_markdown(root)
        body = "\n\n".join(it for it in (body, _tasks(note), self._link_unused(files, root)) if it)
        fields: dict[str, Json] = {
            "title": note.title if note.title != self.name.rpartition("/")[2] else None,
            "tags": [it for tag in note.tags if (it := clean_tag(tag))],
            "created": _time(note.created),
            "updated": _time(note.updated),
            "source": note.source_url,
            "author": note.author,
        }
        made.notes.append(ImportedNote(self.origin, self.name, with_frontmatter(fields, body)))

    def _files(self, names: UniqueNames, made: ConvertedExport) -> dict[str, str]:
        """Paths of the note's attachments, by hash."""
        found: dict[str, str] = {}
        for it in self.note.resources:
            if it.hash in found:
                continue
            lead = f"{self.folder}/attachments" if self.folder else "attachments"
            found[it.hash] = names.claim_file(f"{lead}/{_file_name(it)}")
            origin = f"{self.origin}/{it.hash}"
            body = it.body
            made.attachments.append(
                ImportedAttachment(origin, found[it.hash], lambda body=body: body)
            )
        return found

    def _link_unused(self, files: dict[str, str], root: Tag | None) -> str:
        """Links to attachments that the text does not show."""
        shown = {attribute(it, "data-hash") for it in tags_of(root, True)} if root else set[str]()
        left = [path for key, path in files.items() if key not in shown]
        return "\n".join(f"- [{it.rpartition('/')[2]}]({local_link(self.name, it)})" for it in left)

    def _tidy(
        self,
        root: Tag,
        files: dict[str, str],
        by_title: dict[str, str],
        names: UniqueNames,
        made: ConvertedExport,
    ) -> None:
        for it in tags_of(root, "en-media"):
            self._show_media(it, files, made)

        def save(name: str, body: bytes) -> str:
            lead = f"{self.folder}/attachments" if self.folder else "attachments"
            path = names.claim_file(f"{lead}/{name}")
            origin = f"{self.origin}/{sha256(body).hexdigest()}/{len(made.attachments)}"
            made.attachments.append(ImportedAttachment(origin, path, lambda: body))
            return local_link(self.name, path)

        for problem in extract_data_images(root, save):
            made.drop(self.name, problem)
        for it in tags_of(root, "en-crypt"):
            hint = attribute(it, "hint")
            made.drop(f"{self.name}: encrypted text", f"only Evernote can decrypt it ({hint})")
            replace_with_text(it, "[encrypted in Evernote]")
        _tidy_code(root)
        _tidy_lists(root)
        for it in tags_of(root, "span"):
            if _HIGHLIGHT.search(attribute(it, "style")):
                it.name = "mark"
        self._relink(root, by_title, made)

    def _relink(self, root: Tag, by_title: dict[str, str], made: ConvertedExport) -> None:
        for it in tags_of(root, "a"):
            target = by_title.get(text_of(it).casefold())
            if not _NOTE_LINK.match(attribute(it, "href")):
                continue
            if target is not None:
                it["href"] = local_link(self.name, f"{target}.md")
            elif attribute(it, "href").startswith("evernote:"):
                made.drop(f"{self.name}: link {text_of(it)!r}", "no imported note has this title")

    def _show_media(self, media: Tag, files: dict[str, str], made: ConvertedExport) -> None:
        key = attribute(media, "hash").lower()
        path = files.get(key)
        if path is None:
            made.drop(f"{self.name}: attachment {key}", "the export does not have it")
            media.extract()
            return
        is_picture = attribute(media, "type").startswith("image/")
        href = local_link(self.name, path)
        label = path.rpartition("/")[2]
        shown = new_tag("img", src=href, alt=label) if is_picture else None
        if shown is None:
            shown = new_tag("a", href=href)
            shown.string = label
        shown["data-hash"] = key
        media.replace_with(shown)
        # Content that stands inside the element follows it.
        shown.insert_after(*list(media.children))


def _tidy_code(root: Tag) -> None:
    for it in tags_of(root, "div"):
        style = attribute(it, "style")
        if it.parent is not None and _CODE_BLOCK.search(style):
            language = _LANGUAGE.search(style)
            text = _code_lines(it).replace("\u00a0", " ")
            it.replace_with(code_block(text, language[1] if language else ""))


def _tidy_lists(root: Tag) -> None:
    for it in tags_of(root, "en-todo"):
        _tidy_todo(it)
    for it in tags_of(root, "li"):
        style = attribute(it, "style")
        if _CHECKED.search(style) or _UNCHECKED.search(style):
            mark_task(it, done=bool(_CHECKED.search(style)))


def _tidy_todo(todo: Tag) -> None:
    done = attribute(todo, "checked").lower() == "true"
    inner = list(todo.children)
    parent = todo.parent
    item = parent if parent is not None and parent.name in ("li", "div", "p") else None
    if item is not None and item.name != "li" and first_tag(item, ["div", "p", "ul", "table"]):
        item = None
    todo.insert_after(*inner)
    todo.extract()
    if item is not None:
        mark_task(item, done=done)


def _code_lines(block: Tag) -> str:
    """The text of a code block, in which every line is an element."""
    for it in block.find_all("br"):
        # At the end of a line that is an element, it adds none.
        is_last = it.parent is not block and it.next_sibling is None and it.previous_sibling
        it.replace_with("" if is_last else "\n")
    for it in tags_of(block, "div") + tags_of(block, "p"):
        if not (first := next(it.children, None)) or not isinstance(first, Tag):
            it.insert(0, "\n")
    lines = [it.rstrip() for it in block.get_text().split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def _tasks(note: EnexNote) -> str:
    rows = [
        f"- [{'x' if it.get('taskStatus') == 'completed' else ' '}] {it.get('title', '')}"
        for it in note.tasks
    ]
    return "\n".join(rows)


def _file_name(resource: EnexResource) -> str:
    name = resource.file_name or "attachment"
    if "." not in name:
        name += mimetypes.guess_extension(resource.mime) or ""
    return safe_file_name(name, "attachment")


def _without_prolog(content: str) -> str:
    return re.sub(r"^\s*(?:<\?xml[^>]*\?>)?\s*(?:<!DOCTYPE[^>\[]*>)?", "", content)


def _time(text: str) -> str | None:
    try:
        return format_time(datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC))
    except ValueError:
        return None
