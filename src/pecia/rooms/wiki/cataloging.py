"""Catalogs for one caller, and on the disk where every reader may see all of a space."""

from pathlib import Path

from anyio.to_thread import run_sync

from pecia.kernel.errors import NotFound, PeciaError
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.catalog import FOLDER, PAGE, Article, catalogs, folders_of, page_path
from pecia.rooms.wiki.config.rules import card, shared
from pecia.rooms.wiki.config.schema import Config
from pecia.rooms.wiki.facts import Facts
from pecia.rooms.wiki.own import prepare
from pecia.rooms.wiki.wiki import Opened

MOST_BYTES = 5_000_000


async def catalogs_for(opened: Opened) -> dict[str, str]:
    """The pages that this caller would see, by path; nothing is written."""
    facts = await opened.facts()
    paths = {it.name: opened.lead + it.path for it in opened.documents.values()}
    project = opened.space.folder if opened.space.is_whole else None
    return await run_sync(_made, project, paths, facts, opened.settings.config)


def write_catalogs(
    project: Path, paths: dict[str, str], facts: dict[str, Facts], config: Config
) -> int:
    """Bring the pages on the disk up to date; how many changed. Blocking."""
    wanted = _made(project, paths, facts, config)
    changed = 0
    if wanted:
        prepare(project)
    for path, text in wanted.items():
        if _read(project, path) != text:
            disk.write(project, path, text.encode())
            changed += 1
    for path in _pages(project):
        if path not in wanted:
            disk.remove(project, path)
            disk.prune(project, path.rpartition("/")[0])
            changed += 1
    return changed


def _made(
    project: Path | None, paths: dict[str, str], facts: dict[str, Facts], config: Config
) -> dict[str, str]:
    articles: list[Article] = []
    for name, path in paths.items():
        if name not in facts:
            continue
        found = card(facts[name], shared(config.folders, path))
        title = found.title or facts[name].heading or name.rpartition("/")[2]
        articles.append(Article(path, title, found.description, found.tags))
    folders = folders_of(articles)
    given = {it: shared(config.folders, it) for it in folders if it}
    kept: dict[str, str] = {}
    for it in folders if project is not None else ():
        text = _read(project, page_path(it)) if project is not None else None
        if text is not None:
            kept[page_path(it)] = text
    return catalogs(articles, given, kept)


def _read(project: Path, path: str) -> str | None:
    try:
        return disk.read(project, path, MOST_BYTES).decode(errors="replace")
    except (NotFound, PeciaError):
        return None


def _pages(project: Path) -> list[str]:
    """The pages that are there, no link followed."""
    root = project / FOLDER
    if not disk.is_folder(project, FOLDER):
        return []
    return sorted(
        it.relative_to(project).as_posix()
        for it in root.rglob(PAGE)
        if not it.is_symlink() and it.is_file()
    )
