"""The change log: gapless, in the order of commits, and never forgotten by who writes."""

from itertools import pairwise
from pathlib import Path

import anyio
import psycopg
import pytest

from pecia.app.app import migration_parts
from pecia.kernel.corpus import changelog
from pecia.kernel.corpus.catalog.catalog import FileMetadata, remove_source
from pecia.kernel.corpus.catalog.texts import move, put, put_many, read_text, remove
from pecia.kernel.corpus.changelog import ChangeBatch
from pecia.kernel.errors import NotFound
from pecia.kernel.store.backup.dump import back_up
from pecia.kernel.store.backup.restore import restore
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import Store
from tests.unit.kernel.corpus.corpus_fixture import SOURCE, CorpusFixture, plain

pytestmark = pytest.mark.anyio


async def log(ground: CorpusFixture, after: int = 0, limit: int = 1000) -> ChangeBatch:
    async with ground.store.system() as tx:
        return await changelog.tail(tx, ground.tenant_id, after, limit)


async def test_every_change_of_a_file_is_logged_once_a_commit(ground: CorpusFixture) -> None:
    stored = await ground.put("a.md", "apples")
    await ground.put("a.md", "pears")
    async with ground.writing(ground.ana) as tx:
        await put(tx, FileMetadata(SOURCE, "b.md"), None)
        await put(tx, FileMetadata(SOURCE, "b.md", size_bytes=3), None)
        await move(tx, SOURCE, "a.md", "c.md")
    async with ground.writing(ground.ana) as tx:
        await remove(tx, SOURCE, "c.md")
    found = await log(ground)
    assert [it.n for it in found.entries] == [1, 2, 3, 3, 4]
    assert [it.n for it in found.entries if it.file_id == stored.file_id] == [1, 2, 3, 4]
    assert (found.upto, found.trimmed) == (4, False)


async def test_what_changes_nothing_is_not_logged(ground: CorpusFixture) -> None:
    await ground.put("a.md", "apples")
    await ground.put("a.md", "apples")
    assert (await log(ground)).upto == 1


async def test_what_is_rolled_back_leaves_no_gap(ground: CorpusFixture) -> None:
    with pytest.raises(NotFound):
        await put_then_fail(ground)
    await ground.put("b.md", "pears")
    assert [it.n for it in (await log(ground)).entries] == [1]


async def put_then_fail(ground: CorpusFixture) -> None:
    async with ground.writing(ground.ana) as tx:
        await put(tx, FileMetadata(SOURCE, "a.md"), plain("apples"))
        await remove(tx, SOURCE, "missing")


async def test_half_a_transaction_rolled_back_is_not_logged(ground: CorpusFixture) -> None:
    async with await psycopg.AsyncConnection.connect(ground.store.logins.system) as connection:
        for key, keep in (("a", True), ("b", False), ("c", True)):
            async with connection.transaction(force_rollback=not keep):
                await connection.execute(
                    "INSERT INTO kernel.file (tenant_id, source_id, key) VALUES (%s, 's1', %s)",
                    [ground.tenant_id, key],
                )
    async with ground.store.system() as tx:
        ids = [it.file_id for it in (await log(ground)).entries]
        found = await changelog.load_file_documents(tx, ground.tenant_id, ids)
    assert [it.key for it in found] == ["a", "c"]


async def test_a_source_that_goes_takes_its_files_with_it_in_the_log(ground: CorpusFixture) -> None:
    stored = [await ground.put(f"{n}.md", f"text {n}") for n in range(3)]
    async with ground.writing(ground.ana) as tx:
        await remove_source(tx, SOURCE)
    last = [it for it in (await log(ground)).entries if it.n == 4]
    assert {it.file_id for it in last} == {it.file_id for it in stored}


async def test_a_new_grant_on_a_part_of_a_folder_is_a_change_of_those_files(
    ground: CorpusFixture,
) -> None:
    await ground.put("a/1.md", "apples")
    moved = await ground.put("b/1.md", "pears")
    async with ground.writing(ground.ana) as tx:
        await tx.execute(
            "INSERT INTO kernel.folder_grant SELECT tenant_id, 's1', 'b/', principal_id, 'reader'"
            " FROM kernel.user_account WHERE name = 'bo'"
        )
    assert [it.file_id for it in (await log(ground, after=2)).entries] == [moved.file_id]


async def test_numbers_are_those_of_one_tenant(ground: CorpusFixture) -> None:
    await ground.put("a.md", "apples")
    async with ground.writing(ground.away) as tx:
        await put(tx, FileMetadata(SOURCE, "a.md"), plain("apples"))
    async with ground.store.system() as tx:
        assert {it.n for it in [await changelog.load_position(tx, ground.tenant_id)]} == {1}
        assert await changelog.load_positions(tx) == {ground.tenant_id: 1, ground.away.tenant_id: 1}


async def test_a_commit_is_never_split(ground: CorpusFixture) -> None:
    for n in range(3):
        async with ground.writing(ground.ana) as tx:
            await put_many(tx, [(FileMetadata(SOURCE, f"{n}/{it}.md"), None) for it in range(4)])
    first = await log(ground, limit=5)
    assert [it.n for it in first.entries] == [1] * 4 + [2] * 4
    assert [it.n for it in (await log(ground, first.upto, limit=1)).entries] == [3] * 4


