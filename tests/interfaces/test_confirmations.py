"""What an agent asks for and a person must say yes to: by which ways the yes comes, and counts."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.identity import owner_token
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import Pecia, bearing, open_pecia
from tests.mcp.raw_mcp import RawMcp

pytestmark = pytest.mark.anyio

Shape: TypeAlias = dict[str, Any]

ADD = "/mcp/all"


@pytest.fixture
async def local(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Pecia]:
    async with open_pecia(database, tmp_path / "home", mode="local", mounts=[mount_mcp]) as served:
        yield served


@pytest.fixture
def owner(local: Pecia) -> dict[str, str]:
    """What a person has: the owner's token. An agent of theirs comes without, as their process."""
    token = owner_token.read(local.app.settings.kernel.home)
    assert token is not None
    return bearing(token)


async def asked(local: Pecia, tool: str, ask: dict[str, Any]) -> dict[str, Any]:
    """The refusal of a call that an agent makes."""
    said = await local.call(tool, ask, {})
    assert (said.status_code, said.json()["error"]["code"]) == (428, "CONFIRMATION_REQUIRED")
    return said.json()["error"]


async def servers(local: Pecia) -> list[str]:
    found = await local.call("hub/list_servers", {}, {})
    return [it["server"] for it in found.json()["servers"]]


