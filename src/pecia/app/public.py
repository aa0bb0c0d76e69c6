"""Which tools callers without a token may use: public ones, in rooms the operator named."""

from collections.abc import Sequence
from dataclasses import replace

from pecia.kernel.errors import InvalidEnum
from pecia.kernel.identity.caller import Scope
from pecia.kernel.room import Room
from pecia.kernel.tool.model import AnyTool


def published(rooms: tuple[Room, ...], names: Sequence[str]) -> tuple[Room, ...]:
    """The rooms, closed to the public but for those named. A name that is no room is an error."""
    known = sorted(room.name for room in rooms)
    for name in names:
        if name not in known:
            raise InvalidEnum(
                f"public_rooms names {name!r}, and there is no such room",
                field="public_rooms",
                got=name,
                allowed=[*known],
            )
    return tuple(_opened(room) if room.name in names else _closed(room) for room in rooms)


def _opened(room: Room) -> Room:
    """What reads is public, and what the room itself calls public though it does more."""
    return replace(
        room,
        tools=tuple(replace(it, public=it.public or _only_reads(it)) for it in room.tools),
        resources=tuple(replace(it, public=True) for it in room.resources),
        prompts=tuple(replace(it, public=True) for it in room.prompts),
    )


def _closed(room: Room) -> Room:
    return replace(
        room,
        tools=tuple(replace(it, public=False) for it in room.tools),
        resources=tuple(replace(it, public=False) for it in room.resources),
        prompts=tuple(replace(it, public=False) for it in room.prompts),
    )


def _only_reads(tool: AnyTool) -> bool:
    return tool.read_only and tool.scope in (Scope.SEARCH, Scope.READ)
