"""Live documents over the real socket: people and agents write in one text at one time."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pycrdt
import pytest

from pecia.adapters.git.repository import HistoryRepository
from pecia.features.wiki.live.cleanup import LiveCleanup
from pecia.features.wiki.live.flush import LiveFlusher
from pecia.features.wiki.space_recovery import SpaceRecovery
from pecia.kernel.identity.caller import Caller
from tests.conftest import CONTEXT
from tests.features.wiki.conftest import Served, Space
from tests.features.wiki.live_editor import PATIENCE_S, LiveEditor, at

pytestmark = pytest.mark.anyio

PAGE = "---\ntitle: Plan\ntags: [a]\n---\n# Plan\n\nFirst line.\nLast line.\n"


def ana_at(
    space: Space, doc: str = "plan", hand: LiveEditor | None = None
) -> AbstractAsyncContextManager[LiveEditor]:
    return at(url(space), doc, space.name, hand=hand)


def bo_at(space: Space, doc: str = "plan") -> AbstractAsyncContextManager[LiveEditor]:
    return at(url(space), doc, space.name, space.served.bo_token)


def url(space: Space) -> str:
    return str(space.served.http.base_url).rstrip("/")


@pytest.fixture
async def plan(space: Space) -> Space:
    """A space with one document, which bo may write too."""
    space.write({"plan.md": PAGE})
    await space.admin("grant", to="user:bo", role="writer")
    return space


async def eventually(space: Space, path: str, body: str) -> None:
    """The file is brought up to date by itself."""
    with anyio.fail_after(PATIENCE_S):
        while space.read(path) != body:  # noqa: ASYNC110 - nobody says when it is written.
            await anyio.sleep(0.05)


@pytest.mark.requirement("wiki.frontmatter.one_text")
async def test_two_people_in_one_document_see_the_same_and_the_file_has_it(plan: Space) -> None:
    async with ana_at(plan) as ana, bo_at(plan) as bo:
        assert ana.text == bo.text == PAGE
        ana.type_after("First line.", " Ana was here.")
        bo.type_after("title: Plan", " B")
        await ana.saved()
        await bo.saved()
        whole = PAGE.replace("First line.", "First line. Ana was here.").replace(
            "title: Plan", "title: Plan B"
        )
        await ana.until_text(lambda it: it == whole)
        await bo.until_text(lambda it: it == whole)
        await eventually(plan, "plan.md", whole)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "\n",
        "no end",
        "\ufeff---\r\ntitle: a\r\n---\r\n\r\nwords\r\n",
        "---\n# never closed\n",
        "🐝\u2028é\x0b\x00\r\r\n\n",
    ],
)
@pytest.mark.requirement("wiki.frontmatter.one_text")
async def test_the_live_text_is_the_file_byte_for_byte(space: Space, body: str) -> None:
    space.write({"odd.md": body})
    async with ana_at(space, "odd") as ana:
        assert ana.text == body
        ana.type(len(body), "x")
        await ana.saved()
        assert (await space.value("read_document", path="odd.md"))["content"] == body + "x"
    assert space.read("odd.md") == body + "x"


async def test_what_is_stored_every_tool_sees_at_once(plan: Space) -> None:
    async with ana_at(plan) as ana:
        ana.type_after("First line.", " needle [[gone]]")
        await ana.saved()
        read = await plan.value("read_document", path="plan.md")
        found = await plan.value("search", query="needle")
        dead = await plan.value("get_dead_links")
    assert "needle" in read["content"]
    assert found["matchCount"] == 1
    assert [it["target"] for it in dead["deadLinks"]] == ["gone"]


@pytest.mark.requirement("wiki.live.agents_and_people_coedit")
async def test_an_agents_edit_and_a_persons_typing_at_one_time_both_survive(plan: Space) -> None:
    async with ana_at(plan) as ana:
        # Typed here, and not sent yet when the agent edits the same line.
        ana.type_after("First", " person's")
        answer = await plan.ask_as_bo(
            "edit_document", docName="plan", find="First line.", replace="First agent's line."
        )
        assert not answer.is_error, answer.text
        await ana.saved()
        text = await ana.until_text(lambda it: "agent's" in it)
        assert "person's" in text
        await eventually(plan, "plan.md", text)


@pytest.mark.requirement("wiki.write.through_the_live_document")
async def test_a_written_text_reaches_an_open_editor_and_leaves_its_cursor(plan: Space) -> None:
    async with ana_at(plan) as ana:
        place = len(PAGE[: PAGE.index("Last")].encode())
        cursor = ana.source.sticky_index(place, pycrdt.Assoc.AFTER)
        new = PAGE.replace("First line.", "A first line, and a second one.")
        await plan.value("write_document", docName="plan", markdown=new, position="replace")
        await ana.until_text(lambda it: it == new)
        assert cursor.get_index() == len(new[: new.index("Last")].encode())


@pytest.mark.requirement("wiki.edit.find_and_replace")
async def test_an_agent_finds_words_that_a_person_has_just_typed(plan: Space) -> None:
    async with ana_at(plan) as ana:
        ana.type_after("Last line.", " Just typed.")
        await ana.saved()
        await plan.value("edit_document", docName="plan", find="Just typed.", replace="Done.")
        await ana.until_text(lambda it: it.endswith("Last line. Done.\n"))
    assert plan.read("plan.md").endswith("Last line. Done.\n")


@pytest.mark.requirement("wiki.frontmatter.edits_merge")
async def test_frontmatter_edits_of_an_agent_and_a_person_merge(plan: Space) -> None:
    async with ana_at(plan) as ana:
        ana.type_after("tags: [a", ", person")
        ana.type_after("title: Pl", "easant pl")
        new = PAGE.replace("title: Plan", "title: Plan 2").replace("[a]", "[a, agent]")
        await plan.value("write_document", docName="plan", markdown=new, position="replace")
        await ana.saved()
        text = await ana.until_text(lambda it: "agent" in it)
    assert "title: Pleasant plan 2\n" in text
    assert "person" in text.splitlines()[2]
    assert "agent" in text.splitlines()[2]


async def test_a_rename_takes_along_what_was_typed_and_links_are_mended_in_open_documents(
    plan: Space,
) -> None:
    plan.write({"index.md": "See [[plan]].\n"})
    async with ana_at(plan) as ana, ana_at(plan, "index") as other:
        ana.type_after("First", " and best")
        await ana.saved()
        other.type(0, "Oh! ")
        await plan.value("rename_document", docName="plan", newDocName="scheme")
        await other.saved()
        await other.until_text(lambda it: it == "Oh! See [[scheme]].\n")
        assert (await ana.until_closed())[0] == 4404
        ana.type_after("Last", " and least")
    async with ana_at(plan, "scheme", LiveEditor(ana.doc)) as again:
        await again.until_text(lambda it: "First and best line.\nLast and least line." in it)
        read = await plan.value("read_document", path="scheme.md")
    assert "First and best line.\nLast and least line.\n" in read["content"]


@pytest.mark.requirement("wiki.delete.closes_sessions", "wiki.delete.unloads")
async def test_deleting_ends_sockets_and_a_late_edit_brings_nothing_back(plan: Space) -> None:
    async with ana_at(plan) as ana, bo_at(plan) as bo:
        bo.type_after("First", " last-minute")
        await bo.saved()
        await plan.value("delete_document", docName="plan")
        assert (await ana.until_closed())[0] == 4404
        assert (await bo.until_closed())[0] == 4404
    assert ana.refusals == ["the document was deleted or renamed"]
    ana.type_after("Last", " late")
    with pytest.raises(Exception, match="HTTP 404"):
        async with ana_at(plan, hand=LiveEditor(ana.doc)):
            pass
    assert not (plan.folder / "plan.md").exists()
    # What was typed before is in the past, from where it can be had.
    versions = (await plan.value("get_history", docName="plan"))["entries"]
    kept = next(it for it in versions if it["message"].startswith("wip: plan"))
    await plan.value("rollback_to_version", docName="plan", commitSha=kept["sha"])
    assert "First last-minute line." in plan.read("plan.md")


async def test_an_editor_of_a_document_that_began_anew_is_told_to_begin_anew(plan: Space) -> None:
    async with ana_at(plan) as ana:
        await plan.value("delete_document", docName="plan")
        await ana.until_closed()
    await plan.value("write_document", docName="plan", markdown="New.\n", position="replace")
    async with ana_at(plan, hand=LiveEditor(ana.doc)) as again:
        assert (await again.until_closed())[0] == 4409
    async with ana_at(plan) as fresh:
        assert fresh.text == "New.\n"


@pytest.mark.parametrize(
    "tail",
    [
        # A word between the halves of the bee, after the first of them.
        pytest.param("after 1", id="written"),
        # The second half deleted.
        pytest.param("delete 2", id="deleted"),
    ],
)
async def test_an_edit_that_cuts_a_character_in_two_hurts_nobody(space: Space, tail: str) -> None:
    space.write({"odd.md": "a🐝b\n"})
    async with ana_at(space, "odd") as ana, ana_at(space, "odd") as other:
        state = pycrdt.Decoder(ana.doc.get_state())
        assert state.read_var_uint() == 1
        house = _number(state.read_var_uint())
        written = b"\x01\x01\x07\x00\x84" + house + b"\x01\x01x\x00"
        deleted = b"\x00\x01" + house + b"\x01\x02\x01"
        update = written if tail == "after 1" else deleted
        ana.sent += 1
        await ana.send(pycrdt.create_update_message(update))
        await ana.until(lambda: ana.stored >= ana.sent)
        other.type_after("b", " and on")
        await other.saved()
        wanted = sorted("a🐝b and on\n" + ("x" if tail == "after 1" else ""))
        await other.until_text(lambda it: sorted(it) == wanted)
        assert ana.closed is None
    async with ana_at(space, "odd") as fresh:
        assert sorted(fresh.text) == wanted
        assert "🐝" in fresh.text
        fresh.type_after("🐝", "!")
        await fresh.saved()
        assert "🐝!" in (await space.value("read_document", path="odd.md"))["content"]
    assert "🐝!" in space.read("odd.md")


def _number(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(0x80 | (value & 0x7F))
        value >>= 7
    return bytes((*found, value))


async def test_the_answer_to_a_sync_counts_among_what_is_stored(plan: Space) -> None:
    async with ana_at(plan) as ana:
        assert ana.stored == 1
        ana.type_after("Last line.", " first")
        await ana.flush()
        await ana.until(lambda: ana.stored == 2)
        hand = ana
    hand.type_after("Last line.", " offline")
    hand.drop()
    async with ana_at(plan, hand=hand):
        # The answer had what was typed without a connection.
        assert hand.stored == 1
        read = await plan.value("read_document", path="plan.md")
    assert "Last line. offline first" in read["content"]


@pytest.mark.parametrize("count", [1, 30, 120])
async def test_what_was_sent_just_before_a_close_is_stored(plan: Space, count: int) -> None:
    async with bo_at(plan) as bo:
        for number in range(count):
            bo.type_after("Last line.", f" <{number}>")
        await bo.flush()
    await _audited(plan)
    read = await plan.value("read_document", path="plan.md")
    assert read["content"].count("<") == count


async def test_a_right_that_ended_holds_for_what_was_sent_just_before_a_close(plan: Space) -> None:
    async with bo_at(plan) as bo:
        await plan.admin("grant", to="user:bo", role="reader")
        bo.type_after("Last line.", " too late")
        await bo.flush()
    await _audited(plan)
    assert "too late" not in (await plan.value("read_document", path="plan.md"))["content"]


async def test_nobody_stays_at_a_document_who_moved_just_before_a_close(plan: Space) -> None:
    async with ana_at(plan) as ana:
        async with bo_at(plan) as bo:
            here = pycrdt.Awareness(bo.doc)
            here.set_local_state({"user": {"name": "bo"}})
            shown = here.encode_awareness_update([here.client_id])
            await bo.send(pycrdt.create_awareness_message(shown))
        left = pycrdt.Awareness(ana.doc)
        await ana.until(lambda: len(ana.presences) == 2)
        for presence in ana.presences:
            left.apply_awareness_update(presence, "remote")
        assert bo.doc.client_id not in left.states


async def test_who_was_away_comes_back_with_what_they_typed(plan: Space) -> None:
    async with ana_at(plan) as ana:
        pass
    ana.type_after("First", " offline")
    await plan.value("edit_document", docName="plan", find="Last", replace="Final")
    async with ana_at(plan, hand=LiveEditor(ana.doc)) as again:
        await again.until_text(lambda it: "First offline line.\nFinal line." in it)
        read = await plan.value("read_document", path="plan.md")
    assert read["content"].endswith("First offline line.\nFinal line.\n")


async def test_what_a_program_does_to_the_file_merges_with_what_is_typed(plan: Space) -> None:
    async with ana_at(plan) as ana:
        ana.type_after("First", " typed")
        plan.write({"plan.md": PAGE.replace("Last line", "Last line, by a program")})
        await ana.saved()
        whole = PAGE.replace("First", "First typed").replace("Last line", "Last line, by a program")
        await ana.until_text(lambda it: it == whole)
        await eventually(plan, "plan.md", whole)


async def test_what_was_typed_into_a_file_that_a_program_removed_is_kept(plan: Space) -> None:
    async with ana_at(plan) as ana:
        ana.type_after("First", " precious")
        await ana.saved()
        (plan.folder / "plan.md").unlink()
        assert (await ana.until_closed())[0] == 4404
    versions = (await plan.value("get_history", docName="plan"))["entries"]
    assert [it["message"] for it in versions][:2] == ["delete: plan", "wip: plan"]
    await plan.value("rollback_to_version", docName="plan", commitSha=versions[1]["sha"])
    assert "First precious line." in plan.read("plan.md")


@pytest.mark.parametrize("typed", ["", " late"])
async def test_a_file_that_comes_back_goes_on_with_what_was_typed(plan: Space, typed: str) -> None:
    """As with a checkout, or a program that syncs folders: nobody has to begin anew."""
    file = plan.folder / "plan.md"
    async with ana_at(plan) as ana:
        ana.type_after("First", " precious")
        await ana.saved()
        file.unlink()
        assert (await ana.until_closed())[0] == 4404
    plan.write({"plan.md": PAGE.replace("Last line", "Last line, by a program")})
    whole = PAGE.replace("First", f"First{typed} precious")
    whole = whole.replace("Last line", "Last line, by a program")
    back = LiveEditor(ana.doc)
    if typed:
        back.type_after("First", typed)
        back.drop()
    async with ana_at(plan, hand=back):
        await back.until_text(lambda it: it == whole)
        await eventually(plan, "plan.md", whole)


async def test_a_file_that_comes_back_has_what_was_typed_also_where_nobody_has_it_open(
    plan: Space,
) -> None:
    async with ana_at(plan) as ana:
        ana.type_after("First", " precious")
        await ana.saved()
        (plan.folder / "plan.md").unlink()
        await ana.until_closed()
    plan.write({"plan.md": PAGE})
    store = plan.served.app.store
    flusher = LiveFlusher(SpaceRecovery(store, HistoryRepository.open))
    await LiveCleanup(store, flusher).run_once(left_s=0)
    await eventually(plan, "plan.md", PAGE.replace("First", "First precious"))


async def test_a_document_that_a_tool_makes_where_one_was_removed_has_its_text(
    plan: Space,
) -> None:
    """Who had the removed one open goes on with the new one, and brings what they typed since."""
    async with ana_at(plan) as ana:
        ana.type_after("First", " precious")
        await ana.saved()
        (plan.folder / "plan.md").unlink()
        assert (await ana.until_closed())[0] == 4404
    await plan.value("write_document", docName="plan", markdown="New.\n", position="replace")
    assert plan.read("plan.md") == "New.\n"
    async with ana_at(plan) as fresh:
        assert fresh.text == "New.\n"
    back = LiveEditor(ana.doc)
    back.type_after("Last", " late")
    back.drop()
    async with ana_at(plan, hand=back):
        await back.until_text(lambda it: it.replace(" late", "") == "New.\n" != it)
        await eventually(plan, "plan.md", back.text)
    versions = (await plan.value("get_history", docName="plan"))["entries"]
    assert [it["message"] for it in versions][1:4] == ["wip: plan", "delete: plan", "wip: plan"]


async def test_a_program_that_put_a_file_aside_goes_on_with_what_a_tool_wrote_meanwhile(
    plan: Space,
) -> None:
    """An editor that keeps backups is stopped between its two steps."""
    file = plan.folder / "plan.md"
    async with ana_at(plan) as ana:
        ana.type_after("First", " one")
        await ana.saved()
        await eventually(plan, "plan.md", PAGE.replace("First", "First one"))
        ana.type_after("one", " two three four")
        await ana.saved()
        before = PAGE.replace("First", "First one two three four")
        await eventually(plan, "plan.md", before)
        file.rename(file.with_name("plan.md~"))
        whole = before.replace("Last", "Final")
        await plan.value("write_document", docName="plan", markdown=whole, position="replace")
    file.write_text(before.replace("title: Plan", "title: Plan B"), "utf-8")
    await plan.value("read_document", path="plan.md")
    await eventually(plan, "plan.md", whole.replace("title: Plan", "title: Plan B"))


@pytest.mark.requirement("wiki.attribution.agent", "wiki.attribution.person")
async def test_a_version_names_the_agent_and_the_people_who_made_it(
    plan: Space, served: Served
) -> None:
    async with ana_at(plan) as ana, bo_at(plan) as bo:
        ana.type_after("First", " ana's")
        await ana.saved()
        bo.type_after("Last", " bo's")
        await bo.saved()
        await plan.value("edit_document", docName="plan", find="# Plan", replace="# A plan")
    known = await served.app.authenticate(served.bo_token, CONTEXT)
    assert isinstance(known, Caller)
    newest, together = (await plan.value("get_history", docName="plan"))["entries"][:2]
    assert [it["id"] for it in newest["contributors"]] == [f"agent-{served.ana.user_id}"]
    assert [it["id"] for it in together["contributors"]] == [
        f"principal-{served.ana.user_id}",
        f"principal-{known.user_id}",
    ]
    asked = {"space": plan.name, "docName": "plan", "commitSha": together["sha"]}
    response = await served.http.post("/api/v1/wiki/rollback_to_version", json=asked)
    assert response.status_code == 200, response.text
    newest = (await plan.value("get_history", docName="plan"))["entries"][0]
    assert newest["contributors"][0]["id"] == f"principal-{served.ana.user_id}"


async def test_every_editor_leaves_a_row_in_the_audit(plan: Space) -> None:
    async with bo_at(plan) as bo:
        bo.type(0, "x")
        await bo.saved()
    rows = await _audited(plan)
    assert [(it["status"], it["arguments"]["doc"]) for it in rows] == [("ok", "plan")]


async def _audited(space: Space) -> list[dict[str, Any]]:
    """The rows of bo's sockets, once one is over."""
    served = space.served
    with anyio.fail_after(PATIENCE_S):
        while True:
            await served.app.audit_log.drain()
            async with served.app.store.system() as tx:
                rows = await tx.fetch_all(
                    "SELECT a.status, a.arguments FROM kernel.audit a JOIN kernel.user_account u"
                    " ON u.id = a.user_id WHERE a.tool = 'wiki/collab' AND u.name = 'bo'"
                    " AND %(source)s = ANY (a.sources)",
                    source=f"wiki:{space.name}",
                )
            if rows:
                return rows
            await anyio.sleep(0.05)


async def test_what_somebody_types_costs_two_transactions(plan: Space) -> None:
    """One asks for their rights, one stores it. That is most of what typing costs a server."""
    async with ana_at(plan) as ana, bo_at(plan) as bo:
        batches: list[int] = []
        for number in range(60):
            before = transactions(plan)
            for word in range(5):
                ana.type_after("First line.", f" word{number}.{word}")
                await ana.saved()
            batches.append(transactions(plan) - before)
        # What the server does meanwhile, such as looking at files, comes on top of some.
        assert min(batches[1:]) == 10
        await bo.until_text(lambda text: "word59.4" in text)


def transactions(space: Space) -> int:
    """How many there were so far, those of the server's own work among them."""
    pools = space.served.app.store.pool_stats()
    return sum(it["requests_num"] for it in pools.values())
