"""Dependencies between items: what must be read with what. Pure."""

from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass, field

from pecia.features.ckf.package.model import Item, Package, text_of, texts_of

# A rule without its exceptions misleads, and so does an exception without its rule.
BOTH_WAYS = ("modifies", "overrides")
# Directed: an item needs what it requires, not the reverse.
ONE_WAY = ("requires",)


@dataclass(frozen=True, slots=True)
class ItemDependencies:
    """Items by id, and for each id the ids it depends on."""

    items: dict[str, tuple[str, Item]]
    dependencies: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def closure(self, item_id: str) -> list[str]:
        """The item and its transitive dependencies, breadth first."""
        found = [item_id]
        seen = {item_id}
        for it in found:
            near = sorted(self.dependencies.get(it, set()) - seen)
            seen.update(near)
            found.extend(near)
        return found


def find_dependencies(package: Package) -> ItemDependencies:
    items: dict[str, tuple[str, Item]] = {}
    for section, it in package.iter_items():
        items.setdefault(text_of(it, "id"), (section, it))
    items.pop("", None)
    bound: defaultdict[str, set[str]] = defaultdict(set)
    for name, (_, item) in items.items():
        for other in _targets(item, (*BOTH_WAYS, *ONE_WAY), items):
            bound[name].add(other)
        for other in _targets(item, BOTH_WAYS, items):
            bound[other].add(name)
    return ItemDependencies(items, dict(bound))


def _targets(item: Item, fields: tuple[str, ...], known: Container[str]) -> list[str]:
    named = [it for name in fields for it in texts_of(item, name)]
    return [it for it in named if it in known and it != text_of(item, "id")]
