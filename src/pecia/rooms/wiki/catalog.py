"""The catalogs of a space: for every folder a page that lists what is in it. Pure.

Title and description of a page stay as a person changed them; all the rest is made anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from pecia.rooms.wiki.config.rules import Shared
from pecia.rooms.wiki.facts import read_facts

FOLDER = ".pecia/catalogs"
ALIAS = ".ok/catalogs"
PAGE = "INDEX.md"
TOP = "Project Content"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Article:
    """A document as a catalog shows it; `path` is from the project."""

    path: str
    title: str
    description: str | None
    tags: tuple[str, ...]


@dataclass(slots=True)
class _Shelf:
    articles: list[Article] = field(default_factory=list[Article])
    folders: set[str] = field(default_factory=set[str])
    count: int = 0


def is_catalog(path: str) -> bool:
    return path.startswith((f"{FOLDER}/", f"{ALIAS}/"))


def own_path(path: str) -> str:
    """The path of a catalog, by whichever name it was asked for."""
    return FOLDER + path[len(ALIAS) :] if path.startswith(f"{ALIAS}/") else path


def catalogs(
    articles: Sequence[Article],
    given: Mapping[str, Shared],
    kept: Mapping[str, str],
) -> dict[str, str]:
    """Every page by its path. `given` is what rules say of folders, `kept` the pages there are."""
    shelves = _shelves(articles)
    heads = {it: _head(it, given.get(it, Shared()), kept.get(page_path(it))) for it in shelves}
    return {
        page_path(folder): _page(folder, shelf, shelves, heads)
        for folder, shelf in sorted(shelves.items())
    }


def page_path(folder: str) -> str:
    return f"{FOLDER}/{folder}/{PAGE}" if folder else f"{FOLDER}/{PAGE}"


def folders_of(articles: Sequence[Article]) -> list[str]:
    return sorted(_shelves(articles))


def _shelves(articles: Sequence[Article]) -> dict[str, _Shelf]:
    shelves: dict[str, _Shelf] = {}
    for it in articles:
        folder, _, leaf = it.path.rpartition("/")
        if leaf.casefold() == PAGE.casefold():
            continue
        shelves.setdefault(folder, _Shelf()).articles.append(it)
        while True:
            shelf = shelves.setdefault(folder, _Shelf())
            shelf.count += 1
            if not folder:
                break
            above = folder.rpartition("/")[0]
            shelves.setdefault(above, _Shelf()).folders.add(folder)
            folder = above
    return shelves


def _head(folder: str, given: Shared, old: str | None) -> tuple[str, str | None]:
    """Title and description: a person's, the rules', or the folder's name."""
    said = read_facts(old) if old is not None else None
    name = folder.rpartition("/")[2] or TOP
    title = (said.title if said else None) or given.title or name
    return title, (said.description if said else None) or given.description


def _page(
    folder: str,
    shelf: _Shelf,
    shelves: Mapping[str, _Shelf],
    heads: Mapping[str, tuple[str, str | None]],
) -> str:
    title, description = heads[folder]
    lines = ["---", f"title: {_quoted(title)}", f"description: {_quoted(description or '')}"]
    lines += ["generated: true", f"schema_version: {VERSION}", "---", ""]
    if shelf.articles:
        rows = sorted(shelf.articles, key=lambda it: (it.title.casefold(), it.path))
        lines += ["## Articles", "", *map(_article, rows), ""]
    if shelf.folders:
        lines += ["## Subfolders", ""]
        lines += [_folder(it, shelves[it].count, *heads[it]) for it in sorted(shelf.folders)]
        lines.append("")
    return "\n".join(lines)


def _article(it: Article) -> str:
    description = f" — {it.description}" if it.description else ""
    tags = f" Tags: {', '.join(it.tags)}" if it.tags else ""
    return f"- **[{_plain(it.title)}]({_address(it.path)})**{description}{tags}"


def _folder(folder: str, count: int, title: str, description: str | None) -> str:
    said = f" — {description}" if description else ""
    noun = "article" if count == 1 else "articles"
    return f"- **[{_plain(title)}]({_address(page_path(folder))})** ({count} {noun}){said}"


def _plain(text: str) -> str:
    return " ".join(text.replace("[", "(").replace("]", ")").split())


def _address(path: str) -> str:
    return f"<{path}>" if " " in path or "(" in path or ")" in path else path


def _quoted(text: str) -> str:
    """As a YAML scalar: JSON's quoting is YAML's too."""
    return orjson.dumps(" ".join(text.split())).decode()
