"""Which Pecia last brought this cluster up to date. An older one refuses what a newer one wrote."""

import json
from dataclasses import asdict, dataclass

import pecia
from pecia.kernel.errors import Unprocessable
from pecia.kernel.store.atomic_file import read_json_object, write_atomic
from pecia.kernel.store.cluster.paths import ClusterPaths
from pecia.kernel.store.cluster.programs import wheel_version

FORMAT = 1


@dataclass(frozen=True, slots=True)
class ClusterFormat:
    """The layout of the folder, and the versions of Pecia and of the PostgreSQL wheel."""

    format: int
    pecia: str
    wheel: str


def current_format() -> ClusterFormat:
    """What this Pecia writes."""
    return ClusterFormat(FORMAT, pecia.__version__, wheel_version())


def read_format(places: ClusterPaths) -> ClusterFormat | None:
    """What the cluster says of itself; None when it was never finished."""
    if not places.format.exists():
        return None
    remedy = "Remove it: it is written again at the next start."
    found = read_json_object(places.format, "format", "pecia", remedy=remedy)
    # Before anything else is read: a newer format may hold what we do not know.
    if found["format"] > FORMAT:
        raise Unprocessable(
            f"{places.root} was written by Pecia {found['pecia']}, in format {found['format']}; "
            f"Pecia {pecia.__version__} reads up to format {FORMAT}: upgrade Pecia",
            expected=FORMAT,
            got=found["format"],
        )
    return ClusterFormat(found["format"], str(found["pecia"]), str(found.get("wheel", "")))


def write_format(places: ClusterPaths) -> None:
    """Call this last: a cluster without it, or with another one, is bootstrapped again."""
    write_atomic(places.format, json.dumps(asdict(current_format())))
