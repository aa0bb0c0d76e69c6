"""HTML of note programs as Markdown. Pure.

Nothing of the HTML is kept as HTML: what has no Markdown becomes its text. Links to scripts lose
their address.
"""

import binascii
import mimetypes
import re
from base64 import b64decode
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PageElement, Tag
from markdownify import ATX, BACKSLASH, MarkdownConverter

from pecia.adapters.importers.source_tree import UnusableFile
from pecia.kernel.text.links.name_index import folder_of, relative_path
from pecia.kernel.text.markdown.escapes import encode_path

REMOVED = ("script", "style", "head", "noscript", "template", "iframe", "object", "embed", "form")
MAX_TAGS = 400_000
MAX_DEPTH = 250
_DATA_IMAGE = re.compile(
    r"\s*data:(image/[\w.+-]+)(?:;(?!base64)[^;,]*)*(;base64)?,", re.IGNORECASE
)
_UNSAFE_SCHEME = re.compile(r"\s*(?:javascript|vbscript|data|file)\s*:", re.IGNORECASE)
_LINE_START = re.compile(
    r"(?m)^([ \t]*)(#{1,6}[ \t]|>|[-+][ \t]|\d{1,9}[.)][ \t]|={3,}$|-{3,}$|~~~)"
)
_TAG_START = re.compile(r"<(?=[A-Za-z/!?])")
_BLOCKS = ("p", "li", "div", "blockquote", "td", "th", "h1", "h2", "h3", "h4", "h5", "h6")
_INLINE = ("b", "strong", "i", "em", "del", "s", "u", "span", "mark", "small", "font", "code")
_BLANKS = re.compile(r"\n{3,}")
_TRAILING = re.compile(r"(?m)(?<=\S)[ \t]+$")
_HREF_SPECIAL = re.compile(r"[\s()<>]")


def parse_html(text: str) -> BeautifulSoup:
    """The document; entities are HTML's own, and nothing is ever fetched."""
    try:
        soup = BeautifulSoup(text, "html.parser")
    except (RecursionError, AssertionError, ValueError) as error:
        raise UnusableFile(f"its HTML cannot be parsed: {error}") from None
    waiting: list[tuple[Tag, int]] = [(soup, 0)]
    while waiting:
        tag, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise UnusableFile(f"its HTML is nested over {MAX_DEPTH} deep")
        waiting += [(it, depth + 1) for it in tag.contents if isinstance(it, Tag)]
    return soup


def to_markdown(root: Tag) -> str:
    """The Markdown of an element, which is changed on the way."""
    for it in root.find_all(REMOVED):
        it.decompose()
    tags = tags_of(root, True)
    if len(tags) > MAX_TAGS:
        raise UnusableFile(f"it has over {MAX_TAGS} HTML tags")
    for it in tags:
        _tidy(it)
    try:
        text = _Converter().convert_soup(root)
    except RecursionError:
        raise UnusableFile("its HTML is nested too deep") from None
    text = text.replace("\u00a0", " ").replace("\u200b", "")
    return _BLANKS.sub("\n\n", _TRAILING.sub("", text)).strip()


def tags_of(root: Tag, name: str | bool, /, **attributes: Any) -> list[Tag]:
    """Elements below a root."""
    return [*root.find_all(name, attributes)]


def first_tag(root: Tag, name: str | list[str], /, **attributes: Any) -> Tag | None:
    return root.find(name, attributes)


def classes_of(tag: Tag) -> set[str]:
    found = tag.get("class")
    return {found} if isinstance(found, str) else {str(it) for it in found or ()}


def attribute(tag: Tag, name: str) -> str:
    found = tag.get(name)
    return found if isinstance(found, str) else ""


def text_of(tag: Tag | None) -> str:
    return "" if tag is None else " ".join(tag.get_text(" ").split())


