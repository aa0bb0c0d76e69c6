"""What every call passes, seen from the end that calls."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest
from pydantic import Field

from pecia.app.dispatch import RequestContext
from pecia.kernel.errors import (
    AuthRequired,
    Collision,
    Forbidden,
    InternalError,
    InvalidInput,
    Json,
    MissingField,
    Timeout,
    ToolNotFound,
)
from pecia.kernel.identity.caller import CredentialKind, Operator, Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, ForeignTool, Input, Output, Tool, ToolResult
from pecia.kernel.tool.view import ToolView, combine_tools
from tests.conftest import CONTEXT, House

pytestmark = pytest.mark.anyio


class Ask(Input):
    text: str = Field(min_length=1)
    key: str = Field(default="", json_schema_extra={"secret": True})


class Said(Output):
    text: str


async def echo(call: Call, ask: Ask) -> Said:
    """Say it again."""
    return Said(text=ask.text)


async def crash(call: Call, ask: Ask) -> Said:
    """Fall over."""
    raise RuntimeError("a detail nobody outside may read")


async def wait(call: Call, ask: Ask) -> Said:
    """Never end."""
    await anyio.sleep_forever()
    raise AssertionError


def probe(run: Any, **more: Any) -> Tool[Ask, Said]:
    return Tool("probe", run.__name__, Scope.READ, Ask, Said, run, **more)


PROBES: ToolView = combine_tools(
    [probe(echo, public=True), probe(crash), probe(wait, timeout_s=0.05)]
)


async def rows(house: House) -> list[dict[str, Any]]:
    await house.app.audit_log.drain()
    async with house.app.store.system() as tx:
        return await tx.fetch_all(
            "SELECT * FROM kernel.audit WHERE tool LIKE 'probe%%' ORDER BY at"
        )


async def test_a_call_leaves_one_row_that_says_who_what_and_how(house: House) -> None:
    given = await house.app.call(house.bo, "echo", {"text": "hi"}, CONTEXT, PROBES)
    assert given.structured == {"text": "hi"}
    (row,) = await rows(house)
    assert row["user_id"] == house.bo.user_id
    assert (row["tool"], row["status"], row["interface"]) == ("probe.echo", "ok", "test")
    assert row["arguments"] == {"text": "hi"}
    assert row["client_ip"] == "127.0.0.1"


async def test_a_crash_is_an_internal_error_without_details_and_one_row(house: House) -> None:
    with pytest.raises(InternalError) as caught:
        await house.app.call(house.bo, "crash", {"text": "hi"}, CONTEXT, PROBES)
    assert "nobody outside" not in str(caught.value.payload())
    assert [(it["status"], it["code"]) for it in await rows(house)] == [
        ("crashed", "INTERNAL_ERROR")
    ]


async def test_a_call_past_its_deadline_is_a_timeout_and_one_row(house: House) -> None:
    with pytest.raises(Timeout) as caught:
        await house.app.call(house.bo, "wait", {"text": "hi"}, CONTEXT, PROBES)
    assert caught.value.payload()["timeout_s"] == 0.05
    # No setting is named that would not help.
    assert "0.05 s is this operation's own limit" in str(caught.value.payload()["hint"])
    assert [(it["status"], it["code"]) for it in await rows(house)] == [("error", "TIMEOUT")]


@pytest.mark.parametrize("is_read", [True, False])
async def test_only_a_read_that_timed_out_is_told_to_be_repeated(
    house: House, is_read: bool
) -> None:
    """A write may have been done: a client that repeats it would do it twice."""
    hurried = RequestContext("test", timeout_s=0.05)
    tools = combine_tools([replace(probe(wait), read_only=is_read)])
    with pytest.raises(Timeout) as caught:
        await house.app.call(house.bo, "wait", {"text": "hi"}, hurried, tools)
    assert caught.value.payload()["retryable"] is is_read
    assert ("may have been done" in str(caught.value.payload())) is not is_read


async def test_a_cancelled_call_leaves_one_row(house: House) -> None:
    async with anyio.create_task_group() as group:
        endless = combine_tools([probe(wait)])
        group.start_soon(house.app.call, house.bo, "wait", {"text": "hi"}, CONTEXT, endless)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert [it["status"] for it in await rows(house)] == ["cancelled"]


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("echo", {}, MissingField),
        ("echo", {"text": 5}, InvalidInput),
        ("echo", {"text": "x", "txet": "y"}, InvalidInput),
        ("nothing", {"text": "x"}, ToolNotFound),
    ],
)
async def test_a_refused_call_leaves_one_row(
    house: House, name: str, arguments: Mapping[str, Json], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await house.app.call(house.bo, name, arguments, CONTEXT, PROBES)
    await house.app.audit_log.drain()
    async with house.app.store.system() as tx:
        found = await tx.fetch_all(
            "SELECT status FROM kernel.audit WHERE tool IN ('probe.echo', 'nothing')"
        )
    assert [it["status"] for it in found] == ["error"]


async def test_a_missing_scope_is_forbidden_and_named(house: House) -> None:
    narrow = replace(house.bo, scopes=frozenset({Scope.SEARCH}))
    with pytest.raises(Forbidden) as caught:
        await house.app.call(narrow, "echo", {"text": "hi"}, CONTEXT, PROBES)
    assert caught.value.payload()["scope"] == "pecia.read"
    assert [it["status"] for it in await rows(house)] == ["denied"]


async def test_a_cluster_administrator_has_no_tenant_tools(house: House) -> None:
    operator = Operator(house.bo.credential_id, "the operator")
    with pytest.raises(Forbidden, match=r"^an operator's token calls no tools$"):
        await house.app.call(operator, "echo", {"text": "hi"}, CONTEXT, PROBES)
    assert [it["status"] for it in await rows(house)] == ["denied"]


async def test_the_public_may_use_public_tools_and_is_asked_for_a_token_elsewhere(
    house: House,
) -> None:
    public = replace(house.bo, kind=CredentialKind.ANONYMOUS)
    given = await house.app.call(public, "echo", {"text": "hi"}, CONTEXT, PROBES)
    assert given.structured == {"text": "hi"}
    with pytest.raises(AuthRequired):
        await house.app.call(public, "crash", {"text": "hi"}, CONTEXT, PROBES)


async def test_the_audit_keeps_no_secret_and_no_undeclared_value(house: House) -> None:
    await house.app.call(house.bo, "echo", {"text": "hi", "key": "sk-1"}, CONTEXT, PROBES)
    with pytest.raises(InvalidInput):
        await house.app.call(house.bo, "echo", {"text": "hi", "kee": "sk-2"}, CONTEXT, PROBES)
    found = await rows(house)
    assert [it["arguments"] for it in found] == [
        {"text": "hi", "key": "•••"},
        {"text": "hi", "kee": "•••"},
    ]


async def test_a_handler_that_met_another_writer_is_run_again(house: House) -> None:
    tries: list[int] = []

    async def meet(call: Call, ask: Ask) -> Said:
        """Meet another writer twice."""
        tries.append(1)
        if len(tries) < 3:
            raise Collision("two writers met")
        return Said(text="done")

    given = await house.app.call(
        house.bo, "meet", {"text": "x"}, CONTEXT, combine_tools([probe(meet)])
    )
    assert given.structured == {"text": "done"}
    assert len(await rows(house)) == 1


async def test_a_foreign_tool_is_checked_by_its_own_schema_and_answers_raw(house: House) -> None:
    async def run(call: Call, given: Mapping[str, Json]) -> ToolResult:
        return ToolResult({"got": given["n"]})

    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}},
        "required": ["n"],
    }
    tools: list[AnyTool] = [ForeignTool("probe", "far", Scope.READ, "Far away.", schema, run)]
    view = combine_tools(tools)
    given = await house.app.call(house.bo, "far", {"n": 2}, CONTEXT, view)
    assert given.structured == {"got": 2}
    with pytest.raises(MissingField) as missing:
        await house.app.call(house.bo, "far", {}, CONTEXT, view)
    assert missing.value.payload()["field"] == "n"
    with pytest.raises(InvalidInput) as wrong:
        await house.app.call(house.bo, "far", {"n": "two"}, CONTEXT, view)
    assert wrong.value.payload()["field"] == "n"


async def test_a_revoked_token_is_refused_by_the_very_next_call(house: House) -> None:
    (token,) = (await house.call(house.ana, "list_tokens", user="bo"))["tokens"]
    await house.call(house.bo, "list_sources")
    await house.call(house.ana, "revoke_token", id=token["id"])
    with pytest.raises(AuthRequired, match="revoked"):
        await house.call(house.bo, "list_sources")


async def test_a_write_and_its_audit_row_commit_together(house: House) -> None:
    async def write_then_fail(call: Call, ask: Ask) -> Said:
        """Write, then fail before the commit."""
        async with house.app.store.writing(call.caller, call.trace) as tx:
            await tx.execute(
                "INSERT INTO kernel.user_group (tenant_id, name) VALUES (kernel.tenant(), 'lost')"
            )
            raise RuntimeError("before the commit")

    view = combine_tools([probe(write_then_fail)])
    with pytest.raises(InternalError):
        await house.app.call(house.ana, "write_then_fail", {"text": "x"}, CONTEXT, view)
    async with house.app.store.system() as tx:
        assert await tx.fetch_all("SELECT 1 FROM kernel.user_group WHERE name = 'lost'") == []
    assert [it["status"] for it in await rows(house)] == ["crashed"]


async def test_a_call_may_ask_for_less_time_but_not_for_more(house: House) -> None:
    hurried = RequestContext("test", timeout_s=0.05)
    with pytest.raises(Timeout):
        await house.app.call(house.bo, "wait", {"text": "x"}, hurried, combine_tools([probe(wait)]))
