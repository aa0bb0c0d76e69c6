"""Folder rules: defaults of documents by path. Pure; not written to the documents."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pecia.features.wiki.config.schema import FolderRule
from pecia.features.wiki.core.globs import compile_folder_glob, expand_braces
from pecia.features.wiki.core.metadata import DocumentMetadata
from pecia.kernel.errors import Json


@dataclass(frozen=True, slots=True)
class FolderDefaults:
    """The defaults for one path."""

    title: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentCard:
    """A document as shown: its own metadata first, then folder defaults."""

    title: str | None
    description: str | None
    tags: tuple[str, ...]


def match_folder_defaults(rules: Iterable[FolderRule], path: str) -> FolderDefaults:
    """The matching rules, in order: later values win, tags accumulate."""
    title: str | None = None
    description: str | None = None
    tags: dict[str, None] = {}
    for rule in rules:
        if not matches_rule(rule.match, path):
            continue
        said = rule.frontmatter
        title = said.title if said.title is not None else title
        description = said.description if said.description is not None else description
        tags |= dict.fromkeys(said.tags or ())
    return FolderDefaults(title, description, tuple(tags))


def build_card(facts: DocumentMetadata, given: FolderDefaults) -> DocumentCard:
    """The document's own title and description win; folder tags come first."""
    tags = tuple(dict.fromkeys((*given.tags, *facts.tags)))
    return DocumentCard(facts.title or given.title, facts.description or given.description, tags)


def matches_rule(match: str, path: str) -> bool:
    """Whether a rule matches this path. `foo/**` matches the folder itself as well."""
    return any(compile_folder_glob(it.strip("/")).fullmatch(path) for it in expand_braces(match))


@dataclass(frozen=True, slots=True)
class FolderRuleUpsert:
    """A rule to set; with `new_match` the rule with `match` is renamed in place."""

    match: str
    frontmatter: Mapping[str, Json]
    new_match: str | None = None


def upsert_rules(
    rules: Sequence[Mapping[str, Json]], wanted: Sequence[FolderRuleUpsert]
) -> list[Json]:
    """All rules after these upserts, in order."""
    working = [dict(it) for it in rules]
    for it in wanted:
        target = it.match if it.new_match is None else it.new_match
        made: dict[str, Json] = {"match": target, "frontmatter": dict(it.frontmatter)}
        at = _index_of(working, it.match)
        if at is None:
            at = _index_of(working, target)
        if at is None:
            working.append(made)
            continue
        working[at] = {**working[at], **made}
        # A rule that already has the new name is replaced.
        working = [
            rule for place, rule in enumerate(working) if place == at or rule["match"] != target
        ]
    return [*working]


def _index_of(rules: Sequence[Mapping[str, Json]], match: str) -> int | None:
    return next((at for at, it in enumerate(rules) if it.get("match") == match), None)