def mark_task(item: Tag, *, done: bool) -> None:
    """Make an item of a list a task, or a paragraph an item."""
    mark = NavigableString("[x] " if done else "[ ] ")
    if item.name == "li":
        first = next((it for it in item.children if isinstance(it, Tag)), None)
        inside = first if first is not None and first.name in ("p", "div", "span") else item
        _strip_start(inside)
        inside.insert(0, mark)
        return
    inner = [it.extract() for it in list(item.children)]
    item.name = "ul"
    entry = new_tag("li")
    entry.append(mark)
    entry.extend(inner)
    item.append(entry)


def _strip_start(tag: Tag) -> None:
    first = next(iter(tag.contents), None)
    if isinstance(first, NavigableString):
        first.replace_with(NavigableString(first.lstrip()))


def new_tag(name: str, **attributes: str) -> Tag:
    made = BeautifulSoup("", "html.parser").new_tag(name)
    for key, value in attributes.items():
        made[key] = value
    return made


def join_lists(root: Tag) -> None:
    """Lists that follow each other are one: some programs write one for each item."""
    for it in tags_of(root, "ul") + tags_of(root, "ol"):
        before = _before(it)
        if before is not None and before.name == it.name and it.parent is not None:
            before.extend(list(it.children))
            it.extract()


def _before(tag: Tag) -> Tag | None:
    found: PageElement | None = tag.previous_sibling
    while isinstance(found, NavigableString) and not found.strip():
        found = found.previous_sibling
    return found if isinstance(found, Tag) else None


def code_block(text: str, language: str = "") -> Tag:
    """A `pre` element with exactly this text."""
    block = new_tag("pre", **({"data-language": language} if language else {}))
    block.append(NavigableString(text))
    return block


def extract_data_images(root: Tag, save: Callable[[str, bytes], str]) -> list[str]:
    """Store pictures that are written into the HTML; returns why some cannot be.

    `save` takes a name and the bytes, and returns the address of the file.
    """
    problems: list[str] = []
    for image in tags_of(root, "img"):
        found = _DATA_IMAGE.match(attribute(image, "src"))
        if found is None:
            continue
        source = attribute(image, "src")[found.end() :]
        try:
            body = b64decode("".join(unquote(source).split()), validate=True) if found[2] else None
        except (binascii.Error, ValueError):
            body = None
        if body is None and not found[2]:
            body = unquote_to_bytes(source)
        if not body:
            problems.append("a picture in the text is damaged")
            continue
        extension = mimetypes.guess_extension(found[1]) or ".bin"
        image["src"] = save(f"embedded{extension}", body)
    return problems


def replace_with_text(tag: Tag, text: str) -> None:
    tag.replace_with(NavigableString(text))


def local_link(page: str, path: str, anchor: str = "") -> str:
    """The address of a file of the import, from the document `page`."""
    href = encode_path(relative_path(path, folder_of(page)), angled=False)
    return href + (f"#{encode_path(anchor, angled=False)}" if anchor else "")


def markdown_link(label: str, href: str, *, picture: bool = False) -> str:
    shown = re.sub(r"([\[\]\\])", r"\\\1", " ".join(label.split()))
    return f"{'!' if picture else ''}[{shown}]({href})"


def _tidy(tag: Tag) -> None:
    if tag.parent is None:
        # Removed with the element around it.
        return
    match tag.name:
        case "figure":
            tag.name = "div"
        case "br":
            _tidy_break(tag)
        case "a":
            _tidy_link(tag)
        case "img":
            _tidy_image(tag)
        case "ul" | "ol":
            _tidy_list(tag)
        case _:
            return


def _tidy_break(tag: Tag) -> None:
    while tag.parent is not None and tag.parent.name in _INLINE and _next(tag) is None:
        # Emphasis ends before the line does.
        tag.parent.insert_after(tag.extract())
    if _is_layout(tag):
        tag.extract()


def _tidy_link(tag: Tag) -> None:
    href = attribute(tag, "href")
    if _UNSAFE_SCHEME.match(href):
        del tag["href"]
    elif href:
        tag["href"] = _encode_special(href)
    if tag.get("title"):
        del tag["title"]


