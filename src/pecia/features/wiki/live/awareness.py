"""Awareness (cursors, presence) of a live document. Never stored: it ends with its socket. Pure."""

from dataclasses import dataclass, field

import orjson

from pecia.features.wiki.live.core.frames import AwarenessState
from pecia.features.wiki.live.editor import LiveEditor
from pecia.features.wiki.live.limits import MAX_AWARENESS_BYTES, MAX_AWARENESS_CLIENTS
from pecia.kernel.errors import InvalidFormat, PayloadTooLarge

GONE = "null"
MAX_DEPARTED = 1_000
WRITER_KINDS = {"agent": "agent", "principal": "person"}


@dataclass(slots=True)
class Awareness:
    """Clients by their id, with the editor that announced each first."""

    _here: dict[int, tuple[LiveEditor, AwarenessState]] = field(
        default_factory=dict[int, tuple[LiveEditor, AwarenessState]]
    )
    _gone: dict[int, int] = field(default_factory=dict[int, int])

    def list_states(self) -> list[AwarenessState]:
        return [it for _, it in self._here.values()]

    def writers(self) -> dict[int, str]:
        """The writer of each client id: Yjs uses one id for awareness and for edits."""
        return {client: who.writer for client, (who, _) in self._here.items()}

    def apply(self, editor: LiveEditor, those: tuple[AwarenessState, ...]) -> list[AwarenessState]:
        """Apply states; returns what is new. Editors echo states of others: those are ignored."""
        return [found for it in those if (found := self._accept(editor, it)) is not None]

    def remove_editor(self, editor: LiveEditor) -> list[AwarenessState]:
        """Remove all clients of this editor."""
        mine = [it for who, it in self._here.values() if who is editor]
        for it in mine:
            self._mark_departed(it.client, it.clock)
        return [AwarenessState(it.client, it.clock + 1, GONE) for it in mine]

    def _accept(self, editor: LiveEditor, update: AwarenessState) -> AwarenessState | None:
        if len(update.state.encode()) > MAX_AWARENESS_BYTES:
            raise PayloadTooLarge(
                f"an awareness state has at most {MAX_AWARENESS_BYTES} bytes",
                field="awareness",
                max=MAX_AWARENESS_BYTES,
            )
        known = self._here.get(update.client)
        if known is None:
            return self._add(editor, update)
        who, before = known
        if who is not editor or update.clock < before.clock:
            return None
        if update.state == GONE:
            self._mark_departed(update.client, update.clock)
            return update
        return self._put(editor, update) if update.clock > before.clock else None

    def _add(self, editor: LiveEditor, update: AwarenessState) -> AwarenessState | None:
        mine = sum(1 for who, _ in self._here.values() if who is editor)
        is_old = update.clock <= self._gone.get(update.client, -1)
        if update.state == GONE or is_old or mine >= MAX_AWARENESS_CLIENTS:
            return None
        return self._put(editor, update)

    def _put(self, editor: LiveEditor, update: AwarenessState) -> AwarenessState:
        # Who it is, the server says: what an editor claims of itself is overwritten.
        who = describe_writer(editor.writer, editor.caller.user)
        state = {**_parse_state(update.state), **who}
        found = AwarenessState(update.client, update.clock, orjson.dumps(state).decode())
        self._here[update.client] = (editor, found)
        return found

    def _mark_departed(self, client: int, clock: int) -> None:
        del self._here[client]
        self._gone[client] = clock
        if len(self._gone) > MAX_DEPARTED:
            del self._gone[next(iter(self._gone))]


def describe_writer(writer: str, name: str | None) -> dict[str, object]:
    """Who a state belongs to: the id, the user's name, and whether a person or an agent writes."""
    kind = WRITER_KINDS.get(writer.partition("-")[0], "program")
    return {"writer": writer, "user": {"name": name or "another program", "kind": kind}}


def _parse_state(state: str) -> dict[str, object]:
    try:
        found: object = orjson.loads(state)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidFormat("an awareness state must be a JSON object", field="awareness")
    return {str(name): value for name, value in found.items()}  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType] - what JSON holds
