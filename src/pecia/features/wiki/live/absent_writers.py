"""Presence of writers without a socket here: agents that call tools, and other programs. Pure.

They are shown to editors where they last wrote, for a while.
"""

from dataclasses import dataclass, field

import orjson

from pecia.features.wiki.live.awareness import GONE, describe_writer
from pecia.features.wiki.live.core.crdt import new_server_client_id
from pecia.features.wiki.live.core.frames import AwarenessState
from pecia.features.wiki.live.core.update import TEXT_NAME, ItemId, parse_update

PRESENCE_S = 15.0
"""Less than the 30 s after which Yjs clients drop a state that is not renewed."""


@dataclass(slots=True)
class AbsentWriters:
    """The state of each, by writer, and when it expires."""

    _here: dict[str, tuple[AwarenessState, float]] = field(
        default_factory=dict[str, tuple[AwarenessState, float]]
    )

    def list_states(self) -> list[AwarenessState]:
        return [state for state, _ in self._here.values()]

    def mark_written(
        self, writer: str, name: str | None, update: bytes, now: float
    ) -> AwarenessState:
        """The new state of a writer whose update was just applied."""
        before = self._here.get(writer)
        client = before[0].client if before else new_server_client_id()
        clock = before[0].clock + 1 if before else 1
        spot = _last_written(update)
        cursor = {"anchor": _position(spot), "head": _position(spot)} if spot else None
        shown = {**describe_writer(writer, name), "cursor": cursor}
        state = AwarenessState(client, clock, orjson.dumps(shown).decode())
        self._here[writer] = (state, now + PRESENCE_S)
        return state

    def expire(self, now: float) -> list[AwarenessState]:
        """Remove those who have not written for a while."""
        gone = [writer for writer, (_, until) in self._here.items() if until <= now]
        states = [self._here.pop(it)[0] for it in gone]
        return [AwarenessState(it.client, it.clock + 1, GONE) for it in states]


def _last_written(update: bytes) -> ItemId | None:
    """The last character that an update inserts; None if it only deletes."""
    written = parse_update(update, most=len(update)).written
    runs = [it for it in written if it.words]
    return (runs[-1].client, runs[-1].end - 1) if runs else None


def _position(spot: ItemId) -> dict[str, object]:
    """After that character, as a relative position of Yjs."""
    return {"tname": TEXT_NAME, "item": {"client": spot[0], "clock": spot[1]}, "assoc": -1}
