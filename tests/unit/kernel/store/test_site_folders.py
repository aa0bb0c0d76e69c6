"""Which keys a grant on a folder covers, in the database's own words, and after an upgrade."""

from collections.abc import Sequence

import psycopg
import pytest
from psycopg import AsyncConnection

from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.migrate import (
    KERNEL_SCHEMA,
    Migration,
    apply_migrations,
    list_migrations,
    migrate,
)

pytestmark = pytest.mark.anyio

BEFORE = "0028_pre_site_folders.sql"
COVERED = ["/docs", "/docs/a", "/docs?page=2"]
OTHERS = ["/", "/docs-old", "/docs0", "/docs@home", "/docsters/a", "/more?of=/docs/"]

FILL = """
SELECT kernel.create_tenant('home');
INSERT INTO kernel.source (tenant_id, id, protocol) SELECT id, 'site', 'web' FROM kernel.tenant;
INSERT INTO kernel.folder_grant (tenant_id, source_id, prefix, principal_id, role)
    SELECT tenant_id, 'site', '/docs/', id, 'reader' FROM kernel.principal WHERE value = 'everyone';
"""
SHOWN = """
SELECT f.key FROM kernel.file f JOIN kernel.acl a ON a.tenant_id = f.tenant_id AND a.id = f.acl_id
 WHERE a.reading <> '{}' ORDER BY f.key
"""


async def run(owner: str, files: Sequence[Migration]) -> None:
    async with await AsyncConnection.connect(owner) as connection:
        await apply_migrations(connection, files)


def shown(system: psycopg.Connection) -> list[str]:
    return [key for (key,) in system.execute(SHOWN)]


async def test_a_grant_on_a_folder_of_a_site_from_before_the_upgrade_shows_its_page(
    empty_database: DatabaseLogins,
) -> None:
    await run(
        empty_database.owner, [it for it in list_migrations([KERNEL_SCHEMA]) if it.name < BEFORE]
    )
    with psycopg.connect(empty_database.system, autocommit=True) as system:
        system.execute(FILL)
        for key in (*COVERED, *OTHERS):
            system.execute(
                "INSERT INTO kernel.file (tenant_id, source_id, key)"
                " SELECT id, 'site', %s FROM kernel.tenant",
                [key],
            )
        assert shown(system) == ["/docs/a"]
        await migrate(empty_database.owner, [KERNEL_SCHEMA])
        assert shown(system) == COVERED


@pytest.mark.parametrize(
    ("prefix", "key", "covered"),
    [
        *(("/docs/", it, True) for it in COVERED),
        *(("/docs/", it, False) for it in OTHERS),
        *(("", it, True) for it in (*COVERED, *OTHERS, "docs", "?")),
        ("docs/", "docs/a", True),
        ("docs/", "docs", False),
        ("docs/", "docs?page=2", False),
        ("/", "?", False),
        ("/", "/a", True),
    ],
)
def test_a_folder_covers_what_is_below_it_and_of_a_site_the_page_itself(
    module_database: DatabaseLogins, prefix: str, key: str, *, covered: bool
) -> None:
    with psycopg.connect(module_database.system) as system:
        found = system.execute("SELECT kernel.covers(%s, %s)", [prefix, key]).fetchone()
    assert found == (covered,)
