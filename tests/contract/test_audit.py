"""Every call is written down, whatever became of it."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.contract.requirement import requirement
from tests.interfaces.probe_feature import Probe
from tests.interfaces.tenant_server import Pecia, bearing, open_pecia

pytestmark = pytest.mark.anyio


@pytest.fixture
async def pecia(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Pecia]:
    async with open_pecia(database, tmp_path / "home", features=[Probe().feature()]) as served:
        yield served


@requirement("lake.audit.every_call")
async def test_every_call_leaves_one_row(pecia: Pecia) -> None:
    calls: list[tuple[str, dict[str, str], dict[str, str]]] = [
        ("admin/whoami", {}, pecia.ana),
        ("probe/echo", {"text": "hello"}, pecia.bo),
        ("probe/echo", {"text": "a"}, pecia.ana),
        ("probe/write", {}, pecia.ana),
        ("probe/fail", {}, pecia.ana),
        ("probe/nope", {}, pecia.ana),
        ("admin/add_group", {"name": "readers"}, pecia.ana),
        ("admin/add_user", {"name": "new"}, pecia.bo),
        ("admin/whoami", {}, bearing(pecia.operator)),
        ("admin/whoami", {}, {}),
        ("admin/whoami", {}, bearing("peciapat_x")),
    ]
    for number, (path, arguments, headers) in enumerate(calls):
        await pecia.call(path, arguments, {**headers, "x-request-id": f"call-{number}"})
    rows = await pecia.audit()
    written = [it["request_id"] for it in rows if it["request_id"]]
    assert sorted(written) == sorted(f"call-{number}" for number in range(len(calls)))


@requirement("lake.audit.row")
async def test_a_row_says_who_called_what_with_what_from_where_and_when(pecia: Pecia) -> None:
    before = datetime.now(UTC)
    await pecia.call("probe/echo", {"text": "hello", "count": 5}, pecia.bo)
    me = (await pecia.call("admin/whoami", headers=pecia.bo)).json()
    [row] = await pecia.audit(tool="probe.echo")
    assert f"user::{row['user_id']}" in me["principals"]
    assert row["credential_id"] is not None
    assert row["tenant_id"] is not None
    assert row["arguments"] == {"text": "hello", "count": 5}
    assert (row["status"], row["code"]) == ("ok", None)
    assert (row["interface"], row["client_ip"]) == ("http", "127.0.0.1")
    assert before <= row["at"] <= datetime.now(UTC)
    assert row["duration_us"] >= 0


@requirement("lake.audit.failures")
async def test_a_call_that_is_refused_or_fails_leaves_its_code(pecia: Pecia) -> None:
    weak = bearing(await pecia.token("north", "bo", ["pecia.search"]))
    for tool, arguments, headers, outcome in (
        ("probe/echo", {"text": "a"}, pecia.ana, ("probe.echo", "error", "OUT_OF_RANGE")),
        ("probe/write", {}, weak, ("probe.write", "denied", "FORBIDDEN")),
        ("probe/fail", {}, pecia.ana, ("probe.fail", "crashed", "INTERNAL_ERROR")),
        ("probe/nope", {}, pecia.ana, ("probe/nope", "error", "TOOL_NOT_FOUND")),
        ("probe/echo", {}, {}, ("authenticate", "denied", "AUTH_REQUIRED")),
        ("probe/left", {}, bearing(pecia.operator), ("probe.left", "denied", "FORBIDDEN")),
    ):
        await pecia.call(tool, arguments, {**headers, "x-request-id": "this-one"})
        [row] = [it for it in await pecia.audit(request_id="this-one") if it["tool"] == outcome[0]]
        assert (row["tool"], row["status"], row["code"]) == outcome
        assert row["client_ip"] == "127.0.0.1"
