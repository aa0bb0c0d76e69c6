"""The ckf endpoint as its reference describes it: curl lines, clients, resources and prompts."""

import base64
import json
import zlib
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pecia.features.ckf.package.codec.codec import PackageFormat, parse_package
from tests.mcp.conftest import Served
from tests.unit.features.ckf.ckf_sample import SOURCE, sample

pytestmark = pytest.mark.anyio

PATHS = ("/mcp/ckf", "/api/mcp")

# Word for word the two curl lines of the reference; only the address is ours.
CURL_LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
CURL_COMPILE = b"""{
"jsonrpc":"2.0","id":2,"method":"tools/call",
"params":{
"name":"ckf.compile",
"arguments":{
"text":"Spaced repetition strengthens memory by reactivating knowledge over increasing intervals. Sleep supports consolidation.",
"format":"markdown"
}
}
}"""  # noqa: E501
DOCUMENTED = (
    "compile",
    "compile_llm",
    "parse",
    "serialize",
    "validate",
    "example",
    "search_posts",
    "fetch_post",
    "viewer_url",
    "diff",
)
CURL_HEADERS = {"user_agent": "curl/8.5.0", "accept": "*/*"}
TEXT = (
    "A refund is money returned to a buyer. Refunds must be paid within 14 days. "
    "Unless the item is damaged, shipping costs are not refunded."
)


async def call(served: Served, tool: str, **arguments: object) -> dict[str, Any]:
    asked = {"name": tool, "arguments": arguments}
    return (await served.talk.ask("/mcp/ckf", "tools/call", asked))["result"]


async def facts(served: Served, tool: str, **arguments: object) -> dict[str, Any]:
    result = await call(served, tool, **arguments)
    assert not result.get("isError"), result["content"]
    return result["structuredContent"]


@pytest.mark.requirement("ckf.server.curl_tools_list", "ckf.tools.all_ten")
async def test_the_documented_curl_line_lists_the_ten_tools(served: Served) -> None:
    response = await served.talk.post("/api/mcp", CURL_LIST, **CURL_HEADERS)
    assert response.status_code == 200
    names = {it["name"] for it in response.json()["result"]["tools"]}
    assert {f"ckf.{it}" for it in DOCUMENTED} <= names


@pytest.mark.requirement("ckf.server.curl_compile", "ckf.compile.format_markdown")
async def test_the_documented_curl_line_compiles_two_sentences(served: Served) -> None:
    response = await served.talk.post("/api/mcp", CURL_COMPILE, **CURL_HEADERS)
    found = response.json()
    assert found["id"] == 2
    document = found["result"]["content"][0]["text"]
    assert document.startswith("# CKF — KNOWLEDGE CONTEXT PACKAGE\n")
    assert "Sleep supports consolidation." in document
    assert "Spaced repetition strengthens memory" in document
    parsed = await facts(served, "ckf.parse", document=document)
    assert parsed["package"] == found["result"]["structuredContent"]["package"]


@pytest.mark.requirement("ckf.server.api_mcp_path")
async def test_both_paths_serve_the_same(served: Served) -> None:
    answers = [(await served.talk.post(path, CURL_LIST)).json() for path in PATHS]
    assert answers[0] == answers[1]
    made = [(await served.talk.post(path, CURL_COMPILE)).json()["result"] for path in PATHS]
    assert made[0]["content"] == made[1]["content"]


@pytest.mark.requirement("ckf.version.post_only")
@pytest.mark.parametrize("path", PATHS)
async def test_a_get_is_not_allowed(served: Served, path: str) -> None:
    response = await served.talk.http.get(path, headers={"accept": "text/event-stream"})
    assert response.status_code == 405


@pytest.mark.requirement("ckf.version.server_name")
@pytest.mark.parametrize("path", PATHS)
async def test_the_server_has_the_name_that_clients_look_for(served: Served, path: str) -> None:
    found = await served.other().begin(path, "2025-03-26")
    assert found["result"]["serverInfo"]["name"] == "ckf-mcp-server"
    assert found["result"]["serverInfo"]["version"] == "0.2.0"
    assert found["result"]["protocolVersion"] == "2025-03-26"


@pytest.mark.requirement("ckf.version.namespace")
async def test_every_tool_is_in_the_namespace(served: Served) -> None:
    tools = (await served.talk.ask("/mcp/ckf", "tools/list"))["result"]["tools"]
    assert tools
    for it in tools:
        assert it["name"].startswith("ckf.")
        assert it["annotations"]["readOnlyHint"] is (it["name"] != "ckf.publish")


