"""A key in the address of a source is stored nowhere in clear: it is refused where it is given, and
left out of the addresses of pages that a site links to.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import sql

from pecia.kernel.errors import InvalidFormat
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import House, OpenHouse
from tests.features.lake.conftest import Lake
from tests.features.lake.site_house import house_reaching
from tests.laws.law_database import connect
from tests.origin_servers import Answer, served

pytestmark = pytest.mark.anyio

SECRET = "k3yThatNobodyMaySee77"
HTML = {"content-type": "text/html"}
PAGES = {
    "/": Answer(200, f'<a href="/a?page=2&access_token={SECRET}">a</a>'.encode(), HTML),
    "/a?page=2": Answer(200, b"<p>A heron.</p>", HTML),
}
ADDRESSES = [
    ("web", f"https://example.org/x?api_key={SECRET}"),
    ("web", f"https://example.org/x?page=2&apiKey={SECRET}#top"),
    ("web", f"https://example.org/x?key={SECRET}"),
    ("web", f"https://example.org/?X-Amz-Signature={SECRET}"),
    ("web", f"https://ana:{SECRET}@example.org/"),
    ("web", f"https://{SECRET}@example.org/"),
    ("git", f"https://example.org/x.git?private_token={SECRET}"),
    ("git", f"https://{SECRET}@example.org/x.git"),
]


@pytest.fixture
def site() -> Iterator[str]:
    with served(lambda request: PAGES.get(request.path, Answer(404))) as url:
        yield url


@pytest.fixture
def open_house(site: str) -> OpenHouse:
    return house_reaching(site)


def stored_in_clear(database: DatabaseLogins) -> list[str]:
    """The tables with a row that holds the key, of every schema."""
    with connect(database.owner) as connection:
        tables = connection.execute(
            "SELECT schemaname, tablename FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        holding = sql.SQL("SELECT 1 FROM {} AS t WHERE t::text LIKE %s LIMIT 1")
        return [
            ".".join(name)
            for name in tables
            if connection.execute(
                holding.format(sql.Identifier(*name)), (f"%{SECRET}%",)
            ).fetchone()
        ]


async def test_an_address_with_a_key_is_refused_and_stored_nowhere(
    house: House, database: DatabaseLogins
) -> None:
    for kind, url in ADDRESSES:
        with pytest.raises(InvalidFormat) as refused:
            await house.call(house.ana, "add_source", source_id="site", **{kind: url})
        assert SECRET not in str(refused.value.payload()), url
        assert "pecia source credential" in str(refused.value.payload()), url
    await house.app.audit_log.drain()
    assert stored_in_clear(database) == []


async def test_keys_in_links_of_a_site_are_left_out_of_addresses(
    house: House, site: str, database: DatabaseLogins, tmp_path: Path
) -> None:
    lake = Lake(house, tmp_path)
    await house.call(house.ana, "add_source", source_id="site", web=f"{site}/", trim_mode="open")
    assert (await lake.crawl("site"))["indexed"] == 2
    [hit] = (await lake.search("heron", mode="lexical"))["hits"]
    assert hit["key"] == "/a?page=2"
    # What a page itself says is its text.
    assert {*stored_in_clear(database)} <= {"kernel.chunk", "kernel.revision"}
