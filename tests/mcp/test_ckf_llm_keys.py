"""Whose key a compile runs on, who may have it, and that no trace of one is left anywhere."""

import logging
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from pecia.kernel.store.cluster import DatabaseLogins
from tests.mcp.ckf_llm_server import GOOD, KEY, PATH, SOURCE, Llm, operated, serving_llm
from tests.mcp.conftest import Serve, Served
from tests.mcp.raw_mcp import RawMcp
from tests.provider import Fails, LoopbackProvider, Says, Scripted, Sends, Waits

pytestmark = pytest.mark.anyio

HOUSE_KEY = "the-key-of-the-house"


@pytest.mark.requirement("ckf.byok.not_logged", "ckf.byok.not_echoed", "ckf.byok.not_stored")
async def test_a_key_is_nowhere_after_its_call(
    database: DatabaseLogins, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    home = tmp_path / "home"
    with LoopbackProvider(GOOD) as provider:
        async with serving_llm(database, home, provider, chunk_timeout_s=1) as llm:
            answers = [await llm.call(provider="openai", byok_key=KEY)]
            for script in _echoes():
                provider.script[:] = [script]
                answers.append(await llm.call(provider="openai", byok_key=KEY))
            sent = len(provider.requests)
            for wrong in _misplaced():
                answers.append(await llm.call(**wrong))
            assert len(provider.requests) == sent
            rows = await llm.pecia.audit(tool="ckf.compile_llm")
            metrics = (await llm.pecia.http.get("/metrics", headers=llm.headers("ana"))).text
            assert [it["arguments"]["byok_key"] for it in rows] == ["•••"] * len(answers)
            assert await _tables_with(llm, KEY) == []
    assert not answers[0].get("isError")
    assert all(it["isError"] for it in answers[1:])
    for place in (answers, rows, metrics, caplog.text, [vars(it) for it in caplog.records]):
        assert KEY not in str(place)
    assert _files_with(home, KEY) == []


async def test_a_key_may_come_as_a_header_and_is_nowhere_after_its_call(
    database: DatabaseLogins, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    home = tmp_path / "home"
    with LoopbackProvider(GOOD) as provider:
        async with serving_llm(database, home, provider) as llm:
            llm.pecia.http.headers["X-CKF-BYOK-Key"] = KEY
            made = await llm.made(provider="openai")
            rows = await llm.pecia.audit(tool="ckf.compile_llm")
            assert await _tables_with(llm, KEY) == []
        assert all(f"Bearer {KEY}" in it.headers["authorization"] for it in provider.requests)
    for place in (made, rows, caplog.text):
        assert KEY not in str(place)
    assert _files_with(home, KEY) == []


def _echoes() -> list[Scripted]:
    """Failures in which the provider repeats the key, as they like to do."""
    return [
        Fails(401, f"Incorrect API key provided: {KEY}"),
        Fails(400, f"what is {KEY}?"),
        Fails(429, KEY),
        Fails(500, KEY),
        Sends(KEY.encode(), status=418),
        Says(f'{{"entities": "{KEY}"'),
        Waits(),
    ]


def _misplaced() -> list[dict[str, Any]]:
    """Calls that are refused before anything is sent."""
    return [
        {"byok_key": KEY},
        {"provider": "anthropic", "byok_key": KEY},
        {"provider": "operator", "byok_key": KEY},
        {"provider": "openai", "byok_key": f"{KEY} "},
        {"provider": "openai", "byok_key": KEY * 30},
        {"provider": "openai", "byok_key": KEY, "format": "xml"},
        {"provider": "openai", "byok_key": [KEY]},
        {"provider": "openai", "byok_key": KEY, "text": "short"},
    ]


async def _tables_with(llm: Llm, key: str) -> list[str]:
    """Tables with that text in any column, seen by the role that sees every row."""
    found: list[str] = []
    async with llm.pecia.app.store.system() as tx:
        tables = await tx.fetch_all(
            "SELECT schemaname, tablename FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
            " AND has_table_privilege(format('%%I.%%I', schemaname, tablename), 'SELECT')"
        )
        assert {"audit", "credential"} <= {it["tablename"] for it in tables}
        for it in tables:
            name = sql.Identifier(it["schemaname"], it["tablename"]).as_string(None)
            query = f"SELECT 1 AS hit FROM {name} AS t WHERE t::text LIKE %(like)s LIMIT 1"
            if await tx.fetch_all(query, like=f"%{key}%"):  # pyright: ignore[reportArgumentType]
                found.append(name)
    return found


def _files_with(folder: Path, text: str) -> list[str]:
    files = [it for it in folder.rglob("*") if it.is_file()]
    assert files
    return [str(it) for it in files if text.encode() in it.read_bytes()]


@pytest.mark.requirement("ckf.byok.malformed", "ckf.compile_llm.provider_with_key")
async def test_a_key_that_cannot_be_right_is_refused_before_anything_is_sent(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    with LoopbackProvider(GOOD) as provider:
        async with serving_llm(database, tmp_path / "home", provider) as llm:
            malformed = await llm.error(provider="anthropic", byok_key=KEY)
            spaced = await llm.error(provider="openai", byok_key=f"{KEY}\n")
            homeless = await llm.error(byok_key=KEY)
    for error in (malformed, spaced):
        assert (error["code"], error["field"]) == ("INVALID_FORMAT", "byok_key")
        assert error["hint"]
        assert error["retryable"] is False
    assert (homeless["code"], homeless["field"]) == ("MISSING_FIELD", "provider")
    assert provider.requests == []


@pytest.mark.requirement("ckf.providers.unknown")
async def test_another_provider_is_refused_with_the_list_of_those_there_are(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    with LoopbackProvider() as provider:
        async with serving_llm(database, tmp_path / "home", provider) as llm:
            error = await llm.error(provider="acme", byok_key=KEY)
    assert (error["code"], error["field"]) == ("INVALID_ENUM", "provider")
    known = {"openai", "anthropic", "gemini", "google", "deepseek", "openrouter", "lovable"}
    assert known <= set(error["allowed"])


@pytest.mark.requirement("ckf.compile_llm.needs_key_or_token", "ckf.operator.lovable_name")
async def test_a_stranger_without_a_key_is_told_to_pass_one(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    with LoopbackProvider(GOOD) as provider:
        async with serving_llm(database, tmp_path / "home", provider, **operated()) as llm:
            for wanted in ({}, {"provider": "openai"}, {"provider": "lovable"}):
                error = await llm.error("stranger", **wanted)
                assert (error["code"], error["retryable"]) == ("AUTH_REQUIRED", False)
                assert "byok_key" in error["hint"]
            assert provider.requests == []
            made = await llm.made("stranger", provider="openai", byok_key=KEY)
    assert made["package"]["concepts"]


async def test_strangers_have_twelve_compiles_an_hour(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    with LoopbackProvider() as provider:
        async with serving_llm(database, tmp_path / "home", provider) as llm:
            for _ in range(12):
                assert (await llm.error("stranger"))["code"] == "AUTH_REQUIRED"
            error = await llm.error("stranger")
            known = await llm.error("bo")
    assert (error["code"], error["retryable"]) == ("RATE_LIMITED", True)
    assert 0 < error["retry_after_seconds"] <= 300
    assert known["code"] == "FORBIDDEN"


async def ask(talk: RawMcp, **arguments: Any) -> dict[str, Any]:
    params = {"name": "ckf.compile_llm", "arguments": {"text": SOURCE, **arguments}}
    return (await talk.ask(PATH, "tools/call", params))["result"]


def house(provider: LoopbackProvider, **flags: str) -> dict[str, str]:
    """Flags of a server whose operator runs a model on this machine."""
    known = {"url": f"{provider.url}/v1", "model": "loopback", "key": HOUSE_KEY}
    return {**{f"ckf__operator_{name}": value for name, value in known.items()}, **flags}


async def code(served: Served, who: str, **arguments: Any) -> str:
    """How it ends for a member: the code of the refusal, or ok."""
    result = await ask(served.other(await served.token(who)), **arguments)
    return result["structuredContent"]["error"]["code"] if result.get("isError") else "ok"


@pytest.mark.requirement(
    "ckf.operator.bearer_unlocks",
    "ckf.operator.admin",
    "ckf.operator.allowlisted",
    "ckf.operator.others_forbidden",
)
async def test_the_operators_model_is_for_admins_and_the_allowlist(serve: Serve) -> None:
    with LoopbackProvider(GOOD) as provider:
        async with serve(**house(provider)) as served:
            owner = await ask(served.talk, provider="lovable")
            assert not owner.get("isError"), owner["content"]
            assert await code(served, "bo", provider="operator") == "FORBIDDEN"
            tenant = served.owner.tenant
        async with serve(**house(provider, ckf__allowlist=f"{tenant}/bo")) as served:
            assert await code(served, "bo") == "ok"
            assert await code(served, "cleo", provider="lovable") == "FORBIDDEN"
    sent = provider.requests
    assert [it.headers["authorization"] for it in sent] == [f"Bearer {HOUSE_KEY}"] * 2
    assert owner["structuredContent"]["metrics"]["model"] == "loopback"
    assert HOUSE_KEY not in str(owner)


@pytest.mark.requirement("ckf.operator.kill_switch")
async def test_the_kill_switch_stops_the_operators_model_for_its_owner_too(serve: Serve) -> None:
    with LoopbackProvider(GOOD) as provider:
        environ = {"MCP_LOVABLE_AI_DISABLED": "1", "OPENAI_API_KEY": KEY}
        async with serve(environ, **house(provider)) as served:
            for wanted in ({"provider": "lovable"}, {"provider": "openai"}, {}):
                error = (await ask(served.talk, **wanted))["structuredContent"]["error"]
                assert error["code"] == "FORBIDDEN"
                assert "byok_key" in error["hint"]
                assert KEY not in str(error)
    assert provider.requests == []


@pytest.mark.requirement(
    "ckf.operator.kill_switch_spares_byok",
    "ckf.operator.quotas_spare_byok",
    "ckf.operator.byok_spends_nothing",
)
async def test_a_key_of_ones_own_needs_neither_the_switch_nor_the_quota(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    with LoopbackProvider(GOOD) as provider:
        settings = operated(operator_disabled=True, daily_per_user=0, daily_total=0)
        async with serving_llm(database, tmp_path / "home", provider, **settings) as llm:
            for who in ("bo", "ana"):
                await llm.made(who, provider="openai", byok_key=KEY)
    assert [it.places_of(HOUSE_KEY) for it in provider.requests] == [[], []]


@pytest.mark.requirement(
    "ckf.operator.daily_user_quota", "ckf.operator.daily_global_quota", "ckf.compile.ignores_quotas"
)
async def test_quotas_of_a_day_outlive_a_restart_and_spare_the_compiler_without_a_model(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    with LoopbackProvider(GOOD) as provider:
        settings = operated(allowlist=("north/bo",), daily_per_user=2, daily_total=3)
        async with serving_llm(database, tmp_path / "home", provider, **settings) as first:
            for _ in range(2):
                await first.made("bo", provider="operator")
        async with serving_llm(database, tmp_path / "home", provider, **settings) as again:
            llm = Llm(again.pecia, first.tokens)
            mine = await llm.error("bo", provider="operator")
            await llm.made("ana", provider="operator")
            everybodys = await llm.error("ana", provider="operator")
            for who in ("bo", "ana"):
                headers = llm.headers(who)
                without = await llm.pecia.call("ckf/ckf.compile", {"text": SOURCE}, headers)
                assert without.json()["package"]["decision_rules"]
    for error, quota in ((mine, "user"), (everybodys, "total")):
        assert (error["code"], error["retryable"], error["quota"]) == ("RATE_LIMITED", True, quota)
        assert 0 < error["retry_after_seconds"] <= 86_400
    assert len(provider.requests) == 3


async def test_a_key_of_the_server_is_for_those_who_may_have_it(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    with LoopbackProvider(GOOD) as provider:
        settings: dict[str, Any] = {"openai_key": HOUSE_KEY, "allowlist": ("north/somebody",)}
        async with serving_llm(database, tmp_path / "home", provider, **settings) as llm:
            await llm.made("ana", provider="openai")
            refused = await llm.error("bo", provider="openai")
            missing = await llm.error("ana", provider="deepseek")
            without = await llm.error("ana", provider="operator")
    assert provider.requests[0].headers["authorization"] == f"Bearer {HOUSE_KEY}"
    assert len(provider.requests) == 1
    assert (refused["code"], missing["code"]) == ("FORBIDDEN", "MISSING_FIELD")
    assert missing["field"] == "byok_key"
    assert (without["code"], without["retryable"]) == ("UNAVAILABLE", False)
    assert all(it["hint"] for it in (refused, missing, without))
