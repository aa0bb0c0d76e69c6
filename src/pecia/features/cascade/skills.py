"""A cascade as a skill: what it knows, concept by concept, as it is resolved for the caller."""

import json
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pecia.features.cascade.core.render import render_markdown
from pecia.features.cascade.core.view import CascadeView, ConceptCard
from pecia.features.cascade.registry import CascadeRegistry
from pecia.kernel.errors import Json
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.skill import (
    MAIN_FILE,
    MAX_BYTES,
    MAX_FILES,
    SCHEME,
    ServedSkill,
    SkillFile,
    skill_name,
)

AUTHORITY = "cascade"
MAX_TITLES = 12


@dataclass(frozen=True, slots=True)
class CascadeSkills:
    """The cascades that a caller sees: `skill://cascade/<name>/SKILL.md`, and a file a concept."""

    cascades: CascadeRegistry

    async def list_skills(self, call: Call, uri: str | None) -> tuple[ServedSkill, ...]:
        wanted = _parse_name(uri) if uri is not None else None
        found: list[ServedSkill] = []
        for cascade in await self.cascades.list_visible(call.caller):
            name = skill_name(cascade)
            if not name or wanted not in (None, name):
                continue
            view = (await self.cascades.find_visible(call.caller, cascade)).view
            if (skill := build_skill(cascade, name, view)) is not None:
                call.record_returned(f"cascade:{cascade}", [it.id for it in view.list_cards()])
                found.append(skill)
        return tuple(found)


def build_skill(cascade: str, name: str, view: CascadeView) -> ServedSkill | None:
    """The skill of a cascade; None where it is empty, or too large to be one. Pure."""
    cards = view.list_cards()
    if not 0 < len(cards) < MAX_FILES:
        return None
    titles = [it.title or it.id for it in cards]
    some = ", ".join(titles[:MAX_TITLES]) + (", …" if len(titles) > MAX_TITLES else "")
    description = f"Layered knowledge of {cascade}. Use when a task concerns: {some}."[:1024]
    frontmatter: dict[str, Json] = {"name": name, "description": description}
    main = SkillFile(MAIN_FILE, _main_text(cascade, frontmatter, cards).encode())
    texts = ((it.id, render_markdown(view.effective(it.id))) for it in cards)
    files = [main, *(SkillFile(f"{id_}.md", text.encode()) for id_, text in texts)]
    if sum(len(it.body) for it in files) > MAX_BYTES:
        return None
    return ServedSkill(f"{AUTHORITY}/{name}", frontmatter, tuple(files))


def _main_text(cascade: str, frontmatter: dict[str, Json], cards: list[ConceptCard]) -> str:
    # JSON is YAML, and needs no rule for what must be quoted.
    values = {key: json.dumps(it, ensure_ascii=False) for key, it in frontmatter.items()}
    fields = "\n".join(f"{key}: {it}" for key, it in values.items())
    lines = "\n".join(f"- [{it.title or it.id}]({it.id}.md)" for it in cards)
    return (
        f"---\n{fields}\n---\n\n# {cascade}\n\n"
        "Read the files that concern your task before you begin. Each is resolved from layers, of "
        "which a later one overrides an earlier one.\n\n"
        f"{lines}\n"
    )


def _parse_name(uri: str) -> str:
    """The name in a URI of ours; empty for another's."""
    parts = urlsplit(uri)
    is_ours = parts.scheme == SCHEME and parts.netloc == AUTHORITY
    return unquote(parts.path).removeprefix("/").partition("/")[0] if is_ours else ""
