"""Which file an embed means when only its base name is given: the one nearest to its document."""

from collections.abc import Iterable

from pecia.kernel.text.links.name_index import folder_of


def fold_asset_name(path: str) -> str:
    """Files with the same key have the same base name, whatever its case."""
    return path.rpartition("/")[2].casefold()


def find_nearest_asset(candidates: Iterable[str], source: str) -> str | None:
    """Below the document's folder the shallowest, elsewhere the fewest folders away, else by name.

    The candidates are paths from the root of files that share a key.
    """
    here = folder_of(source)
    return min(candidates, key=lambda it: (*_distance(here, folder_of(it)), it), default=None)


def _distance(here: str, there: str) -> tuple[bool, int]:
    own, other = _parts(here), _parts(there)
    shared = 0
    while shared < min(len(own), len(other)) and own[shared] == other[shared]:
        shared += 1
    below = shared == len(own)
    return not below, len(own) + len(other) - 2 * shared


def _parts(folder: str) -> list[str]:
    return folder.split("/") if folder else []
