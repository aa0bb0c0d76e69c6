"""Documents that could well link to a new one: those that speak for the folders above it. Pure."""

from collections.abc import Collection

from pecia.kernel.text.names import folder_of

SPEAKING = ("index", "readme", "report", "spec")
MOST = 3


def parent_candidates(name: str, documents: Collection[str]) -> list[str]:
    """From the nearest folder upwards, at most three, and never the document itself."""
    by_fold = {it.casefold(): it for it in documents}
    found: list[str] = []
    folder = folder_of(name)
    while True:
        lead = f"{folder}/" if folder else ""
        leaf = folder.rpartition("/")[2]
        for word in (*SPEAKING, *((leaf,) if leaf else ())):
            it = by_fold.get(f"{lead}{word}".casefold())
            if it is not None and it != name and it not in found:
                found.append(it)
        if not folder or len(found) >= MOST:
            return found[:MOST]
        folder = folder_of(folder)
