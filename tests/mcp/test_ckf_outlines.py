"""Where agents meet every feature, a package is an outline and a handle; the rest is asked for."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pecia.features.ckf.posts.loader import SLUGS
from pecia.kernel.text.tokens import estimate_tokens
from tests.mcp.conftest import Served
from tests.mcp.test_lake import filled

pytestmark = pytest.mark.anyio

TEXT = "# Loans\n\n" + "\n\n".join(
    f"Every loan of kind {it} must be repaid within {it + 2} days. This does not apply to loans of "
    f"kind {it} to a school: they must be repaid within {it + 40} days. A loan of kind {it} is a "
    f"loan that is secured by {it} boats."
    for it in range(60)
)


async def answer(
    served: Served, tool: str, at: str = "/mcp/all", /, **arguments: object
) -> dict[str, Any]:
    asked = {"name": tool, "arguments": arguments}
    return (await served.talk.ask(at, "tools/call", asked))["result"]


async def words(served: Served, tool: str, at: str = "/mcp/all", /, **arguments: object) -> str:
    result = await answer(served, tool, at, **arguments)
    assert not result.get("isError"), result["content"]
    assert "structuredContent" not in result
    [block] = result["content"]
    return block["text"]


def handle_of(text: str) -> str:
    found = re.search(r"pecia://package/[0-9a-f]{32}", text)
    assert found, text
    return found[0]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/all"])
async def test_a_package_is_an_outline_within_its_budget(served: Served, path: str) -> None:
    text = await words(served, "ckf.compile", path, text=TEXT)
    assert estimate_tokens(text) <= 1500
    shorter = await words(served, "ckf.compile", path, text=TEXT, max_tokens=400)
    assert estimate_tokens(shorter) <= 400
    assert handle_of(text) == handle_of(shorter)
    for line in re.findall(r"^- [.\d]+ (.+?)(?: …)? @(\d+)$", text, re.MULTILINE):
        assert " ".join(TEXT[int(line[1]) :].split()).startswith(line[0])


async def test_the_reference_endpoint_still_gives_the_whole_package(served: Served) -> None:
    for path in ("/mcp/ckf", "/api/mcp"):
        result = await answer(served, "ckf.compile", path, text=TEXT)
        data = result["structuredContent"]
        assert {"format", "document", "package", "warnings", "metrics"} <= {*data}
        assert result["content"][0]["text"] == data["document"]
        assert len(data["package"]["exceptions"]) > 20


async def test_the_other_tools_take_the_handle(served: Served) -> None:
    handle = handle_of(await words(served, "ckf.compile", text=TEXT))
    sliced = (
        await answer(served, "ckf.slice", package=handle, query="loans of kind 7 to a school")
    )["structuredContent"]
    assert sliced["answered"]
    assert "within 47 days" in sliced["document"]
    part = json.loads(await words(served, "ckf.serialize", package=handle, sections=["exceptions"]))
    assert set(part) == {"metadata", "exceptions", "source_traceability"}
    whole = await words(served, "ckf.serialize", package=handle)
    assert json.loads(whole)["exceptions"] == part["exceptions"]
    same = (await answer(served, "ckf.diff", a=handle, b=whole))["structuredContent"]
    assert same["identical"]
    found = (await answer(served, "ckf.verify", package=handle, source_text=TEXT))[
        "structuredContent"
    ]
    assert found["holds"]
    valid = (await answer(served, "ckf.validate", package=handle))["structuredContent"]
    assert valid["valid"]
    part_of_whole = await words(served, "read", "/mcp", uri=handle, max_tokens=300)
    assert part_of_whole.startswith("# CKF")
    assert estimate_tokens(part_of_whole) < 400


async def test_one_call_gives_a_slice_or_sections(served: Served) -> None:
    text = await words(
        served, "ckf.compile", text=TEXT, query="loans of kind 7 to a school", max_tokens=600
    )
    assert "within 47 days" in text
    assert estimate_tokens(text) <= 600
    nothing = await words(served, "ckf.compile", text=TEXT, query="vaccination of parrots")
    assert "Nothing in the package is about this question." in nothing
    part = json.loads(await words(served, "ckf.compile", text=TEXT, sections=["concepts"]))
    assert part["concepts"]
    refused = await answer(served, "ckf.compile", text=TEXT, sections=["rules"])
    assert refused["isError"]
    assert "decision_rules" in refused["content"][0]["text"]


async def test_a_handle_is_its_callers_own_and_needs_the_right_to_the_source(
    served: Served, tmp_path: Path
) -> None:
    shore = await filled(served, tmp_path / "docs", {"loans.md": TEXT})
    uri = "pecia://file/docs/loans.md"
    handle = handle_of(await words(served, "ckf.compile", uri=uri))
    verified = (await answer(served, "ckf.verify", package=handle))["structuredContent"]
    assert verified["holds"]
    other = served.other(await served.token("bo"))
    asked = {"name": "ckf.slice", "arguments": {"package": handle, "query": "loans"}}
    refused = (await other.ask("/mcp/all", "tools/call", asked))["result"]
    assert refused["isError"]
    assert "compile again" in refused["content"][0]["text"]
    (shore.lake.folder / "loans.md").unlink()
    await shore.lake.crawl()
    gone = await answer(served, "ckf.slice", package=handle, query="loans")
    assert gone["isError"]


async def test_posts_and_examples_are_outlines_too(served: Served) -> None:
    example = await words(served, "ckf.example", topic="legal")
    assert estimate_tokens(example) <= 1500
    assert "ckf://example/legal" in example
    sliced = await answer(served, "ckf.slice", package="ckf://example/legal", query="who may")
    assert not sliced.get("isError")
    slug = SLUGS[0]
    post = await words(served, "ckf.fetch_post", slug=slug)
    assert estimate_tokens(post) <= 1500
    document = await words(served, "ckf.fetch_post", slug=slug, sections=["all"])
    parsed = await words(served, "ckf.parse", document=document)
    assert estimate_tokens(parsed) <= 1500
    assert handle_of(parsed)
