"""A tool call over HTTP as server-sent events, for a page that shows results as they come."""

import json

import pytest

from tests.interfaces.tenant_server import Pecia

pytestmark = pytest.mark.anyio

EVENTS = {"accept": "text/event-stream"}


def parsed(text: str) -> list[tuple[str, dict[str, object]]]:
    blocks = [it.splitlines() for it in text.split("\n\n") if it]
    return [
        (name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for name, data in blocks
    ]


async def test_the_result_is_the_last_event(pecia: Pecia) -> None:
    plain = await pecia.call("admin/whoami")
    said = await pecia.call("admin/whoami", {}, {**pecia.ana, **EVENTS})
    assert said.status_code == 200
    assert said.headers["content-type"].startswith("text/event-stream")
    assert parsed(said.text) == [("result", plain.json())]


async def test_progress_comes_before_the_result(pecia: Pecia) -> None:
    ask = {"question": "How long does a lantern burn?", "use_model": False}
    said = await pecia.call("desk/ask", ask, {**pecia.ana, **EVENTS})
    events = parsed(said.text)
    assert [name for name, _ in events] == ["progress", "result"]
    assert events[0][1]["message"] == "searching"
    assert events[1][1]["outcome"] == "nothing"


async def test_a_failure_inside_the_call_is_an_event(pecia: Pecia) -> None:
    said = await pecia.call("desk/ask", {"question": " "}, {**pecia.ana, **EVENTS})
    [(name, body)] = parsed(said.text)
    assert name == "error"
    assert isinstance(body["error"], dict)
    assert body["error"]["field"] == "question"


async def test_what_refuses_a_call_before_it_begins_keeps_its_status(pecia: Pecia) -> None:
    assert (await pecia.call("desk/ask", {"question": "x"}, EVENTS)).status_code == 401
    small = {"authorization": f"Bearer {await pecia.token('north', 'bo', ['pecia.read'])}"}
    said = await pecia.call("desk/ask", {"question": "x"}, {**small, **EVENTS})
    assert (said.status_code, said.json()["error"]["code"]) == (403, "FORBIDDEN")


async def test_every_streamed_call_leaves_one_audit_row(pecia: Pecia) -> None:
    await pecia.call("admin/whoami", {}, {**pecia.ana, **EVENTS})
    [row] = await pecia.audit(tool="admin.whoami")
    assert (row["status"], row["door"]) == ("ok", "http")