async def test_writers_at_once_leave_no_gap_and_no_double(ground: CorpusFixture) -> None:
    async def write(name: str) -> None:
        for n in range(10):
            await ground.put(f"{name}/{n}.md", f"text {n}")

    async with anyio.create_task_group() as group:
        for name in "abcd":
            group.start_soon(write, name)
    numbers = [it.n for it in (await log(ground)).entries]
    assert len(numbers) == 40
    assert all(later == earlier + 1 for earlier, later in pairwise([0, *numbers]))


async def test_documents_hold_what_an_index_needs(ground: CorpusFixture) -> None:
    stored = await ground.put("a.md", "apples", "pears", title="Fruit")
    async with ground.store.system() as tx:
        (found,) = await changelog.load_file_documents(tx, ground.tenant_id, [stored.file_id, 999])
        assert (
            await changelog.load_file_documents(tx, ground.away.tenant_id, [stored.file_id]) == []
        )
    assert (found.key, found.title, found.language) == ("a.md", "Fruit", "en")
    assert [it.seq for it in found.chunks] == [0, 1]
    assert len({it.text_hash for it in found.chunks}) == 2
    ((acl_id,),) = await ground.ask("SELECT acl_id FROM kernel.file")
    assert found.acl_id == acl_id


async def test_the_log_is_trimmed_below_the_slowest_node(ground: CorpusFixture) -> None:
    for n in range(5):
        await ground.put(f"{n}.md", f"text {n}")
    async with ground.store.system() as tx:
        await changelog.record_applied(tx, ground.tenant_id, "node1", 4)
        await changelog.record_applied(tx, ground.tenant_id, "node2", 2)
        assert await changelog.measure_lag(tx, ground.tenant_id) == 3
        await changelog.trim(tx)
    assert (await log(ground, after=1)).trimmed
    left = await log(ground, after=2)
    assert ([it.n for it in left.entries], left.trimmed) == ([3, 4, 5], False)


async def test_an_index_ahead_of_its_log_is_told_to_begin_again(ground: CorpusFixture) -> None:
    await ground.put("a.md", "apples")
    assert (await log(ground, after=7)).trimmed


async def test_a_node_long_gone_no_longer_keeps_the_log(ground: CorpusFixture) -> None:
    await ground.put("a.md", "apples")
    async with ground.store.system() as tx:
        await changelog.record_applied(tx, ground.tenant_id, "old", 0)
        await tx.execute("UPDATE kernel.index_node SET seen_at = now() - interval '8 days'")
        await changelog.trim(tx)
        assert await changelog.load_applied(tx, ground.tenant_id, "old") is None
    assert (await log(ground, after=0)).trimmed


async def test_a_tenant_that_goes_takes_its_log_along(ground: CorpusFixture) -> None:
    await ground.put("a.md", "apples")
    await ground.ask("DELETE FROM kernel.tenant WHERE id = %s", ground.tenant_id)
    for table in ("tick", "change", "tenant_clock", "file", "chunk", "revision"):
        assert await ground.ask(
            f"SELECT count(*) FROM kernel.{table} WHERE tenant_id = %s", ground.tenant_id
        ) == [(0,)]


async def test_a_restored_copy_has_the_texts_and_a_log_of_its_own(
    ground: CorpusFixture, empty_database: DatabaseLogins, tmp_path: Path
) -> None:
    """An index of the original, with a number that fits, is not an index of the copy."""
    await ground.put("a.md", "apples")
    async with ground.store.system() as tx:
        await changelog.record_applied(tx, ground.tenant_id, "node1", 1)
        original = await changelog.load_position(tx, ground.tenant_id)
    await back_up(ground.store.logins.system, tmp_path / "b.zip", quiet)
    await restore(empty_database.owner, tmp_path / "b.zip", migration_parts(), quiet)
    copy = Store(empty_database)
    await copy.open()
    async with copy.system() as tx:
        copied = await changelog.load_position(tx, ground.tenant_id)
        assert await changelog.load_applied(tx, ground.tenant_id, "node1") is None
        read = await read_text(tx, SOURCE, "a.md", tenant_id=ground.tenant_id)
        again = await put(tx, FileMetadata(SOURCE, "b.md"), plain("x"), tenant_id=ground.tenant_id)
    await copy.close()
    assert read.text.startswith("apples")
    assert again.file_id > read.file_id
    assert copied.n == original.n
    assert copied.epoch != original.epoch


def quiet(name: str, done: int, of: int) -> None:
    """Nobody watches."""


async def test_who_listens_hears_which_tenant_changed(ground: CorpusFixture) -> None:
    conninfo = ground.store.logins.system
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute(f"LISTEN {changelog.CHANNEL}")
        await ground.put("a.md", "apples")
        heard = [it.payload async for it in connection.notifies(timeout=5, stop_after=1)]
    assert heard == [str(ground.tenant_id)]
