"""Folder rules: defaults of documents by path. Pure; not written to the documents."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pecia.features.wiki.config.schema import FolderRule, SpaceConfig
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
    """The title and description in the frontmatter win; folder tags come first."""
    tags = tuple(dict.fromkeys((*given.tags, *facts.tags)))
    title = facts.find_title(given.title)
    return DocumentCard(title, facts.description or given.description, tags)


def matches_rule(match: str, path: str) -> bool:
    """Whether a rule matches this path. `foo/**` matches the folder itself as well."""
    return any(compile_folder_glob(it.strip("/")).fullmatch(path) for it in expand_braces(match))


def find_template(rules: Iterable[FolderRule], path: str) -> str | None:
    """The template that a new document at this path begins as; the last matching rule decides."""
    found = [
        it.template for it in rules if it.template is not None and matches_rule(it.match, path)
    ]
    return (found[-1] or None) if found else None


@dataclass(frozen=True, slots=True)
class TemplateNames:
    """Which documents are templates: those in their folder, and those that folder rules name.

    Lists of what is in a space leave them out.
    """

    folder: str
    """In lower case, with a trailing slash; empty for none."""
    named: frozenset[str]

    @classmethod
    def of(cls, config: SpaceConfig) -> "TemplateNames":
        lead = config.templates.dir.strip("/").casefold()
        folder = f"{lead}/" if lead not in ("", ".") else ""
        return cls(folder, frozenset(it.template for it in config.folders if it.template))

    def __contains__(self, name: str) -> bool:
        is_inside = self.folder and name.casefold().startswith(self.folder)
        return bool(is_inside) or name in self.named

    def shorten(self, name: str) -> str:
        """Without the folder of templates."""
        is_inside = self.folder and name.casefold().startswith(self.folder)
        return name[len(self.folder) :] if is_inside else name


@dataclass(frozen=True, slots=True)
class FolderRuleUpsert:
    """A rule to set; with `new_match` the rule with `match` is renamed in place."""

    match: str
    frontmatter: Mapping[str, Json]
    new_match: str | None = None
    template: str | None = None
    """None leaves that of an existing rule as it is."""


def upsert_rules(
    rules: Sequence[Mapping[str, Json]], wanted: Sequence[FolderRuleUpsert]
) -> list[Json]:
    """All rules after these upserts, in order."""
    working = [dict(it) for it in rules]
    for it in wanted:
        target = it.match if it.new_match is None else it.new_match
        made: dict[str, Json] = {"match": target, "frontmatter": dict(it.frontmatter)}
        if it.template is not None:
            made["template"] = it.template
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
