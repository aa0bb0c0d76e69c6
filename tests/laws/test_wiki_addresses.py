"""A rename changes no address outside the space by a byte, and no relative link loses its file.

What a link means is judged by markdown-it and urllib, not by our own resolver.
"""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import quote, unquote, urlsplit

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pecia.features.wiki.core.graph import build_link_names
from pecia.features.wiki.core.metadata import parse_metadata
from pecia.features.wiki.core.rename import (
    RenamePlan,
    plan_document_rename,
    plan_folder_rename,
    plan_rewrites,
)

DOCUMENTS = (
    *("a", "b c", "d/a", "d/é", "d/m n/o", "e/100% sure", "e/p(q)", "d/x#1", "d/what?", "r&amp;s"),
    *("d/m:n", "e/ü/ñ o"),
)
# Surrogates are bytes of a name that is not UTF-8, as Python reads it from the disk.
FILES = ("d/i.png", "p q.pdf", "e/é 1.svg", "d/m n/50%.csv", "d/m n/caf\udce9 %20.pdf")
NEW_NAMES = ("n", "d/n n", "q/r/s", "e/neu é", "d/m n/n", "z%20z", "t:u")
NEW_FOLDERS = ("n", "q/d d", "e/neu", "w%20w")

SCHEMES = st.one_of(
    st.sampled_from(
        ["https", "HTTP", "ftp", "mailto", "tel", "data", "urn", "file", "x-app", "git+ssh", "a.b"]
    ),
    st.from_regex(r"[A-Za-z][A-Za-z0-9+.-]{0,8}", fullmatch=True),
)
# No parentheses, brackets or quotes: what is an address must be sure in every way to write it.
URL_PIECES = st.sampled_from(
    [
        *("a", "b.md", "é", "%20", "%2F", "%25", "%3A", "%E9", "%00", "%ZZ", "%", "..", ".", "~"),
        *("/", "//", ":", "@", "+", ";", ",", "=", "host.example", "-", "_", "$"),
    ]
)
TAILS = st.sampled_from(
    ["", "?q=a%20b", "?u=https://x.y/%2e", "#h%20h", "?a=1&b=%C3%A9#é", "#a/b?c", "?", "#"]
)


@st.composite
def addresses(draw: st.DrawFn) -> str:
    """A URL with a scheme, or one that begins with its host."""
    lead = draw(st.one_of(SCHEMES.map(lambda it: f"{it}:"), st.just("//host.example/")))
    rest = "".join(draw(st.lists(URL_PIECES, max_size=8)))
    slashes = draw(st.sampled_from(["", "//", "//host.example/"])) if lead[-1] == ":" else ""
    return lead + slashes + rest + draw(TAILS)


OUTSIDE_FORMS = (
    "[t]({})",
    "[t]({} 'title')",
    "[t](<{}>)",
    "![t]({})",
    "![t](<{}>)",
    "[t](<{} and more b.md>)",
    "[t]( {} )",
    "<{}>",
    "text {} text",
    '<a href="{}">t</a>',
    "<img src='{}'/>",
    "- > [t]({})",
    "| [t]({}) | c |",
    "[![t]({0})]({0})",
)
RELATIVE_FORMS = (
    *("[t]({})", "[t](<{}>)", "![t]({})", "see [t]({} 'title')."),
    *(
        '<a href="{}">t</a>',
        "see <A class=x HREF='{}'>t</a>",
        "<img alt=x src='{}' >",
        '<img src="{}"/>',
    ),
)


@dataclass(frozen=True, slots=True)
class Line:
    """One block of a document. `target` is the file that its link leads to, if it is relative."""

    text: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class World:
    documents: dict[str, list[Line]]
    head: str
    renaming: RenamePlan

    def text(self, name: str) -> str:
        return self.head + "\n\n".join(it.text for it in self.documents[name])


@st.composite
def outside_lines(draw: st.DrawFn) -> Line:
    address = draw(addresses())
    if draw(st.integers(0, 4)) == 0:
        label = f"r{draw(st.integers(0, 10**9))}"
        angled = draw(st.booleans())
        return Line(f"[{label}]\n\n[{label}]: {f'<{address}>' if angled else address} 'title'")
    return Line(draw(st.sampled_from(OUTSIDE_FORMS)).format(address))


