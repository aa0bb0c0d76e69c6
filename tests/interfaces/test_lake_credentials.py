"""What a source logs in with: kept by the process that serves, and opened by workers alone."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, cast
from urllib.parse import urlsplit

import anyio
import pytest

from pecia.adapters.connectors.s3 import S3
from pecia.app.app import SETTINGS, App, open_app
from pecia.app.operator.key_rotation import rotate_keys
from pecia.app.operator.session import OperatorSession
from pecia.features.lake.credentials import SourceCredentials
from pecia.kernel.errors import Forbidden
from pecia.kernel.jobs.worker import run_until_idle, run_worker
from pecia.kernel.jobs.worker_loop import WorkerIntervals
from pecia.kernel.secrets.keyring import Purpose, SealedSecret
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import house_flags, no_fetch
from tests.interfaces.tenant_server import Pecia, allow, open_pecia
from tests.interfaces.test_lake_downloads import ON, index
from tests.laws.law_database import connect
from tests.origin_servers import Store, served

pytestmark = pytest.mark.anyio

SECRET = "b7Kq/not+a+real/secretOfTheBucket"
PACE = WorkerIntervals(heartbeat_s=0.1, stalled_s=30, poll_s=0.05, grace_s=1)
BODY = b"# Spokes\n\nSteel.\n"


@dataclass(frozen=True, slots=True)
class Server:
    """An API process and a worker, each with a home and so a key file of its own."""

    pecia: Pecia
    worker: App
    store: Store
    url: str

    async def add(self) -> None:
        asked = {"source_id": "shelf", "s3": "s3://shelf", "trim_mode": "open"}
        where = {"endpoint": self.url, "region": self.store.region}
        assert (await self.pecia.call("admin/add_source", asked | where)).status_code == 200

    async def keep(self, value: str) -> Any:
        asked = {"source_id": "shelf", "value": value}
        return await self.pecia.call("admin/set_credential", asked)

    async def crawl(self) -> dict[str, Any]:
        await self.pecia.call("admin/crawl_source", {"source_id": "shelf"})
        await run_until_idle(self.worker.store, self.worker.jobs)
        await index(self.pecia)
        status = await self.pecia.call("admin/crawl_status", {"source_id": "shelf"})
        return status.json()


@pytest.fixture
async def server(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Server]:
    store = Store({"spokes.md": BODY}, secret=SECRET)
    with served(store) as url:
        flags: dict[str, Any] = {**ON}
        given = {**house_flags(database, tmp_path / "worker"), "mode": "server", **flags}
        settings = load_settings(
            SETTINGS, flags=given, environ={}, project_file=None, user_file=None
        )
        async with (
            open_pecia(database, tmp_path / "api", **flags) as pecia,
            open_app(settings, fetch=no_fetch, report=lambda _: None, is_worker=True) as worker,
        ):
            await allow(pecia.app, hosts=[urlsplit(url).netloc])
            yield Server(pecia, worker, store, url)


def credentials(app: App) -> SourceCredentials:
    return SourceCredentials(app.store, app.keyring)


async def test_before_a_worker_said_how_to_seal_nothing_is_kept(server: Server) -> None:
    await server.add()
    refused = await server.keep(f"AKIDEXAMPLE:{SECRET}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "UNAVAILABLE")
    assert SECRET not in refused.text


async def test_who_stores_a_secret_for_a_source_is_told_the_way_to_the_workers(
    server: Server,
) -> None:
    asked = {"name": "key", "purpose": "source", "value": SECRET}
    refused = (await server.pecia.call("admin/set_secret", asked)).json()["error"]
    assert (refused["code"], SECRET in str(refused)) == ("FORBIDDEN", False)
    assert "pecia source credential" in refused["hint"]


@pytest.mark.requirement("lake.download.delegated")
async def test_the_api_process_opens_no_credential_and_a_worker_fetches_the_bytes(
    server: Server,
) -> None:
    await credentials(server.worker).publish()
    await server.add()
    kept = await server.keep(f"AKIDEXAMPLE:{SECRET}")
    assert kept.json() == {"source_id": "shelf", "protocol": "s3"}
    assert (await server.crawl())["state"] == "done"
    await require_sealed_for_workers(server)
    asked = {"query": "spokes", "mode": "lexical"}
    [hit] = (await server.pecia.call("lake/search_content", asked)).json()["hits"]
    link = hit["url"].removeprefix("https://files.example.org")
    async with working(server.worker):
        whole = await server.pecia.http.get(link)
        part = await server.pecia.http.get(link, headers={"range": "bytes=2-7"})
        del server.store.objects["spokes.md"]
        gone = await server.pecia.http.get(link)
    assert (whole.status_code, whole.content) == (200, BODY)
    assert (part.status_code, part.content) == (206, BODY[2:8])
    assert gone.status_code == 404
    async with server.worker.store.system() as tx:
        assert (
            await tx.fetch_all(
                "SELECT 1 FROM lake.delivery UNION ALL SELECT 1 FROM lake.delivery_part"
            )
            == []
        )


@pytest.mark.parametrize(
    ("sqlstate", "code", "told", "attempts"),
    [
        ("23514", (422, "UNPROCESSABLE"), "not one the store accepts", 1),
        ("53200", (502, "UPSTREAM_ERROR"), "not reachable", 2),
    ],
    ids=["lasting", "passing"],
)
async def test_who_waits_for_bytes_that_the_database_will_not_hold_is_told_so(
    server: Server,
    database: DatabaseLogins,
    sqlstate: str,
    code: tuple[int, str],
    told: str,
    attempts: int,
) -> None:
    """At once where another attempt cannot mend it, and after the last attempt otherwise."""
    await credentials(server.worker).publish()
    await server.add()
    await server.keep(f"AKIDEXAMPLE:{SECRET}")
    await server.crawl()
    asked = {"query": "spokes", "mode": "lexical"}
    [hit] = (await server.pecia.call("lake/search_content", asked)).json()["hits"]
    refuse_parts(database, sqlstate)
    async with working(server.worker):
        failed = await server.pecia.http.get(hit["url"].removeprefix("https://files.example.org"))
    assert (failed.status_code, failed.json()["error"]["code"]) == code
    assert told in failed.json()["error"]["message"]
    with connect(database.owner) as owner:
        assert owner.execute("SELECT last_value FROM lake.tried").fetchone() == (attempts,)


def refuse_parts(database: DatabaseLogins, sqlstate: str) -> None:
    """A sequence counts, since it is not rolled back."""
    refuse = f"""
        CREATE FUNCTION lake.refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            PERFORM nextval('lake.tried');
            RAISE EXCEPTION 'no' USING ERRCODE = '{sqlstate}';
        END $$
    """
    with connect(database.owner) as owner:
        owner.execute("CREATE SEQUENCE lake.tried")
        owner.execute(cast(LiteralString, refuse))
        owner.execute(
            "CREATE TRIGGER refused BEFORE INSERT ON lake.delivery_part"
            " FOR EACH ROW EXECUTE FUNCTION lake.refuse()"
        )


@asynccontextmanager
async def working(app: App) -> AsyncGenerator[None]:
    async with anyio.create_task_group() as tasks:
        stop = anyio.Event()
        tasks.start_soon(lambda: run_worker(app.store, app.jobs, stop=stop, pace=PACE))
        yield
        stop.set()


async def require_sealed_for_workers(server: Server) -> None:
    api = server.pecia.app
    assert Purpose.SOURCE not in api.keyring.purposes
    async with api.store.system() as tx:
        [row] = await tx.fetch_all("SELECT * FROM lake.credential")
    assert SECRET.encode() not in row["ciphertext"]
    sealed = SealedSecret(row["key_id"], row["nonce"], row["ciphertext"])
    with pytest.raises(Forbidden, match="has no source keys"):
        await credentials(api).login(row["tenant_id"], "shelf", S3)
    login = await credentials(server.worker).login(row["tenant_id"], "shelf", S3)
    assert login is not None
    assert (login.user, login.secret) == ("AKIDEXAMPLE", SECRET)
    assert SECRET not in repr(login) + repr(sealed)


async def test_a_credential_survives_the_rotation_of_its_key_and_goes_with_its_source(
    server: Server, tmp_path: Path
) -> None:
    worker = server.worker
    await credentials(worker).publish()
    await server.add()
    await server.keep(f"AKIDEXAMPLE:{SECRET}")
    operating = OperatorSession(worker.store, worker.audit_log, "test")
    keys = tmp_path / "worker" / "keys.json"
    rotated = await rotate_keys(operating, keys, Purpose.SOURCE, retire=True)
    assert rotated.resealed == 1
    async with worker.store.system() as tx:
        assert await tx.fetch_value("SELECT key_id FROM lake.credential") == rotated.key_id
        newest = "SELECT key_id FROM lake.sealing_key ORDER BY at DESC LIMIT 1"
        assert await tx.fetch_value(newest) == rotated.key_id
    await server.pecia.call("admin/remove_source", {"source_id": "shelf"})
    async with worker.store.system() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM lake.credential") == 0


async def test_only_an_owner_keeps_or_removes_a_credential(server: Server) -> None:
    await credentials(server.worker).publish()
    await server.add()
    asked = {"source_id": "shelf", "value": f"AKIDEXAMPLE:{SECRET}"}
    bo = server.pecia.bo
    assert (await server.pecia.call("admin/set_credential", asked, bo)).status_code == 403
    await server.keep(asked["value"])
    one = {"source_id": "shelf"}
    assert (await server.pecia.call("admin/remove_credential", one, bo)).status_code == 403
    assert (await server.pecia.call("admin/remove_credential", one)).status_code == 200
    assert (await server.pecia.call("admin/remove_credential", one)).status_code == 404


async def test_a_worker_without_the_key_says_what_to_copy_and_seals_nothing_for_itself(
    server: Server, database: DatabaseLogins, tmp_path: Path
) -> None:
    await credentials(server.worker).publish()
    await server.add()
    await server.keep(f"AKIDEXAMPLE:{SECRET}")
    given = {**house_flags(database, tmp_path / "other"), "mode": "server", **ON}
    settings = load_settings(SETTINGS, flags=given, environ={}, project_file=None, user_file=None)
    async with open_app(settings, fetch=no_fetch, report=lambda _: None, is_worker=True) as other:
        assert not await credentials(other).publish()
        # What is kept from now on can still be opened by the first worker.
        await server.keep(f"AKIDEXAMPLE:{SECRET}")
        await server.pecia.call("admin/crawl_source", {"source_id": "shelf"})
        await run_until_idle(other.store, other.jobs)
        status = await server.pecia.call("admin/crawl_status", {"source_id": "shelf"})
        assert "Copy keys.json" in status.text
    assert (await server.crawl())["state"] == "done"
