"""Keys of memories in the source `memory`, and the key ranges that a search covers. Pure.

`user/OWNER/KIND/COLLECTION/PROJECT/ID.md` is readable by its owner alone; `shared/` by others too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote
from uuid import UUID

from pecia.features.memory.model import MemoryKind
from pecia.features.memory.settings import WorkspaceMode
from pecia.kernel.text.glob import compile_glob

SOURCE = "memory"
NO_PROJECT = "-"
_MAX_SEGMENT_CHARS = 120


@dataclass(frozen=True, slots=True)
class MemoryFolder:
    """A folder of memories of one owner."""

    mode: WorkspaceMode
    owner: UUID
    kind: MemoryKind
    collection: str
    project: str | None = None

    @property
    def folder(self) -> str:
        """The prefix that rights are granted on."""
        return folder_of(self.mode)

    def key(self, id_: UUID) -> str:
        return f"{self.project_prefix}{id_}.md"

    @property
    def project_prefix(self) -> str:
        return f"{self.prefix}{encode_segment(self.project)}/"

    @property
    def prefix(self) -> str:
        return f"{self.folder}/{self.owner}/{self.kind}/{encode_segment(self.collection)}/"

    def contains(self, key: str) -> bool:
        """Whether the key is in this folder: same readers, and same project where one is named."""
        project = f"{encode_segment(self.project)}/" if self.project is not None else ""
        return key.startswith(f"{self.prefix}{project}")


@dataclass(frozen=True, slots=True)
class KeyRange:
    """All keys that begin with `prefix` and match `glob`."""

    prefix: str
    glob: str

    def contains(self, key: str) -> bool:
        """Whether a memory's key is in the range."""
        return compile_glob(self.glob).fullmatch(key) is not None


def own_ranges(place: MemoryFolder, *, any_project: bool) -> Iterator[KeyRange]:
    """The owner's memories, both private and shared."""
    for folder in ("user", "shared"):
        base = f"{folder}/{place.owner}/{place.kind}/{encode_segment(place.collection)}/"
        prefix = base if any_project else f"{base}{encode_segment(place.project)}/"
        yield KeyRange(prefix, f"{prefix}**")


def shared_range(place: MemoryFolder) -> KeyRange:
    """Shared memories of all owners."""
    return KeyRange("shared/", f"shared/*/{place.kind}/{encode_segment(place.collection)}/**")


def folder_of(mode: WorkspaceMode) -> str:
    return "shared" if mode == "shared" else "user"


def encode_segment(name: str | None) -> str:
    """A name as one segment of a key, without glob metacharacters."""
    if name is None:
        return NO_PROJECT
    plain = quote(name, safe="").replace("~", "%7E").replace(".", "%2E")
    plain = "%2D" if plain == NO_PROJECT else plain
    if len(plain) <= _MAX_SEGMENT_CHARS:
        return plain
    return f"{plain[:80]}~{sha256(name.encode()).hexdigest()[:24]}"


def owner_of(key: str) -> str:
    """The id of the memory's owner."""
    return key.split("/")[1]


def is_own(key: str, owner: UUID | None) -> bool:
    return owner_of(key) == str(owner)


def kind_of(key: str) -> MemoryKind:
    return MemoryKind(key.split("/")[2])
