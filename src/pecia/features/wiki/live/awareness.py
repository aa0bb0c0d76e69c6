"""Who is where in a live document. Never stored: it goes with the socket that told it. Pure."""

from dataclasses import dataclass, field

import orjson

from pecia.features.wiki.live.core.frames import AwarenessState
from pecia.features.wiki.live.editor import LiveEditor
from pecia.features.wiki.live.limits import MAX_AWARENESS_BYTES, MAX_AWARENESS_CLIENTS
from pecia.kernel.errors import InvalidFormat, PayloadTooLarge

GONE = "null"
MAX_DEPARTED = 1_000


@dataclass(slots=True)
class Awareness:
    """Windows by the id that each has for itself, with the editor who told of it first."""

    _here: dict[int, tuple[LiveEditor, AwarenessState]] = field(
        default_factory=dict[int, tuple[LiveEditor, AwarenessState]]
    )
    _gone: dict[int, int] = field(default_factory=dict[int, int])

    def list_states(self) -> list[AwarenessState]:
        return [it for _, it in self._here.values()]

    def writers(self) -> dict[int, str]:
        """Whose the ids of windows are: Yjs has the same for a window and for what it writes."""
        return {client: who.writer for client, (who, _) in self._here.items()}

    def apply(self, editor: LiveEditor, those: tuple[AwarenessState, ...]) -> list[AwarenessState]:
        """What is new of it. Editors repeat what they heard of others: that is passed by."""
        return [found for it in those if (found := self._accept(editor, it)) is not None]

    def remove_editor(self, editor: LiveEditor) -> list[AwarenessState]:
        """All that this one told of is nowhere now."""
        mine = [it for who, it in self._here.values() if who is editor]
        for it in mine:
            self._mark_departed(it.client, it.clock)
        return [AwarenessState(it.client, it.clock + 1, GONE) for it in mine]

    def _accept(self, editor: LiveEditor, told: AwarenessState) -> AwarenessState | None:
        if len(told.state.encode()) > MAX_AWARENESS_BYTES:
            raise PayloadTooLarge(
                f"an editor tells at most {MAX_AWARENESS_BYTES} bytes of where it is",
                field="awareness",
                max=MAX_AWARENESS_BYTES,
            )
        known = self._here.get(told.client)
        if known is None:
            return self._add(editor, told)
        who, before = known
        if who is not editor or told.clock < before.clock:
            return None
        if told.state == GONE:
            self._mark_departed(told.client, told.clock)
            return told
        return self._put(editor, told) if told.clock > before.clock else None

    def _add(self, editor: LiveEditor, told: AwarenessState) -> AwarenessState | None:
        mine = sum(1 for who, _ in self._here.values() if who is editor)
        is_old = told.clock <= self._gone.get(told.client, -1)
        if told.state == GONE or is_old or mine >= MAX_AWARENESS_CLIENTS:
            return None
        return self._put(editor, told)

    def _put(self, editor: LiveEditor, told: AwarenessState) -> AwarenessState:
        # Names are what editors say they are. This is who they came in as.
        state = {**_parse_state(told.state), "writer": editor.writer}
        found = AwarenessState(told.client, told.clock, orjson.dumps(state).decode())
        self._here[told.client] = (editor, found)
        return found

    def _mark_departed(self, client: int, clock: int) -> None:
        del self._here[client]
        self._gone[client] = clock
        if len(self._gone) > MAX_DEPARTED:
            del self._gone[next(iter(self._gone))]


def _parse_state(state: str) -> dict[str, object]:
    try:
        found: object = orjson.loads(state)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidFormat("where an editor is, is told as a JSON object", field="awareness")
    return {str(name): value for name, value in found.items()}  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType] - what JSON holds
