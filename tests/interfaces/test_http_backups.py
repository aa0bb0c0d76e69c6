"""Backups over HTTP: the owner of a local install makes and downloads them, and nobody else."""

import io
import zipfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest

from pecia.app.operator.backups import Backups
from pecia.kernel.identity import owner_token
from pecia.kernel.store.backup.archive import open_archive
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import Pecia, bearing, open_pecia

pytestmark = pytest.mark.anyio

BACKUPS = "/api/v1/backups"


@pytest.fixture
async def local(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Pecia]:
    async with open_pecia(database, tmp_path / "home", mode="local") as served:
        yield served


@pytest.fixture
def owner(local: Pecia) -> dict[str, str]:
    token = owner_token.read(local.app.settings.kernel.home)
    assert token is not None
    return bearing(token)


async def test_the_owner_makes_one_and_downloads_it_once(
    local: Pecia, owner: dict[str, str]
) -> None:
    made = await local.http.post(BACKUPS, headers=owner)
    assert made.status_code == 202, made.text
    found = await finished(local, owner)
    assert [it["name"] for it in found["backups"]] == [made.json()["name"]]
    assert (found["latest"]["problem"], found["latest"]["ok"]) == (None, True)
    link = await local.http.post(f"{BACKUPS}/{made.json()['name']}", headers=owner)
    file = await local.http.get(link.json()["url"])
    assert file.headers["content-type"] == "application/zip"
    assert zipfile.ZipFile(io.BytesIO(file.content)).testzip() is None
    with open_archive(Path(found["folder"]) / made.json()["name"]) as archive:
        assert archive.manifest.rows > 0
    again = await local.http.get(link.json()["url"])
    assert (again.status_code, again.json()["error"]["code"]) == (404, "NOT_FOUND")
    tools = [it["tool"] for it in await local.audit(user_id=None)]
    assert tools.count("backups.download") == 2


async def test_a_process_of_the_owner_without_the_token_only_sees_the_list(local: Pecia) -> None:
    assert (await local.http.get(BACKUPS)).json()["backups"] == []
    assert (await local.http.post(BACKUPS)).status_code == 401
    assert (await local.http.post(f"{BACKUPS}/pecia-20260101T000000Z.zip")).status_code == 401


async def test_an_administrator_of_a_tenant_on_a_server_gets_none(pecia: Pecia) -> None:
    for method in ("GET", "POST"):
        said = await pecia.http.request(method, BACKUPS, headers=pecia.ana)
        assert said.status_code == 403
        assert "pecia backup" in said.json()["error"]["message"]


async def test_no_name_leads_out_of_the_folder(local: Pecia, owner: dict[str, str]) -> None:
    (local.app.settings.kernel.home / "backups").mkdir(exist_ok=True)
    for name in ("keys.json", "..%2Fkeys.json", "pecia-20260101T000000Z.zip", "%2e%2e"):
        said = await local.http.post(f"{BACKUPS}/{name}", headers=owner)
        assert said.status_code in (400, 404), name


async def test_only_regular_files_named_by_a_real_time_are_listed(
    local: Pecia, owner: dict[str, str]
) -> None:
    folder = local.app.settings.kernel.home / "backups"
    folder.mkdir(exist_ok=True)
    (folder / "pecia-20260102T030405Z.zip").write_bytes(b"whole")
    (folder / "pecia-99999999T999999Z.zip").write_bytes(b"no such time")
    (folder / "pecia-20260102T030406Z.zip").symlink_to(folder / "gone")
    (folder / "pecia-20260102T030407Z.zip").mkdir()
    listed = await local.http.get(BACKUPS, headers=owner)
    assert listed.status_code == 200, listed.text
    assert [(it["name"], it["bytes"]) for it in listed.json()["backups"]] == [
        ("pecia-20260102T030405Z.zip", 5)
    ]
    for name in ("pecia-99999999T999999Z.zip", "pecia-20260102T030407Z.zip"):
        said = await local.http.post(f"{BACKUPS}/{name}", headers=owner)
        assert said.status_code == 404, name


async def test_whatever_stops_a_backup_is_told_and_is_no_success(local: Pecia) -> None:
    # A path with a NUL is a ValueError, neither an error of ours nor one of the disk.
    kernel = local.app.settings.kernel.model_copy(update={"backup_dir": Path("no\0folder")})
    made = Backups(kernel, local.app.store.logins.system).start()
    with anyio.fail_after(60):
        while not made.is_over:
            await anyio.lowlevel.checkpoint()
    told = made.as_json()
    assert (told["ok"], told["running"]) == (False, False)
    assert "null byte" in str(told["problem"])


async def test_neither_a_range_nor_a_look_spends_the_link_without_the_whole_file(
    local: Pecia, owner: dict[str, str]
) -> None:
    folder = local.app.settings.kernel.home / "backups"
    folder.mkdir(exist_ok=True)
    name = "pecia-20260102T030405Z.zip"
    (folder / name).write_bytes(b"the whole of it")
    link = (await local.http.post(f"{BACKUPS}/{name}", headers=owner)).json()["url"]
    looked = await local.http.head(link)
    assert (looked.status_code, looked.headers["content-length"]) == (200, "15")
    for asked in ("bytes=0-3", "bytes=99-", "lines=1"):
        file = await local.http.get(link, headers={"range": asked})
        assert (file.status_code, file.content) == (200, b"the whole of it")
        assert file.headers["accept-ranges"] == "none"
        link = (await local.http.post(f"{BACKUPS}/{name}", headers=owner)).json()["url"]


async def finished(local: Pecia, owner: dict[str, str]) -> dict[str, Any]:
    with anyio.fail_after(60):
        while True:
            found = (await local.http.get(BACKUPS, headers=owner)).json()
            if not found["latest"]["running"]:
                return found
            await anyio.lowlevel.checkpoint()