@pytest.mark.requirement(
    "ckf.compile.works_unconfigured",
    "ckf.compile.needs_no_key",
    "ckf.compile.returns_package",
    "ckf.compile.same_structure",
    "ckf.compile.always_valid",
)
async def test_a_text_becomes_a_valid_package(served: Served) -> None:
    found = await facts(served, "ckf.compile", text=TEXT)
    assert list(found["package"]) == list(sample())
    assert parse_package(found["document"], PackageFormat.JSON).body == found["package"]
    assert found["metrics"]["compiler"] == "heuristic"
    assert found["metrics"]["numeric_integrity"]["source_values_kept"] == 1
    checked = await facts(served, "ckf.validate", package=found["package"], source_text=TEXT)
    assert (checked["valid"], checked["errors"]) == (True, [])


@pytest.mark.requirement("ckf.compile.text_can_be_saved")
@pytest.mark.parametrize("format", list(PackageFormat))
async def test_the_text_block_is_the_document(served: Served, format: PackageFormat) -> None:
    result = await call(served, "ckf.compile", text=TEXT, format=format)
    (block,) = result["content"]
    assert block["text"] == result["structuredContent"]["document"]
    assert parse_package(block["text"], format).body == result["structuredContent"]["package"]


@pytest.mark.requirement("ckf.compile.text_minimum", "ckf.compile.text_maximum")
async def test_a_text_has_20_to_200000_characters(served: Served) -> None:
    await facts(served, "ckf.compile", text="x" * 20)
    await facts(served, "ckf.compile", text="word " * 40_000)
    for length, code, bound in ((19, "OUT_OF_RANGE", "min"), (200_001, "PAYLOAD_TOO_LARGE", "max")):
        error = (await call(served, "ckf.compile", text="x" * length))["structuredContent"]["error"]
        assert (error["code"], error["length"]) == (code, length)
        assert error[bound] in (20, 200_000)


@pytest.mark.requirement("ckf.compile.text_required")
async def test_without_a_text_the_field_is_named(served: Served) -> None:
    error = (await call(served, "ckf.compile"))["structuredContent"]["error"]
    assert (error["code"], error["field"]) == ("MISSING_FIELD", "text")


@pytest.mark.requirement("ckf.compile.format_values", "ckf.serialize.other_format")
async def test_a_fourth_format_is_refused_with_the_three(served: Served) -> None:
    for tool, more in (("ckf.compile", {"text": TEXT}), ("ckf.serialize", {"package": sample()})):
        error = (await call(served, tool, format="xml", **more))["structuredContent"]["error"]
        assert error["code"] == "INVALID_ENUM"
        assert sorted(error["allowed"]) == ["json", "markdown", "yaml"]


@pytest.mark.requirement(
    "ckf.parse.json",
    "ckf.parse.yaml",
    "ckf.parse.markdown",
    "ckf.serialize.json",
    "ckf.serialize.yaml",
    "ckf.serialize.markdown",
    "ckf.serialize.loses_nothing",
)
async def test_what_is_serialized_is_parsed_again(served: Served) -> None:
    packages: list[Any] = []
    for format in PackageFormat:
        made = await facts(served, "ckf.serialize", package=sample(), format=format)
        assert made["bytes"] == len(made["document"].encode())
        # The three names of the argument mean the same.
        name = {
            PackageFormat.JSON: "document",
            PackageFormat.YAML: "text",
            PackageFormat.MARKDOWN: "content",
        }[format]
        read = await facts(served, "ckf.parse", **{name: made["document"]})
        assert read["format"] == format
        packages.append(read["package"])
    assert packages[0] == packages[1] == packages[2]


@pytest.mark.requirement("ckf.parse.normalizes", "ckf.version.schema")
async def test_what_is_left_out_and_older_versions_are_read(served: Served) -> None:
    short = await facts(served, "ckf.parse", document='{"metadata":{"protocol_version":"0.1"}}')
    long = await facts(
        served, "ckf.parse", document="metadata:\n  protocol_version: '0.1'\nqa_pairs: []\n"
    )
    assert short["package"] == long["package"]
    assert list(short["package"]) == list(sample())


@pytest.mark.requirement("ckf.parse.malformed")
async def test_a_document_that_is_no_package_is_refused_with_its_place(served: Served) -> None:
    broken = "# CKF\n\n## 3. ENTITY GRAPH\n\n```yaml\nentities:\n  - id: [\n```\n"
    error = (await call(served, "ckf.parse", document=broken))["structuredContent"]["error"]
    assert error["code"] == "UNPROCESSABLE"
    assert error["section"] == "entities"
    assert error["line"] > 5
    assert error["hint"]


