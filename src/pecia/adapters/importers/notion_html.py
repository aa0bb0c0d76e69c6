"""A page of Notion's HTML export, to Markdown. Pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from bs4.element import NavigableString, Tag

from pecia.adapters.importers.frontmatter import clean_tag
from pecia.adapters.importers.html_markdown import (
    attribute,
    classes_of,
    code_block,
    first_tag,
    join_lists,
    mark_task,
    new_tag,
    parse_html,
    replace_with_text,
    tags_of,
    text_of,
    to_markdown,
)
from pecia.adapters.importers.source_tree import UnusableFile
from pecia.kernel.errors import Json
from pecia.kernel.text.markdown.escapes import encode_path

_DASHES = re.compile("-")
_FONT_SIZE = re.compile(r"font-size:\s*([\d.]+)em")
_HEADINGS = {"1.875": "h1", "1.5": "h2", "1.25": "h3"}


@dataclass(slots=True)
class NotionPage:
    id: str
    title: str
    body: str
    properties: dict[str, Json] = field(default_factory=dict[str, Json])
    problems: list[str] = field(default_factory=list[str])

    def fields(self, leaf: str) -> dict[str, Json]:
        title: Json = self.title if self.title != leaf else None
        return {"title": title, **self.properties}


def convert_page(html: str, href: Callable[[str], str | None]) -> NotionPage:
    """The page; `href` says where an address leads in the import."""
    soup = parse_html(html)
    article = first_tag(soup, "article")
    if article is None:
        raise UnusableFile("it is no page of Notion")
    title = text_of(first_tag(article, "h1", **{"class": "page-title"}))
    page = NotionPage(_DASHES.sub("", attribute(article, "id"))[:32], title, "")
    table = first_tag(article, "table", **{"class": "properties"})
    if table is not None:
        page.properties = _properties(table)
        table.decompose()
    body = first_tag(article, "div", **{"class": "page-body"})
    if body is not None:
        _tidy(body)
        _relink(body, href)
        join_lists(body)
        page.body = to_markdown(body)
    return page


def _properties(table: Tag) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for row in tags_of(table, "tr"):
        head, cell = first_tag(row, "th"), first_tag(row, "td")
        if head is None or cell is None:
            continue
        key = text_of(head).lower()
        kind = next((it for it in classes_of(row) if it.startswith("property-row-")), "")
        value = _value(cell, kind.removeprefix("property-row-"))
        if key and value not in (None, "", []):
            found[key] = value
    return found


def _value(cell: Tag, kind: str) -> Json:
    match kind:
        case "multi_select":
            values = [text_of(it) for it in tags_of(cell, "span")]
            return [clean_tag(it) for it in values if it]
        case "checkbox":
            box = first_tag(cell, "div")
            return box is not None and "checkbox-on" in classes_of(box)
        case "number" | "auto_increment_id":
            said = text_of(cell)
            return int(said) if re.fullmatch(r"-?\d{1,15}", said) else said
        case "date" | "created_time" | "last_edited_time":
            return text_of(cell).lstrip("@")
        case _:
            return text_of(cell)


def _tidy(body: Tag) -> None:
    for it in tags_of(body, "ul"):
        if "to-do-list" in classes_of(it):
            _tidy_todo(it)
    _tidy_figures(body)
    for it in tags_of(body, "details"):
        # A toggle, open as it is: its head and what is below it.
        summary = first_tag(it, "summary")
        if summary is not None:
            size = _FONT_SIZE.search(attribute(summary, "style"))
            summary.name = _HEADINGS.get(size[1], "p") if size else "p"
    _tidy_code(body)
    for it in tags_of(body, "time"):
        replace_with_text(it, text_of(it).lstrip("@"))
    _tidy_pictures(body)
    for it in tags_of(body, "mark"):
        if not any("background" in kind for kind in classes_of(it)):
            it.unwrap()


def _tidy_figures(body: Tag) -> None:
    for it in tags_of(body, "figure"):
        kinds = classes_of(it)
        if "callout" in kinds:
            _tidy_callout(it)
        elif "equation" in kinds:
            _tidy_equation(it, display=True)
    for it in tags_of(body, "span"):
        if "notion-text-equation-token" in classes_of(it):
            _tidy_equation(it, display=False)
        elif "katex" in classes_of(it):
            it.extract()


def _tidy_code(body: Tag) -> None:
    for it in tags_of(body, "pre"):
        if it.get("data-language"):
            continue
        code = first_tag(it, "code")
        kinds = classes_of(code) if code is not None else set[str]()
        language = next((it[9:].lower() for it in kinds if it.startswith("language-")), "")
        it.replace_with(code_block(it.get_text().strip("\n"), language))


def _tidy_pictures(body: Tag) -> None:
    for it in tags_of(body, "img"):
        if "icon" in classes_of(it):
            it.extract()
        elif not it.get("alt"):
            it["alt"] = attribute(it, "src").rpartition("/")[2][:100]
    for it in tags_of(body, "a"):
        picture = first_tag(it, "img")
        if "bookmark" in classes_of(it):
            title = first_tag(it, "div", **{"class": "bookmark-title"})
            it.string = text_of(title) or attribute(it, "href")
        elif picture is not None and not it.get_text(strip=True):
            # A picture is a link to itself.
            it.replace_with(picture.extract())


def _tidy_todo(todo: Tag) -> None:
    for item in tags_of(todo, "li"):
        box = first_tag(item, "div")
        done = box is not None and "checkbox-on" in classes_of(box)
        if box is not None and "checkbox" in classes_of(box):
            box.extract()
            mark_task(item, done=done)


def _tidy_callout(callout: Tag) -> None:
    icon = first_tag(callout, "div")
    is_icon = icon is not None and (first_tag(icon, "img") or first_tag(icon, "span"))
    if icon is not None and is_icon and len(text_of(icon)) <= 4:
        icon.extract()
    callout.name = "blockquote"
    head = new_tag("p")
    head.append(NavigableString("[!note]"))
    callout.insert(0, head)


def _tidy_equation(figure: Tag, *, display: bool) -> None:
    source = first_tag(figure, "annotation")
    text = source.get_text() if source is not None else text_of(figure)
    # As code: a formula has asterisks and underscores of its own.
    if display:
        figure.replace_with(code_block(text.strip(), "math"))
        return
    made = new_tag("math-source")
    made.string = f"${' '.join(text.split())}$"
    figure.replace_with(made)


def _relink(body: Tag, href: Callable[[str], str | None]) -> None:
    headings = {
        attribute(it, "id"): text_of(it) for level in "123" for it in tags_of(body, f"h{level}")
    }
    for it in tags_of(body, "a"):
        address = attribute(it, "href")
        if address.startswith("#") and address[1:] in headings:
            it["href"] = f"#{encode_path(headings[address[1:]], angled=False)}"
        elif address.startswith("#"):
            it.unwrap()
    for name, key in (("a", "href"), ("img", "src")):
        for it in tags_of(body, name):
            found = href(attribute(it, key))
            if found is not None:
                it[key] = found
