"""What the reference promises of its compiler whatever happens, and of its tools over time."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from pecia.features.ckf.examples.loader import TOPICS, load_example_source
from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.model import CompileOptions
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.normalize import compact_package
from pecia.kernel.errors import BadArgument, UpstreamError, iter_errors
from tests.mcp.conftest import Serve, Served
from tests.mcp.test_ckf import DOCUMENTED, TEXT, facts

pytestmark = pytest.mark.anyio

CONTRACT = Path(__file__).with_name("ckf_contract.json")

# Compiles with every way to the network shut, and says what it made.
ALONE = """
import hashlib, sys
from pecia.features.ckf.core.compile import compile_source
from pecia.features.ckf.examples.loader import TOPICS, load_example_source
from pecia.features.ckf.tools.compile import CompileInput

def shut(event, arguments):
    if event.startswith("socket.") and event != "socket.gethostname":
        raise SystemExit(f"a connection was tried: {event} {arguments}")

sys.addaudithook(shut)
whole = hashlib.sha256()
for topic in TOPICS:
    for format in ("json", "yaml", "markdown"):
        source = load_example_source(topic)
        ask = CompileInput(text=source.text, format=format)
        made = compile_source(source, ask, lambda done, total: None)
        whole.update(made.document.encode())
print(whole.hexdigest())
"""


@pytest.mark.requirement("ckf.compile.opens_no_connection", "ckf.compile.repeatable")
def test_two_processes_without_any_connection_write_the_same_bytes() -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", ALONE],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        for seed in ("1", "2")
    ]
    assert [it.returncode for it in said] == [0, 0], [it.stderr for it in said]
    assert said[0].stdout == said[1].stdout
    assert len(said[0].stdout.strip()) == 64


@pytest.mark.requirement("ckf.compile.survives_outage")
async def test_with_every_model_out_of_reach_the_compiler_gives_the_same(serve: Serve) -> None:
    # Nobody listens on this port, and there is no other model.
    dead = {"ckf__operator_url": "http://127.0.0.1:9/v1", "ckf__operator_model": "none"}
    async with serve(**dead) as served:
        asked = {"name": "ckf.compile_llm", "arguments": {"text": TEXT, "provider": "operator"}}
        failed = (await served.talk.ask("/mcp/ckf", "tools/call", asked))["result"]
        made = await facts(served, "ckf.compile", text=TEXT)
    assert failed["structuredContent"]["error"]["code"] == "UPSTREAM_ERROR"
    async with serve() as served:
        assert (await facts(served, "ckf.compile", text=TEXT))["document"] == made["document"]


@pytest.mark.requirement("ckf.trace.package_stands_alone")
@pytest.mark.parametrize("topic", TOPICS)
def test_a_claim_is_traced_by_what_the_package_itself_holds(topic: str) -> None:
    made = compile_text(load_example_source(topic), CompileOptions())
    package = Package(
        json.loads(encode_package(Package(compact_package(made)), PackageFormat.JSON))
    )
    spans = {it["source_id"]: it for it in _list(package.metadata["source_manifest"])}
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in package.trace:
        rows.setdefault(str(row["extracted_item_id"]), []).append(row)
    for _, item in package.iter_items():
        for row in rows[str(item["id"])]:
            span = spans[row["source_location"].partition("#")[0]]
            start, end = row["source_char_start"], row["source_char_end"]
            assert len(row["source_excerpt"]) == end - start > 0
            assert span["char_start"] <= start
            assert span["path"]


@pytest.mark.requirement("ckf.version.stable_contract")
async def test_no_field_of_the_ten_tools_is_gone_or_of_another_type(served: Served) -> None:
    """To add fields, write what this prints; to take one away, do not."""
    listed = (await served.talk.ask("/mcp/ckf", "tools/list"))["result"]["tools"]
    now = {it["name"]: _fields(it) for it in listed}
    kept = json.loads(CONTRACT.read_text("utf-8"))
    assert kept.keys() == {f"ckf.{it}" for it in DOCUMENTED}
    for tool, sides in kept.items():
        for side, fields in sides.items():
            found = {name: now[tool][side].get(name) for name in fields}
            assert found == fields, f"{side} of {tool}"
        assert set(now[tool]["required"]) <= set(kept[tool]["required"])


@pytest.mark.requirement("ckf.errors.says_what_to_mend")
def test_every_error_that_may_not_be_tried_again_says_what_to_change() -> None:
    for kind in iter_errors():
        bare = kind("x", field="f") if issubclass(kind, BadArgument) else kind("x")
        told = bare.payload()
        assert told["retryable"] or told.get("field") or told.get("hint"), kind
    final = UpstreamError("x", retryable=False).payload()
    assert final["hint"]
    assert UpstreamError("x", hint="own words", retryable=False).payload()["hint"] == "own words"
    assert "hint" not in UpstreamError("x").payload()


def _fields(tool: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Names and types of what a tool takes and gives."""
    takes, gives = tool["inputSchema"], tool["outputSchema"]
    return {
        "takes": {name: _type(it, takes) for name, it in takes["properties"].items()},
        "gives": {name: _type(it, gives) for name, it in gives["properties"].items()},
        "required": dict.fromkeys(takes.get("required", []), True),
    }


def _type(field: dict[str, Any], schema: dict[str, Any]) -> Any:
    if "$ref" in field:
        field = schema["$defs"][field["$ref"].rpartition("/")[2]]
    if "anyOf" in field:
        return sorted(str(_type(it, schema)) for it in field["anyOf"])
    return field.get("type", "any")


def _list(value: object) -> list[dict[str, Any]]:
    assert isinstance(value, list)
    return cast(list[dict[str, Any]], value)
