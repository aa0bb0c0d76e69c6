"""Folder rules: what documents have in common by where they lie. Pure; nothing is written down."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pecia.kernel.errors import Json
from pecia.rooms.wiki.config.schema import FolderRule
from pecia.rooms.wiki.facts import Facts
from pecia.rooms.wiki.globs import expand_braces, glob


@dataclass(frozen=True, slots=True)
class Shared:
    """What the rules give to one path."""

    title: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """A document as it is shown: its own words first, then what its folder gives."""

    title: str | None
    description: str | None
    tags: tuple[str, ...]


def shared(rules: Iterable[FolderRule], path: str) -> Shared:
    """The rules that fit, in order: later words win, tags gather."""
    title: str | None = None
    description: str | None = None
    tags: dict[str, None] = {}
    for rule in rules:
        if not fits(rule.match, path):
            continue
        said = rule.frontmatter
        title = said.title if said.title is not None else title
        description = said.description if said.description is not None else description
        tags |= dict.fromkeys(said.tags or ())
    return Shared(title, description, tuple(tags))


def card(facts: Facts, given: Shared) -> Card:
    """The document's own title and description win; tags of the folder come first."""
    tags = tuple(dict.fromkeys((*given.tags, *facts.tags)))
    return Card(facts.title or given.title, facts.description or given.description, tags)


def fits(match: str, path: str) -> bool:
    """Whether a rule means this file or folder. `foo/**` means the folder itself as well."""
    return any(glob(it.strip("/")).fits(path) for it in expand_braces(match))


@dataclass(frozen=True, slots=True)
class Upsert:
    """A rule to be; with `new_match` the rule that has `match` is renamed in its place."""

    match: str
    frontmatter: Mapping[str, Json]
    new_match: str | None = None


def upserted(rules: Sequence[Mapping[str, Json]], wanted: Sequence[Upsert]) -> list[Json]:
    """All rules after these, one after the other."""
    working = [dict(it) for it in rules]
    for it in wanted:
        target = it.match if it.new_match is None else it.new_match
        made: dict[str, Json] = {"match": target, "frontmatter": dict(it.frontmatter)}
        at = _place(working, it.match)
        if at is None:
            at = _place(working, target)
        if at is None:
            working.append(made)
            continue
        working[at] = {**working[at], **made}
        # A rule that had the new name gives way.
        working = [
            rule for place, rule in enumerate(working) if place == at or rule["match"] != target
        ]
    return [*working]


def _place(rules: Sequence[Mapping[str, Json]], match: str) -> int | None:
    return next((at for at, it in enumerate(rules) if it.get("match") == match), None)
