"""Which Pecia last brought this cluster up to date. An older one refuses what a newer one wrote."""

import json
from dataclasses import asdict, dataclass

import pecia
from pecia.kernel.errors import Unprocessable
from pecia.kernel.store.cluster.files import read_object, write_whole
from pecia.kernel.store.cluster.places import Places
from pecia.kernel.store.cluster.programs import wheel_version

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Format:
    """The layout of the folder, and the versions of Pecia and of the PostgreSQL wheel."""

    format: int
    pecia: str
    wheel: str


def current_format() -> Format:
    """What this Pecia writes."""
    return Format(FORMAT, pecia.__version__, wheel_version())


def read_format(places: Places) -> Format | None:
    """What the cluster says of itself; None when it was never finished."""
    if not places.format.exists():
        return None
    remedy = "Remove it: it is written again at the next start."
    found = read_object(places.format, "format", "pecia", remedy=remedy)
    # Before anything else is read: a newer format may hold what we do not know.
    if found["format"] > FORMAT:
        raise Unprocessable(
            f"{places.root} was written by Pecia {found['pecia']}, in format {found['format']}; "
            f"Pecia {pecia.__version__} reads up to format {FORMAT}: upgrade Pecia",
            expected=FORMAT,
            got=found["format"],
        )
    return Format(found["format"], str(found["pecia"]), str(found.get("wheel", "")))


def write_format(places: Places) -> None:
    """Call this last: a cluster without it, or with another one, is bootstrapped again."""
    write_whole(places.format, json.dumps(asdict(current_format())))
