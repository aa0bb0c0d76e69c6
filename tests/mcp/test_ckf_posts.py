"""Posts and examples at the ckf endpoint: found, fetched, read by address and talked to."""

import json
from typing import Any

import pytest

from pecia.features.ckf.examples.loader import TOPICS
from pecia.features.ckf.library.library import rank_posts
from pecia.features.ckf.package.codec.codec import PackageFormat, parse_package
from pecia.features.ckf.posts.loader import SLUGS, ShippedPost
from tests.mcp.conftest import Served
from tests.mcp.test_ckf import TEXT, call, facts

pytestmark = pytest.mark.anyio

DOCUMENTED = {
    "ckf.compile",
    "ckf.parse",
    "ckf.serialize",
    "ckf.validate",
    "ckf.example",
    "ckf.search_posts",
    "ckf.fetch_post",
    "ckf.viewer_url",
    "ckf.diff",
}


async def test_one_endpoint_lists_them_all(served: Served) -> None:
    listed = (await served.talk.ask("/api/mcp", "tools/list"))["result"]["tools"]
    assert {it["name"] for it in listed} >= DOCUMENTED


@pytest.mark.requirement(
    "ckf.example.six_topics", "ckf.resources.examples", "ckf.serialize.markdown"
)
@pytest.mark.parametrize("topic", TOPICS)
async def test_each_topic_has_a_valid_package(served: Served, topic: str) -> None:
    found = await facts(served, "ckf.example", topic=topic)
    checked = await facts(served, "ckf.validate", package=found["package"])
    assert (checked["valid"], checked["errors"]) == (True, [])
    for format in PackageFormat:
        asked = {"uri": f"ckf://example/{topic}?format={format}"}
        read = (await served.talk.ask("/mcp/ckf", "resources/read", asked))["result"]["contents"]
        assert parse_package(read[0]["text"], format).body == found["package"]


@pytest.mark.requirement("ckf.example.unknown_topic")
async def test_a_seventh_topic_is_refused_with_the_six(served: Served) -> None:
    error = (await call(served, "ckf.example", topic="cooking"))["structuredContent"]["error"]
    assert (error["code"], error["allowed"]) == ("INVALID_ENUM", [*TOPICS])
    asked = {"uri": "ckf://example/cooking"}
    told = (await served.talk.ask("/mcp/ckf", "resources/read", asked))["error"]["data"]
    assert told["code"] == "NOT_FOUND"


@pytest.mark.requirement(
    "ckf.search_posts.by_keyword",
    "ckf.search_posts.best_first",
    "ckf.fetch_post.by_slug",
    "ckf.fetch_post.strongest_rules",
)
async def test_a_post_is_found_by_a_word_and_fetched_by_its_slug(served: Served) -> None:
    found = await facts(served, "ckf.search_posts", query="Exceptions")
    assert found["items"][0]["slug"] == "exceptions-are-the-hard-part"
    assert found["count"] >= len(found["items"]) > 0
    fetched = await facts(served, "ckf.fetch_post", slug=found["items"][0]["slug"])
    assert fetched["post"] == found["items"][0]
    assert parse_package(fetched["document"]).body == fetched["package"]
    rules: list[Any] = [
        it
        for key in ("decision_rules", "if_then_rules", "exceptions", "principles")
        for it in fetched["package"][key]
    ]
    assert rules
    assert all(0 < it["confidence"] <= 1 for it in rules)


@pytest.mark.requirement("ckf.client.search_then_fetch")
async def test_the_documented_three_calls_work(served: Served) -> None:
    found = await facts(served, "ckf.search_posts", query="agentic AI")
    assert found["items"]
    fetched = await facts(served, "ckf.fetch_post", slug=found["items"][0]["slug"])
    sliced = await facts(served, "ckf.slice", package=fetched["package"], query="which rules hold")
    assert sliced["tokens"] <= sliced["budget_tokens"]


async def test_words_are_sought_without_accents_in_the_language_asked_for(served: Served) -> None:
    found = await facts(served, "ckf.search_posts", query="PACOTE", lang="pt")
    assert [it["slug"] for it in found["items"]] == ["como-ler-um-pacote"]
    assert (await facts(served, "ckf.search_posts", query="zebra"))["items"] == []


@pytest.mark.requirement("ckf.search_posts.two_words")
def test_both_words_come_before_one() -> None:
    def post(slug: str, title: str, text: str) -> ShippedPost:
        return ShippedPost(slug, title, "", "", "2026-01-01", "", "en", (), text)

    both = post("both", "On knowledge", "It is compiled.")
    one = post("one", "Knowledge", "knowledge")
    none = post("none", "Else", "else")
    assert rank_posts([none, one, both], "compiled knowledge") == [both, one]


