"""Suggestions: changes that wait, are talked about, and are accepted or rejected piece by piece."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.conftest import CONTEXT
from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

PAGE = (
    "# Leave\n\nEverybody has thirty days of leave in a year.\n\n"
    "Requests go to the head of the department, in writing.\n\n"
    "## Carry over\n\nDays that are left expire at the end of March.\n"
)
READERS = "folders:\n  - match: open/**\n    suggest: readers\n"
AGENTS = "folders:\n  - match: '**'\n    suggest: agents\n"


async def suggest(space: Space, name: str = "leave", /, **arguments: Any) -> str:
    made = await space.value("edit_document", docName=name, suggest=True, **arguments)
    return str(made["suggestion"])


async def read(space: Space, id_: str) -> dict[str, Any]:
    return await space.value("read_suggestion", suggestion=id_)


async def as_person(space: Space, tool: str, /, **arguments: Any) -> Mapping[str, Any]:
    """Not over MCP: the owner of the machine at the command line."""
    asked = {"space": space.name, **arguments}
    done = await space.served.app.call(space.served.ana, f"wiki.{tool}", asked, CONTEXT)
    assert isinstance(done.structured, dict)
    return done.structured


async def test_a_suggestion_waits_until_it_is_accepted_and_is_then_a_version_of_its_author(
    space: Space,
) -> None:
    space.write({"leave.md": PAGE})
    made = await space.ask(
        "edit_document",
        docName="leave",
        find="thirty",
        replace="twenty-eight",
        summary="As in the contract",
        suggest=True,
    )
    assert "unchanged" in made.text
    assert space.read("leave.md") == PAGE
    [row] = (await space.value("list_suggestions"))["suggestions"]
    assert row["suggestion"] == made.value["suggestion"]
    assert (row["docName"], row["state"], row["open"], row["changed"]) == ("leave", "open", 1, 0)
    assert row["summary"] == "As in the contract"
    assert (await space.value("read_document", path="leave.md"))["openSuggestions"] == 1
    [piece] = (await read(space, row["suggestion"]))["pieces"]
    assert (piece["old"], piece["new"], piece["line"]) == ("thirty", "twenty-eight", 3)
    done = await space.value("accept_suggestion", suggestion=row["suggestion"])
    assert (done["pieces"], done["state"]) == ([1], "closed")
    assert space.read("leave.md") == PAGE.replace("thirty", "twenty-eight")
    latest = (await space.value("get_history", docName="leave"))["entries"][0]
    assert latest["contributors"][0]["id"] == row["writerId"]
    assert latest["contributors"][0]["summaries"] == ["As in the contract"]
    assert latest["message"].startswith("suggestion: leave")
    assert "openSuggestions" not in await space.value("read_document", path="leave.md")
    again = await space.ask("accept_suggestion", suggestion=row["suggestion"])
    assert again.error["code"] == "CONFLICT"


async def test_pieces_are_accepted_and_rejected_one_by_one(space: Space) -> None:
    space.write({"leave.md": PAGE})
    new = PAGE.replace("thirty", "28").replace("in writing", "by mail").replace("March", "June")
    made = await space.value(
        "write_document", docName="leave", markdown=new, position="replace", suggest=True
    )
    id_ = made["suggestion"]
    assert made["pieces"] == 3
    await space.value("accept_suggestion", suggestion=id_, pieces=[3])
    await space.value("reject_suggestion", suggestion=id_, pieces=[1], comment="Not agreed.")
    twice = await space.ask("accept_suggestion", suggestion=id_, pieces=[1])
    assert "rejected already" in twice.error["message"]
    unknown = await space.ask("accept_suggestion", suggestion=id_, pieces=[4])
    assert unknown.error["allowed"] == [2]
    await space.value("accept_suggestion", suggestion=id_)
    assert space.read("leave.md") == new.replace("28", "thirty")
    found = await read(space, id_)
    assert [it["state"] for it in found["pieces"]] == ["rejected", "accepted", "accepted"]
    assert [it["text"] for it in found["comments"]] == ["Not agreed."]


async def test_a_piece_is_found_again_wherever_its_text_went(space: Space) -> None:
    space.write({"leave.md": PAGE})
    id_ = await suggest(space, find="expire at the end of March", replace="never expire")
    moved = (
        "# Leave\n\nNew intro.\n\n## Carry over\n\nDays that are left expire at the end of March.\n"
    )
    space.write({"leave.md": moved + "\nRequests go to the office.\n"})
    found = (await read(space, id_))["pieces"][0]
    assert found["line"] == 7
    await space.value("accept_suggestion", suggestion=id_)
    assert "left never expire.\n\nRequests go to the office.\n" in space.read("leave.md")


async def test_a_piece_whose_text_changed_says_so_and_is_never_lost(space: Space) -> None:
    space.write({"leave.md": PAGE})
    id_ = await suggest(space, find="thirty days", replace="forty days")
    await space.value(
        "edit_document", docName="leave", find="has thirty days of leave", replace="has some leave"
    )
    [row] = (await space.value("list_suggestions"))["suggestions"]
    assert row["changed"] == 1
    [piece] = (await read(space, id_))["pieces"]
    assert piece["changed"] == "the text it was about changed"
    assert "forty" in piece["new"]
    refused = await space.ask("accept_suggestion", suggestion=id_)
    assert refused.error["code"] == "CONFLICT"
    assert refused.error["changed"] == [1]
    # Said again by hand, it fits again.
    await space.value(
        "edit_document", docName="leave", find="has some leave", replace="has thirty days of leave"
    )
    await space.value("accept_suggestion", suggestion=id_)
    assert "forty days of leave" in space.read("leave.md")


async def test_suggestions_follow_a_renamed_document_and_outlive_a_deleted_one(
    space: Space,
) -> None:
    space.write({"leave.md": PAGE})
    id_ = await suggest(space, find="thirty", replace="forty")
    await space.value("rename_document", docName="leave", newDocName="hr/holidays")
    [row] = (await space.value("list_suggestions", docName="hr/holidays"))["suggestions"]
    assert (row["suggestion"], row["changed"]) == (id_, 0)
    await space.value("delete_document", docName="hr/holidays")
    [row] = (await space.value("list_suggestions"))["suggestions"]
    assert (row["documentExists"], row["changed"]) == (False, 1)
    assert (await space.ask("accept_suggestion", suggestion=id_)).error["code"] == "CONFLICT"
    assert not (space.folder / "hr" / "holidays.md").exists()


async def test_a_new_document_can_be_suggested(space: Space) -> None:
    made = await space.value(
        "write_document", docName="new/idea", markdown="# Idea\n", position="replace", suggest=True
    )
    assert not (space.folder / "new").exists()
    await space.value("accept_suggestion", suggestion=made["suggestion"])
    assert space.read("new/idea.md") == "# Idea\n"


async def test_threads_are_read_and_written_by_everybody_who_takes_part(space: Space) -> None:
    space.write({"leave.md": PAGE})
    id_ = await suggest(space, find="thirty", replace="forty")
    await space.value("comment_suggestion", suggestion=id_, text="Who decided this?")
    await as_person(space, "comment_suggestion", suggestion=id_, text="The board. 🐝")
    comments = (await read(space, id_))["comments"]
    assert [it["text"] for it in comments] == ["Who decided this?", "The board. 🐝"]
    kinds = [it["writerId"].partition("-")[0] for it in comments]
    assert kinds == ["agent", "principal"]
    assert comments[0]["author"] == comments[1]["author"] != comments[0]["writerId"]


async def test_a_reader_suggests_only_where_a_rule_lets_them_and_never_accepts(
    space: Space,
) -> None:
    space.write({"open/a.md": PAGE, "shut/a.md": PAGE, ".pecia/config.yml": READERS})
    await space.value("list_documents")
    await space.admin("grant", to="user:bo", role="reader")
    edit = {"find": "thirty", "replace": "forty"}
    for asked in (True, False):
        shut = await space.ask_as_bo("edit_document", docName="shut/a", suggest=asked, **edit)
        assert shut.error["code"] == "FORBIDDEN"
    made = await space.ask_as_bo("edit_document", docName="open/a", **edit)
    assert not made.is_error, made.text
    id_ = made.value["suggestion"]
    new = {"markdown": "# New\n", "position": "replace"}
    assert "suggestion" in (await space.ask_as_bo("write_document", docName="open/b", **new)).value
    assert (await space.ask_as_bo("write_document", docName="shut/b", **new)).is_error
    assert space.read("open/a.md") == PAGE
    for tool in ("accept_suggestion",):
        assert (await space.ask_as_bo(tool, suggestion=id_)).error["code"] == "FORBIDDEN"
    said = await space.ask_as_bo("comment_suggestion", suggestion=id_, text="Please.")
    assert not said.is_error
    await space.value("accept_suggestion", suggestion=id_)
    assert "forty" in space.read("open/a.md")
    latest = (await space.value("get_history", docName="open/a"))["entries"][0]
    assert next(it["name"] for it in latest["contributors"]) == "bo"
    assert len(latest["contributors"]) == 2
    # Deleting and renaming are no suggestions.
    assert (await space.ask_as_bo("delete_document", docName="open/a")).is_error


async def test_a_suggestion_is_seen_by_those_who_see_the_document_and_taken_back_by_its_author(
    space: Space,
) -> None:
    space.write({"open/a.md": PAGE, "shut/a.md": PAGE, ".pecia/config.yml": READERS})
    await space.value("list_documents")
    hidden = await suggest(space, "shut/a", find="thirty", replace="secret")
    seen = await suggest(space, "open/a", find="thirty", replace="forty")
    await space.admin("set_source", trim_mode="per_file")
    await space.admin("grant", folder="open/", to="user:bo", role="reader")
    rows = (await space.ask_as_bo("list_suggestions", state="all")).value["suggestions"]
    assert [it["suggestion"] for it in rows] == [seen]
    for tool, more in (
        ("read_suggestion", {}),
        ("comment_suggestion", {"text": "x"}),
        ("accept_suggestion", {}),
        ("reject_suggestion", {}),
    ):
        assert (await space.ask_as_bo(tool, suggestion=hidden, **more)).error["code"] == "NOT_FOUND"
    # The same for a hidden document and for none: nothing to learn.
    new = {"markdown": "# New\n", "position": "replace"}
    refusals = [
        (await space.ask_as_bo("write_document", docName=it, suggest=True, **new)).error["code"]
        for it in ("shut/a", "shut/none", "open/none")
    ]
    assert refusals == ["FORBIDDEN"] * 3
    assert (await space.ask_as_bo("reject_suggestion", suggestion=seen)).error[
        "code"
    ] == "FORBIDDEN"
    own = await space.ask_as_bo("edit_document", docName="open/a", find="March", replace="May")
    taken = await space.ask_as_bo("reject_suggestion", suggestion=own.value["suggestion"])
    assert taken.value["state"] == "closed"


async def test_where_agents_only_suggest_a_person_accepts_and_no_agent_lifts_the_rule(
    space: Space,
) -> None:
    space.write({"leave.md": PAGE, ".pecia/config.yml": AGENTS})
    made = await space.value("edit_document", docName="leave", find="thirty", replace="forty")
    batch = await space.value(
        "write_documents",
        documents=[{"docName": "x", "markdown": "x\n", "position": "replace"}],
    )
    assert batch["written"][0]["saved"] is False
    patched = await space.value("patch_frontmatter", docName="leave", patch={"a": 1})
    assert "suggestion" in patched
    assert space.read("leave.md") == PAGE
    refused = await space.ask("accept_suggestion", suggestion=made["suggestion"])
    assert refused.error["code"] == "FORBIDDEN"
    for tool, arguments in (
        ("delete_document", {"docName": "leave"}),
        ("rename_document", {"docName": "leave", "newDocName": "b"}),
        ("rename_folder", {"fromFolder": ".", "toFolder": "b"}),
    ):
        assert (await space.ask(tool, **arguments)).is_error, tool
    patches: tuple[dict[str, object], ...] = (
        {"folders": []},
        {"folders": [{"match": "**", "suggest": "readers"}]},
    )
    for patch in patches:
        kept = await space.ask("set_config", patch=patch)
        assert kept.value["error"]["code"] == "NOT_AGENT_SETTABLE"
    rule = {"match": "a/**", "frontmatter": {"title": "A"}}
    await space.value("set_folder_rule", rules=[rule])
    assert "agents" in space.read(".pecia/config.yml")
    await as_person(space, "accept_suggestion", suggestion=made["suggestion"])
    assert "forty" in space.read("leave.md")
    await as_person(space, "edit_document", docName="leave", find="forty", replace="fifty")
    assert "fifty" in space.read("leave.md")
