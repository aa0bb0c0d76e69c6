"""Local mode on a machine with several users: the owner is proved, and nobody else comes in."""

import json
import os
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from pecia.kernel.identity import owner_token
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import house_flags
from tests.database import scratch
from tests.interfaces.other_users import NEIGHBOUR, OWNER, Reply, calls_of, others_python, served_by

IS_EVERYBODY = sys.platform == "linux" and os.geteuid() == 0 and others_python()
pytestmark = pytest.mark.skipif(
    not IS_EVERYBODY, reason="needs Linux, root, and a Python that other users may run"
)

ROOT = 0
JSON = {"content-type": "application/json"}
HELLO = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "neighbour", "version": "1"},
        },
    }
)
UPGRADE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
MCP = {**JSON, "accept": "application/json, text/event-stream"}


def ways_in(headers: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """One call for every way into the server that is somebody's."""
    more = dict(headers or {})
    add = json.dumps({"name": "mallory"})
    return [
        {"method": "GET", "path": "/api/v1/admin/whoami", "headers": more},
        {"method": "POST", "path": "/api/v1/admin/add_user", "headers": JSON | more, "body": add},
        {"method": "GET", "path": "/api/v1/tools", "headers": more},
        {"method": "POST", "path": "/api/v1/nowhere/nothing", "headers": JSON | more, "body": "{}"},
        {"method": "POST", "path": "/mcp", "headers": MCP | more, "body": HELLO},
        {"method": "POST", "path": "/mcp/all", "headers": MCP | more, "body": HELLO},
        {"method": "GET", "path": "/sse", "headers": {"accept": "text/event-stream"} | more},
        {"method": "GET", "path": "/capacity", "headers": more},
        {"method": "GET", "path": "/cascades/report", "headers": more},
        {"method": "GET", "path": "/metrics", "headers": more},
        {"method": "GET", "path": "/collab/welcome", "headers": UPGRADE | more},
    ]


@pytest.fixture(scope="module")
def home() -> Generator[Path]:
    """Not below pytest's own folder, which nobody but root may enter."""
    with TemporaryDirectory(prefix="pecia-", dir=scratch()) as folder:
        Path(folder).chmod(0o711)
        yield Path(folder) / "home"


@pytest.fixture(scope="module")
def port(home: Path) -> Generator[int]:
    """A server of a plain user, with a database of its own: that of the tests is root's."""
    given = {"home": str(home), "mode": "local", "keeper_grace_s": "0.5"}
    with served_by(OWNER, home.parent, given) as found:
        yield found


def statuses(told: list[Reply]) -> dict[str, int]:
    return {it["path"]: found.status for it, found in zip(ways_in(), told, strict=True)}


@pytest.mark.parametrize("uid", [NEIGHBOUR, ROOT])
def test_nobody_else_on_the_machine_is_the_owner(port: int, uid: int) -> None:
    told = calls_of(uid, port, ways_in())
    assert statuses(told) == dict.fromkeys((it["path"] for it in ways_in()), 401)
    message = told[0].json()["error"]["message"]
    assert "owner.token" in message
    assert "[redacted]" not in message
    assert message.count("`") % 2 == 0
    assert message.endswith("`pecia open`")


def test_the_users_own_processes_need_no_token(port: int) -> None:
    found = calls_of(OWNER, port, ways_in())
    assert found[0].json()["credential"] == "local"
    assert 401 not in statuses(found).values(), statuses(found)


def test_what_is_public_stays_so(port: int) -> None:
    public = ("/healthz", "/readyz", "/viewer", "/api/v1/docs", "/console/about.json")
    calls = [{"method": "GET", "path": it} for it in public]
    assert {it.status for it in calls_of(NEIGHBOUR, port, calls)} == {200}


def test_who_can_read_the_token_is_the_owner(port: int, home: Path) -> None:
    token = owner_token.read(home)
    assert token is not None
    facts = (home / owner_token.FILE).stat()
    assert (facts.st_uid, facts.st_mode & 0o777) == (OWNER, 0o600)
    found = calls_of(NEIGHBOUR, port, ways_in({"authorization": f"Bearer {token}"}))
    assert found[0].json()["credential"] == "local"
    assert 401 not in statuses(found).values(), statuses(found)
    wrong = calls_of(OWNER, port, ways_in({"authorization": f"Bearer {token}x"}))
    assert set(statuses(wrong).values()) == {401}


def test_a_token_in_an_address_is_refused_and_not_believed(port: int, home: Path) -> None:
    token = owner_token.read(home)
    call = {"method": "GET", "path": f"/api/v1/admin/whoami?key={token}"}
    assert calls_of(NEIGHBOUR, port, [call])[0].status == 400


def test_who_has_hung_up_is_nobody(port: int) -> None:
    """Of a socket that is closing, the kernel says root, whoever it was."""
    call = {**ways_in()[0], "hangs_up": True}
    assert [calls_of(uid, port, [call])[0].status for uid in (NEIGHBOUR, ROOT)] == [401, 401]


def test_no_process_is_trusted_where_only_the_token_counts(
    database: DatabaseLogins, home: Path, tmp_path: Path
) -> None:
    flags = house_flags(database, home.with_name("strict"))
    strict = {**flags, "mode": "local", "owner_proof": "token"}
    with served_by(ROOT, home.parent, strict) as port:
        assert set(statuses(calls_of(ROOT, port, ways_in())).values()) == {401}
        token = owner_token.read(Path(flags["home"]))
        found = calls_of(ROOT, port, ways_in({"authorization": f"Bearer {token}"}))
        assert found[0].json()["credential"] == "local"


@pytest.mark.parametrize("host", ["::1", "::"])
def test_the_same_holds_over_ipv6(database: DatabaseLogins, home: Path, host: str) -> None:
    flags = house_flags(database, home.with_name(f"six-{len(host)}"))
    # On a socket that takes both families, IPv4 looks like IPv6.
    given = {**flags, "mode": "local", "host": "::1"}
    with served_by(ROOT, home.parent, {**given, "listen": host}) as port:
        for to in ("::1",) if host == "::1" else ("::1", "127.0.0.1", "::ffff:127.0.0.1"):
            call = {**ways_in()[0], "headers": {"host": f"localhost:{port}"}}
            assert calls_of(ROOT, port, [call], to)[0].status == 200, to
            assert calls_of(NEIGHBOUR, port, [call], to)[0].status == 401, to


def test_a_server_of_root_is_not_everybodys(database: DatabaseLogins, home: Path) -> None:
    flags = {**house_flags(database, home.with_name("root")), "mode": "local"}
    with served_by(ROOT, home.parent, flags) as port:
        calls = [*ways_in(), {**ways_in()[0], "hangs_up": True}]
        assert {it.status for it in calls_of(NEIGHBOUR, port, calls)} == {401}
        answer = httpx.get(f"http://127.0.0.1:{port}/api/v1/admin/whoami", trust_env=False)
        assert answer.json()["credential"] == "local"


def test_a_port_of_ours_before_the_server_lets_nobody_else_in_as_the_owner(
    database: DatabaseLogins, home: Path
) -> None:
    flags = {**house_flags(database, home.with_name("fronted")), "mode": "local"}
    with served_by(ROOT, home.parent, {**flags, "front": "1"}) as port:
        hello = {"method": "POST", "path": "/mcp", "headers": MCP, "body": HELLO}
        assert calls_of(ROOT, port, [hello])[0].status == 200
        assert calls_of(NEIGHBOUR, port, [hello])[0].status == 401
        for token, status in ((owner_token.read(Path(flags["home"])), 200), ("peciaown_x", 401)):
            bearing = {**hello, "headers": {**MCP, "authorization": f"Bearer {token}"}}
            assert calls_of(NEIGHBOUR, port, [bearing])[0].status == status