async def test_the_same_request_never_confirms_itself(local: Pecia, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    ask = {"server": "x", "command": f"touch {mark}"}
    first = await asked(local, "hub/add_server", ask)
    again = await asked(local, "hub/add_server", ask)
    assert first["confirmation"] == again["confirmation"], "asking twice is one question"
    said = await local.call("hub/add_server", {**ask, "confirm": ask["command"]}, {})
    assert said.status_code == 400, "there is no such argument any more"
    assert not mark.exists()
    assert await servers(local) == []


async def test_the_process_of_the_owner_is_not_the_person(
    local: Pecia, owner: dict[str, str], tmp_path: Path
) -> None:
    waits = (await asked(local, "admin/add_space", {"folder": str(tmp_path)}))["confirmation"]
    path = f"confirmations/{waits}"
    assert (await local.call(path, {}, {})).status_code == 401
    # A token that an agent can make for itself says no more than its process does.
    made = await local.call("admin/make_token", {"label": "mine"}, {})
    assert (await local.call(path, {}, bearing(made.json()["token"]))).status_code == 403
    assert (await local.call("session/link", {}, {})).status_code == 401
    assert (await local.call(path, {}, owner)).status_code == 200


async def test_a_yes_is_for_one_act_to_the_letter_and_spent_by_it(
    local: Pecia, owner: dict[str, str], tmp_path: Path
) -> None:
    folder, other = tmp_path / "notes", tmp_path / "keys"
    for it in (folder, other):
        it.mkdir()
    waits = (await asked(local, "admin/add_space", {"folder": str(folder)}))["confirmation"]
    assert (await local.call(f"confirmations/{waits}", {}, owner)).status_code == 200
    await asked(local, "admin/add_space", {"folder": str(other)})
    await asked(local, "admin/add_space", {"folder": str(folder), "name": "else"})
    await asked(local, "admin/add_space", {"folder": str(folder), "trim_mode": "per_file"})
    done = await local.call("admin/add_space", {"folder": str(folder)}, {})
    assert done.json()["added"] is True
    ask = {"source_id": "s", "folder": str(folder)}
    waits = (await asked(local, "admin/add_source", ask))["confirmation"]
    await local.call(f"confirmations/{waits}", {}, owner)
    assert (await local.call("admin/add_source", ask, {})).status_code == 200
    await local.call("admin/remove_source", {"source_id": "s"}, {})
    await asked(local, "admin/add_source", ask)


async def test_a_no_is_a_no(local: Pecia, owner: dict[str, str], tmp_path: Path) -> None:
    ask = {"folder": str(tmp_path)}
    waits = (await asked(local, "admin/add_space", ask))["confirmation"]
    said = await local.call(f"confirmations/{waits}", {"answer": "refuse"}, owner)
    assert said.status_code == 200
    assert (await local.call(f"confirmations/{waits}", {}, owner)).status_code == 404
    assert (await asked(local, "admin/add_space", ask))["confirmation"] != waits


async def test_what_waits_is_listed_for_the_person_with_all_that_decides_it(
    local: Pecia, owner: dict[str, str]
) -> None:
    ask = {
        "server": "x",
        "command": "sh -c 'a\x1b[2Jb\nIts variables: none'",
        "env": {"LD_PRELOAD": "/tmp/e\x1b.so", "NODE_OPTIONS": "-r ./x.js", "API_TOKEN": "s3cret"},
        "take_changes": True,
    }
    waits = (await asked(local, "hub/add_server", ask))["confirmation"]
    found = await local.http.get("/api/v1/confirmations", headers=owner)
    (one,) = found.json()["confirmations"]
    assert (one["id"], one["kind"], one["tool"]) == (waits, "program", "hub.add_server")
    assert "sh -c 'a\\x1b[2Jb\\nIts variables: none'" in one["question"]
    shown = "API_TOKEN, LD_PRELOAD=/tmp/e\\x1b.so, NODE_OPTIONS=-r ./x.js"
    assert f"Its variables: {shown}\n" in one["question"]
    assert "without approval" in one["question"]
    assert "s3cret" not in found.text
    assert "\x1b" not in one["question"]


async def test_others_neither_see_nor_answer_what_waits(local: Pecia, tmp_path: Path) -> None:
    waits = (await asked(local, "admin/add_space", {"folder": str(tmp_path)}))["confirmation"]
    for headers in (local.ana, local.bo):
        assert (await local.call(f"confirmations/{waits}", {}, headers)).status_code == 403
        found = await local.http.get("/api/v1/confirmations", headers=headers)
        assert waits not in found.text


async def test_a_browser_signs_in_by_a_link_that_works_once_and_may_then_confirm(
    local: Pecia, owner: dict[str, str], tmp_path: Path
) -> None:
    link = (await local.call("session/link", {}, owner)).json()
    assert link["url"] == f"{local.url}/console/#/sign-in?code={link['code']}"
    made = await local.call("session", {"code": link["code"]}, {})
    session = bearing(made.json()["token"])
    assert (await local.call("session", {"code": link["code"]}, {})).status_code == 404
    assert (await local.call("session", {"code": "guess"}, {})).status_code == 404
    me = await local.http.get("/api/v1/admin/whoami", headers=session)
    assert me.json()["credential"] == "local"
    waits = (await asked(local, "admin/add_space", {"folder": str(tmp_path)}))["confirmation"]
    assert (await local.call(f"confirmations/{waits}", {}, session)).status_code == 200


async def test_a_page_of_another_site_confirms_nothing(
    local: Pecia, owner: dict[str, str], tmp_path: Path
) -> None:
    waits = (await asked(local, "admin/add_space", {"folder": str(tmp_path)}))["confirmation"]
    path = f"/api/v1/confirmations/{waits}"
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": f"http://127.0.0.1:{local.port + 1}"},
        {"host": "rebound.example"},
    ):
        said = await local.http.post(path, json={}, headers={**owner, **headers})
        assert said.status_code in (403, 421)
    form = await local.http.post(
        path, content=b"{}", headers={**owner, "content-type": "text/plain"}
    )
    assert form.status_code == 415
    await asked(local, "admin/add_space", {"folder": str(tmp_path)})


async def modern(
    local: Pecia,
    params: dict[str, Any],
    capabilities: dict[str, Any] | None = None,
    token: str | None = None,
) -> dict[str, Any]:
    talk = RawMcp(local.http, token)
    return talk.answer(await talk.modern(ADD, "tools/call", params, capabilities or {}))


async def test_a_yes_that_came_before_the_question_is_nobodys(local: Pecia, tmp_path: Path) -> None:
    """In the newest revision answers travel with the request: here with the very first one."""
    mark = tmp_path / "ran"
    ask = {"name": "add_server", "arguments": {"server": "x", "command": f"touch {mark}"}}
    yes: Shape = {"confirm": {"action": "accept", "content": {}}}
    forms: list[Shape] = [{"elicitation": {}}, {"elicitation": {"form": {}}}, {}]
    for can in forms:
        said = await modern(local, {**ask, "inputResponses": yes}, can)
        assert "result" in said, said
        assert not mark.exists()
        assert await servers(local) == []


