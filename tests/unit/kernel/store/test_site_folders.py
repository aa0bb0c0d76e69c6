"""Which keys a grant on a folder covers, as the database decides it."""

import psycopg
import pytest

from pecia.kernel.store.cluster import DatabaseLogins

COVERED = ["/docs", "/docs/a", "/docs?page=2"]
OTHERS = ["/", "/docs-old", "/docs0", "/docs@home", "/docsters/a", "/more?of=/docs/"]


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
