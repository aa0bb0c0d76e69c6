"""Rules that need the whole bundle: links, indexes, titles. Pure."""

from collections import defaultdict
from collections.abc import Iterator

from pecia.kernel.text.link import Link, LinkKind
from pecia.kernel.text.resolve import Found, Missing, SamePage
from pecia.rooms.cascade.identity import id_of_path
from pecia.rooms.cascade.links import Graph, links_of, meaning
from pecia.rooms.cascade.okf.lint.bundle import Bundle, Page
from pecia.rooms.cascade.okf.lint.finding import Finding, info, warning


def across_findings(bundle: Bundle) -> Iterator[Finding]:
    """Links, orphans, indexes that say something else, titles that come twice."""
    graph = bundle.graph()
    by_id = {id_of_path(it.path): it for it in bundle.concepts}
    for page in bundle.concepts:
        yield from _links(page, graph, by_id)
    yield from _indexes(bundle, graph)
    yield from _titles(bundle)


def _links(page: Page, graph: Graph, by_id: dict[str, Page]) -> Iterator[Finding]:
    own = id_of_path(page.path)
    for link in links_of(page.text):
        line = page.line_of(link.span.start)
        if link.kind is LinkKind.WIKI:
            yield info(page.path, "wiki-link", "other readers of OKF know no wiki links", line)
        match meaning(link, own, graph):
            case Missing(name=name):
                yield info(page.path, "broken-link", f"there is no concept {name!r}", line)
            case Found(name=name, anchor=anchor) if name == own and anchor is None:
                yield warning(page.path, "self-link", "the link leads to its own page", line)
            case Found(name=name):
                yield from _target(page, link, by_id[name], line)
            case SamePage():
                yield from _target(page, link, page, line)
            case _:
                pass


def _target(page: Page, link: Link, target: Page, line: int) -> Iterator[Finding]:
    if target.okf is None:
        return
    anchor = link.target.anchor
    if anchor and target.okf.outline.find(anchor) is None:
        yield warning(page.path, "anchor", f"{target.path} has no #{anchor}", line)
    if target is not page and target.okf.frontmatter.get("status") == "deprecated":
        yield warning(page.path, "deprecated", f"{target.path} is deprecated", line)


def _indexes(bundle: Bundle, graph: Graph) -> Iterator[Finding]:
    for folder in sorted({it.folder for it in bundle.concepts}):
        index = bundle.pages.get(f"{folder}/index.md" if folder else "index.md")
        if index is None:
            yield info(f"{folder}/" if folder else "./", "no-index", "the folder has no index.md")
            continue
        listed = dict(_listed(index, graph))
        for page in bundle.concepts:
            if page.folder != folder:
                continue
            said = listed.get(id_of_path(page.path))
            if said is None:
                yield warning(page.path, "orphan", f"{index.path} does not list it")
            else:
                yield from _described(index, page, said)


def _listed(index: Page, graph: Graph) -> Iterator[tuple[str, str]]:
    """The concepts that an index lists, and what it says of each."""
    for link in links_of(index.text):
        found = meaning(link, id_of_path(index.path), graph)
        if isinstance(found, Found):
            rest = index.text[link.span.end :].split("\n", 1)[0]
            yield found.name, rest.strip().lstrip("-–— ").strip()


def _described(index: Page, page: Page, said: str) -> Iterator[Finding]:
    own = page.okf.frontmatter.get("description") if page.okf else None
    if isinstance(own, str) and said and said != own.strip():
        yield warning(index.path, "index-description", f"it describes {page.path} in other words")


def _titles(bundle: Bundle) -> Iterator[Finding]:
    by_title: defaultdict[str, list[str]] = defaultdict(list)
    for page in bundle.concepts:
        title = page.okf.frontmatter.get("title") if page.okf else None
        if isinstance(title, str):
            by_title[title.strip().casefold()].append(page.path)
    for paths in by_title.values():
        for path in paths[1:]:
            yield warning(path, "duplicate-title", f"{paths[0]} has the same title")
