"""The catalogs of a space: one generated page per folder that lists its documents. Pure.

Title and description of a page stay as edited by a person; the rest is regenerated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from pecia.features.wiki.config.folder_rules import FolderDefaults
from pecia.features.wiki.core.metadata import parse_metadata

CATALOG_FOLDER = ".pecia/catalogs"
CATALOG_FOLDER_ALIAS = ".ok/catalogs"
PAGE_NAME = "INDEX.md"
ROOT_TITLE = "Project Content"
VERSION = 1


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A document in a catalog; `path` is from the project."""

    path: str
    title: str
    description: str | None
    tags: tuple[str, ...]


@dataclass(slots=True)
class _FolderPage:
    articles: list[CatalogEntry] = field(default_factory=list[CatalogEntry])
    folders: set[str] = field(default_factory=set[str])
    count: int = 0


def is_catalog(path: str) -> bool:
    return path.startswith((f"{CATALOG_FOLDER}/", f"{CATALOG_FOLDER_ALIAS}/"))


def canonical_catalog_path(path: str) -> str:
    """The canonical path of a catalog, by either name."""
    return (
        CATALOG_FOLDER + path[len(CATALOG_FOLDER_ALIAS) :]
        if path.startswith(f"{CATALOG_FOLDER_ALIAS}/")
        else path
    )


def render_catalogs(
    articles: Sequence[CatalogEntry],
    given: Mapping[str, FolderDefaults],
    kept: Mapping[str, str],
) -> dict[str, str]:
    """Every page by its path. `given` are folder rules, `kept` the existing pages."""
    pages = _group_by_folder(articles)
    heads = {
        it: _title_and_description(it, given.get(it, FolderDefaults()), kept.get(page_path(it)))
        for it in pages
    }
    return {
        page_path(folder): _render_page(folder, page, pages, heads)
        for folder, page in sorted(pages.items())
    }


def page_path(folder: str) -> str:
    return f"{CATALOG_FOLDER}/{folder}/{PAGE_NAME}" if folder else f"{CATALOG_FOLDER}/{PAGE_NAME}"


def list_folders(articles: Sequence[CatalogEntry]) -> list[str]:
    return sorted(_group_by_folder(articles))


def _group_by_folder(articles: Sequence[CatalogEntry]) -> dict[str, _FolderPage]:
    pages: dict[str, _FolderPage] = {}
    for it in articles:
        folder, _, leaf = it.path.rpartition("/")
        if leaf.casefold() == PAGE_NAME.casefold():
            continue
        pages.setdefault(folder, _FolderPage()).articles.append(it)
        while True:
            page = pages.setdefault(folder, _FolderPage())
            page.count += 1
            if not folder:
                break
            above = folder.rpartition("/")[0]
            pages.setdefault(above, _FolderPage()).folders.add(folder)
            folder = above
    return pages


def _title_and_description(
    folder: str, given: FolderDefaults, old: str | None
) -> tuple[str, str | None]:
    """Title and description: edited by a person, from rules, or the folder's name."""
    said = parse_metadata(old) if old is not None else None
    name = folder.rpartition("/")[2] or ROOT_TITLE
    title = (said.title if said else None) or given.title or name
    return title, (said.description if said else None) or given.description


def _render_page(
    folder: str,
    page: _FolderPage,
    pages: Mapping[str, _FolderPage],
    heads: Mapping[str, tuple[str, str | None]],
) -> str:
    title, description = heads[folder]
    lines = [
        "---",
        f"title: {_quote_yaml(title)}",
        f"description: {_quote_yaml(description or '')}",
    ]
    lines += ["generated: true", f"schema_version: {VERSION}", "---", ""]
    if page.articles:
        rows = sorted(page.articles, key=lambda it: (it.title.casefold(), it.path))
        lines += ["## Articles", "", *map(_render_entry, rows), ""]
    if page.folders:
        lines += ["## Subfolders", ""]
        lines += [_render_folder(it, pages[it].count, *heads[it]) for it in sorted(page.folders)]
        lines.append("")
    return "\n".join(lines)


def _render_entry(it: CatalogEntry) -> str:
    description = f" — {it.description}" if it.description else ""
    tags = f" Tags: {', '.join(it.tags)}" if it.tags else ""
    return f"- **[{_plain(it.title)}]({_address(it.path)})**{description}{tags}"


def _render_folder(folder: str, count: int, title: str, description: str | None) -> str:
    suffix = f" — {description}" if description else ""
    noun = "article" if count == 1 else "articles"
    return f"- **[{_plain(title)}]({_address(page_path(folder))})** ({count} {noun}){suffix}"


def _plain(text: str) -> str:
    return " ".join(text.replace("[", "(").replace("]", ")").split())


def _address(path: str) -> str:
    return f"<{path}>" if " " in path or "(" in path or ")" in path else path


def _quote_yaml(text: str) -> str:
    """As a YAML scalar: JSON's quoting is YAML's too."""
    return orjson.dumps(" ".join(text.split())).decode()