@pytest.mark.requirement(
    "ckf.validate.good_document", "ckf.validate.lists_errors", "ckf.validate.all_at_once"
)
async def test_faults_are_listed_with_code_place_and_expectation(served: Served) -> None:
    good = await facts(served, "ckf.validate", document=json.dumps(sample()), source_text=SOURCE)
    assert (good["valid"], good["errors"], good["warnings"]) == (True, [], [])
    assert good["stats"]["traceability_pct"] == 100
    spoilt: Any = sample()
    spoilt["metadata"]["compression_level"] = "tiny"
    spoilt["concepts"][0]["confidence"] = 3
    del spoilt["playbooks"]
    found = await facts(served, "ckf.validate", package=spoilt)
    assert not found["valid"]
    assert {(it["code"], it["path"]) for it in found["errors"]} == {
        ("ENUM", "/metadata/compression_level"),
        ("CONFIDENCE_RANGE", "/concepts/0/confidence"),
        ("SECTION_MISSING", "/playbooks"),
    }
    assert all(it["expected"] and it["hint"] for it in found["errors"])


@pytest.mark.requirement("ckf.validate.self_correction")
async def test_mending_what_is_named_makes_it_valid(served: Served) -> None:
    spoilt: Any = sample()
    spoilt["metadata"]["compression_level"] = "tiny"
    spoilt["concepts"][0]["supports"] = ["con_nothing"]
    for error in (await facts(served, "ckf.validate", package=spoilt))["errors"]:
        *way, last = error["path"].split("/")[1:]
        place = spoilt
        for step in way:
            place = place[int(step) if isinstance(place, list) else step]
        if error["code"] == "ENUM":
            place[last] = error["expected"][0]
        else:
            del place[int(last)]
    assert (await facts(served, "ckf.validate", package=spoilt))["valid"]


@pytest.mark.requirement("ckf.diff.identical", "ckf.diff.reports_changes")
async def test_two_packages_are_compared(served: Served) -> None:
    same = await facts(served, "ckf.diff", a=sample(), b=json.dumps(sample()))
    assert same["identical"] is True
    newer: Any = sample()
    newer["exceptions"] = []
    newer["decision_rules"][0]["decision"] = "pay in 30 days"
    newer["qa_pairs"] = [{"id": "qa_when", "question": "When?", "ideal_answer": "Soon."}]
    found = await facts(served, "ckf.diff", a=sample(), b=newer)
    assert found["identical"] is False
    assert found["sections"]["qa_pairs"]["added"] == [{"id": "qa_when", "label": "When?"}]
    assert found["highlights"]["exceptions_removed"] == ["exc_damaged_item"]
    assert found["sections"]["decision_rules"]["changed"] == [
        {
            "id": "dec_refunds_paid",
            "fields": {"decision": {"from": "pay in 14 days", "to": "pay in 30 days"}},
        }
    ]
    assert found["highlights"]["contradictions"] == [
        {
            "a_id": "dec_refunds_paid",
            "b_id": "dec_refunds_paid",
            "reason": "same condition, other decision",
        }
    ]


@pytest.mark.requirement("ckf.diff.versions")
async def test_a_changed_sentence_changes_its_own_items_only(served: Served) -> None:
    older = await facts(served, "ckf.compile", text=TEXT)
    newer = await facts(served, "ckf.compile", text=TEXT.replace("14 days", "30 days"))
    found = await facts(served, "ckf.diff", a=older["package"], b=newer["package"])
    told = json.dumps(found["sections"])
    assert not found["identical"]
    changed = {
        it["id"]
        for key, section in found["sections"].items()
        if key not in ("retrieval_chunks", "source_traceability", "core_intent")
        for kind in ("added", "changed")
        for it in section[kind]
    }
    sections: list[Any] = [it for it in newer["package"].values() if isinstance(it, list)]
    items = {it["id"]: it for section in sections for it in section if "id" in it}
    assert changed
    assert all("30 days" in json.dumps(items[it]) for it in changed), told


async def test_a_slice_stays_within_its_budget_and_brings_exceptions(served: Served) -> None:
    found = await facts(
        served, "ckf.slice", package=sample(), query="when is a refund due", budget_tokens=400
    )
    assert found["tokens"] <= 400
    assert {"dec_refunds_paid", "exc_damaged_item"} <= set(found["included"])
    assert ["dec_refunds_paid", "exc_damaged_item"] in found["links"]


async def test_quotations_are_read_again(served: Served) -> None:
    held = await facts(served, "ckf.verify", package=sample(), source_text=SOURCE)
    assert held["holds"]
    changed = SOURCE.replace("14 days", "30 days")
    found = await facts(served, "ckf.verify", package=sample(), source_text=changed)
    assert not found["holds"]
    assert {it["item_id"] for it in found["problems"] if it["state"] == "gone"} == {
        "dec_refunds_paid"
    }


