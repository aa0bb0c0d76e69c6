"""The doctor's database checks: opens it, migrates it and runs a round trip."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
from anyio.to_thread import run_sync

from pecia.app.app import ensure_home, index_root, migration_parts, open_logins
from pecia.app.features import build_features
from pecia.app.operator.health import (
    IndexTrouble,
    LockedSecret,
    SourceProblem,
    check_round_trip,
    index_troubles,
    list_source_problems,
    load_queue_health,
    unopenable,
)
from pecia.interfaces.cli.commands.doctor.checks import DoctorFinding
from pecia.interfaces.cli.server.client import ServerClient
from pecia.interfaces.cli.server.discover import find_running_server
from pecia.kernel.corpus.keyword.directory import load_node_name
from pecia.kernel.corpus.keyword.maintenance import list_damaged
from pecia.kernel.errors import PeciaError
from pecia.kernel.secrets import key_file
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.migrate import migrate
from pecia.kernel.store.store import PoolSize, Store
from pecia.kernel.tool.view import combine_tools

MAX_SOURCES = 20


async def check_database(settings: Settings, report: Callable[[str], None]) -> list[DoctorFinding]:
    """Every check that needs the database, until one of them fails."""
    found: list[DoctorFinding] = []
    step = "database"
    try:
        async with open_logins(settings.kernel, report) as logins:
            found.append(DoctorFinding(step, "ok", "it opens"))
            step = "migrations"
            found.append(await _check_migrations(settings, logins))
            step = "round trip"
            async with _open_store(logins) as store:
                found.append(DoctorFinding(step, "ok", await _check_round_trip(settings, store)))
                step = "worker"
                found.append(await _check_worker(settings, store))
                step = "sources"
                found.extend(await _check_sources(store))
                step = "index"
                found.extend(await _indexes(settings, store))
                step = "secrets"
                found.extend(await _secrets(settings, store))
    except (PeciaError, psycopg.Error) as error:
        found.append(DoctorFinding(step, "fail", str(error).strip(), _advice(step)))
    return found


async def _check_migrations(settings: Settings, logins: DatabaseLogins) -> DoctorFinding:
    done = await migrate(logins.owner, migration_parts(settings))
    return DoctorFinding("migrations", "ok", f"{len(done)} applied now" if done else "all applied")


async def _check_round_trip(settings: Settings, store: Store) -> str:
    """In a temporary tenant, with temporary keys."""
    folder = ensure_home(settings.kernel) / "spool"
    audit_log = AuditLog(store, Path(folder))
    try:
        features = build_features(settings, store, audit_log, Keyring.fresh())
        tools = combine_tools(tool for feature in features for tool in feature.tools)
        return await check_round_trip(store, audit_log, tools)
    finally:
        await audit_log.close()


async def _check_worker(settings: Settings, store: Store) -> DoctorFinding:
    queue = await load_queue_health(store)
    found = f"{queue.workers} alive, {queue.waiting} jobs wait, {queue.failed} failed"
    if queue.workers:
        return DoctorFinding("worker", "ok", found)
    if find_running_server(settings.kernel.home) is None:
        return DoctorFinding("worker", "ok", f"no server runs; {found}")
    return DoctorFinding("worker", "warn", found, "pecia worker")


async def _check_sources(store: Store) -> list[DoctorFinding]:
    """One line for each source with a problem, up to a limit."""
    troubles = await list_source_problems(store)
    if not troubles:
        return [DoctorFinding("sources", "ok", "no crawl failed, every file was read")]
    found = [_source_finding(it) for it in troubles[:MAX_SOURCES]]
    if left := len(troubles) - len(found):
        found.append(DoctorFinding("sources", "warn", f"and {left} more sources"))
    return found


async def _indexes(settings: Settings, store: Store) -> list[DoctorFinding]:
    """Damaged and stalled indexes. Without a server they are not updated, which is no problem."""
    server = find_running_server(settings.kernel.home)
    is_served = server is not None
    if damaged := await run_sync(list_damaged, index_root(settings.kernel)):
        when = "being rebuilt" if is_served else "rebuilt by the next start"
        advice = "if it stays: pecia index repair" if is_served else "pecia index repair"
        found = f"{len(damaged)} damaged, {when}; nothing is lost: {damaged[0]}"
        return [DoctorFinding("index", "warn", found, advice)]
    if not is_served:
        return [DoctorFinding("index", "ok", "no server runs; indexes catch up when one does")]
    node = await run_sync(load_node_name, index_root(settings.kernel))
    stalled = await run_sync(_find_stalled, server.lock.url)
    found = [
        _index_finding(it, is_stalled=stalled is not None)
        for it in await index_troubles(store, node)
    ]
    if not found and stalled:
        found = [DoctorFinding("index", "warn", stalled, "the server's log says why; see its disk")]
    return found or [DoctorFinding("index", "ok", "it keeps up")]


def _index_finding(it: IndexTrouble, *, is_stalled: bool) -> DoctorFinding:
    if it.kind == "keyword" and not is_stalled:
        return DoctorFinding(
            "index", "ok", f"tenant {it.tenant}: the keyword index has {it.commits} commits to go"
        )
    if it.is_running:
        progress = f"{it.done} of {it.total} files" if it.total else "it has begun"
        return DoctorFinding(
            "index", "ok", f"embeddings of tenant {it.tenant} are being made: {progress}"
        )
    return DoctorFinding(
        "index",
        "warn",
        f"the {it.kind} index of tenant {it.tenant} is {it.commits} commits behind, the oldest "
        f"for {it.waits_s:.0f} s",
        "pecia stop, then pecia start FOLDER; if it stays: pecia index rebuild",
    )


def _find_stalled(url: str) -> str | None:
    """What the server says of an index that it cannot make; None where all move."""
    check = ServerClient(url).checks().get("index")
    return str(check["found"]) if check and not check["ok"] else None


async def _secrets(settings: Settings, store: Store) -> list[DoctorFinding]:
    """Secrets that were encrypted with a key that this home does not have."""
    path = settings.kernel.home / "keys.json"
    if not path.exists():
        return []
    lost = await unopenable(store, await run_sync(key_file.load, path))
    if not lost:
        return [DoctorFinding("secrets", "ok", "this home has every key it needs")]
    return [
        DoctorFinding(
            "secrets",
            "warn",
            f"{it.name} of tenant {it.tenant} is encrypted with the key {it.key_id}, which {path} "
            "does not have",
            f"put the old key file back, or: {_set_again(it)}",
        )
        for it in lost[:MAX_SOURCES]
    ]


def _set_again(it: LockedSecret) -> str:
    if it.of_source:
        return f"pecia source credential {it.name}"
    return f"pecia secret set {it.name} --purpose {it.purpose}"


def _source_finding(it: SourceProblem) -> DoctorFinding:
    where = f"{it.source_id} of tenant {it.tenant}"
    if it.failed:
        advice = f"fix it, then: pecia source crawl {it.source_id} --wait"
        return DoctorFinding(
            "sources", "warn", f"{where}: the last crawl failed: {it.problem}", advice
        )
    advice = f"pecia source unread {it.source_id}"
    return DoctorFinding("sources", "warn", f"{where}: {it.unread} files could not be read", advice)


@asynccontextmanager
async def _open_store(logins: DatabaseLogins) -> AsyncGenerator[Store]:
    store = Store(logins, app=PoolSize(max_size=2), system=PoolSize(max_size=2))
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def _advice(step: str) -> str:
    if step == "migrations":
        return "pecia migrate, or for an external database pecia migrate --print-sql"
    return "check the log of the database, or run it again with --debug"
