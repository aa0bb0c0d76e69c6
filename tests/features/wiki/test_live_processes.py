"""One document, live in two processes on one database: there is one text."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import pytest

from pecia.adapters.git.repository import HistoryRepository
from pecia.app.app import SETTINGS, App, open_app
from pecia.features.wiki.live.cleanup import LiveCleanup
from pecia.features.wiki.live.flush import LiveFlusher
from pecia.features.wiki.space_recovery import SpaceRecovery
from pecia.features.wiki.store import SQL as WIKI
from pecia.features.wiki.store import SpaceLocation
from pecia.interfaces.http.server import serve_http
from pecia.kernel.errors import Conflict, Json
from pecia.kernel.identity.caller import Caller, Operator
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, house_flags, no_fetch
from tests.features.wiki.live_editor import PATIENCE_S, at

pytestmark = pytest.mark.anyio

WAITING = """
SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
 WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()
"""
PAGE = "# Plan\n\nFirst line.\nLast line.\n"


@dataclass(frozen=True, slots=True)
class Node:
    """One process as far as the other can tell: an App of its own, with pools and memory."""

    app: App
    url: str
    owner: Caller | Operator

    async def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        answer = await self.app.call(self.owner, f"wiki.{tool}", arguments, CONTEXT)
        assert isinstance(answer.structured, dict)
        return answer.structured


@pytest.fixture(scope="module")
async def nodes(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[tuple[Node, Node]]:
    homes = [tmp_path_factory.mktemp(it) for it in ("one", "two")]
    given = [
        load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
        for flags in (house_flags(module_database, it) for it in homes)
    ]
    async with (
        open_app(given[0], fetch=no_fetch, report=lambda _: None) as one,
        open_app(given[1], fetch=no_fetch, report=lambda _: None) as two,
        serve_http(one, port=0, instance="one") as here,
        serve_http(two, port=0, instance="two") as there,
    ):
        yield (
            Node(one, here.url, await one.authenticate(None, CONTEXT)),
            Node(two, there.url, await two.authenticate(None, CONTEXT)),
        )


@pytest.fixture
async def plan(nodes: tuple[Node, Node], tmp_path: Path) -> Path:
    """A space that both serve, with one document."""
    folder = tmp_path / f"space-{tmp_path.name}"
    folder.mkdir()
    (folder / "plan.md").write_text(PAGE, encoding="utf-8")
    one = nodes[0]
    await one.app.call(one.owner, "admin.add_space", {"folder": str(folder)}, CONTEXT)
    return folder


async def test_people_at_two_processes_write_in_one_text(
    nodes: tuple[Node, Node], plan: Path
) -> None:
    one, two = nodes
    async with (
        at(one.url, "plan", plan.name) as here,
        at(two.url, "plan", plan.name) as there,
    ):
        for count in range(5):
            here.type_after("First", f" a{count}")
            there.type_after("Last", f" b{count}")
            await here.saved()
            await there.saved()
        whole = "First a4 a3 a2 a1 a0 line.\nLast b4 b3 b2 b1 b0 line.\n"
        await here.until_text(lambda it: it.endswith(whole))
        await there.until_text(lambda it: it.endswith(whole))
        assert here.text == there.text
        # Whichever is asked has all that either stored.
        for node in nodes:
            read = await node.call("read_document", path="plan.md", space=plan.name)
            assert read["content"] == here.text


async def test_what_an_agent_does_at_one_reaches_people_at_the_other(
    nodes: tuple[Node, Node], plan: Path
) -> None:
    one, two = nodes
    async with at(one.url, "plan", plan.name) as here:
        here.type_after("First", " typed")
        edit: dict[str, Json] = {"docName": "plan", "find": "Last", "replace": "Final"}
        await two.call("edit_document", space=plan.name, **edit)
        await here.saved()
        await here.until_text(lambda it: "First typed line.\nFinal line." in it)
        await two.call("delete_document", docName="plan", space=plan.name)
        assert (await here.until_closed())[0] == 4404
    assert not (plan / "plan.md").exists()


async def test_who_reconnects_elsewhere_goes_on_with_the_same_text(
    nodes: tuple[Node, Node], plan: Path
) -> None:
    one, two = nodes
    async with at(one.url, "plan", plan.name) as hand:
        hand.type_after("First", " stored")
        await hand.saved()
    hand.type_after("Last", " unsent")
    async with at(two.url, "plan", plan.name, hand=hand):
        hand.type(0, "And on. ")
        await hand.saved()
        read = await one.call("read_document", path="plan.md", space=plan.name)
    assert read["content"] == f"And on. {PAGE}".replace("First", "First stored").replace(
        "Last", "Last unsent"
    )


async def test_files_that_wait_for_another_process_keep_nobody_from_typing(
    nodes: tuple[Node, Node], plan: Path
) -> None:
    """More files are due than there are connections, and another process has the space."""
    one, two = nodes
    assert isinstance(one.owner, Caller)
    place = SpaceLocation(one.owner.tenant_id, f"wiki:{plan.name}", plan, "")
    filing = LiveFlusher(SpaceRecovery(one.app.store, HistoryRepository.open))
    async with at(one.url, "plan", plan.name) as hand, anyio.create_task_group() as tasks:
        async with two.app.store.system() as tx:
            await tx.execute(WIKI["lock_space"], **place.sql_params())
            for _ in range(3 * one.app.store.pool_stats()["system"]["pool_max"]):
                tasks.start_soon(filing.flush, place, "plan.md")
            with anyio.fail_after(PATIENCE_S):
                while not await tx.fetch_value(WAITING):
                    pass
            for count in range(20):
                hand.type_after("First", f" a{count}")
                await hand.saved()
        assert hand.closed is None
    body = (plan / "plan.md").read_text(encoding="utf-8")
    assert body.count(" a") == 20


async def test_spaces_that_wait_for_another_process_keep_nobody_from_typing(
    nodes: tuple[Node, Node], plan: Path, tmp_path: Path
) -> None:
    """More spaces have new files than there are connections, and another process has them all."""
    one, two = nodes
    assert isinstance(one.owner, Caller)
    count = 3 * one.app.store.pool_stats()["system"]["pool_max"]
    folders = [tmp_path / f"{plan.name}-{it}" for it in range(count)]
    for it in folders:
        it.mkdir()
        await one.app.call(one.owner, "admin.add_space", {"folder": str(it)}, CONTEXT)
        await one.call("list_documents", space=it.name)
        (it / "new.md").write_text("# New\n", encoding="utf-8")
    async with at(one.url, "plan", plan.name) as hand, anyio.create_task_group() as tasks:
        async with two.app.store.system() as tx:
            for it in folders:
                place = {"tenant_id": one.owner.tenant_id, "source_id": f"wiki:{it.name}"}
                await tx.execute(WIKI["lock_space"], **place)
            for it in folders:
                tasks.start_soon(partial(one.call, "list_documents", space=it.name))
            with anyio.fail_after(PATIENCE_S):
                while not await tx.fetch_value(WAITING):
                    pass
            for number in range(20):
                hand.type_after("First", f" a{number}")
                await hand.saved()
        assert hand.closed is None
    for it in folders:
        listed = await one.call("list_documents", space=it.name)
        assert listed["total"] == 1


async def test_a_history_that_has_grown_too_long_ends_with_the_next_who_opens(
    nodes: tuple[Node, Node], plan: Path
) -> None:
    one, _ = nodes
    assert isinstance(one.owner, Caller)
    place = SpaceLocation(one.owner.tenant_id, f"wiki:{plan.name}", plan, "")
    filing = LiveFlusher(SpaceRecovery(one.app.store, HistoryRepository.open))
    first = await filing.make_live(place, "plan.md", len(PAGE))
    assert await filing.make_live(place, "plan.md", len(PAGE)) == first
    for word in ("lane", "mark", "path", "road"):
        old = (plan / "plan.md").read_text(encoding="utf-8").split()[2:]
        given: dict[str, Json] = {"docName": "plan", "find": old[1], "replace": word}
        await one.call("edit_document", space=plan.name, replace_all=True, **given)
    # Not before nobody can write the files any more that were replaced.
    with anyio.fail_after(PATIENCE_S):
        while await filing.make_live(place, "plan.md", len(PAGE)) == first:
            await filing.flush(place, "plan.md")


async def test_what_a_process_left_is_filed_by_a_worker(
    nodes: tuple[Node, Node], plan: Path
) -> None:
    one, _ = nodes
    filing = LiveFlusher(SpaceRecovery(one.app.store, HistoryRepository.open))
    async with at(one.url, "plan", plan.name) as hand:
        hand.type_after("First", " left")
        await hand.saved()
        # Before it is filed by itself, which takes two seconds of quiet, or after: it is the same.
        await LiveCleanup(one.app.store, filing).run_once(left_s=0)
        body = await anyio.Path(plan / "plan.md").read_text(encoding="utf-8")
    assert body == PAGE.replace("First", "First left")


async def test_what_is_left_of_a_space_that_is_switched_off_is_filed_so_that_it_can_be_removed(
    nodes: tuple[Node, Node], plan: Path
) -> None:
    one, _ = nodes
    filing = LiveFlusher(SpaceRecovery(one.app.store, HistoryRepository.open))
    assert isinstance(one.owner, Caller)
    place = SpaceLocation(one.owner.tenant_id, f"wiki:{plan.name}", plan, "")
    await filing.make_live(place, "plan.md", len(PAGE))
    change: dict[str, Json] = {"docName": "plan", "find": "First", "replace": "First left"}
    await one.call("edit_document", space=plan.name, **change)
    async with one.app.store.system() as tx:
        # As a process leaves it that is killed after the file and before its row.
        await tx.execute("UPDATE wiki.live SET filed = filed - 1 WHERE head = filed")
    with pytest.raises(Conflict, match="not in their files yet") as refused:
        await one.app.call(one.owner, "admin.remove_space", {"name": plan.name}, CONTEXT)
    assert f"pecia space set {plan.name} --enabled false" in str(refused.value.fields["hint"])
    off: dict[str, Json] = {"name": plan.name, "enabled": False}
    await one.app.call(one.owner, "admin.set_space", off, CONTEXT)
    with anyio.fail_after(PATIENCE_S):
        while await _is_refused(one, plan.name):
            await LiveCleanup(one.app.store, filing).run_once(left_s=0)
    body = await anyio.Path(plan / "plan.md").read_text(encoding="utf-8")
    assert body == PAGE.replace("First", "First left")


async def test_a_folder_that_is_away_is_no_reason_to_forget_what_was_written(
    nodes: tuple[Node, Node], plan: Path
) -> None:
    """A disk that is not mounted, or a worker on a machine that does not have the folder."""
    one, _ = nodes
    filing = LiveFlusher(SpaceRecovery(one.app.store, HistoryRepository.open))
    async with at(one.url, "plan", plan.name) as hand:
        hand.type_after("First", " kept")
        await hand.saved()
        away = await anyio.Path(plan).rename(plan.with_name("away"))
        await LiveCleanup(one.app.store, filing).run_once(left_s=0)
        await away.rename(plan)
        await LiveCleanup(one.app.store, filing).run_once(left_s=0)
        body = await anyio.Path(plan / "plan.md").read_text(encoding="utf-8")
    assert body == PAGE.replace("First", "First kept")


async def _is_refused(node: Node, space: str) -> bool:
    try:
        await node.app.call(node.owner, "admin.remove_space", {"name": space}, CONTEXT)
    except Conflict:
        return True
    return False
