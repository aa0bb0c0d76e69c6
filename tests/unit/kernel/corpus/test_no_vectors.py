"""A database that cannot hold vectors: texts are put and read all the same, and it says so."""

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pecia.kernel.corpus.catalog.texts import read_text
from pecia.kernel.corpus.vectors.knn import find_nearest, find_unavailable_reason
from pecia.kernel.store.cluster import Cluster, DatabaseLogins
from pecia.kernel.store.migrate import KERNEL_SCHEMA, migrate
from pecia.kernel.store.store import Store
from tests.unit.kernel.corpus.corpus_fixture import SOURCE, open_ground

pytestmark = pytest.mark.anyio


def forbid_vectors(cluster: Cluster, logins: DatabaseLogins) -> str:
    """As on a PostgreSQL where the extension is not there, or is not ours to make."""
    name = conninfo_to_dict(logins.owner)["dbname"]
    superuser = cluster.conninfo("superuser", str(name))
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("DROP EXTENSION vector")
        # Something else that bears the name of its type.
        connection.execute("CREATE DOMAIN public.vector AS text")
    return superuser


async def test_words_alone_until_the_extension_is_there(
    cluster: Cluster, empty_database: DatabaseLogins
) -> None:
    superuser = forbid_vectors(cluster, empty_database)
    await migrate(empty_database.owner, [KERNEL_SCHEMA])
    store = Store(empty_database)
    await store.open()
    async with open_ground(store) as ground:
        await ground.put("a.md", "apples", "pears")
        await ground.put("a.md", "apples", "plums")
        async with store.reading(ground.ana) as tx:
            assert "vector" in str(await find_unavailable_reason(tx))
            assert (await read_text(tx, SOURCE, "a.md")).text.startswith("apples")
        with psycopg.connect(superuser, autocommit=True) as connection:
            connection.execute("DROP DOMAIN public.vector")
            connection.execute("CREATE EXTENSION vector SCHEMA public")
        with psycopg.connect(empty_database.owner, autocommit=True) as connection:
            connection.execute("CALL kernel.make_vectors()")
        async with store.reading(ground.ana) as tx:
            assert await find_unavailable_reason(tx) is None
            assert await find_nearest(tx, [1.0] * 384, "m", 5) == []
    await store.close()
