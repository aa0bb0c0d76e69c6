"""Answers where agents meet every feature: few tokens, each passage once, and what it is."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.corpus.catalog import texts
from pecia.kernel.errors import Json
from pecia.kernel.text.tokens import estimate_tokens
from tests.conftest import CONTEXT
from tests.mcp.conftest import Serve, Served
from tests.mcp.raw_mcp import RawMcp
from tests.mcp.test_lake import ServedLake, filled

pytestmark = pytest.mark.anyio

DESK = "/mcp"
GUIDES = {
    f"guides/{number}.md": f"# Guide {number}\n\n"
    + "\n\n".join(
        f"## Step {step}\n\nStep {step} of guide {number}: turn the spoke opposite the wobble by "
        f"{step * number} degrees. Then check the rim with gauge {number}-{step}, and write down "
        "what it shows before anything else is turned. " * 3
        for step in range(1, 7)
    )
    for number in range(1, 12)
}
TABLE = "name,amount,town\n" + "\n".join(f"person{it},{it * 7},town{it}" for it in range(400))


@pytest.fixture
async def served(serve: Serve) -> AsyncGenerator[Served]:
    async with serve() as found:
        yield found


@pytest.fixture(scope="module")
async def shore(running: Served, tmp_path_factory: pytest.TempPathFactory) -> ServedLake:
    """One lake for all tests that only ask."""
    folder = tmp_path_factory.mktemp("shore")
    return await filled(running, folder / "docs", {**GUIDES, "people.csv": TABLE})


async def ask(talk: RawMcp, tool: str, at: str = DESK, /, **arguments: Json) -> dict[str, Any]:
    answer = await talk.ask(at, "tools/call", {"name": tool, "arguments": arguments})
    return answer["result"]


def text_of(answer: dict[str, Any]) -> str:
    [block] = answer["content"]
    return block["text"]


def cost(answer: dict[str, Any]) -> int:
    return estimate_tokens(text_of(answer)) + estimate_tokens(
        json.dumps(answer["structuredContent"], ensure_ascii=False, separators=(",", ":"))
    )


@pytest.mark.parametrize("path", [DESK, "/mcp/desk", "/mcp/all"])
async def test_a_search_gives_eight_passages_each_once_in_text_and_in_data(
    shore: ServedLake, path: str
) -> None:
    answer = await ask(shore.served.talk, "search_content", path, query="spoke wobble")
    text, hits = text_of(answer), answer["structuredContent"]["hits"]
    assert len(hits) == 8
    assert "null" not in text
    assert not text.startswith("{")
    for hit in hits:
        assert f"\n{hit['uri']} chunk {hit['seq']}\n" in f"\n{text}"
        assert hit["kind"] == "original"
        quoted = "\n".join(f"> {it}" for it in hit["text"].splitlines() if it.strip())
        assert text.count(quoted) == 1
        body = (shore.lake.folder / hit["key"]).read_text()
        assert "\n…\n".join(body[start:end].strip() for start, end in hit["spans"]) == hit["text"]
        assert None not in hit.values()
        assert "url" not in hit
    spans = [(it["uri"], *span) for it in hits for span in it["spans"]]
    for uri, start, end in spans:
        others = [it for it in spans if it[0] == uri and it != (uri, start, end)]
        assert all(end <= other[1] or other[2] <= start for other in others)


async def test_a_title_is_said_once(shore: ServedLake) -> None:
    answer = await ask(shore.served.talk, "search_content", query="guide 3 step 1")
    first = [it for it in answer["structuredContent"]["hits"] if it["seq"] == 0]
    assert first
    for hit in first:
        assert f"# {hit['title']}" not in hit["text"].splitlines()
        body = (shore.lake.folder / hit["key"]).read_text()
        assert "\n…\n".join(body[start:end].strip() for start, end in hit["spans"]) == hit["text"]


async def test_text_is_shown_rather_than_the_frontmatter_above_it(
    served: Served, tmp_path: Path
) -> None:
    head = "---\ntitle: Stolen bike\nowner: the fleet lead\ndescription: Stolen bikes.\n---\n\n"
    body = "# Stolen bike\n\nA stolen bike is reported to the police within 24 hours.\n\n" * 8
    lake = await filled(served, tmp_path / "docs", {"stolen.md": head + body})
    for words, is_head in (("stolen bike", False), ("fleet lead", True)):
        [hit] = (await ask(lake.served.talk, "search_content", query=words))["structuredContent"][
            "hits"
        ]
        assert ("owner: the fleet lead" in hit["text"]) == is_head, words
        assert (head + body)[slice(*hit["spans"][0])].strip() == hit["text"]
        reference = await ask(lake.served.talk, "search_content", "/mcp/lake", query=words)
        first = reference["structuredContent"]["hits"][0]
        assert ("owner" in first["snippet"]) == is_head, words


async def test_the_endpoint_of_the_reference_answers_in_its_shape(shore: ServedLake) -> None:
    answer = await ask(shore.served.talk, "search_content", "/mcp/lake", query="spoke wobble")
    assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"]
    assert len(answer["structuredContent"]["hits"]) == 20
    assert {"snippet", "url", "truncated", "page_no"} <= {*answer["structuredContent"]["hits"][0]}


async def test_a_budget_holds_for_the_whole_answer_and_the_cursor_shows_the_rest(
    shore: ServedLake,
) -> None:
    seen: list[tuple[str, int]] = []
    cursor: dict[str, Json] = {}
    budget = 900
    for _ in range(60):
        page = await ask(
            shore.served.talk, "search_content", query="rim gauge", max_tokens=budget, **cursor
        )
        data = page["structuredContent"]
        assert cost(page) <= budget
        assert data["hits"]
        seen += [(it["uri"], it["seq"]) for it in data["hits"]]
        if left := data.get("left_out"):
            assert f"{left} more hit{'s' * (left > 1)} did not fit" in text_of(page)
        if "next_cursor" not in data:
            break
        assert data["next_cursor"] in text_of(page)
        cursor = {"cursor": data["next_cursor"]}
    assert len(seen) == len({*seen}) > 8
    assert {uri for uri, _ in seen} == {f"pecia://file/docs/{key}" for key in GUIDES}
    longer = await ask(shore.served.talk, "search_content", query="rim gauge", max_tokens=20_000)
    usual = await ask(shore.served.talk, "search_content", query="rim gauge")
    assert cost(usual) < cost(longer) <= 20_000


BOILER = {
    f"boiler/{part}.md": f"# Boiler manual, volume {part}\n\n"
    + "\n\n".join(
        f"## Valve {part}.{number}\n\nThe valve is part of every boiler that the works has made "
        "since it moved to the river, and a boiler is never run without one. Whoever runs a boiler "
        "reads this page first. The keeper of the boiler writes down when the valve was seen, by "
        "whom, and in which mode the boiler ran on that day, for the inspector who comes in spring."
        + (
            " In automatic mode a relief of the valve is run at 1350 millibar by default."
            if (part, number) == (2, 2)
            else " Nothing else is known of this valve."
        )
        + " After that the valve is greased, the boiler is cleaned, the lamp is put out, the door "
        "is shut and the key is given to the porter, who puts it on the nail beside the clock."
        for number in range(1, 5)
    )
    for part in range(1, 5)
}
RELIEF = "At how many millibar does the boiler run an automatic relief of the valve by default?"


@pytest.mark.parametrize("budget", [350, 500, 800, 1500])
async def test_a_budget_is_used_and_the_line_that_answers_is_kept(
    served: Served, tmp_path: Path, budget: int
) -> None:
    await filled(served, tmp_path / "docs", BOILER)
    page = await ask(served.talk, "search_content", query=RELIEF, limit=3, max_tokens=budget)
    assert cost(page) <= budget
    assert "1350 millibar" in text_of(page)
    assert "1350 millibar" in page["structuredContent"]["hits"][0]["text"]
    shown = sum(len(it["text"]) for it in page["structuredContent"]["hits"])
    whole = await ask(served.talk, "search_content", query=RELIEF, limit=3, max_tokens=50_000)
    most = sum(len(it["text"]) for it in whole["structuredContent"]["hits"])
    assert cost(page) >= 0.75 * budget or shown == most


async def test_a_small_budget_still_shows_a_hit(served: Served, tmp_path: Path) -> None:
    await filled(served, tmp_path / "docs", BOILER)
    page = await ask(served.talk, "search_content", query=RELIEF, limit=3, max_tokens=300)
    assert cost(page) <= 300
    assert len(page["structuredContent"]["hits"]) == 1


@pytest.mark.parametrize("budget", [250, 300])
async def test_the_smallest_budget_shows_a_hit_of_a_long_name(
    served: Served, tmp_path: Path, budget: int
) -> None:
    title = "Handbook of the works at the river, with all that is known of boilers and of valves"
    key = "manuals-of-the-works/handbook-of-the-boilers-at-the-river.md"
    text = f"# {title}\n\n## Reliefs\n\nThe valve is relieved at 1350 millibar.\n"
    await filled(served, tmp_path / "docs", {key: text, **BOILER})
    asked = {"query": "valve relieved at millibar", "mode": "lexical", "max_tokens": budget}
    page = await ask(served.talk, "search_content", **asked)
    assert cost(page) <= budget
    [hit] = page["structuredContent"]["hits"]
    assert (hit["uri"], hit["seq"]) == (f"pecia://file/docs/{key}", 0)
    assert hit["text"]
    cursor = page["structuredContent"]["next_cursor"]
    following = await ask(served.talk, "search_content", cursor=cursor, **asked)
    assert following["structuredContent"]["hits"][0]["uri"] != hit["uri"]


async def test_a_text_that_was_kept_in_part_says_so_where_it_is_read(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "MAX_TEXT_CHARS", 2_000)
    await filled(served, tmp_path / "docs", {"long.txt": "A heron stands here.\n" * 500})
    answer = await ask(served.talk, "read", uri="pecia://file/docs/long.txt")
    assert "[too_large: Its text has 10,500 characters; the first 1,995 are kept.]" in text_of(
        answer
    )


async def test_no_document_fills_a_page_and_what_it_has_more_is_said_and_reached(
    served: Served, tmp_path: Path
) -> None:
    manual = "\n\n".join(
        f"## Part {part}\n\nThe gauge of part {part} shows the pressure of the boiler, and that "
        f"gauge is read by {'the keeper ' * part}. " + f"Line {part} of the manual. " * 25
        for part in range(1, 15)
    )
    notes = {f"note-{it}.md": f"Note {it}: somebody read a gauge on day {it}." for it in range(6)}
    shore = await filled(served, tmp_path / "docs", {"boiler.md": manual, **notes})
    page = await ask(
        shore.served.talk, "search_content", "/mcp/lake", query="boiler gauge pressure", limit=8
    )
    found = page["structuredContent"]
    keys = [it["key"] for it in found["hits"]]
    assert keys.count("boiler.md") < len(keys)
    assert keys[0] == "boiler.md"
    [more] = found["more"]
    assert more["uri"] == "pecia://file/docs/boiler.md"
    assert more["passages"] > 0
    seen = {(it["key"], it["seq"]) for it in found["hits"]}
    count = len(seen)
    while found.get("next_cursor"):
        page = await ask(
            shore.served.talk,
            "search_content",
            "/mcp/lake",
            query="boiler gauge pressure",
            limit=8,
            cursor=found["next_cursor"],
        )
        found = page["structuredContent"]
        hits = {(it["key"], it["seq"]) for it in found["hits"]}
        assert not hits & seen
        seen |= hits
    assert sum(key == "boiler.md" for key, _ in seen) >= more["passages"] + keys.count("boiler.md")
    assert len(seen) > count
    lean = await ask(shore.served.talk, "search_content", query="boiler gauge pressure")
    assert "other passages of pecia://file/docs/boiler.md" in text_of(lean)
    inside = await ask(
        shore.served.talk, "search_content", query="boiler gauge pressure", path="boiler.md"
    )
    assert {it["key"] for it in inside["structuredContent"]["hits"]} == {"boiler.md"}
    assert len(inside["structuredContent"]["hits"]) > 4


async def test_an_answer_says_how_likely_it_answers_and_that_nothing_here_does(
    shore: ServedLake,
) -> None:
    right = await ask(shore.served.talk, "search_content", query="spoke wobble")
    wrong = await ask(
        shore.served.talk,
        "search_content",
        query="Which treaty ended the war of the Spanish succession in the spoke year?",
    )
    assert "unlikely" not in right["structuredContent"]
    assert right["structuredContent"]["hits"][0]["match"] > 0.3
    assert not text_of(right).startswith("Nothing here")
    assert wrong["structuredContent"]["unlikely"] is True
    assert text_of(wrong).startswith("No text here has: treaty, ended, war, spanish, succession.")
    assert "\n\nNothing here seems to answer this. Nearest:\n\n[1] " in text_of(wrong)


async def test_download_links_come_when_they_are_asked_for_one_per_file(shore: ServedLake) -> None:
    answer = await ask(shore.served.talk, "search_content", query="spoke wobble", links=True)
    hits = answer["structuredContent"]["hits"]
    linked = [it for it in hits if "url" in it]
    assert len(linked) == len({it["key"] for it in hits})
    address = linked[0]["url"].partition("?")[2]
    opened = await shore.served.talk.http.get(f"/files/download?{address}")
    assert opened.content.decode() == GUIDES[linked[0]["key"]]
    console = f"For people, a hit opens at {shore.served.url}"
    assert console.rpartition(":")[0] in text_of(answer)


async def test_a_row_of_a_table_comes_with_the_header(shore: ServedLake) -> None:
    talk = shore.served.talk
    answer = await ask(talk, "search_content", query="person377", mode="lexical")
    hit = answer["structuredContent"]["hits"][0]
    assert hit["text"].startswith("| name | amount | town |\n")
    assert "| person377 | 2639 | town377 |" in hit["text"]
    for tool, given in (
        ("read", {"uri": hit["uri"]}),
        ("get_file_window", {"source_id": "docs", "key": "people.csv"}),
    ):
        read = text_of(await ask(talk, tool, start=hit["seq"], **given))
        assert "\n| name | amount | town |\n" in read
        assert "| person377 |" in read


async def test_words_that_nothing_has_are_told(shore: ServedLake) -> None:
    talk = shore.served.talk
    answer = await ask(talk, "search_content", query="check the rim with the zeppelin gauge")
    assert answer["structuredContent"]["absent"] == ["zeppelin"]
    assert text_of(answer).startswith("No text here has: zeppelin.\n")
    known = await ask(talk, "search_content", query="check the rim with the gauge")
    assert "absent" not in known["structuredContent"]
    said = text_of(await ask(talk, "ask", question="check the rim with the zeppelin gauge"))
    assert "No text here has: zeppelin." in said
    assert "Passages that answer" not in said


async def test_an_endless_word_of_a_query_is_not_said_again(shore: ServedLake) -> None:
    answer = await ask(shore.served.talk, "search_content", query=f"rim {'z' * 4_000}")
    assert "zzz" not in text_of(answer)
    assert "absent" not in answer["structuredContent"]


@pytest.mark.parametrize("path", [DESK, "/mcp/all"])
async def test_a_file_is_read_to_its_end_in_parts_that_say_how_to_go_on(
    shore: ServedLake, path: str
) -> None:
    uri, start, read = "pecia://file/docs/guides/3.md", 0, ""
    for _ in range(30):
        answer = await ask(shore.served.talk, "read", path, uri=uri, start=start, max_tokens=300)
        assert "structuredContent" not in answer
        head, _, body = text_of(answer).partition("\n\n")
        assert head.startswith(f"Guide 3\n{uri} chunks {start} to ")
        body, more, after = body.partition("\n\n[More: start ")
        read += body
        if not more:
            break
        start = int(after.rstrip("]"))
    assert read.split() == GUIDES["guides/3.md"].split()


async def test_a_uri_of_an_unknown_kind_is_refused_with_those_that_can_be_read(
    served: Served,
) -> None:
    answer = await ask(served.talk, "read", uri="guides/3.md")
    assert answer["isError"] is True
    assert "pecia://" in text_of(answer)
    assert "search_content" in text_of(answer)


async def test_a_wrong_argument_is_answered_with_what_is_allowed_in_the_text(
    shore: ServedLake,
) -> None:
    wrong = await ask(shore.served.talk, "search_content", query="x", limit=1000)
    assert "At most: 100" in text_of(wrong) or "100" in text_of(wrong)
    absent = await ask(shore.served.talk, "list_files", source_id="nope")
    assert "Next: " in text_of(absent)
    # The next call is a tool, not a command.
    assert "`list_sources`" in text_of(absent)
    assert "pecia source" not in text_of(absent)


async def test_both_limits_and_a_misnamed_argument_stand_in_the_text(shore: ServedLake) -> None:
    few = await ask(shore.served.talk, "read", uri="pecia://file/a/b.md", max_tokens=10)
    assert "Allowed: 200 to 100000" in text_of(few)
    misnamed = await ask(shore.served.talk, "search_content", q="x")
    assert 'Field "query" is required' in text_of(misnamed)
    assert 'Field "q" is not an argument of this tool' in text_of(misnamed)
    assert "max_tokens" in text_of(misnamed)


async def test_a_list_has_no_line_for_what_holds_nothing(served: Served) -> None:
    listed = await ask(served.talk, "list_documents", "/mcp/all")
    assert text_of(listed)
    assert "ui:" not in text_of(listed)


@pytest.fixture
async def spaces(served: Served, tmp_path: Path) -> Served:
    for name in ("handbook", "notes"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "found.md").write_text(f"# Found in {name}\n\nA lantern of brass.\n")
        given: dict[str, Json] = {"folder": str(folder), "name": name, "trim_mode": "open"}
        await served.app.call(served.owner, "add_space", given, CONTEXT)
    return served


async def test_several_spaces_are_named_where_one_must_be_chosen(spaces: Served) -> None:
    answer = await ask(spaces.talk, "read_document", path="found.md")
    assert "handbook, notes" in text_of(answer)
    page: dict[str, Json] = {"docName": "proj/delta", "markdown": "# Delta\n"}
    await ask(spaces.talk, "write_document", space="notes", **page)
    for tool, given in (
        ("read_document", {"path": "proj/delta.md"}),
        ("edit_document", {"docName": "proj/delta", "find": "Delta", "replace": "D"}),
        ("write_document", page),
        ("get_backlinks", {"docName": "proj/delta"}),
    ):
        refused = await ask(spaces.talk, tool, "/mcp/all", **given)
        assert '"space": "notes", which has \'proj/delta' in text_of(refused), tool
    unknown = await ask(spaces.talk, "read_document", path="proj/none.md")
    assert "which has" not in text_of(unknown)


async def test_what_stands_beside_a_better_chunk_is_part_of_its_passage(
    served: Served, tmp_path: Path
) -> None:
    opening = "The lookup table protocol sends and receives a lookup of the table. " * 12
    answer = "Send and receive operations of the lookup table must complete in 100 seconds. "
    rest = "Other words about the mail system and its many queues stand here for a while. " * 12
    others = {f"{it}.md": f"# Other {it}\n\nA lookup table of number {it}.\n" for it in range(12)}
    text = f"# Table\n\n{opening}\n\n{answer}{rest}\n"
    shore = await filled(served, tmp_path / "docs", {"table.md": text, **others})
    query = "time limit to send and receive with the lookup table protocol"
    found = await ask(shore.served.talk, "search_content", query=query, mode="lexical")
    [hit] = [it for it in found["structuredContent"]["hits"][:5] if "100 seconds" in it["text"]]
    assert hit["key"] == "table.md"
    body = (shore.lake.folder / "table.md").read_text()
    pieces = [body[start:end].strip() for start, end in hit["spans"]]
    assert "\n…\n".join(pieces) == hit["text"]


async def test_every_hit_says_what_it_is(spaces: Served, tmp_path: Path) -> None:
    talk = spaces.talk
    shore = await filled(spaces, tmp_path / "docs", {"lantern.md": "The lantern hangs north.\n"})
    remembered = "Remember: the lantern of the north gate is lit at seven o'clock."
    await ask(talk, "cipher_extract_and_operate_memory", interaction=remembered)
    page: dict[str, Json] = {"docName": "agent", "position": "replace", "space": "notes"}
    await ask(talk, "write_document", markdown="# Agent\n\nThe lantern is of tin.\n", **page)
    page |= {"docName": "person", "markdown": "# Person\n\nThe lantern is of glass.\n"}
    await spaces.app.call(spaces.owner, "write_document", page, CONTEXT)
    await ask(talk, "list_documents", space="notes")
    await shore.lake.index()
    answer = await ask(talk, "search_content", query="lantern", mode="lexical")
    kinds = {it["title"]: it["kind"] for it in answer["structuredContent"]["hits"]}
    [memory] = [title for title, kind in kinds.items() if kind == "memory"]
    assert memory.startswith("Remember: the lantern of the north gate")
    assert kinds["lantern.md"] == kinds["Found in notes"] == "original"
    assert kinds["Agent"] == "written by an agent"
    assert kinds["Person"] == "written by a person"
    assert "Agent (written by an agent)\n" in text_of(answer)
    recalled = await ask(talk, "cipher_memory_search", query="when is the lantern lit")
    [hit] = recalled["structuredContent"]["hits"]
    assert (hit["title"], hit["kind"]) == (memory, "memory")
    read = await ask(talk, "read", uri=hit["uri"])
    assert "lit at seven o'clock" in text_of(read)


async def test_what_repeats_a_file_names_it_and_ranks_below_it(
    spaces: Served, tmp_path: Path
) -> None:
    talk = spaces.talk
    filler = "Wheels, spokes and rims are kept in the shed behind the workshop. " * 20
    rule = "The lantern of the north gate is lit at seven and put out at dawn by the gatekeeper."
    files = {"gate.md": f"# Gate\n\n{rule} {filler}\n", "shed.md": f"# Shed\n\n{filler}\n"}
    shore = await filled(spaces, tmp_path / "docs", files)
    memory = "Remember: the lantern of the north gate is lit at seven."
    await ask(talk, "cipher_extract_and_operate_memory", interaction=memory)
    note = f"# Lantern of the north gate\n\n> {rule}\n\nSource: pecia://file/docs/gate.md\n"
    page: dict[str, Json] = {"docName": "lantern", "position": "replace", "space": "notes"}
    await ask(talk, "write_document", markdown=note, **page)
    other = "# Lantern shop\n\nThe shop sells each lantern with oil, matches and a tin gate.\n"
    await ask(talk, "write_document", **{**page, "docName": "shop", "markdown": other})
    await ask(talk, "list_documents", space="notes")
    await shore.lake.index()
    answer = await ask(talk, "search_content", query="when is the lantern of the north gate lit")
    hits = answer["structuredContent"]["hits"]
    kinds = [it["kind"] for it in hits]
    assert hits[0]["uri"] == "pecia://file/docs/gate.md"
    assert {"memory", "written by an agent"} <= {*kinds[1:]}
    repeated = {it["title"]: it.get("repeats") for it in hits}
    assert repeated["Lantern of the north gate"] == "pecia://file/docs/gate.md"
    assert [it["repeats"] for it in hits if it["kind"] == "memory"] == [hits[0]["uri"]]
    # What says something of its own repeats nothing.
    assert repeated["Lantern shop"] is None
    assert "Repeats pecia://file/docs/gate.md: cite that" in text_of(answer)
    ranks = [it["rank"] for it in hits]
    assert ranks == sorted(ranks, reverse=True)


async def test_the_desk_lists_a_wiki_only_to_who_can_see_one(
    served: Served, spaces: Served
) -> None:
    async def listed(talk: RawMcp) -> set[str]:
        found = await talk.ask(DESK, "tools/list")
        return {it["name"] for it in found["result"]["tools"]}

    assert {"read_document", "write_document", "read", "list_sources"} <= await listed(served.talk)
    for name in ("handbook", "notes"):
        given: dict[str, Json] = {"name": name, "trim_mode": "per_file"}
        await served.app.call(served.owner, "set_space", given, CONTEXT)
    bo = served.other(await served.token("bo"))
    assert not {"read_document", "write_document", "read_file"} & await listed(bo)


@pytest.mark.parametrize("path", [DESK, "/mcp/all", "/mcp/lake", "/mcp/wiki"])
async def test_instructions_name_what_the_caller_sees_and_only_that(
    spaces: Served, tmp_path: Path, path: str
) -> None:
    await filled(spaces, tmp_path / "docs", {"a.md": "A.\n"})
    said = (await spaces.other().begin(path))["result"]["instructions"]
    modern = (await spaces.talk.modern(path, "server/discover", {})).json()["result"]
    assert modern["instructions"] == said
    assert estimate_tokens(said) <= 400
    if path != "/mcp/wiki":
        assert "docs (folder)" in said
    if path != "/mcp/lake":
        assert "handbook, notes" in said
    await spaces.app.call(
        spaces.owner, "set_source", {"source_id": "docs", "trim_mode": "per_file"}, CONTEXT
    )
    for name in ("handbook", "notes"):
        given: dict[str, Json] = {"name": name, "trim_mode": "per_file"}
        await spaces.app.call(spaces.owner, "set_space", given, CONTEXT)
    reader = spaces.other(await spaces.token("bo", ["pecia.search", "pecia.read"]))
    hidden = (await reader.begin(path))["result"]["instructions"]
    assert not any(it in hidden for it in ("docs (folder)", "handbook, notes"))
    if path == DESK:
        assert "write_document" in said
        assert "write_document" not in hidden


@pytest.mark.parametrize(
    "path", ["/mcp/cipher", "/mcp/memory", "/mcp/ckf", "/mcp/hub", "/mcp/admin"]
)
async def test_every_endpoint_has_instructions(served: Served, path: str) -> None:
    said = (await served.other().begin(path))["result"]["instructions"]
    assert 60 <= estimate_tokens(said) <= 300
