"""One socket on a live document: what waits to be sent, and how it ends."""

from uuid import UUID

import anyio
import pytest

from pecia.features.wiki.live.core import frames
from pecia.features.wiki.live.editor import LiveEditor
from pecia.features.wiki.live.limits import MAX_QUEUE_BYTES
from pecia.kernel.errors import NotFound, PayloadTooLarge, RateLimited
from pecia.kernel.identity.caller import Caller, CredentialKind

pytestmark = pytest.mark.anyio

ANA = Caller(
    credential_id=UUID(int=1),
    kind=CredentialKind.LOCAL,
    tenant_id=UUID(int=2),
    tenant="north",
    user_id=UUID(int=3),
    user="ana",
    scopes=frozenset(),
)


class Line:
    """The other end: what it says, and what it heard. It hears nothing while it is `deaf`."""

    def __init__(self, *said: bytes, is_deaf: bool = False) -> None:
        self.said = [*said]
        self.heard: list[bytes] = []
        self._is_deaf = is_deaf

    async def receive(self) -> bytes:
        if not self.said:
            await anyio.sleep_forever()
        message = self.said.pop(0)
        if message == b"bye":
            raise anyio.EndOfStream
        return message

    async def send(self, message: bytes) -> None:
        if self._is_deaf:
            await anyio.sleep_forever()
        self.heard.append(message)


def editor() -> LiveEditor:
    return LiveEditor(ANA, "principal-ana", is_told=True)


async def nothing(message: bytes) -> None:
    """Takes what comes."""


async def test_what_waits_is_sent_before_the_end_and_then_the_reason() -> None:
    it, line = editor(), Line()
    it.send(b"one")
    it.close(NotFound("gone"))
    it.send(b"after the end")
    await it.run(line, nothing)
    assert isinstance(it.failure, NotFound)
    assert line.heard == [b"one", frames.encode_refusal("gone")]


async def test_who_goes_ends_it_without_a_failure() -> None:
    it = editor()
    await it.run(Line(b"hello", b"bye"), nothing)
    assert it.is_over
    assert it.failure is None


async def test_what_is_wrong_with_a_message_is_the_reason() -> None:
    async def take(message: bytes) -> None:
        raise PayloadTooLarge("too long", field="message")

    it, line = editor(), Line(b"hello")
    await it.run(line, take)
    assert isinstance(it.failure, PayloadTooLarge)
    assert line.heard == [frames.encode_refusal("too long")]


async def test_who_does_not_listen_is_let_go() -> None:
    it = editor()
    async with anyio.create_task_group() as tasks:
        ended = anyio.Event()

        async def talk() -> None:
            await it.run(Line(is_deaf=True), nothing)
            ended.set()

        tasks.start_soon(talk)
        await anyio.wait_all_tasks_blocked()
        for _ in range(6):
            it.send(b"x" * (MAX_QUEUE_BYTES // 4))
        with anyio.fail_after(30):
            await ended.wait()
    assert isinstance(it.failure, RateLimited)


async def test_one_message_may_be_as_long_as_a_document() -> None:
    it = editor()
    it.send(b"x" * (2 * MAX_QUEUE_BYTES))
    assert not it.is_over


async def test_it_is_told_what_is_stored_once_and_only_when_all_is() -> None:
    it, line = editor(), Line()
    it.received = 2
    it.acknowledge()
    it.acknowledge()
    it.received = 3
    it.refuse("no")
    it.acknowledge()
    it.is_behind = False
    it.acknowledge()
    it.close(None)
    await it.run(line, nothing)
    assert line.heard == [
        frames.encode_stored(2),
        frames.encode_refusal("no"),
        frames.encode_stored(3),
    ]
