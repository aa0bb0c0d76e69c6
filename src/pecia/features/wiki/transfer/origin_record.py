"""Where imported documents came from, and what was written: a file of the project.

It says whether somebody has edited a document since. If it is lost, nothing is overwritten: an
import then takes what it finds for somebody else's, unless it is the same to the byte.
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import orjson

from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.project_folder import IMPORTS_NAME, PROJECT_FOLDER
from pecia.kernel.errors import Json, PeciaError

PATH = f"{PROJECT_FOLDER}/{IMPORTS_NAME}"


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """The file that an item of a source became. `digest` is of what was written."""

    path: str
    digest: str


@dataclass(slots=True)
class OriginRecord:
    """By source, then by the item's id there."""

    sources: dict[str, dict[str, ImportedFile]]

    def find(self, source: str, origin: str) -> ImportedFile | None:
        return self.sources.get(source, {}).get(origin)

    def put(self, source: str, origin: str, made: ImportedFile) -> None:
        self.sources.setdefault(source, {})[origin] = made

    def dump(self) -> bytes:
        rows = {
            source: {origin: [it.path, it.digest] for origin, it in found.items()}
            for source, found in self.sources.items()
        }
        return orjson.dumps({"version": 1, "sources": rows}, option=orjson.OPT_SORT_KEYS)


def file_digest(body: bytes) -> str:
    return sha256(body).hexdigest()


def parse_record(body: bytes) -> OriginRecord:
    """The record in a file. What cannot be parsed is left out."""
    try:
        found: Json = orjson.loads(body)
    except ValueError:
        found = None
    rows = found.get("sources") if isinstance(found, dict) else None
    record = OriginRecord({})
    for source, items in rows.items() if isinstance(rows, dict) else ():
        for origin, row in items.items() if isinstance(items, dict) else ():
            match row:
                case [str(path), str(digest)]:
                    record.put(source, origin, ImportedFile(path, digest))
                case _:
                    continue
    return record


def read_record(project: Path) -> OriginRecord:
    """The record of a project; an empty one where there is none. Blocking."""
    try:
        return parse_record(disk.read(project, PATH))
    except PeciaError:
        return OriginRecord({})


def write_record(project: Path, record: OriginRecord) -> None:
    """Blocking. The caller holds the lock of the space."""
    disk.write(project, PATH, record.dump())