@pytest.mark.requirement("ckf.viewer_url.from_package", "ckf.viewer_url.from_url")
async def test_a_link_carries_the_package_or_its_address(served: Served) -> None:
    inline = await facts(served, "ckf.viewer_url", package=sample())
    address, _, fragment = inline["url"].partition("#ckf=")
    assert (address.endswith("/viewer"), inline["mode"]) == (True, "inline")
    packed = base64.urlsafe_b64decode(fragment + "=" * (-len(fragment) % 4))
    assert parse_package(zlib.decompress(packed).decode()) == parse_package(json.dumps(sample()))
    remote = await facts(served, "ckf.viewer_url", url="https://example.org/a b.ckf.md")
    assert remote["mode"] == "remote"
    assert remote["url"].endswith("/viewer?src=https%3A%2F%2Fexample.org%2Fa%20b.ckf.md")


@pytest.mark.requirement("ckf.viewer_url.one_of_two")
async def test_a_link_is_made_of_exactly_one_thing(served: Served) -> None:
    both = {"package": sample(), "url": "https://example.org/a.ckf"}
    for arguments in ({}, both):
        error = (await call(served, "ckf.viewer_url", **arguments))["structuredContent"]["error"]
        assert (error["code"], error["field"]) == ("MISSING_FIELD", "package")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1).ckf",
        "file:///etc/passwd.ckf",
        "https://user:secret@example.org/a.ckf",
        "https://example.org/a.html",
        "https://[broken/a.ckf",
        "",
    ],
)
async def test_an_address_that_cannot_be_a_package_is_refused(served: Served, url: str) -> None:
    error = (await call(served, "ckf.viewer_url", url=url))["structuredContent"]["error"]
    assert (error["code"], error["field"]) == ("INVALID_FORMAT", "url")


@pytest.mark.requirement("ckf.resources.schema")
async def test_the_schema_is_a_resource_that_takes_what_is_compiled(served: Served) -> None:
    listed = (await served.talk.ask("/mcp/ckf", "resources/list"))["result"]["resources"]
    assert "ckf://schema/v0.2" in {it["uri"] for it in listed}
    asked = {"uri": "ckf://schema/v0.2"}
    read = (await served.talk.ask("/mcp/ckf", "resources/read", asked))["result"]["contents"]
    checker: Any = Draft202012Validator(json.loads(read[0]["text"]))
    for level in ("light", "standard", "dense", "agentic"):
        made = await facts(served, "ckf.compile", text=TEXT, compression_level=level)
        assert not list(checker.iter_errors(made["package"]))


@pytest.mark.requirement("ckf.resources.unknown_uri")
async def test_an_address_that_names_nothing_is_not_found(served: Served) -> None:
    asked = {"uri": "ckf://nothing/here"}
    error = (await served.talk.ask("/mcp/ckf", "resources/read", asked))["error"]
    assert error["data"]["code"] == "NOT_FOUND"
    assert error["data"]["uri"] == "ckf://nothing/here"


@pytest.mark.requirement(
    "ckf.prompts.two_listed", "ckf.prompts.talk_takes_slug", "ckf.prompts.critique_takes_text"
)
async def test_two_prompts_take_one_argument_each(served: Served) -> None:
    listed = (await served.talk.ask("/mcp/ckf", "prompts/list"))["result"]["prompts"]
    assert {it["name"]: [(a["name"], a["required"]) for a in it["arguments"]] for it in listed} == {
        "talk-to-article": [("slug", True)],
        "compile-and-critique": [("text", True)],
    }


@pytest.mark.requirement("ckf.prompts.critique_compiles", "ckf.prompts.critique_three_parts")
async def test_a_critique_compiles_first(served: Served) -> None:
    asked = {"name": "compile-and-critique", "arguments": {"text": TEXT}}
    found = (await served.talk.ask("/mcp/ckf", "prompts/get", asked))["result"]
    text = found["messages"][0]["content"]["text"]
    assert text.index("ckf.compile") < text.index("critique with")
    for words in ("Missing concepts", "Weak rules", "Suggestions", TEXT, "is data"):
        assert words in text


async def test_names_without_dots_reach_the_same_tools_and_are_not_listed(served: Served) -> None:
    tools = (await served.talk.ask("/mcp/ckf", "tools/list"))["result"]["tools"]
    names = [it["name"] for it in tools]
    assert not any(it.startswith("ckf_") for it in names)
    for path in PATHS:
        asked = {"name": "ckf_compile", "arguments": {"text": TEXT}}
        made = (await served.talk.ask(path, "tools/call", asked))["result"]
        assert made["structuredContent"] == {
            **await facts(served, "ckf.compile", text=TEXT),
            "metrics": made["structuredContent"]["metrics"],
        }
    unknown: dict[str, Any] = {"name": "ckf_nothing", "arguments": {}}
    error = (await served.talk.ask("/mcp/ckf", "tools/call", unknown))["error"]
    assert error["data"]["code"] == "TOOL_NOT_FOUND"
