"""A dictionary whose copy costs as much as it was changed, not as much as it holds. Pure."""

from collections.abc import ItemsView, Iterable, Iterator, Mapping, MutableMapping
from heapq import merge
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=str)
V = TypeVar("V")

MIN_CHANGES, CHANGES_SHARE = 100, 64
"""A copy merges its layers when there are more changes than these, and than this share of all."""


class _Gone:
    """Stands for an entry that was removed."""


_GONE = _Gone()


class LayeredDict(MutableMapping[K, V], Generic[K, V]):
    """Entries that copies share, below changes of its own.

    Iterated in the order of its keys, if the entries it began with were in that order. It has one
    writer; what nobody changes any more may be read by any number of threads.
    """

    __slots__ = ("_layers",)

    def __init__(self, entries: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        # One attribute: a reader in another thread never sees one layer without the other.
        self._layers: tuple[dict[K, V], dict[K, V | _Gone]] = (dict(entries), {})

    def copy(self) -> "LayeredDict[K, V]":
        base, changes = self._layers
        if len(changes) > max(MIN_CHANGES, len(base) // CHANGES_SHARE):
            self._layers = base, changes = dict(self.items()), {}
        made = LayeredDict[K, V]()
        made._layers = base, dict(changes)
        return made

    def changed_keys(self, before: Mapping[K, V]) -> set[K]:
        """The keys whose values are not the same objects in both."""
        if isinstance(before, LayeredDict) and before._layers[0] is self._layers[0]:
            keys = {*self._layers[1], *before._layers[1]}
            return {it for it in keys if self.get(it) is not before.get(it)}
        here = {key for key, it in self.items() if before.get(key) is not it}
        return here | {it for it in before if it not in self}

    @property
    def entries(self) -> dict[K, V] | None:
        """All of it as one dictionary, where there are no changes. Not to be changed."""
        base, changes = self._layers
        return None if changes else base

    def __getitem__(self, key: K) -> V:
        base, changes = self._layers
        if key not in changes:
            return base[key]
        found = changes[key]
        if isinstance(found, _Gone):
            raise KeyError(key)
        return found

    def get(self, key: K, default: Any = None) -> Any:
        base, changes = self._layers
        if key not in changes:
            return base.get(key, default)
        found = changes[key]
        return default if isinstance(found, _Gone) else found

    def __contains__(self, key: object) -> bool:
        base, changes = self._layers
        # Not asked by its value: any object may be looked for.
        return key in base if key not in changes else (key, _GONE) not in changes.items()

    def __setitem__(self, key: K, value: V) -> None:
        self._layers[1][key] = value

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        base, changes = self._layers
        if key in base:
            changes[key] = _GONE
        else:
            del changes[key]

    def __len__(self) -> int:
        base, changes = self._layers
        gone = sum(isinstance(it, _Gone) for it in changes.values())
        return len(base) + sum(it not in base for it in changes) - gone

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def __iter__(self) -> Iterator[K]:
        base, changes = self._layers
        if not changes:
            return iter(base)
        added = sorted(it for it in changes if it not in base)
        kept = (it for it in base if not isinstance(changes.get(it), _Gone))
        return iter(merge(kept, added)) if added else kept

    def items(self) -> ItemsView[K, V]:
        return _Items(self)


class _Items(ItemsView[K, V]):
    def __init__(self, whole: LayeredDict[K, V]) -> None:
        super().__init__(whole)
        self._whole = whole

    def __iter__(self) -> Iterator[tuple[K, V]]:
        # Values of a plain dictionary are not looked up one by one.
        whole, plain = self._whole, self._whole.entries
        return ((it, whole[it]) for it in whole) if plain is None else iter(plain.items())