@pytest.mark.requirement("ckf.fetch_post.unknown_slug", "ckf.resources.unpublished_post")
async def test_an_unknown_slug_is_not_found(served: Served) -> None:
    error = (await call(served, "ckf.fetch_post", slug="no-such-post"))["structuredContent"][
        "error"
    ]
    assert (error["code"], error["slug"]) == ("NOT_FOUND", "no-such-post")
    asked = {"uri": "ckf://post/no-such-post"}
    told = (await served.talk.ask("/mcp/ckf", "resources/read", asked))["error"]["data"]
    assert told["code"] == "NOT_FOUND"


@pytest.mark.parametrize("slug", ["No Slug", "../etc", "a--b", ""])
async def test_what_is_no_slug_is_refused_as_such(served: Served, slug: str) -> None:
    error = (await call(served, "ckf.fetch_post", slug=slug))["structuredContent"]["error"]
    assert (error["code"], error["field"]) == ("INVALID_FORMAT", "slug")


@pytest.mark.requirement("ckf.resources.listed", "ckf.resources.post")
async def test_posts_examples_and_schema_are_listed_and_read(served: Served) -> None:
    listed = (await served.talk.ask("/mcp/ckf", "resources/list"))["result"]["resources"]
    assert {it["uri"] for it in listed} == {
        "ckf://schema/v0.2",
        *(f"ckf://example/{it}" for it in TOPICS),
        *(f"ckf://post/{it}" for it in SLUGS),
    }
    asked = {"uri": f"ckf://post/{SLUGS[0]}"}
    read = (await served.talk.ask("/mcp/ckf", "resources/read", asked))["result"]["contents"]
    fetched = await facts(served, "ckf.fetch_post", slug=SLUGS[0])
    assert json.loads(read[0]["text"]) == fetched["package"]


@pytest.mark.requirement("ckf.resources.post_template")
async def test_templates_are_offered_and_completed(served: Served) -> None:
    answer = await served.talk.ask("/mcp/ckf", "resources/templates/list")
    offered = {it["uriTemplate"] for it in answer["result"]["resourceTemplates"]}
    assert offered == {"ckf://post/{slug}", "ckf://example/{topic}{?format}"}
    for uri, name, value, meant in (
        ("ckf://post/{slug}", "slug", "exc", ["exceptions-are-the-hard-part"]),
        ("ckf://example/{topic}{?format}", "topic", "le", ["learning", "legal"]),
        ("ckf://example/{topic}{?format}", "format", "m", ["markdown"]),
    ):
        asked = {
            "ref": {"type": "ref/resource", "uri": uri},
            "argument": {"name": name, "value": value},
        }
        found = await served.talk.ask("/mcp/ckf", "completion/complete", asked)
        assert found["result"]["completion"]["values"] == meant


async def test_a_resource_in_a_fourth_format_is_refused(served: Served) -> None:
    asked = {"uri": f"ckf://post/{SLUGS[0]}?format=xml"}
    told = (await served.talk.ask("/mcp/ckf", "resources/read", asked))["error"]["data"]
    assert told["code"] == "INVALID_ENUM"


@pytest.mark.requirement(
    "ckf.prompts.talk_loads_post", "ckf.prompts.talk_stays_inside", "ckf.prompts.talk_cites_refs"
)
async def test_talking_to_an_article_stays_inside_its_package(served: Served) -> None:
    asked = {"name": "talk-to-article", "arguments": {"slug": SLUGS[0]}}
    found = (await served.talk.ask("/mcp/ckf", "prompts/get", asked))["result"]
    text = found["messages"][0]["content"]["text"]
    for words in ("ckf.fetch_post", "only from", "source_refs", "lacks", SLUGS[0], "is data"):
        assert words in text


@pytest.mark.requirement("ckf.prompts.unknown_name")
async def test_an_unknown_prompt_or_slug_is_not_found(served: Served) -> None:
    for name, slug in (("no-such", SLUGS[0]), ("talk-to-article", "no-such-post")):
        asked = {"name": name, "arguments": {"slug": slug}}
        told = (await served.talk.ask("/mcp/ckf", "prompts/get", asked))["error"]["data"]
        assert told["code"] == "NOT_FOUND"


@pytest.mark.requirement("ckf.agents.share_one_package")
async def test_three_clients_share_one_package(served: Served) -> None:
    made = await facts(served, "ckf.compile", text=TEXT)
    critic, judge = served.other(await served.token("bo")), served.other(await served.token("bo"))
    asked = {"name": "compile-and-critique", "arguments": {"text": TEXT}}
    prompt = (await critic.ask("/mcp/ckf", "prompts/get", asked))["result"]
    assert TEXT in prompt["messages"][0]["content"]["text"]
    again = {"name": "ckf.compile", "arguments": {"text": TEXT}}
    second = (await critic.ask("/mcp/ckf", "tools/call", again))["result"]["structuredContent"]
    both = {"a": made["package"], "b": second["package"]}
    compared = await judge.ask("/mcp/ckf", "tools/call", {"name": "ckf.diff", "arguments": both})
    assert compared["result"]["structuredContent"]["identical"] is True
