"""Folders of a space that are skills: those with a SKILL.md whose name is the folder's.

A caller is served the files of it that they may see.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from anyio.to_thread import run_sync

from pecia.features.wiki.space import OpenSpace, Wiki
from pecia.features.wiki.storage import disk
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.skill import (
    MAIN_FILE,
    MAX_BYTES,
    MAX_FILES,
    SCHEME,
    ServedSkill,
    SkillFile,
    is_skill,
)

AUTHORITY = "wiki"
_MAIN_NAME = MAIN_FILE.removesuffix(".md")

log = Log(__name__)


@dataclass(frozen=True, slots=True)
class WikiSkills:
    """The skills in the spaces that a caller sees: `skill://wiki/<space>/<folder>/SKILL.md`."""

    wiki: Wiki

    async def list_skills(self, call: Call, uri: str | None) -> tuple[ServedSkill, ...]:
        names = await self.wiki.overview(call.caller) or []
        wanted = _parse_place(uri) if uri is not None else None
        found: list[ServedSkill] = []
        for name in names:
            if wanted is None or wanted.partition("/")[0] == name:
                found += await self._list_in(call, name, wanted)
        return tuple(found)

    async def _list_in(self, call: Call, space: str, wanted: str | None) -> list[ServedSkill]:
        try:
            opened = await self.wiki.open(call, None, space)
            return await _load_skills(opened, wanted)
        except PeciaError as error:
            # A space that cannot be opened now hides no skill of another.
            log.failure("wiki.skills", error)
            return []


async def _load_skills(opened: OpenSpace, wanted: str | None) -> list[ServedSkill]:
    mains = [it for it in opened.documents.values() if _is_main(it.name)]
    facts = await opened.load_metadata_of(mains)
    found: list[ServedSkill] = []
    for it in mains:
        folder = it.name.rpartition("/")[0]
        place = f"{opened.space.name}/{folder}"
        is_asked = wanted is None or wanted.startswith(f"{place}/")
        if it.name not in facts or not is_asked or not is_skill(folder, facts[it.name].frontmatter):
            continue
        if (files := await _read_files(opened, folder)) is not None:
            fields: Mapping[str, Json] = facts[it.name].frontmatter
            found.append(ServedSkill(f"{AUTHORITY}/{place}", dict(fields), files))
    return found


def _is_main(name: str) -> bool:
    folder, _, last = name.rpartition("/")
    return last == _MAIN_NAME and bool(folder)


async def _read_files(opened: OpenSpace, folder: str) -> tuple[SkillFile, ...] | None:
    """Everything below the folder that the caller sees; None where that is too much to serve."""
    lead = f"{folder}/"
    every = (*(it.path for it in opened.documents.values()), *opened.other_files)
    paths = sorted(it for it in every if it.startswith(lead))
    if len(paths) > MAX_FILES:
        return None
    files: list[SkillFile] = []
    for path in paths:
        body = await run_sync(disk.read, opened.root, path)
        files.append(SkillFile(path.removeprefix(lead), body))
        if sum(len(it.body) for it in files) > MAX_BYTES:
            return None
    opened.record_returned(paths)
    return tuple(files)


def _parse_place(uri: str) -> str:
    """Space and path of a URI of ours; empty for another's."""
    parts = urlsplit(uri)
    is_ours = parts.scheme == SCHEME and parts.netloc == AUTHORITY
    return unquote(parts.path).removeprefix("/") if is_ours else ""
