"""The audit log between the spool and its table: one row a call, whatever came between."""

import os
import resource
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pecia.kernel.errors import BadArgument, Json
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.audit.record import AuditRecord
from pecia.kernel.store.audit.spool import find_abandoned, read_records
from tests.conftest import House

pytestmark = pytest.mark.anyio


def trace(house: House, **more: Any) -> AuditRecord:
    return AuditRecord(uuid4(), "probe.audit", "test", house.bo.tenant_id, house.bo.user_id, **more)


async def rows(house: House) -> list[dict[str, Any]]:
    async with house.app.store.system() as tx:
        return await tx.fetch_all(
            "SELECT * FROM kernel.audit WHERE tool = 'probe.audit' ORDER BY at"
        )


def die_after(house: House, folder: Path, begun: AuditRecord, done: AuditRecord) -> None:
    """A process that begins two calls, ends one, and is killed."""
    child = os.fork()
    if child == 0:
        dying = AuditLog(house.app.store, folder)
        dying.spool.begin(begun)
        dying.spool.begin(done)
        dying.spool.end(done, "ok", None, 3)
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)


async def test_several_tools_are_asked_for_by_short_and_full_names(house: House) -> None:
    await house.call(house.ana, "whoami")
    await house.call(house.ana, "list_users")
    await house.call(house.ana, "list_groups")
    for names in (["whoami", "list_users"], ["whoami", "admin.list_users"]):
        asked: list[Json] = [*names]
        found = await house.call(house.ana, "list_audit", tools=asked)
        assert {it["tool"] for it in found["rows"]} == {"admin.whoami", "admin.list_users"}


async def test_a_filter_that_could_match_nothing_is_refused_by_name(house: House) -> None:
    with pytest.raises(BadArgument) as empty:
        await house.call(house.ana, "list_audit", tools=[])
    assert empty.value.fields["field"] == "tools"
    with pytest.raises(BadArgument, match='"tool" or "tools"'):
        await house.call(house.ana, "list_audit", tool="whoami", tools=["list_users"])


async def test_a_call_still_running_is_settled_once_when_it_ends(house: House) -> None:
    running, ended = trace(house), trace(house)
    log = house.app.audit_log
    log.spool.begin(running)
    log.spool.begin(ended)
    log.spool.end(ended, "ok", None, 5)
    await log.drain()
    assert [it["id"] for it in await rows(house)] == [ended.id]
    await log.drain()
    log.spool.end(running, "error", "NOT_FOUND", 7)
    await log.drain()
    found = {it["id"]: (it["status"], it["duration_us"]) for it in await rows(house)}
    assert found == {ended.id: ("ok", 5), running.id: ("error", 7)}


async def test_what_a_dead_process_began_and_never_ended_is_interrupted(
    house: House, tmp_path: Path
) -> None:
    folder = tmp_path / "spool"
    begun, done = trace(house), trace(house)
    die_after(house, folder, begun, done)
    next_one = AuditLog(house.app.store, folder)
    assert await next_one.recover_abandoned() == 2
    found = {it["id"]: it["status"] for it in await rows(house)}
    assert found == {begun.id: "interrupted", done.id: "ok"}
    await next_one.close()
    assert list(folder.iterdir()) == []


async def test_an_interrupted_call_whose_write_committed_stays_ok(
    house: House, tmp_path: Path
) -> None:
    written = trace(house, credential_id=house.bo.credential_id)
    log = AuditLog(house.app.store, tmp_path / "spool")
    log.spool.begin(written)
    async with house.app.store.writing(house.bo, written):
        pass
    log.spool._segment.path.rename(tmp_path / "spool" / "left.audit")  # pyright: ignore[reportPrivateUsage] - stands for a process that died
    os.close(log.spool._segment.file)  # pyright: ignore[reportPrivateUsage] - as above
    await AuditLog(house.app.store, tmp_path / "spool").recover_abandoned()
    assert [it["status"] for it in await rows(house)] == ["ok"]


async def test_arguments_the_database_cannot_hold_do_not_stop_the_audit_log(house: House) -> None:
    for arguments in ({"text": "a\x00b"}, {"text": "\ud800"}, {"te\x00xt": 1}):
        call = trace(house, arguments=arguments)
        house.app.audit_log.spool.begin(call)
        house.app.audit_log.spool.end(call, "ok", None, 1)
    await house.app.audit_log.drain()
    assert [it["arguments"] for it in await rows(house)] == [
        {"text": "a�b"},
        {"text": "?"},
        {"te�xt": 1},
    ]


async def test_a_line_that_the_disk_cut_short_does_not_swallow_the_next(
    house: House, tmp_path: Path
) -> None:
    log = AuditLog(house.app.store, tmp_path / "spool")
    first, second = trace(house, arguments={"text": "x" * 4000}), trace(house)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        with pytest.raises(OSError, match="cut short"):
            log.spool.begin(first)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    log.spool.begin(second)
    (path,) = (tmp_path / "spool").glob("*.audit")
    assert [it["begin"] for it in read_records([path])] == [str(second.id)]
    assert list(find_abandoned(tmp_path / "spool")) == []


@pytest.mark.parametrize(
    "damage",
    [
        b"\0" * 4096,
        b"\0" * 512 + b"\n",
        b'{"begin": "torn in the mid\n',
        b"[1, 2]\n",
        b"\xff\xfe garbage\n",
        b'{"begin": "no uuid", "at": "never", "tool": "probe.audit", "interface": "test"}\n',
    ],
)
async def test_a_damaged_line_keeps_neither_the_others_nor_a_start_waiting(
    house: House, tmp_path: Path, damage: bytes
) -> None:
    folder = tmp_path / "spool"
    begun, done = trace(house), trace(house)
    die_after(house, folder, begun, done)
    (path,) = folder.glob("*.audit")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + damage + b"".join(lines[1:]))
    next_one = AuditLog(house.app.store, folder)
    await next_one.recover_abandoned()
    found = {it["id"]: it["status"] for it in await rows(house)}
    assert found == {begun.id: "interrupted", done.id: "ok"}
    await next_one.close()
    # What was written and cannot be read is kept for people; zeros are nothing that was written.
    assert (folder / "damaged").exists() == bool(damage.strip(b"\0\n"))
    assert not [*folder.glob("*.audit")]
