"""The part of a package that a query needs, within a token budget that is never exceeded.

A rule comes with everything that modifies, overrides or conditions it, or not at all. Trace rows
fill the rest of the budget. The result is YAML that `parse` reads.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pecia.features.ckf.package.codec.yaml import render_mapping
from pecia.features.ckf.package.model import Item, Package, text_of
from pecia.features.ckf.package.normalize import compact_package
from pecia.features.ckf.package.slice.dependencies import ItemDependencies, find_dependencies
from pecia.features.ckf.package.slice.relevance import score_relevance
from pecia.features.ckf.package.tokens import CHARACTERS_PER_TOKEN, estimate_tokens
from pecia.kernel.errors import Json

HEADER_FIELDS = ("package_id", "source_title", "language")
TRACE_FIELDS = ("extracted_item_id", "source_location", "source_excerpt", "extraction_type")


@dataclass(frozen=True, slots=True)
class PackageSlice:
    """`left_out` are relevant items that did not fit, best first."""

    document: str
    included: tuple[str, ...]
    omitted: tuple[str, ...]
    links: tuple[tuple[str, str], ...]

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.document)


def slice_package(package: Package, query: str, budget_tokens: int) -> PackageSlice:
    links = find_dependencies(Package(compact_package(package)))
    scores = score_relevance(links.items, query)
    page = _SliceDocument(budget_tokens * CHARACTERS_PER_TOKEN)
    header: Item = {it: package.metadata[it] for it in HEADER_FIELDS if it in package.metadata}
    if not page.add([("metadata", header)]):
        return PackageSlice("", (), tuple(_best_first(scores)), ())
    chosen = list(_fill(page, links, scores))
    for row in _rows(package, chosen):
        page.add([("source_traceability", row)])
    taken = set(chosen)
    return PackageSlice(
        page.document(),
        tuple(chosen),
        tuple(it for it in _best_first(scores) if it not in taken),
        tuple((it, near) for it in chosen for near in sorted(links.dependencies.get(it, set()))),
    )


def _fill(
    page: "_SliceDocument", links: ItemDependencies, scores: dict[str, float]
) -> Iterator[str]:
    taken: set[str] = set()
    for name in _best_first(scores):
        # An item that was added already has its dependencies.
        bundle = [it for it in links.closure(name) if it not in taken]
        if name not in taken and page.add([_bare(*links.items[it]) for it in bundle]):
            taken.update(bundle)
            yield from bundle


def _best_first(scores: dict[str, float]) -> list[str]:
    return sorted(scores, key=lambda it: (-scores[it], it))


def _bare(section: str, item: Item) -> tuple[str, Item]:
    # The quotation is in the trace row, if it fits.
    return section, {key: it for key, it in item.items() if key != "source_excerpts"}


def _rows(package: Package, chosen: Iterable[str]) -> Iterator[Item]:
    rank = {it: number for number, it in enumerate(chosen)}
    rows = [it for it in package.trace if text_of(it, "extracted_item_id") in rank]
    for row in sorted(rows, key=lambda it: rank[text_of(it, "extracted_item_id")]):
        yield {key: row[key] for key in TRACE_FIELDS if key in row}


@dataclass(slots=True)
class _SliceDocument:
    """Sections of a document that stays within `max_chars`, in the order of their first item."""

    max_chars: int
    used: int = 0
    parts: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])

    def add(self, entries: list[tuple[str, Item]]) -> bool:
        """Adds all of them, or nothing if they do not fit."""
        fresh = {section for section, _ in entries} - self.parts.keys()
        cost = sum(len(it) + len(":\n") for it in fresh)
        cost += sum(_length(section, it) for section, it in entries)
        if self.used + cost > self.max_chars:
            return False
        self.used += cost
        for section, it in entries:
            self.parts.setdefault(section, []).append(it)
        return True

    def document(self) -> str:
        body: Item = {"metadata": self.parts["metadata"][0]}
        body.update((key, list[Json](it)) for key, it in self.parts.items() if key != "metadata")
        return "".join(f"{line}\n" for line in render_mapping(body, 0))


def _length(section: str, item: Item) -> int:
    """The exact length of an item below the name of its section."""
    value: Json = item if section == "metadata" else [item]
    lines = render_mapping({section: value}, 0)
    next(lines)
    return sum(len(line) + 1 for line in lines)