@st.composite
def relative_lines(draw: st.DrawFn, source: str, documents: list[str]) -> Line:
    """A link as a browser or another editor writes it, with more escapes than are needed or not."""
    target = draw(st.sampled_from([*(f"{it}.md" for it in documents), *FILES]))
    path = posixpath.relpath(target, posixpath.dirname(source) or ".")
    safe = draw(st.sampled_from(["/", "/é", "/éüñ"]))
    written = quote(path, safe=safe, errors="surrogateescape")
    if draw(st.booleans()):
        written = f"./{written}"
    form = draw(st.sampled_from(RELATIVE_FORMS))
    return Line(form.format(written + draw(st.sampled_from(["", "#h%20h", "?q=%20"]))), target)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    names = draw(st.lists(st.sampled_from(DOCUMENTS), min_size=2, max_size=6, unique=True))
    documents = {
        name: draw(st.lists(st.one_of(outside_lines(), relative_lines(name, names)), max_size=6))
        for name in names
    }
    head = f"---\nsource_url: '{draw(addresses())}'\n---\n\n" if draw(st.booleans()) else ""
    below = [it for it in ("d", "e", "d/m n") if any(name.startswith(f"{it}/") for name in names)]
    if below and draw(st.booleans()):
        old = draw(st.sampled_from(below))
        new = draw(st.sampled_from([it for it in NEW_FOLDERS if not it.startswith(f"{old}/")]))
        return World(documents, head, plan_folder_rename(old, new, names))
    old = draw(st.sampled_from(names))
    return World(
        documents, head, plan_document_rename(old, draw(st.sampled_from(NEW_NAMES)), names)
    )


REPORTED = World(
    {"a": [Line("[t](https://example.com/a%20b)")], "b": []},
    "",
    plan_document_rename("a", "q/r/s", "ab"),
)


@settings(max_examples=400, deadline=None)
@given(worlds())
@example(REPORTED)
def test_an_address_outside_the_space_stays_byte_for_byte(world: World) -> None:
    for name, text in renamed(world).items():
        lines = world.documents[name]
        assert text.startswith(world.head)
        blocks = text[len(world.head) :]
        for line in lines:
            if line.target is None:
                assert line.text in blocks
                blocks = blocks.partition(line.text)[2]


@settings(max_examples=400, deadline=None)
@given(worlds())
def test_a_relative_link_leads_to_the_same_file_as_a_browser_reads_it(world: World) -> None:
    for name, text in renamed(world).items():
        source = world.renaming.documents.get(name, name)
        wanted = [moved(world, it.target) for it in world.documents[name] if it.target]
        means = [
            posixpath.normpath(posixpath.join(posixpath.dirname(source), decoded(it.path)))
            for url in urls(text[len(world.head) :])
            if not (it := urlsplit(url)).scheme and not it.netloc and it.path
        ]
        assert means == wanted


def renamed(world: World) -> dict[str, str]:
    """The documents after the rename, by their names before."""
    texts = {it: world.text(it) for it in world.documents}
    names = build_link_names({name: parse_metadata(text) for name, text in texts.items()})
    done = plan_rewrites(world.renaming, names, texts.items())
    return {**texts, **{it.name: it.text for it in done}}


def decoded(path: str) -> str:
    return unquote(path, errors="surrogateescape")


def moved(world: World, path: str) -> str:
    name = path.removesuffix(".md")
    if name != path:
        return world.renaming.documents.get(name, name) + ".md"
    if world.renaming.folder and path.startswith(f"{world.renaming.folder[0]}/"):
        return world.renaming.folder[1] + path[len(world.renaming.folder[0]) :]
    return path


def urls(text: str) -> Iterable[str]:
    """What links and images lead to, as they stand, by a parser that is not ours."""
    parser = MarkdownIt()
    parser.normalizeLink = lambda url: url
    parser.validateLink = lambda url: True
    for block in parser.parse(text):
        for it in block.children or (block,):
            url = it.attrGet("href") if it.type == "link_open" else it.attrGet("src")
            if it.type in ("link_open", "image") and isinstance(url, str):
                yield url
            if it.type in ("html_inline", "html_block"):
                yield from tag_urls(it.content)


def tag_urls(html: str) -> list[str]:
    tags = Tags()
    tags.feed(html)
    return tags.urls


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.urls += [value for name, value in attrs if name in ("href", "src") and value]
