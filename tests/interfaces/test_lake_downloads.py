"""Links to originals: made for somebody, short-lived, and worth no more than that one's rights."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey

from pecia.app.app import index_root
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.identity.caller import Caller
from pecia.kernel.jobs.worker import run_until_idle
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.interfaces.tenant_server import Pecia, allow, bearing, open_pecia

pytestmark = pytest.mark.anyio

SECRET = "a secret of thirty-two characters"
ON = {
    "download_signing_secret": SECRET,
    "public_url": "https://files.example.org",
    "internal_fetch_token": "sixteen characters",
}
BODY = b"# Spokes\r\n\r\nSteel spokes, with line ends that no text keeps.\r\n"
FILE = {"source_id": "docs", "key": "spokes.md"}
BELL = b"RIFF" + bytes(40)


@dataclass(frozen=True, slots=True)
class Lake:
    pecia: Pecia
    folder: Path

    async def url(self, headers: dict[str, str] | None = None) -> str | None:
        """The link of the one hit, for whoever asks."""
        asked = {"query": "spokes", "mode": "lexical"}
        found = (await self.pecia.call("lake/search_content", asked, headers)).json()
        [hit] = found["hits"]
        return hit["url"]

    async def link(self, headers: dict[str, str] | None = None) -> str:
        """The same, as a path of the server under test."""
        url = await self.url(headers)
        assert url is not None
        assert url.startswith("https://files.example.org/files/download?token=")
        return url.removeprefix("https://files.example.org")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    (made / "spokes.md").write_bytes(BODY)
    return made


async def filled(pecia: Pecia, folder: Path) -> Lake:
    await allow(pecia.app, folders=[str(folder)])
    added = {"source_id": "docs", "folder": str(folder), "trim_mode": "open"}
    assert (await pecia.call("admin/add_source", added)).status_code == 200
    await pecia.call("admin/crawl_source", {"source_id": "docs"})
    await run_until_idle(pecia.app.store, pecia.app.jobs)
    await index(pecia)
    return Lake(pecia, folder)


async def index(pecia: Pecia) -> None:
    app = pecia.app
    ana = await app.authenticate(pecia.tokens["north", "ana"], CONTEXT)
    assert isinstance(ana, Caller)
    keeper = await IndexWriter.acquire(
        app.store, "test", index_root(app.settings.kernel), ana.tenant_id
    )
    assert keeper is not None
    if await keeper.catch_up() is None:
        await keeper.rebuild()
    await keeper.close()


@pytest.fixture
async def lake(database: DatabaseLogins, tmp_path: Path, folder: Path) -> AsyncGenerator[Lake]:
    flags: dict[str, Any] = {**ON}
    async with open_pecia(database, tmp_path / "home", **flags) as pecia:
        yield await filled(pecia, folder)


async def get(lake: Lake, link: str, **headers: str) -> Any:
    return await lake.pecia.http.get(link, headers=headers)


@pytest.mark.requirement(
    "lake.download.url",
    "lake.download.three_settings",
    "lake.download.audited",
    "lake.download.originals_not_kept",
)
async def test_a_link_opens_the_original_byte_for_byte_without_a_token(lake: Lake) -> None:
    link = await lake.link()
    answer = await get(lake, link)
    assert (answer.status_code, answer.content) == (200, BODY)
    assert answer.headers["content-type"] == "text/markdown"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith('attachment; filename="spokes.md"')
    [row] = await lake.pecia.audit(tool="files/download")
    assert (row["sources"], row["keys"], row["status"]) == (["docs"], ["spokes.md"], "ok")
    assert row["user_id"] is not None
    assert row["arguments"].keys() == {"source_id", "key", "revision"}
    # The bytes come from the source at that moment, and from nowhere else.
    (lake.folder / "spokes.md").write_bytes(b"other bytes")
    assert (await get(lake, link)).content == b"other bytes"
    (lake.folder / "spokes.md").unlink()
    assert (await get(lake, link)).status_code == 404


async def test_a_part_of_an_original_can_be_had(lake: Lake) -> None:
    link = await lake.link()
    part = await get(lake, link, range="bytes=2-7")
    assert (part.status_code, part.content) == (206, BODY[2:8])
    assert part.headers["content-range"] == f"bytes 2-7/{len(BODY)}"
    assert (await get(lake, link, range="bytes=-4")).content == BODY[-4:]
    beyond = await get(lake, link, range="bytes=5000-")
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(BODY)}")
    head = await lake.pecia.http.head(link)
    assert (head.status_code, head.headers["content-length"]) == (200, str(len(BODY)))


@pytest.mark.requirement("lake.download.signed", "lake.download.short_lived")
async def test_a_link_that_was_changed_signed_otherwise_or_is_old_opens_nothing(
    lake: Lake,
) -> None:
    link = await lake.link()
    [token] = parse_qs(urlsplit(link).query)["token"]
    claims = jwt.decode(token, OctKey.import_key(SECRET.encode()), algorithms=["HS256"]).claims
    assert 0 < claims["exp"] - (await now(lake)) <= 900

    def signed(secret: str = SECRET, alg: str = "HS256", **other: Any) -> str:
        return jwt.encode(
            {"alg": alg}, {**claims, **other}, OctKey.import_key(secret.encode()), algorithms=[alg]
        )

    assert (await get(lake, f"/files/download?token={signed()}")).status_code == 200
    for wrong in (
        token[:-4] + ("AAAA" if token[-4:] != "AAAA" else "BBBB"),
        signed("another secret of thirty-two signs"),
        signed(alg="HS512"),
        signed(exp=int(await now(lake)) - 1),
        signed(aud="something else"),
        signed(credential="no uuid"),
        "",
        "x" * 9000,
    ):
        assert (await get(lake, f"/files/download?token={wrong}")).status_code == 404, wrong[:80]
    assert (await get(lake, "/files/download")).status_code == 404
    rows = await lake.pecia.audit(tool="files/download", code="NOT_FOUND")
    assert len(rows) == 9


async def now(lake: Lake) -> float:
    async with lake.pecia.app.store.system() as tx:
        return float(await tx.fetch_value("SELECT extract(epoch FROM now())"))


@pytest.mark.requirement("lake.download.carries_principal", "lake.download.rechecks_rights")
async def test_a_link_is_worth_what_its_principal_may_see_at_that_moment(lake: Lake) -> None:
    pecia = lake.pecia
    link = await lake.link(pecia.bo)
    stranger = bearing(pecia.tokens["south", "ana"])
    assert (await get(lake, link, **stranger)).status_code == 200
    hidden = {"source_id": "docs", "trim_mode": "per_file"}
    assert (await pecia.call("admin/set_source", hidden)).status_code == 200
    # Even the administrator who may see it cannot open what was made for somebody who may not.
    refused = await get(lake, link, **pecia.ana)
    assert refused.status_code == 404
    assert "docs" in refused.text
    shown = {"source_id": "docs", "trim_mode": "open"}
    await pecia.call("admin/set_source", shown)
    assert (await get(lake, link)).status_code == 200
    tokens = (await pecia.call("admin/list_tokens", {})).json()["tokens"]
    [bo] = [it["id"] for it in tokens if it["user"] == "bo"]
    await pecia.call("admin/revoke_token", {"id": bo})
    assert (await get(lake, link)).status_code == 404


async def test_a_file_that_no_search_finds_has_a_link(
    database: DatabaseLogins, tmp_path: Path, folder: Path
) -> None:
    (folder / "bell.wav").write_bytes(BELL)
    async with open_pecia(database, tmp_path / "home", **dict[str, Any](ON)) as pecia:
        lake = await filled(pecia, folder)
        asked = {"source_id": "docs", "key": "bell.wav"}
        window = (await pecia.call("lake/get_file_window", asked)).json()
        assert (window["chunks"], window["revision"]) == ([], None)
        facts = (await pecia.call("lake/get_file_metadata", asked)).json()
        link = facts["url"].removeprefix("https://files.example.org")
        answer = await get(lake, link)
        assert (answer.status_code, answer.content) == (200, BELL)
        assert answer.headers["content-disposition"].startswith("attachment")
        known = (await pecia.call("lake/get_file_metadata", FILE)).json()
        link = known["url"].removeprefix("https://files.example.org")
        assert (await get(lake, link)).content == BODY


async def test_who_may_search_and_not_read_gets_no_link(lake: Lake) -> None:
    token = await lake.pecia.token("north", "ana", ["pecia.search"])
    assert await lake.url(bearing(token)) is None


@pytest.mark.requirement("lake.download.one_missing", "lake.download.null_when_off")
@pytest.mark.parametrize("missing", [*ON])
async def test_without_one_of_the_three_settings_there_are_no_links(
    database: DatabaseLogins, tmp_path: Path, folder: Path, missing: str
) -> None:
    left = {it: ON[it] for it in ON if it != missing}
    flags: dict[str, Any] = {**left}
    async with open_pecia(database, tmp_path / "home", **flags) as pecia:
        lake = await filled(pecia, folder)
        assert await lake.url() is None
        refused = await get(lake, "/files/download?token=x")
        assert refused.status_code == 404
        assert missing in refused.json()["error"]["hint"]
        assert (await pecia.call("lake/get_file_metadata", FILE)).json()["url"] is None
