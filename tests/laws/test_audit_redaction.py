"""Whatever is passed to a tool: one audit row, and no secret in it, in the log or in an error."""

import io
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pecia.app.app import App
from pecia.app.dispatch import Operation
from pecia.kernel import logs
from pecia.kernel.errors import Json, NotFound, PeciaError
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.redaction import redact, redact_value
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import ForeignTool, ToolResult
from pecia.kernel.tool.view import combine_tools
from tests.conftest import CONTEXT, OpenHouse
from tests.laws.planted_secrets import Planted, fields, plain, plain_commands, planted, texts
from tests.soak import SOAK

CASES = 20_000 if SOAK else 150


async def take(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    """End as the arguments say, and let their text slip into what is said about it."""
    match arguments.get("end"):
        case "error":
            raise NotFound(f"no such thing: {arguments['text']}", got=arguments["text"])
        case "crash":
            raise RuntimeError(f"fell over {arguments['text']}")
        case _:
            return ToolResult({})


SCHEMA: dict[str, Any] = {"type": "object", "properties": {"value": {}, "end": {}, "text": {}}}
TOOLS = combine_tools([ForeignTool("probe", "take", Scope.READ, "Takes it.", SCHEMA, take)])


@dataclass(frozen=True, slots=True)
class OpenApp:
    """An open Pecia on a thread of its own, and all that it wrote since it was last asked."""

    app: App
    who: Caller
    portal: BlockingPortal
    home: Path
    lines: io.StringIO

    def call(self, name: str, arguments: dict[str, Json], request_id: str | None) -> str:
        """What a client is told."""
        visit = replace(CONTEXT, request_id=request_id)

        async def ask() -> str:
            try:
                await self.app.call(self.who, name, arguments, visit, TOOLS)
            except PeciaError as error:
                return f"{error} {error.payload()}"
            return ""

        return self.portal.call(ask)

    def read(self, uri: str) -> None:
        """The same for what is no tool."""

        async def work(call: Call) -> None:
            return None

        operation = Operation("probe.read", Scope.READ, arguments={"uri": uri})
        self.portal.call(self.app.dispatcher.run, self.who, operation, CONTEXT, work)

    def written(self) -> tuple[list[dict[str, Any]], str]:
        """The audit rows, and everything else that was written down."""
        spool = "".join(
            it.read_text(encoding="utf-8") for it in (self.home / "spool").glob("*.audit")
        )
        rows = self.portal.call(self._rows)
        said = self.lines.getvalue()
        self.lines.seek(0)
        self.lines.truncate()
        return rows, spool + said

    async def _rows(self) -> list[dict[str, Any]]:
        await self.app.audit_log.drain()
        async with self.app.store.system() as tx:
            return await tx.fetch_all("DELETE FROM kernel.audit RETURNING *")


@contextmanager
def opened(open_house: OpenHouse, database: DatabaseLogins, home: Path) -> Generator[OpenApp]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_house(database, home)) as app,
    ):
        lines = io.StringIO()
        with logs.configure_logging(app.settings.kernel, stream=lines):
            who = portal.call(app.authenticate, None, CONTEXT)
            assert isinstance(who, Caller)
            it = OpenApp(app, who, portal, home, lines)
            it.written()
            yield it


def forms(secret: str) -> set[str]:
    """A secret as it stands in JSON, in Python's own words, and plainly."""
    return {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1]}


@pytest.mark.timeout(0 if SOAK else 300)
def test_one_row_a_call_and_no_secret_anywhere(
    database: DatabaseLogins, tmp_path: Path, open_house: OpenHouse
) -> None:
    with opened(open_house, database, tmp_path / "home") as pecia:

        @settings(
            max_examples=CASES,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(
            planted,
            texts,
            st.sampled_from(("ok", "error", "crash")),
            st.sampled_from(("take", "text")),
            st.integers(0, 400),
        )
        def law(it: Planted, text: Planted, end: str, name: str, depth: int) -> None:
            value: Json = it.value
            for _ in range(depth if depth > 100 else 0):
                value = [value]
            said = pecia.call(
                "take" if name == "take" else text.value,
                {"value": value, "end": end, "text": text.value, text.value: 1},
                text.value,
            )
            pecia.read(text.value)
            rows, rest = pecia.written()
            assert len(rows) == 2
            for kept in (str(rows), rest, said):
                for secret in forms(it.secret) | forms(text.secret):
                    assert secret not in kept

        law()


@settings(max_examples=CASES * 4, deadline=None)
@given(plain)
def test_ordinary_text_is_kept_as_it_is(text: str) -> None:
    assert redact(text) == text
    value = {"query": text, "tags": text.split(), "n": 3, "max_tokens": 512, "ok": None}
    assert redact_value(value) == value


@settings(max_examples=CASES, deadline=None)
@given(plain_commands)
def test_a_command_without_a_secret_is_kept_as_it_is(command: str) -> None:
    assert redact(command) == command
    program, *arguments = command.split()
    value = {"command": program, "args": arguments, "whole": command.split()}
    assert redact_value(value) == value


@settings(max_examples=CASES * 8, deadline=None)
@given(fields)
def test_no_secret_is_left_where_only_its_place_tells(it: Planted) -> None:
    """Without a call around it, so that every place comes up."""
    kept = json.dumps(redact_value(it.value), ensure_ascii=False)
    assert not any(secret in kept for secret in forms(it.secret))


@pytest.mark.parametrize(
    "url",
    [
        "AKIASECRETKEY12345:{}@bucket/x",
        "s3://AKIASECRETKEY12345:{}@bucket/x",
        "https://ghp_0123456789abcdefghij0123456789abcdef:{}@h/",
    ],
)
def test_a_password_behind_a_key_of_known_shape_is_hidden_too(url: str) -> None:
    assert "SECRETret" not in redact(url.format("sec/SECRETret"))


@pytest.mark.parametrize(
    "address",
    [
        "ana:{}@git.example:shop/wiki.git",
        "ana:{}@host.example/shop/wiki.git",
        "ana:{}@10.0.0.7:5432/shop",
        "clone ana.b-c:{}@host:a/b, then push",
        "ana:{}@host.example",
        '{{"remote": "ana:{}@host.example:a"}}',
    ],
)
@pytest.mark.parametrize("secret", ["7c2Ulp9qTr", "p@ss/w0rd:9x"])
def test_a_password_of_an_address_without_a_scheme_is_hidden(address: str, secret: str) -> None:
    kept = redact(address.format(secret))
    assert secret not in kept
    assert "host" in kept or "10.0.0.7" in kept or "git.example" in kept


@pytest.mark.parametrize(
    "text",
    [
        "mailto:john1985smith@host.example",
        "from:ana.maria@host.example to:bo@host.example",
        "git@host.example:shop/wiki.git",
        "origin:git@host.example:shop/wiki.git",
        "pecia:1.2.3-rc1@sha256:9f86d081884c7d65",
        "npm:lodash-es@4.17.21",
        "at 12:30pm@cafe:main",
        "see notes: ana@host.example",
    ],
)
def test_an_address_without_a_password_is_kept(text: str) -> None:
    assert redact(text) == text


@settings(max_examples=CASES * 4, deadline=None)
@given(planted)
def test_redacting_again_changes_nothing(it: Planted) -> None:
    once = redact_value(it.value)
    assert redact_value(once) == once
