"""A tool call over HTTP as server-sent events, for a page that shows results as they come."""

import json
from pathlib import Path

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import Pecia, open_pecia

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
    ask = {"source_id": "nope", "key": "a.md"}
    said = await pecia.call("lake/get_file_metadata", ask, {**pecia.ana, **EVENTS})
    assert said.status_code == 200
    [(name, body)] = parsed(said.text)
    assert name == "error"
    assert isinstance(body["error"], dict)
    assert body["error"]["code"] == "NOT_FOUND"


async def test_what_refuses_a_call_before_it_begins_keeps_its_status(pecia: Pecia) -> None:
    assert (await pecia.call("desk/ask", {"question": "x"}, EVENTS)).status_code == 401
    small = {"authorization": f"Bearer {await pecia.token('north', 'bo', ['pecia.read'])}"}
    said = await pecia.call("desk/ask", {"question": "x"}, {**small, **EVENTS})
    assert (said.status_code, said.json()["error"]["code"]) == (403, "FORBIDDEN")


async def test_an_unknown_tool_and_invalid_arguments_keep_their_status(pecia: Pecia) -> None:
    for path, asked in (("lake/no_such_tool", {}), ("desk/ask", {"question": " "})):
        plain = await pecia.call(path, asked)
        said = await pecia.call(path, asked, {**pecia.ana, **EVENTS})
        assert (said.status_code, said.json()) == (plain.status_code, plain.json())
        assert 400 <= said.status_code < 500
    rows = [it["code"] for it in await pecia.audit(tool="desk.ask")]
    assert len(rows) == 2


async def test_a_call_over_the_rate_keeps_its_status(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    async with open_pecia(
        database, home, principal_rate_per_s="0.001", principal_burst="20"
    ) as pecia:
        headers = {**pecia.ana, **EVENTS}
        said = [await pecia.call("admin/whoami", {}, headers) for _ in range(21)]
    assert {it.status_code for it in said} == {200, 429}
    error = said[-1].json()["error"]
    assert error["code"] == "RATE_LIMITED"
    assert "at most 1 in 1000 s (principal_rate_per_s), and 20 at once" in error["message"]


@pytest.mark.parametrize(
    ("accept", "gets_events"),
    [
        ("text/event-stream, application/json", True),
        ("text/event-stream;q=0.9, */*;q=0.1", True),
        ("TEXT/Event-Stream; charset=utf-8", True),
        ("application/json;q=0.1, text/event-stream", True),
        ("text/event-stream;q=0, application/json", False),
        ("text/event-stream; q=0.000", False),
        ("text/event-stream;q=much", False),
        ("text/event-streamx", False),
        ("application/json, text/event-stream", False),
        ("text/event-stream;q=0.1, application/json", False),
        ("*/*", False),
    ],
)
async def test_events_are_for_who_prefers_them(
    pecia: Pecia, accept: str, gets_events: bool
) -> None:
    said = await pecia.call("admin/whoami", {}, {**pecia.ana, "accept": accept})
    assert said.headers["content-type"].startswith("text/event-stream") is gets_events


async def test_every_streamed_call_leaves_one_audit_row(pecia: Pecia) -> None:
    await pecia.call("admin/whoami", {}, {**pecia.ana, **EVENTS})
    [row] = await pecia.audit(tool="admin.whoami")
    assert (row["status"], row["interface"]) == ("ok", "http")
