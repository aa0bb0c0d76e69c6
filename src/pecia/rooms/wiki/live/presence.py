"""Who is where in a live document. Never stored: it goes with the socket that told it. Pure."""

from dataclasses import dataclass, field

import orjson

from pecia.kernel.errors import InvalidFormat, PayloadTooLarge
from pecia.rooms.wiki.live.bounds import PRESENCE_BYTES, PRESENCES
from pecia.rooms.wiki.live.editor import Editor
from pecia.rooms.wiki.live.frames import Presence

NOBODY = "null"
MOST_GONE = 1_000


@dataclass(slots=True)
class Whereabouts:
    """Windows by the id that each has for itself, with the editor who told of it first."""

    _here: dict[int, tuple[Editor, Presence]] = field(
        default_factory=dict[int, tuple[Editor, Presence]]
    )
    _gone: dict[int, int] = field(default_factory=dict[int, int])

    def everybody(self) -> list[Presence]:
        return [it for _, it in self._here.values()]

    def writers(self) -> dict[int, str]:
        """Whose the ids of windows are: Yjs has the same for a window and for what it writes."""
        return {client: who.writer for client, (who, _) in self._here.items()}

    def take(self, editor: Editor, those: tuple[Presence, ...]) -> list[Presence]:
        """What is new of it. Editors repeat what they heard of others: that is passed by."""
        return [found for it in those if (found := self._taken(editor, it)) is not None]

    def leave(self, editor: Editor) -> list[Presence]:
        """All that this one told of is nowhere now."""
        mine = [it for who, it in self._here.values() if who is editor]
        for it in mine:
            self._forget(it.client, it.clock)
        return [Presence(it.client, it.clock + 1, NOBODY) for it in mine]

    def _taken(self, editor: Editor, told: Presence) -> Presence | None:
        if len(told.state.encode()) > PRESENCE_BYTES:
            raise PayloadTooLarge(
                f"an editor tells at most {PRESENCE_BYTES} bytes of where it is",
                field="awareness",
                max=PRESENCE_BYTES,
            )
        known = self._here.get(told.client)
        if known is None:
            return self._came(editor, told)
        who, before = known
        if who is not editor or told.clock < before.clock:
            return None
        if told.state == NOBODY:
            self._forget(told.client, told.clock)
            return told
        return self._put(editor, told) if told.clock > before.clock else None

    def _came(self, editor: Editor, told: Presence) -> Presence | None:
        mine = sum(1 for who, _ in self._here.values() if who is editor)
        is_old = told.clock <= self._gone.get(told.client, -1)
        if told.state == NOBODY or is_old or mine >= PRESENCES:
            return None
        return self._put(editor, told)

    def _put(self, editor: Editor, told: Presence) -> Presence:
        # Names are what editors say they are. This is who they came in as.
        state = {**_object(told.state), "writer": editor.writer}
        found = Presence(told.client, told.clock, orjson.dumps(state).decode())
        self._here[told.client] = (editor, found)
        return found

    def _forget(self, client: int, clock: int) -> None:
        del self._here[client]
        self._gone[client] = clock
        if len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]


def _object(state: str) -> dict[str, object]:
    try:
        found: object = orjson.loads(state)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidFormat("where an editor is, is told as a JSON object", field="awareness")
    return {str(name): value for name, value in found.items()}  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType] - what JSON holds
