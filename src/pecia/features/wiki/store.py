"""Resolves the space of a call. Spaces the caller may not see do not exist here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

from pecia.kernel.errors import Conflict, InvalidInput, Json, MissingField, NotFound, list_hint
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction

SQL = load_queries("pecia.features.wiki")
MAX_NAMED_SPACES = 10


@dataclass(frozen=True, slots=True)
class Space:
    """A served folder. `is_whole`: the caller sees everything in it. `is_trimmed`: grants on
    folders decide who sees what. `is_behind`: its files lack edits of live documents.
    `is_confined`: it must lie below a root of its tenant."""

    source_id: str
    name: str
    folder: Path
    is_whole: bool
    is_trimmed: bool
    is_behind: bool
    is_confined: bool


@dataclass(frozen=True, slots=True)
class SpaceLocation:
    """Where the documents of a space lie, and their keys in the store.

    `prefix` goes from the project to the content folder, with a trailing slash; empty if they are
    the same. Keys are relative to the project, as the lake crawls them too.
    """

    tenant_id: UUID
    source_id: str
    project: Path
    prefix: str

    @property
    def root(self) -> Path:
        return self.project / self.prefix

    def key(self, path: str) -> str:
        return self.prefix + path

    def sql_params(self) -> dict[str, Any]:
        """As SQL parameters."""
        return {"tenant_id": self.tenant_id, "source_id": self.source_id}


@dataclass(frozen=True, slots=True)
class SpaceSelector:
    """The default space of a session: by name, or by a folder in it."""

    name: str | None
    folder: str | None

    @classmethod
    def from_session(cls, session: Mapping[str, Json]) -> "SpaceSelector":
        name, folder = session.get("wiki.space"), session.get("wiki.project")
        return cls(
            name if isinstance(name, str) else None, folder if isinstance(folder, str) else None
        )


async def find_session_space(tx: Transaction, meant: SpaceSelector) -> Space:
    """The space of a session; never another, even if it is the only one."""
    if meant.name is not None:
        return await find_space(tx, None, meant.name)
    try:
        return await find_space(tx, meant.folder, None)
    except NotFound:
        if meant.folder is None:
            raise
        raise NotFound(
            f"the project {meant.folder} is not a space of this server, or you may not see it",
            field="space",
            hint=f"pecia start {meant.folder} serves it; or name another `space`",
        ) from None


async def list_space_names(tx: Transaction) -> list[str]:
    """The spaces that are served to the caller."""
    return [row["name"] for row in await tx.fetch_all(SQL["spaces"]) if row["enabled"]]


async def find_space(tx: Transaction, cwd: str | None, name: str | None) -> Space:
    """The space of a folder, or of a name, or the only one there is."""
    rows = await tx.fetch_all(SQL["spaces"])
    row = _select_row(rows, cwd, name)
    if not row["enabled"]:
        raise Conflict(
            f"the space {row['name']!r} is switched off",
            space=row["name"],
            hint=f"an administrator switches it on: pecia space set {row['name']} --enabled true",
        )
    return Space(
        row["source_id"],
        row["name"],
        Path(row["folder"]),
        is_whole=row["is_whole"],
        is_trimmed=row["is_trimmed"],
        is_behind=row["is_behind"],
        is_confined=row["is_confined"],
    )


class SpaceAmbiguous(MissingField):
    """There are several spaces, and none is named."""

    def __init__(self, spaces: Sequence[str], document: str | None = None) -> None:
        """The first is the one to try; `document` is given if it alone has that document."""
        shown = ", ".join(spaces[:MAX_NAMED_SPACES])
        shown += ", …" if len(spaces) > MAX_NAMED_SPACES else ""
        where = "or another of them" if document is None else f"which has {document[:200]!r}"
        super().__init__(
            f'Field "space" is required: there are several: {shown}',
            field="space",
            allowed=[*spaces],
            hint=f'Call it again with "space": "{spaces[0]}", {where}.',
        )
        self.spaces = spaces


def _select_row(
    rows: Sequence[dict[str, Any]], cwd: str | None, name: str | None
) -> dict[str, Any]:
    found = list(rows)
    if name is not None:
        # By its id too, which is what a hit shows: it stays when the space is renamed.
        found = [it for it in rows if it["name"] == name] or [
            it for it in rows if it["source_id"] == name
        ]
        if not found:
            known: list[Json] = [it["name"] for it in rows]
            raise NotFound(f"no space {name!r}", field="space", allowed=known)
    if cwd is not None:
        found = _enclosing_spaces(found, cwd)
        if not found:
            raise NotFound(
                f"no space contains the folder {cwd[:200]!r}",
                field="cwd",
                got=cwd[:200],
                hint=list_hint("pecia space list"),
            )
    if name is None and cwd is None:
        # A disabled space must be named, unless there is no other.
        found = [it for it in found if it["enabled"]] or found
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFound(
            "there is no space that you may see",
            hint="pecia start FOLDER serves one; on a server an administrator adds one: "
            "pecia space add FOLDER",
        )
    raise SpaceAmbiguous([str(it["name"]) for it in found])


def _enclosing_spaces(rows: Sequence[dict[str, Any]], cwd: str) -> list[dict[str, Any]]:
    """The space that contains the folder: the innermost, if nested."""
    place = PurePosixPath(cwd)
    if not place.is_absolute() or ".." in place.parts:
        raise InvalidInput(
            f'Field "cwd" must be an absolute path without .., not {cwd[:200]!r}',
            field="cwd",
            got=cwd[:200],
        )
    around = [it for it in rows if place.is_relative_to(it["folder"])]
    deepest = max((len(it["folder"]) for it in around), default=0)
    return [it for it in around if len(it["folder"]) == deepest]