def _tidy_image(tag: Tag) -> None:
    source = attribute(tag, "src")
    if not source or _UNSAFE_SCHEME.match(source):
        replace_with_text(tag, attribute(tag, "alt"))
        return
    tag["src"] = _encode_special(source)
    tag["alt"] = " ".join(attribute(tag, "alt").split()).replace("[", "(").replace("]", ")")
    if tag.get("title"):
        del tag["title"]


def _tidy_list(tag: Tag) -> None:
    if tag.parent is not None and tag.parent.name in ("ul", "ol"):
        # Some programs write a list into a list, not into the item that it belongs to.
        before = _before(tag)
        if before is not None and before.name == "li":
            before.append(tag.extract())
    if tag.name == "ol":
        _number(tag.find_all("li", recursive=False))


def _encode_special(address: str) -> str:
    return _HREF_SPECIAL.sub(lambda it: f"%{ord(it[0]):02X}", address.strip())


def _is_layout(tag: Tag) -> bool:
    """Whether a line break ends a block, or stands behind one: it says nothing then."""
    if tag.parent is None or tag.parent.name not in (*_BLOCKS, "body", "en-note"):
        return False
    before = _before(tag)
    if before is not None and before.name in (*_BLOCKS, "ul", "ol", "table", "pre", "hr"):
        return True
    return _next(tag) is None


def _next(tag: Tag) -> PageElement | None:
    after: PageElement | None = tag.next_sibling
    while isinstance(after, NavigableString) and not after.strip():
        after = after.next_sibling
    return after


def _number(items: Iterable[Tag]) -> None:
    # Counted once: the converter counts the items before each one.
    for number, item in enumerate(items, start=1):
        item["data-number"] = str(number)


class _Converter(MarkdownConverter):
    def __init__(self) -> None:
        super().__init__(
            heading_style=ATX,
            bullets="-",
            autolinks=False,
            escape_misc=False,
            newline_style=BACKSLASH,
            code_language_callback=_language,
            table_infer_header=True,
            strip_pre=None,
        )

    def escape(self, text: str, parent_tags: set[str]) -> str:
        """What is text stays text: no heading, list, quote or tag comes from it."""
        if not text:
            return ""
        found = text.replace("\\", "\\\\").replace("*", r"\*").replace("`", r"\`")
        found = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", found)
        return _TAG_START.sub("&lt;", _LINE_START.sub(_escape_start, found))

    def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        body = (text or "").strip()
        if not body:
            return "\n"
        parent = el.parent
        mark = "- "
        if parent is not None and parent.name == "ol":
            start = attribute(parent, "start")
            first = int(start) if start.isdecimal() and len(start) < 7 else 1
            mark = f"{first + int(attribute(el, 'data-number') or 1) - 1}. "
        lead = " " * len(mark)
        lines = [f"{lead}{it}" if it.strip() else "" for it in body.split("\n")]
        return mark + "\n".join(lines)[len(mark) :] + "\n"

    def convert_mark(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        body = text.strip()
        return f"=={body}==" if body and "_noformat" not in parent_tags else text


def _escape_start(found: re.Match[str]) -> str:
    mark = found[2]
    if mark[:-1].rstrip().isdigit() or (mark[0].isdigit()):
        digits = re.match(r"\d+", mark)
        assert digits is not None
        return f"{found[1]}{digits[0]}\\{mark[digits.end() :]}"
    return f"{found[1]}\\{mark}"


def _language(tag: Tag) -> str | None:
    named = attribute(tag, "data-language")
    if not named:
        inner = first_tag(tag, "code")
        found = sorted(classes_of(tag) | (classes_of(inner) if inner else set[str]()))
        named = next((it[9:] for it in found if it.startswith("language-")), "")
    return re.sub(r"[^\w+#-]", "", named)[:30] or None
