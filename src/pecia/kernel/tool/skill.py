"""Agent Skills that a feature serves: folders with a SKILL.md, read as `skill://` resources.

The format is that of the Agent Skills specification; MCP's binding of it is SEP-2640.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias
from urllib.parse import quote

from pecia.kernel.errors import Json
from pecia.kernel.tool.call import Call

SCHEME = "skill"
MAIN_FILE = "SKILL.md"
MAX_FILES = 200
MAX_BYTES = 2_000_000
_NAME = re.compile(r"(?!-)(?!.*--)[a-z0-9-]{1,64}(?<!-)")


@dataclass(frozen=True, slots=True)
class SkillFile:
    """One file of a skill, by its path from the skill's folder."""

    path: str
    body: bytes

    @property
    def digest(self) -> str:
        return f"sha256:{sha256(self.body).hexdigest()}"


@dataclass(frozen=True, slots=True)
class ServedSkill:
    """A skill as one caller sees it: every file that they may read, and no other."""

    folder: str
    """Its path at this server; the last part is its name."""
    frontmatter: Mapping[str, Json]
    files: tuple[SkillFile, ...]

    @property
    def uri(self) -> str:
        return self.uri_of(MAIN_FILE)

    def uri_of(self, path: str) -> str:
        return f"{SCHEME}://{quote(self.folder)}/{quote(path)}"


ListSkills: TypeAlias = Callable[[Call, str | None], Awaitable[tuple[ServedSkill, ...]]]
"""The skills for a caller: all, or those that a URI can be a file of."""


def is_skill(folder: str, frontmatter: Mapping[str, Json]) -> bool:
    """Whether a SKILL.md makes its folder a skill: a valid name, which is the folder's, and a
    description."""
    name, description = frontmatter.get("name"), frontmatter.get("description")
    is_named = isinstance(name, str) and _NAME.fullmatch(name) is not None
    is_described = isinstance(description, str) and 0 < len(description.strip()) <= 1024
    return is_named and is_described and folder.rpartition("/")[2] == name


def skill_name(text: str) -> str:
    """A valid name that says the text; empty where nothing of it can stand in one."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:64].strip("-")
