"""Where a call remembers and looks: the settings of its session, its user, its project. Pure."""

from dataclasses import dataclass
from uuid import UUID

from pecia.features.memory.core.keys import KeyRange, MemoryFolder, own_ranges, shared_range
from pecia.features.memory.model import Memory, MemoryKind
from pecia.features.memory.settings import MemorySettings
from pecia.kernel.errors import Forbidden, Json
from pecia.kernel.settings.session import apply_session
from pecia.kernel.tool.call import Call


@dataclass(frozen=True, slots=True)
class ScopeLabels:
    """Who and what memories say they are of, as the caller puts it. They give no right."""

    user: str | None = None
    project: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """What holds for one call."""

    settings: MemorySettings
    owner: UUID
    labels: ScopeLabels

    def folder(self, kind: MemoryKind) -> MemoryFolder:
        """Where new memories go. Those of a team are for the team."""
        mode = "shared" if kind is MemoryKind.WORKSPACE else self.settings.workspace_mode
        return MemoryFolder(mode, self.owner, kind, self._collection(kind), self.labels.project)

    def search_ranges(self, kind: MemoryKind, *, any_project: bool = False) -> tuple[KeyRange, ...]:
        """What is looked at: one's own, or what is shared."""
        place = self.folder(kind)
        if place.mode == "shared":
            return (shared_range(place),)
        return tuple(own_ranges(place, any_project=any_project or self.labels.project is None))

    def own_ranges(self, kind: MemoryKind) -> tuple[KeyRange, ...]:
        """All of one's own of that kind."""
        return tuple(own_ranges(self.folder(kind), any_project=True))

    def admits(self, memory: Memory) -> bool:
        """In shared mode: of the same user or project, where one that is not named is any."""
        if self.settings.workspace_mode != "shared":
            return True
        return _matches(memory.text_fact("userId"), self.labels.user) or _matches(
            memory.text_fact("projectId"), self.labels.project
        )

    def origin_facts(self, kind: MemoryKind) -> dict[str, Json]:
        """What every memory says of where it is from."""
        said: dict[str, Json] = {"workspaceMode": self.folder(kind).mode}
        if self.labels.user is not None:
            said["userId"] = self.labels.user
        if self.labels.project is not None:
            said["projectId"] = self.labels.project
        return said

    def _collection(self, kind: MemoryKind) -> str:
        match kind:
            case MemoryKind.KNOWLEDGE:
                return self.settings.collection
            case MemoryKind.REASONING:
                return self.settings.reflection_collection
            case MemoryKind.WORKSPACE:
                return self.settings.workspace_collection


def resolve_scope(
    call: Call, settings: MemorySettings, said: ScopeLabels | None = None
) -> MemoryScope:
    """The standing of a call. What the session sets wins over what the arguments say."""
    owner = call.caller.user_id
    if owner is None:
        raise Forbidden("memories are of a user, and this token is nobody's")
    here = apply_session(settings, call.session)
    given = said or ScopeLabels()
    labels = ScopeLabels(here.user_label or given.user, here.project_name or given.project)
    return MemoryScope(here, owner, labels)


def _matches(kept: str | None, wanted: str | None) -> bool:
    return kept is None or wanted is None or kept == wanted
