"""Grants on folders of a site: its keys begin with a slash, unlike those of other sources."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from pecia.kernel.errors import NotFound
from pecia.kernel.store.audit.record import AuditRecord
from tests.conftest import House, OpenHouse
from tests.features.lake.conftest import Lake
from tests.features.lake.site_house import house_reaching
from tests.origin_servers import Answer, served

pytestmark = pytest.mark.anyio

HTML = {"content-type": "text/html"}
SHOWN = ["/docs", "/docs/a", "/docs/in/b", "/docs?page=2"]
HIDDEN = ["/docs-old", "/docs-old?in=/docs/", "/docsters/c", "/more?of=/docs"]
LINKS = "".join(f'<a href="{it}">{it}</a>' for it in (*SHOWN, *HIDDEN))
PAGES = {
    "/": Answer(200, LINKS.encode(), HTML),
    **{it: Answer(200, b"<p>A heron.</p>", HTML) for it in SHOWN},
    **{it: Answer(200, b"<p>A hidden heron.</p>", HTML) for it in HIDDEN},
}


@pytest.fixture
def site() -> Iterator[str]:
    with served(lambda request: PAGES.get(request.path, Answer(404))) as url:
        yield url


@pytest.fixture
def open_house(site: str) -> OpenHouse:
    return house_reaching(site)


@pytest.fixture
async def crawled(house: House, site: str, tmp_path: Path) -> Lake:
    await house.call(house.ana, "add_source", source_id="site", web=f"{site}/")
    lake = Lake(house, tmp_path)
    assert (await lake.crawl("site"))["added"] == len(PAGES)
    return lake


async def grant(house: House, folder: str, role: str | None = "reader") -> list[str | None]:
    asked = {"source_id": "site", "to": "user:bo", "role": role, "folder": folder}
    return [it["folder"] for it in (await house.call(house.ana, "grant", **asked))["grants"]]


async def shown(house: House) -> list[str]:
    try:
        listed = await house.call(house.bo, "list_files", source_id="site")
    except NotFound:
        return []
    return [it["key"] for it in listed["files"]]


async def test_a_folder_of_a_site_shows_its_pages_and_no_other(crawled: Lake) -> None:
    house = crawled.house
    await grant(house, "/docs")
    await crawled.index()
    assert await shown(house) == SHOWN
    found = await crawled.search("heron", mode="lexical", who=house.bo)
    assert sorted(it["key"] for it in found["hits"]) == SHOWN
    for key in SHOWN:
        read = await house.call(house.bo, "get_file_text", source_id="site", key=key)
        assert "heron" in str(read["chunks"])
        why = await house.call(house.bo, "check_access", source_id="site", key=key)
        assert why["reasons"] == ["user:bo is reader of the folder /docs/"]
    for key in HIDDEN:
        with pytest.raises(NotFound):
            await house.call(house.bo, "get_file_text", source_id="site", key=key)


async def test_a_folder_of_a_site_is_the_same_however_its_slashes_are_written(
    crawled: Lake,
) -> None:
    house = crawled.house
    for folder in ("docs", "docs/", "/docs", "/docs/"):
        assert await grant(house, folder) == ["/docs/"]
        assert await shown(house) == SHOWN
        assert await grant(house, folder, None) == []
        assert await shown(house) == []
    assert await grant(house, "/") == [""]
    assert await shown(house) == sorted(PAGES)


async def test_a_grant_given_before_the_site_is_crawled_shows_the_same_pages(
    house: House, site: str, tmp_path: Path
) -> None:
    await house.call(house.ana, "add_source", source_id="site", web=f"{site}/")
    await grant(house, "/docs")
    await Lake(house, tmp_path).crawl("site")
    assert await shown(house) == SHOWN


async def test_whoever_writes_in_a_folder_of_a_site_writes_its_pages_and_no_other(
    crawled: Lake,
) -> None:
    house = crawled.house
    await grant(house, "/docs", "writer")
    async with house.app.store.reading(house.bo) as tx:
        rows = await tx.fetch_all("SELECT key, kernel.may_write(source_id, key) FROM kernel.file")
    assert {it["key"]: it["may_write"] for it in rows} == dict.fromkeys(SHOWN, True)
    async with house.app.store.reading(house.bo) as tx:
        for key in HIDDEN:
            assert not await tx.fetch_value("SELECT kernel.may_write('site', %(key)s)", key=key)


async def test_a_grant_of_a_site_from_before_still_shows_nothing_and_can_be_taken_away(
    crawled: Lake,
) -> None:
    """Such grants were kept without their first slash, so they fitted no page."""
    house, ana = crawled.house, crawled.house.ana
    await grant(house, "/docs")
    trace = AuditRecord(uuid4(), "t", "t", ana.tenant_id, ana.user_id, ana.credential_id)
    async with house.app.store.writing(ana, trace) as tx:
        await tx.execute("DELETE FROM kernel.folder_grant WHERE tenant_id = kernel.tenant()")
        await tx.execute(
            "INSERT INTO kernel.folder_grant (tenant_id, source_id, prefix, principal_id, role)"
            " SELECT tenant_id, 'site', 'docs/', principal_id, 'reader'"
            " FROM kernel.user_account WHERE tenant_id = kernel.tenant() AND name = 'bo'"
        )
    assert await shown(house) == []
    [told] = (await house.call(ana, "list_grants", source_id="site"))["grants"]
    assert told["folder"] == "docs/"
    assert await grant(house, told["folder"], None) == []
