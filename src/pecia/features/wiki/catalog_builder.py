"""Catalogs for one caller, and on disk where every reader may see all of a space."""

from pathlib import Path

from anyio.to_thread import run_sync

from pecia.features.wiki.config.folder_rules import TemplateNames, build_card, match_folder_defaults
from pecia.features.wiki.config.schema import SpaceConfig
from pecia.features.wiki.core.catalog import (
    CATALOG_FOLDER,
    PAGE_NAME,
    CatalogEntry,
    list_folders,
    page_path,
    render_catalogs,
)
from pecia.features.wiki.core.metadata import DocumentMetadata
from pecia.features.wiki.space import OpenSpace
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.project_folder import ensure_project_folder
from pecia.kernel.errors import NotFound, PeciaError

MAX_PAGE_BYTES = 5_000_000


async def build_catalogs(opened: OpenSpace) -> dict[str, str]:
    """The pages as this caller would see them, by path; nothing is written."""
    facts = await opened.load_metadata()
    paths = {it.name: opened.prefix + it.path for it in opened.documents.values()}
    project = opened.space.folder if opened.space.is_whole else None
    return await run_sync(_render_catalogs, project, paths, facts, opened.settings.config)


def write_catalogs(
    project: Path, paths: dict[str, str], facts: dict[str, DocumentMetadata], config: SpaceConfig
) -> int:
    """Update the pages on disk; returns how many changed. Blocking."""
    wanted = _render_catalogs(project, paths, facts, config)
    changed = 0
    if wanted:
        ensure_project_folder(project)
    for path, text in wanted.items():
        if _read(project, path) != text:
            disk.write(project, path, text.encode())
            changed += 1
    for path in _list_pages(project):
        if path not in wanted:
            disk.remove(project, path)
            disk.prune(project, path.rpartition("/")[0])
            changed += 1
    return changed


def _render_catalogs(
    project: Path | None,
    paths: dict[str, str],
    facts: dict[str, DocumentMetadata],
    config: SpaceConfig,
) -> dict[str, str]:
    articles: list[CatalogEntry] = []
    templates = TemplateNames.of(config)
    for name, path in paths.items():
        if name not in facts or name in templates:
            continue
        found = build_card(facts[name], match_folder_defaults(config.folders, path))
        title = found.title or name.rpartition("/")[2]
        articles.append(CatalogEntry(path, title, found.description, found.tags))
    folders = list_folders(articles)
    given = {it: match_folder_defaults(config.folders, it) for it in folders if it}
    kept: dict[str, str] = {}
    for it in folders if project is not None else ():
        text = _read(project, page_path(it)) if project is not None else None
        if text is not None:
            kept[page_path(it)] = text
    return render_catalogs(articles, given, kept)


def _read(project: Path, path: str) -> str | None:
    try:
        return disk.read(project, path, MAX_PAGE_BYTES).decode(errors="replace")
    except (NotFound, PeciaError):
        return None


def _list_pages(project: Path) -> list[str]:
    """The existing pages; links are not followed."""
    root = project / CATALOG_FOLDER
    if not disk.is_folder(project, CATALOG_FOLDER):
        return []
    return sorted(
        it.relative_to(project).as_posix()
        for it in root.rglob(PAGE_NAME)
        if not it.is_symlink() and it.is_file()
    )