async def test_a_client_that_asks_its_person_brings_the_answer(
    local: Pecia, tmp_path: Path
) -> None:
    shown = owner_token.read(local.app.settings.kernel.home)
    can: Shape = {"elicitation": {"form": {}}}
    ask = {"name": "add_space", "arguments": {"folder": str(tmp_path)}}
    first = (await modern(local, ask, can, shown))["result"]
    assert str(tmp_path) in first["inputRequests"]["confirm"]["params"]["message"]
    state = {"requestState": first["requestState"]}
    yes: Shape = {"inputResponses": {"confirm": {"action": "accept", "content": {}}}}
    # Of a yes to one folder, none follows for another.
    other = {**ask, "arguments": {"folder": str(tmp_path / "other")}}
    await modern(local, {**other, **state, **yes}, can, shown)
    found = await local.call("admin/list_spaces", {}, {})
    assert found.json()["spaces"] == []
    done = (await modern(local, {**ask, **state, **yes}, can, shown))["result"]
    assert done["structuredContent"]["added"] is True


@pytest.mark.parametrize("proof", ["the owner's process", "a token that an agent made"])
async def test_a_client_that_would_answer_its_own_question_is_not_asked(
    local: Pecia, tmp_path: Path, proof: str
) -> None:
    """A page or an agent that can send requests as the owner's user is no person."""
    token = None
    if proof != "the owner's process":
        wanted = {"label": "agent", "scopes": [it.value for it in Scope]}
        token = (await local.call("admin/make_token", wanted, {})).json()["token"]
    mark = tmp_path / "ran"
    arguments: Shape = {"server": "x", "command": f"touch {mark}"}
    ask: Shape = {"name": "add_server", "arguments": arguments}
    said = (await modern(local, ask, {"elicitation": {"form": {}}}, token))["result"]
    assert "inputRequests" not in said
    error = said["structuredContent"]["error"]
    assert error["code"] == "CONFIRMATION_REQUIRED"
    assert f"`pecia confirm {error['confirmation']}`" in error["message"]
    assert "No form was shown" in error["message"]
    assert "`pecia mcp`" in error["message"]

    async def accept(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={})

    headers = bearing(token) if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False) as http,
        Client(
            streamable_http_client(f"{local.http.base_url}{ADD}", http_client=http),
            mode="legacy",
            elicitation_callback=accept,
        ) as client,
    ):
        answer = await client.call_tool("add_server", arguments)
    assert answer.is_error
    assert answer.structured_content is not None
    assert "No form was shown" in answer.structured_content["error"]["message"]
    assert not mark.exists()


async def test_a_client_that_shows_links_only_cannot_be_asked(local: Pecia, tmp_path: Path) -> None:
    ask = {"name": "add_space", "arguments": {"folder": str(tmp_path)}}
    links: Shape = {"elicitation": {"url": {}}}
    said = (await modern(local, ask, links))["result"]
    assert said["structuredContent"]["error"]["code"] == "CONFIRMATION_REQUIRED"


async def test_each_step_leaves_its_row(
    local: Pecia, owner: dict[str, str], tmp_path: Path
) -> None:
    ask = {"folder": str(tmp_path)}
    waits = (await asked(local, "admin/add_space", ask))["confirmation"]
    await local.call(f"confirmations/{waits}", {}, owner)
    await local.call("admin/add_space", ask, {})
    rows = [(it["tool"], it["status"], it["code"]) for it in await local.audit()]
    assert [it for it in rows if it[0].split(".")[-1] in ("add_space", "confirm")] == [
        ("admin.add_space", "error", "CONFIRMATION_REQUIRED"),
        ("confirmations.confirm", "ok", None),
        ("admin.add_space", "ok", None),
    ]
    assert json.dumps([it["arguments"] for it in await local.audit()]).count(waits) == 1
