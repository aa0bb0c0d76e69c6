"""What live documents refuse: who may not, what is too much, and what is no change of a text."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pycrdt
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.features.wiki.conftest import Served, Space, add_space, open_served
from tests.features.wiki.live_editor import LiveEditor, address, at

pytestmark = pytest.mark.anyio

PAGE = "# Plan\n\nFirst line.\nLast line.\n"


@pytest.fixture(scope="module")
async def tight(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Served]:
    """A server that allows little, and believes nobody for a moment."""
    flags = {
        "live_editors": "3",
        "live_message_bytes": "5000",
        "live_document_bytes": "8000",
        "live_messages_per_s": "40",
        "live_rights_s": "0",
    }
    async with open_served(module_database, tmp_path_factory.mktemp("tight"), **flags) as it:
        yield it


@pytest.fixture
async def plan(tight: Served, tmp_path: Path) -> Space:
    space = await add_space(tight, tmp_path)
    space.write({"plan.md": PAGE})
    await space.admin("grant", to="user:bo", role="writer")
    return space


def url(space: Space) -> str:
    return str(space.served.http.base_url).rstrip("/")


def ana_at(space: Space, doc: str = "plan") -> AbstractAsyncContextManager[LiveEditor]:
    return at(url(space), doc, space.name)


def bo_at(
    space: Space, token: str | None = None, hand: LiveEditor | None = None
) -> AbstractAsyncContextManager[LiveEditor]:
    return at(url(space), "plan", space.name, token or space.served.bo_token, hand)


async def bos_token(served: Served, scopes: list[str]) -> dict[str, Any]:
    ask: dict[str, Any] = {"label": "test", "user": "bo", "scopes": scopes}
    made = (await served.app.call(served.ana, "make_token", ask, CONTEXT)).structured
    assert isinstance(made, dict)
    return made


async def refusal(space: Space, doc: str, token: str) -> tuple[int, bytes]:
    """What is answered instead of a socket."""
    headers = {"authorization": f"Bearer {token}"}
    with pytest.raises(InvalidStatus) as refused:
        await connect(address(url(space), doc, space.name), proxy=None, additional_headers=headers)
    response = refused.value.response
    error = orjson.loads(response.body or b"")["error"]
    return response.status_code, orjson.dumps([error["code"], error["message"]])


async def test_who_may_not_read_is_told_the_same_as_of_what_is_not_there(plan: Space) -> None:
    plan.write({"open/page.md": "x\n"})
    await plan.value("list_documents")
    await plan.admin("grant", to="user:bo", role=None)
    await plan.admin("set_source", trim_mode="per_file")
    bo = plan.served.bo_token
    assert (await refusal(plan, "plan", bo))[0] == 404
    await plan.admin("grant", folder="open/", to="user:bo", role="reader")
    status, said = await refusal(plan, "plan", bo)
    assert status == 404
    assert (await refusal(plan, "none", bo)) == (404, said.replace(b"plan", b"none"))


async def test_a_token_must_say_that_it_is_for_reading(plan: Space) -> None:
    weak = await bos_token(plan.served, ["pecia.search"])
    assert (await refusal(plan, "plan", weak["token"]))[0] == 403


async def test_a_token_for_reading_gets_changes_and_makes_none(plan: Space) -> None:
    reading = await bos_token(plan.served, ["pecia.read"])
    async with ana_at(plan) as ana, bo_at(plan, reading["token"]) as bo:
        bo.type(0, "Not allowed. ")
        await bo.flush()
        await bo.until(lambda: bo.refusals == ["you may read this document, but not change it"])
        ana.type(0, "Allowed. ")
        await ana.saved()
        await bo.until_text(lambda it: "Allowed. " in it)
        assert ana.text == f"Allowed. {PAGE}"
        assert bo.closed is None
        assert bo.stored < bo.sent
    assert (await plan.value("read_document", path="plan.md"))["content"] == f"Allowed. {PAGE}"


async def test_who_loses_the_right_to_write_can_still_look_on(plan: Space) -> None:
    async with ana_at(plan) as ana, bo_at(plan) as bo:
        bo.type(0, "Before. ")
        await bo.saved()
        await plan.admin("grant", to="user:bo", role="reader")
        bo.type(0, "After. ")
        await bo.flush()
        await bo.until(lambda: bool(bo.refusals))
        await ana.until_text(lambda it: it == f"Before. {PAGE}")
        ana.type_after("First", " and best")
        await ana.saved()
        await bo.until_text(lambda it: "First and best" in it)


async def test_who_loses_the_right_to_read_is_told_nothing_more(plan: Space) -> None:
    async with ana_at(plan) as ana, bo_at(plan) as bo:
        await plan.admin("set_source", trim_mode="per_file")
        await plan.admin("grant", to="user:bo", role=None)
        ana.type(0, "Secret. ")
        await ana.saved()
        assert (await bo.until_closed())[0] == 4404
        assert "Secret" not in bo.text


async def test_a_revoked_token_ends_its_sockets_with_the_next_message(plan: Space) -> None:
    made = await bos_token(plan.served, ["pecia.read", "pecia.write"])
    async with ana_at(plan) as ana, bo_at(plan, made["token"]) as bo:
        await plan.served.app.call(plan.served.ana, "revoke_token", {"id": made["id"]}, CONTEXT)
        bo.type(0, "Late. ")
        await bo.flush()
        assert (await bo.until_closed())[0] == 4401
        ana.type(0, "Still here. ")
        await ana.saved()
        assert ana.text == f"Still here. {PAGE}"


def _other_root() -> bytes:
    doc: pycrdt.Doc[pycrdt.Map[Any]] = pycrdt.Doc()
    doc.get("evil", type=pycrdt.Map)["a"] = "b"
    return doc.get_update()


def _formatted() -> bytes:
    doc: pycrdt.Doc[pycrdt.Text] = pycrdt.Doc()
    doc.get("source", type=pycrdt.Text).insert(0, "words", {"bold": True})
    return doc.get_update()


def _embedded() -> bytes:
    doc: pycrdt.Doc[pycrdt.Text] = pycrdt.Doc()
    doc.get("source", type=pycrdt.Text).insert_embed(0, {"image": "x"})
    return doc.get_update()


def _map_under_our_name() -> bytes:
    doc: pycrdt.Doc[pycrdt.Map[Any]] = pycrdt.Doc()
    doc.get("source", type=pycrdt.Map)["a"] = "b"
    return doc.get_update()


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"", 4400),
        (b"\x00", 4400),
        (b"\x63\x01\x02", 4400),
        (b"\x00\x09\x00", 4400),
        (b"\x00\x02\x05ab", 4400),
        (b"\x00\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 4400),
        (pycrdt.create_update_message(b"\xff" * 40), 4400),
        (pycrdt.create_update_message(b"\x01\x01\x07\x00\x04\x01\x06source\xff\x7f"), 4400),
        (pycrdt.create_update_message(_other_root()), 4400),
        (pycrdt.create_update_message(_map_under_our_name()), 4400),
        (pycrdt.create_update_message(_formatted()), 4400),
        (pycrdt.create_update_message(_embedded()), 4400),
        (b"\x00\x00" + pycrdt.write_message(b"\xff\xff"), 4400),
        (b"\x01" + pycrdt.write_message(b"\x05\x01\x01\x02{}"), 4400),
        (b"\x01" + pycrdt.write_message(b"\x01\x01\x01\x02no"), 4400),
        (b"\x01" + pycrdt.write_message(b"\x01\x01\x01" + pycrdt.write_message(b'"' * 3000)), 4413),
        (b"\x00\x02" + pycrdt.write_message(b"x" * 6000), 4413),
    ],
    ids=count(1),
)
async def test_a_message_that_is_none_ends_its_socket_and_changes_nothing(
    plan: Space, message: bytes, code: int
) -> None:
    async with ana_at(plan) as ana, bo_at(plan) as bo:
        await bo.send(message)
        assert (await bo.until_closed())[0] == code
        assert len(bo.refusals) == 1
        ana.type(0, "Unharmed. ")
        await ana.saved()
        assert ana.text == f"Unharmed. {PAGE}"


async def test_a_change_that_comes_before_what_it_refers_to_is_asked_for_again(plan: Space) -> None:
    async with ana_at(plan) as ana, bo_at(plan) as bo:
        updates: list[bytes] = []
        watching = bo.doc.observe(lambda event: updates.append(event.update))
        bo.type(0, "One. ")
        bo.type(5, "Two. ")
        bo.doc.unobserve(watching)
        # The first never arrives; the server asks for it, and the editor answers with all it has.
        bo.drop()
        await bo.send(pycrdt.create_update_message(updates[1]))
        await ana.until_text(lambda it: it == f"One. Two. {PAGE}")


async def test_nobody_writes_under_the_id_of_somebody_else(plan: Space) -> None:
    async with ana_at(plan) as ana:
        ana.type(0, "Mine. ")
        await ana.saved()
        forged = LiveEditor(pycrdt.Doc(client_id=ana.doc.client_id))
        async with bo_at(plan, hand=forged) as bo:
            await bo.until_text(lambda it: "Mine. " in it)
            bo.type(0, "Forged. ")
            await bo.flush()
            assert (await bo.until_closed())[0] == 4403
        ana.type(0, "Mine too. ")
        await ana.saved()
        assert ana.text == f"Mine too. Mine. {PAGE}"


async def test_nobody_writes_under_an_id_of_the_house(plan: Space) -> None:
    async with ana_at(plan) as ana:
        state = pycrdt.Decoder(ana.doc.get_state())
        state.read_var_uint()
        house_id = state.read_var_uint()
        async with bo_at(plan, hand=LiveEditor(pycrdt.Doc(client_id=house_id))) as bo:
            bo.type(0, "Forged. ")
            await bo.flush()
            assert (await bo.until_closed())[0] == 4403
        assert ana.text == PAGE


async def test_a_document_grows_to_its_bound_and_not_beyond(plan: Space) -> None:
    async with ana_at(plan) as ana:
        for _ in range(2):
            ana.type(0, "x" * 3900)
            await ana.saved()
        ana.type(0, "y" * 1000)
        await ana.flush()
        assert (await ana.until_closed())[0] == 4413
    read = await plan.value("read_document", path="plan.md")
    assert read["content"] == "x" * 7800 + PAGE


async def test_a_document_that_is_too_long_is_not_opened(plan: Space) -> None:
    plan.write({"long.md": "x" * 8001})
    assert (await refusal(plan, "long", plan.served.bo_token))[0] == 413


@pytest.mark.parametrize("query", ["sapce=x", "stored=yes"])
async def test_a_misspelt_question_is_not_taken_for_another(plan: Space, query: str) -> None:
    where = address(url(plan), "plan", plan.name).replace("stored=1", query)
    with pytest.raises(InvalidStatus) as refused:
        await connect(where, proxy=None)
    assert refused.value.response.status_code == 400


async def test_what_is_no_text_is_not_opened(plan: Space) -> None:
    plan.write({"odd.md": b"\xff\xfe"})
    assert (await refusal(plan, "odd", plan.served.bo_token))[0] == 422


async def test_so_many_may_have_a_document_open_and_no_more(plan: Space) -> None:
    async with ana_at(plan), ana_at(plan), ana_at(plan):
        status, _ = await refusal(plan, "plan", plan.served.bo_token)
        assert status == 503
    async with bo_at(plan) as bo:
        assert bo.text == PAGE


async def test_who_sends_too_fast_is_let_go(plan: Space) -> None:
    async with ana_at(plan) as ana, bo_at(plan) as bo:
        for _ in range(400):
            if bo.closed is None:
                await bo.send(b"\x03")
        assert (await bo.until_closed())[0] == 4529
        ana.type(0, "x")
        await ana.saved()


def told(client: int, clock: int, state: object) -> bytes:
    """Where a window is, as Yjs writes it."""
    inner = pycrdt.Encoder()
    for number in (1, client, clock):
        inner.write_var_uint(number)
    inner.write_var_string(orjson.dumps(state).decode())
    return pycrdt.create_awareness_message(inner.to_bytes())


def heard(hand: LiveEditor) -> dict[int, Any]:
    """Where everybody is, as this one heard it."""
    found: dict[int, Any] = {}
    for message in hand.presences:
        reader = pycrdt.Decoder(message)
        for _ in range(reader.read_var_uint()):
            client, _ = reader.read_var_uint(), reader.read_var_uint()
            found[client] = orjson.loads(reader.read_var_string())
    return found


def is_told(hand: LiveEditor, client: int, is_so: Callable[[Any], bool]) -> Callable[[], bool]:
    return lambda: client in heard(hand) and is_so(heard(hand)[client])


async def test_where_editors_are_is_told_to_the_others_and_kept_nowhere(plan: Space) -> None:
    async with ana_at(plan) as ana:
        async with bo_at(plan) as bo:
            await bo.send(told(77, 1, {"user": {"name": "Ana"}, "cursor": 3}))
            await ana.until(is_told(ana, 77, lambda it: it["cursor"] == 3))
            # Whatever name somebody takes, who they came in as is told with it.
            assert heard(ana)[77]["writer"].startswith("principal-")
            assert heard(ana)[77]["writer"] != f"principal-{plan.served.ana.user_id}"
            assert heard(ana)[77]["user"] == {"name": "bo", "kind": "person"}
            async with ana_at(plan) as late:
                await late.until(is_told(late, 77, lambda it: it["cursor"] == 3))
            # Another says that bo is elsewhere, and gone: neither is believed.
            await ana.send(told(77, 9, {"cursor": 999}))
            await ana.send(told(77, 10, None))
            await bo.send(told(77, 11, {"cursor": 4}))
            await ana.until(is_told(ana, 77, lambda it: it["cursor"] == 4))
            # As a whole value: ids are random, and one of them may have these digits.
            assert not any(b'"cursor":999' in it for it in bo.presences)
        await ana.until(is_told(ana, 77, lambda it: it is None))
    async with plan.served.app.store.system() as tx:
        rows = await tx.fetch_all("SELECT base, owners FROM wiki.live")
    assert not any(b"cursor" in it["base"] or "77" in it["owners"] for it in rows)


async def test_an_editor_has_so_many_windows_and_no_more(plan: Space) -> None:
    async with ana_at(plan) as ana, bo_at(plan) as bo:
        for client in range(1, 8):
            await bo.send(told(client, 1, {}))
        await bo.send(told(1, 2, {"last": True}))
        await ana.until(is_told(ana, 1, lambda it: "last" in it))
        assert sorted(heard(ana)) == [1, 2, 3, 4]
