"""What the doctor finds in the database: it opens it, brings it up to date and tries it out."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
from anyio.to_thread import run_sync

from pecia.app.app import home_of, index_root, open_logins, parts
from pecia.app.condition import (
    SealedSecret,
    SourceTrouble,
    index_troubles,
    queue_condition,
    round_trip,
    source_troubles,
    unopenable,
)
from pecia.app.rooms import build_rooms
from pecia.doors.cli.find import running
from pecia.doors.cli.finding import Finding
from pecia.kernel.corpus.index.place import node_of
from pecia.kernel.errors import PeciaError
from pecia.kernel.secrets import key_file
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.audit import Ledger
from pecia.kernel.store.cluster import Logins
from pecia.kernel.store.migrate import migrate
from pecia.kernel.store.store import PoolSize, Store
from pecia.kernel.tool.view import combined

MOST_SOURCES = 20


async def of_database(settings: Settings, report: Callable[[str], None]) -> list[Finding]:
    """Every check that needs the database, until one of them fails."""
    found: list[Finding] = []
    step = "database"
    try:
        async with open_logins(settings.kernel, report) as logins:
            found.append(Finding(step, "ok", "it opens"))
            step = "migrations"
            found.append(await _migrated(logins))
            step = "round trip"
            async with _store(logins) as store:
                found.append(Finding(step, "ok", await _tried(settings, store)))
                step = "worker"
                found.append(await _worker(settings, store))
                step = "sources"
                found.extend(await _sources(store))
                step = "index"
                found.extend(await _indexes(settings, store))
                step = "secrets"
                found.extend(await _secrets(settings, store))
    except (PeciaError, psycopg.Error) as error:
        found.append(Finding(step, "fail", str(error).strip(), _advice(step)))
    return found


async def _migrated(logins: Logins) -> Finding:
    done = await migrate(logins.owner, parts())
    return Finding("migrations", "ok", f"{len(done)} applied now" if done else "all applied")


async def _tried(settings: Settings, store: Store) -> str:
    """In a tenant of its own, with keys of its own: it needs nobody's."""
    folder = home_of(settings.kernel) / "spool"
    ledger = Ledger(store, Path(folder))
    try:
        rooms = build_rooms(settings, store, ledger, Keyring.fresh())
        tools = combined(tool for room in rooms for tool in room.tools)
        return await round_trip(store, ledger, tools)
    finally:
        await ledger.close()


async def _worker(settings: Settings, store: Store) -> Finding:
    queue = await queue_condition(store)
    found = f"{queue.workers} alive, {queue.waiting} jobs wait, {queue.failed} failed"
    if queue.workers:
        return Finding("worker", "ok", found)
    if running(settings.kernel.home) is None:
        return Finding("worker", "ok", f"no server runs; {found}")
    return Finding("worker", "warn", found, "pecia worker")


async def _sources(store: Store) -> list[Finding]:
    """One line for each that needs somebody, up to a screen of them."""
    troubles = await source_troubles(store)
    if not troubles:
        return [Finding("sources", "ok", "no crawl failed, every file was read")]
    found = [_trouble(it) for it in troubles[:MOST_SOURCES]]
    if left := len(troubles) - len(found):
        found.append(Finding("sources", "warn", f"and {left} more sources"))
    return found


async def _indexes(settings: Settings, store: Store) -> list[Finding]:
    """Those that have stood still. Without a server nobody keeps them, and none is missed."""
    if running(settings.kernel.home) is None:
        return [Finding("index", "ok", "no server runs; indexes catch up when one does")]
    node = await run_sync(node_of, index_root(settings.kernel))
    found = [
        Finding(
            "index",
            "warn",
            f"the {it.kind} index of tenant {it.tenant} is {it.commits} commits behind, the oldest "
            f"for {it.waits_s:.0f} s",
            "pecia stop, then pecia start FOLDER; if it stays: pecia index rebuild",
        )
        for it in await index_troubles(store, node)
    ]
    return found or [Finding("index", "ok", "it keeps up")]


async def _secrets(settings: Settings, store: Store) -> list[Finding]:
    """Those that were sealed with a key that this home does not have."""
    path = settings.kernel.home / "keys.json"
    if not path.exists():
        return []
    lost = await unopenable(store, await run_sync(key_file.load, path))
    if not lost:
        return [Finding("secrets", "ok", "this home has every key it needs")]
    return [
        Finding(
            "secrets",
            "warn",
            f"{it.name} of tenant {it.tenant} is sealed with the key {it.key_id}, which {path} "
            "does not have",
            f"put the old key file back, or: {_set_again(it)}",
        )
        for it in lost[:MOST_SOURCES]
    ]


def _set_again(it: SealedSecret) -> str:
    if it.of_source:
        return f"pecia source credential {it.name}"
    return f"pecia secret set {it.name} --purpose {it.purpose}"


def _trouble(it: SourceTrouble) -> Finding:
    where = f"{it.source_id} of tenant {it.tenant}"
    if it.failed:
        advice = f"mend it, then: pecia source crawl {it.source_id} --wait"
        return Finding("sources", "warn", f"{where}: the last crawl failed: {it.problem}", advice)
    advice = f"pecia source unread {it.source_id}"
    return Finding("sources", "warn", f"{where}: {it.unread} files could not be read", advice)


@asynccontextmanager
async def _store(logins: Logins) -> AsyncGenerator[Store]:
    store = Store(logins, app=PoolSize(most=2), system=PoolSize(most=2))
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def _advice(step: str) -> str:
    if step == "migrations":
        return "pecia migrate, or for an external database pecia migrate --print-sql"
    return "look at the log of the database, or run it again with --debug"
