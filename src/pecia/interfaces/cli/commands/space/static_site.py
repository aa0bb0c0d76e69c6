"""A space as HTML pages that work from a folder: no script, no server, no network. Pure."""

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from urllib.parse import quote, unquote

from pecia.features.wiki.transfer.exported_space import (
    ExportedDocument,
    ExportedSpace,
    ExportReport,
    free_path,
)
from pecia.features.wiki.transfer.standard_links import LinkTargets, standardize_links
from pecia.interfaces.http.pages.markdown import (
    PageLink,
    render_markdown,
    slug,
    split_frontmatter,
)
from pecia.kernel.text.links.name_index import folder_of, relative_path
from pecia.kernel.text.links.resolver import normalize_path

SHEETS = ("tokens.css", "prose.css")
PAGE_STYLE = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); }
body { font: var(--size-m)/1.5 var(--sans); }
main, header { max-width: 76ch; margin: 0 auto; padding: var(--gap-4); }
header { color: var(--ink-3); border-bottom: 1px solid var(--line); }
a { color: var(--accent); }
a.missing { color: var(--bad); text-decoration: none; }
img { max-width: 100%; height: auto; }
.tags { color: var(--ink-3); }
.note { color: var(--ink-3); }
"""
# A second wall behind the escaping: nothing in a page may run or send.
POLICY = (
    "script-src 'none'; object-src 'none'; frame-src 'none'; base-uri 'none'; form-action 'none'"
)


def make_site(space: ExportedSpace, name: str, report: ExportReport) -> dict[str, str]:
    """The pages and the style sheet, by path."""
    taken = {*space.files}
    pages: dict[str, str] = {}
    for document in space.documents:
        pages[document] = free_path(f"{document}.html", taken)
        taken.add(pages[document])
    home = free_path("index.html" if "index.html" not in taken else "contents.html", taken)
    style = free_path("style.css", taken)
    site = _Site(name, pages, home, style, space.targets(pages, slug))
    made = {pages[it.name]: site.page(it, report) for it in space.documents.values()}
    return {**made, home: site.contents(space), style: load_style()}


def load_style() -> str:
    """One sheet: the tokens and the prose of the design system, and a few lines for the page."""
    folder = files("pecia.interfaces.http.pages").joinpath("design")
    return "".join(folder.joinpath(it).read_text(encoding="utf-8") for it in SHEETS) + PAGE_STYLE


class _Site:
    def __init__(
        self, name: str, pages: Mapping[str, str], home: str, style: str, targets: LinkTargets
    ) -> None:
        self.name, self.pages, self.home, self.style = name, pages, home, style
        self.targets = targets
        self.known = frozenset(pages.values())

    def page(self, document: ExportedDocument, report: ExportReport) -> str:
        page = self.pages[document.name]
        made = standardize_links(document.text, document.name, page, self.targets)
        for problem in made.problems:
            report.change(document.path, problem)

        def resolve(target: str, anchor: str) -> PageLink:
            return self._resolve(page, target, anchor)

        def picture(address: str) -> str | None:
            return self._picture(page, address, document.path, report)

        rendered = render_markdown(split_frontmatter(made.text), resolve, picture)
        title = document.facts.title or rendered.title or document.title
        tags = " ".join(f"#{escape(it)}" for it in document.facts.tags)
        about = f'<p class="tags">{tags}</p>' if tags else ""
        body = f'<article class="prose"><h1>{escape(title)}</h1>{about}{rendered.html}</article>'
        return self._frame(page, title, body)

    def contents(self, space: ExportedSpace) -> str:
        """The list of all documents, by folder."""
        parts: list[str] = []
        folder: str | None = None
        for it in sorted(space.documents.values(), key=lambda it: (folder_of(it.name), it.name)):
            here = folder_of(it.name)
            if here != folder:
                parts.append("</ul>" if folder is not None else "")
                parts.append(f"<h2>{escape(here)}</h2>" if here else "")
                parts.append("<ul>")
                folder = here
            href = escape(_href(self.home, self.pages[it.name]))
            parts.append(f'<li><a href="{href}">{escape(it.title)}</a></li>')
        parts.append("</ul>" if folder is not None else '<p class="note">No documents.</p>')
        body = f'<article class="prose"><h1>{escape(self.name)}</h1>{"".join(parts)}</article>'
        return self._frame(self.home, self.name, body)

    def _resolve(self, page: str, target: str, anchor: str) -> PageLink:
        tail = f"#{quote(slug(anchor))}" if anchor else ""
        if not target:
            return PageLink(tail)
        path = normalize_path(folder_of(page), target)
        if path is not None and (path in self.known or self.targets.has_file(path)):
            return PageLink(_href(page, path) + tail)
        return PageLink("", is_missing=True)

    def _picture(self, page: str, address: str, source: str, report: ExportReport) -> str | None:
        path = normalize_path(folder_of(page), unquote(address.partition("#")[0]))
        if path is not None and self.targets.has_file(path):
            return _href(page, path)
        if ":" in address or address.startswith("//"):
            report.change(source, f"the picture {address[:200]} is on the network: only its text")
        return None

    def _frame(self, page: str, title: str, body: str) -> str:
        style, home = (escape(_href(page, it)) for it in (self.style, self.home))
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f'<title>{escape(title)}</title><link rel="stylesheet" href="{style}"></head>\n'
            f'<body><header><a href="{home}">{escape(self.name)}</a></header>\n'
            f"<main>{body}</main></body></html>\n"
        )


def _href(page: str, path: str) -> str:
    """The address of a file from a page. One with a colon in its first part is no scheme."""
    found = quote(relative_path(path, folder_of(page)))
    return f"./{found}" if ":" in found.partition("/")[0] else found
