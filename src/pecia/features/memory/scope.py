"""Where a call stores and searches: session settings, user, project. Pure."""

from dataclasses import dataclass
from uuid import UUID

from pecia.features.memory.core.keys import (
    KeyRange,
    MemoryFolder,
    encode_segment,
    folder_of,
    kind_of,
    own_ranges,
    shared_range,
)
from pecia.features.memory.model import Memory, MemoryKind
from pecia.features.memory.settings import MemorySettings
from pecia.kernel.errors import Forbidden, Json
from pecia.kernel.settings.session import apply_session
from pecia.kernel.tool.call import Call


@dataclass(frozen=True, slots=True)
class ScopeLabels:
    """User and project labels from the caller. They grant no rights."""

    user: str | None = None
    project: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """The scope of one call."""

    settings: MemorySettings
    owner: UUID
    labels: ScopeLabels

    def folder(self, kind: MemoryKind) -> MemoryFolder:
        """Where new memories go. Team memories are shared."""
        mode = "shared" if kind is MemoryKind.WORKSPACE else self.settings.workspace_mode
        return MemoryFolder(mode, self.owner, kind, self._collection(kind), self.labels.project)

    def search_ranges(self, kind: MemoryKind, *, any_project: bool = False) -> tuple[KeyRange, ...]:
        """The key ranges to search: the caller's own, or the shared ones."""
        place = self.folder(kind)
        if place.mode == "shared":
            return (shared_range(place),)
        return tuple(own_ranges(place, any_project=any_project or self.labels.project is None))

    def own_ranges(self, kind: MemoryKind, *, any_project: bool) -> tuple[KeyRange, ...]:
        """The caller's own memories of that kind: of this project, where there is one."""
        everywhere = any_project or self.labels.project is None
        return tuple(own_ranges(self.folder(kind), any_project=everywhere))

    def contains(self, key: str) -> bool:
        """Whether a memory is in a collection of this session and, where it names one, in its
        project; a shared one is in it whoever owns it."""
        place = self.folder(kind_of(key))
        _, _, _, collection, project = key.split("/")[:5]
        if collection != encode_segment(place.collection):
            return False
        is_shared = key.startswith(f"{folder_of('shared')}/")
        return is_shared or place.project is None or project == encode_segment(place.project)

    def admits(self, memory: Memory) -> bool:
        """In shared mode: same user and project; an absent label matches any."""
        if self.settings.workspace_mode != "shared":
            return True
        return _matches(memory.text_fact("userId"), self.labels.user) or _matches(
            memory.text_fact("projectId"), self.labels.project
        )

    def origin_facts(self, kind: MemoryKind) -> dict[str, Json]:
        """The origin facts of every memory."""
        facts: dict[str, Json] = {"workspaceMode": self.folder(kind).mode}
        if self.labels.user is not None:
            facts["userId"] = self.labels.user
        if self.labels.project is not None:
            facts["projectId"] = self.labels.project
        return facts

    def _collection(self, kind: MemoryKind) -> str:
        match kind:
            case MemoryKind.KNOWLEDGE:
                return self.settings.collection
            case MemoryKind.REASONING:
                return self.settings.reflection_collection
            case MemoryKind.WORKSPACE:
                return self.settings.workspace_collection


def resolve_scope(
    call: Call, settings: MemorySettings, labels: ScopeLabels | None = None
) -> MemoryScope:
    """The scope of a call. Session settings win over arguments."""
    owner = call.caller.user_id
    if owner is None:
        raise Forbidden(
            "memories belong to a user, and this token has none",
            hint="Use a token of a user: pecia token make LABEL",
        )
    here = apply_session(settings, call.session)
    requested = labels or ScopeLabels()
    effective = ScopeLabels(
        here.user_label or requested.user, here.project_name or requested.project
    )
    return MemoryScope(here, owner, effective)


def _matches(kept: str | None, wanted: str | None) -> bool:
    return kept is None or wanted is None or kept == wanted
