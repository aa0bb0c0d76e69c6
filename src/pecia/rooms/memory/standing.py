"""Where a call remembers and looks: the settings of its session, its user, its project. Pure."""

from dataclasses import dataclass
from uuid import UUID

from pecia.kernel.errors import Forbidden, Json
from pecia.kernel.settings.session import within_session
from pecia.kernel.tool.call import Call
from pecia.rooms.memory.model import Kind, Memory
from pecia.rooms.memory.place import Area, Place, own_areas, shared_area
from pecia.rooms.memory.settings import MemorySettings


@dataclass(frozen=True, slots=True)
class Labels:
    """Who and what memories say they are of, as the caller puts it. They give no right."""

    user: str | None = None
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """What holds for one call."""

    settings: MemorySettings
    owner: UUID
    labels: Labels

    def place(self, kind: Kind) -> Place:
        """Where new memories go. Those of a team are for the team."""
        mode = "shared" if kind is Kind.WORKSPACE else self.settings.workspace_mode
        return Place(mode, self.owner, kind, self._collection(kind), self.labels.project)

    def areas(self, kind: Kind, *, any_project: bool = False) -> tuple[Area, ...]:
        """What is looked at: one's own, or what is shared."""
        place = self.place(kind)
        if place.mode == "shared":
            return (shared_area(place),)
        return tuple(own_areas(place, any_project=any_project or self.labels.project is None))

    def own(self, kind: Kind) -> tuple[Area, ...]:
        """All of one's own of that kind."""
        return tuple(own_areas(self.place(kind), any_project=True))

    def admits(self, memory: Memory) -> bool:
        """In shared mode: of the same user or project, where one that is not named is any."""
        if self.settings.workspace_mode != "shared":
            return True
        return _matches(memory.known("userId"), self.labels.user) or _matches(
            memory.known("projectId"), self.labels.project
        )

    def stamped(self, kind: Kind) -> dict[str, Json]:
        """What every memory says of where it is from."""
        said: dict[str, Json] = {"workspaceMode": self.place(kind).mode}
        if self.labels.user is not None:
            said["userId"] = self.labels.user
        if self.labels.project is not None:
            said["projectId"] = self.labels.project
        return said

    def _collection(self, kind: Kind) -> str:
        match kind:
            case Kind.KNOWLEDGE:
                return self.settings.collection
            case Kind.REASONING:
                return self.settings.reflection_collection
            case Kind.WORKSPACE:
                return self.settings.workspace_collection


def standing(call: Call, settings: MemorySettings, said: Labels | None = None) -> Standing:
    """The standing of a call. What the session sets wins over what the arguments say."""
    owner = call.caller.user_id
    if owner is None:
        raise Forbidden("memories are of a user, and this token is nobody's")
    here = within_session(settings, call.session)
    given = said or Labels()
    labels = Labels(here.user_label or given.user, here.project_name or given.project)
    return Standing(here, owner, labels)


def _matches(kept: str | None, wanted: str | None) -> bool:
    return kept is None or wanted is None or kept == wanted
