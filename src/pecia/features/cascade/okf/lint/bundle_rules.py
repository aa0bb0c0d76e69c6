"""Rules that need the whole bundle: links, indexes, titles. Pure."""

from collections import defaultdict
from collections.abc import Iterator

from pecia.features.cascade.core.concept_id import id_of_path
from pecia.features.cascade.core.links import ConceptGraph, extract_links, resolve_concept_link
from pecia.features.cascade.okf.lint.bundle import BundlePage, OkfBundle
from pecia.features.cascade.okf.lint.findings import LintFinding, info, warning
from pecia.kernel.text.links.link import Link, LinkKind
from pecia.kernel.text.links.resolver import MissingLink, ResolvedLink, SamePageLink


def check_bundle(bundle: OkfBundle) -> Iterator[LintFinding]:
    """Links, orphans, index descriptions that differ, duplicate titles."""
    graph = bundle.graph()
    by_id = {id_of_path(it.path): it for it in bundle.concepts}
    for page in bundle.concepts:
        yield from _check_links(page, graph, by_id)
    yield from _check_indexes(bundle, graph)
    yield from _check_titles(bundle)


def _check_links(
    page: BundlePage, graph: ConceptGraph, by_id: dict[str, BundlePage]
) -> Iterator[LintFinding]:
    own = id_of_path(page.path)
    for link in extract_links(page.text):
        line = page.line_of(link.span.start)
        if link.kind is LinkKind.WIKI:
            yield info(page.path, "wiki-link", "other OKF readers do not support wiki links", line)
        match resolve_concept_link(link, own, graph):
            case MissingLink(name=name):
                yield info(page.path, "broken-link", f"no concept {name!r}", line)
            case ResolvedLink(name=name, anchor=anchor) if name == own and anchor is None:
                yield warning(page.path, "self-link", "the link points to its own page", line)
            case ResolvedLink(name=name):
                yield from _check_target(page, link, by_id[name], line)
            case SamePageLink():
                yield from _check_target(page, link, page, line)
            case _:
                pass


def _check_target(
    page: BundlePage, link: Link, target: BundlePage, line: int
) -> Iterator[LintFinding]:
    if target.okf is None:
        return
    anchor = link.target.anchor
    if anchor and target.okf.outline.find(anchor) is None:
        yield warning(page.path, "anchor", f"{target.path} has no #{anchor}", line)
    if target is not page and target.okf.frontmatter.get("status") == "deprecated":
        yield warning(page.path, "deprecated", f"{target.path} is deprecated", line)


def _check_indexes(bundle: OkfBundle, graph: ConceptGraph) -> Iterator[LintFinding]:
    for folder in sorted({it.folder for it in bundle.concepts}):
        index = bundle.pages.get(f"{folder}/index.md" if folder else "index.md")
        if index is None:
            yield info(f"{folder}/" if folder else "./", "no-index", "the folder has no index.md")
            continue
        listed = dict(_index_entries(index, graph))
        for page in bundle.concepts:
            if page.folder != folder:
                continue
            description = listed.get(id_of_path(page.path))
            if description is None:
                yield warning(page.path, "orphan", f"{index.path} does not list it")
            else:
                yield from _check_description(index, page, description)


def _index_entries(index: BundlePage, graph: ConceptGraph) -> Iterator[tuple[str, str]]:
    """The concepts that an index lists, with their descriptions."""
    for link in extract_links(index.text):
        found = resolve_concept_link(link, id_of_path(index.path), graph)
        if isinstance(found, ResolvedLink):
            rest = index.text[link.span.end :].split("\n", 1)[0]
            yield found.name, rest.strip().lstrip("-–— ").strip()


def _check_description(
    index: BundlePage, page: BundlePage, description: str
) -> Iterator[LintFinding]:
    own = page.okf.frontmatter.get("description") if page.okf else None
    if isinstance(own, str) and description and description != own.strip():
        yield warning(index.path, "index-description", f"its description of {page.path} differs")


def _check_titles(bundle: OkfBundle) -> Iterator[LintFinding]:
    by_title: defaultdict[str, list[str]] = defaultdict(list)
    for page in bundle.concepts:
        title = page.okf.frontmatter.get("title") if page.okf else None
        if isinstance(title, str):
            by_title[title.strip().casefold()].append(page.path)
    for paths in by_title.values():
        for path in paths[1:]:
            yield warning(path, "duplicate-title", f"{paths[0]} has the same title")
