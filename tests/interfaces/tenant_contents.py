"""A tenant with rows in every table of every feature, made as its users and their clients do.

What only lives for a moment, as a delivery on its way, is written by SQL.
"""

import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import urlsplit

import anyio
import psycopg
import pygit2
from psycopg import sql

from pecia.app.app import index_root
from pecia.kernel.corpus.keyword.follower import FollowerIntervals, IndexFollower
from pecia.kernel.jobs.worker import run_until_idle
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import Pecia, allow, bearing, open_pecia
from tests.unit.features.hub.hub_server import listening_site
from tests.unit.features.hub.upstream import Site

QUICK = FollowerIntervals(poll_s=0.05, idle_s=0.1, maintenance_s=0.1, retry_s=0.05)
SOMEBODY = pygit2.Signature("somebody", "s@example.com", 1_700_000_000, 0)

TABLES: LiteralString = """
    SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
     WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1, 2"""

BRIEF: tuple[LiteralString, ...] = (
    "INSERT INTO lake.delivery (id, tenant_id, source_id, key)"
    " SELECT gen_random_uuid(), %(t)s, 's', 'k'",
    "INSERT INTO lake.delivery_part (delivery_id, tenant_id, n, body)"
    " SELECT id, tenant_id, 1, 'x' FROM lake.delivery WHERE tenant_id = %(t)s",
    "INSERT INTO lake.todo SELECT %(t)s, 'folder', 'later.md', 1, '{}'",
    "INSERT INTO lake.extraction_progress SELECT %(t)s, 'folder', 'long.pdf', 1, 9",
    "INSERT INTO lake.captured SELECT tenant_id, source_id, key, 'r' FROM kernel.file"
    " WHERE tenant_id = %(t)s ON CONFLICT DO NOTHING",
    "INSERT INTO lake.credential SELECT %(t)s, 'folder', 'k', 'n', 'c'",
    "INSERT INTO lake.preference SELECT %(t)s ON CONFLICT DO NOTHING",
    "INSERT INTO ckf.model_use SELECT %(t)s, gen_random_uuid(), current_date, 1",
    "INSERT INTO hub.hold SELECT %(t)s, 'inner', 'h', now()",
    "INSERT INTO wiki.user_config SELECT %(t)s, gen_random_uuid(), 'a: 1'",
    "INSERT INTO wiki.live (tenant_id, source_id, key, house_id, base, digest)"
    " SELECT %(t)s, 'wiki:notes', 'b.md', 1, 'b', 'd' ON CONFLICT DO NOTHING",
    "INSERT INTO wiki.live_change SELECT tenant_id, id, 99, 'w', 'c' FROM wiki.live"
    " WHERE tenant_id = %(t)s",
    "INSERT INTO wiki.live_copy SELECT tenant_id, id, 'n', 'i', 'b', 'd', 0, 1 FROM wiki.live"
    " WHERE tenant_id = %(t)s",
    "INSERT INTO wiki.suggestion (tenant_id, source_id, key, writer)"
    " SELECT %(t)s, 'wiki:notes', 'b.md', 'w'",
    "INSERT INTO wiki.suggestion_piece"
    " (tenant_id, suggestion_id, number, start_char, end_char, new)"
    " SELECT tenant_id, id, 1, 0, 0, 'n' FROM wiki.suggestion WHERE tenant_id = %(t)s",
    "INSERT INTO wiki.suggestion_comment (tenant_id, suggestion_id, number, writer, words)"
    " SELECT tenant_id, id, 1, 'w', 'c' FROM wiki.suggestion WHERE tenant_id = %(t)s",
    "INSERT INTO wiki.remote (tenant_id, source_id, url, mode, every_s, confined, due_at)"
    " SELECT %(t)s, 'wiki:notes', 'https://example.com/x', 'pull', 300, true,"
    " now() + interval '1 day'",
    "INSERT INTO wiki.remote_file SELECT %(t)s, 'wiki:notes', 'b.md', 'i'",
    "INSERT INTO wiki.remote_push SELECT %(t)s, 'wiki:notes', 'c', 'p'",
    "INSERT INTO wiki.remote_conflict (tenant_id, source_id, key, commit_id, author, subject)"
    " SELECT %(t)s, 'wiki:notes', 'b.md', 'c', 'a', 's'",
    "INSERT INTO memory.node SELECT tenant_id, id, n, '{Person}' FROM kernel.user_account,"
    " unnest(ARRAY['a', 'b']) AS n WHERE tenant_id = %(t)s",
    "INSERT INTO memory.edge SELECT tenant_id, owner, 'a-b', 'KNOWS', 'a', 'b' FROM memory.node"
    " WHERE tenant_id = %(t)s AND id = 'a'",
    "INSERT INTO memory.item"
    " (tenant_id, file_id, id, words_hash, said_at, last_said_at, valid_from)"
    " SELECT tenant_id, id, gen_random_uuid(), 'h', now(), now(), now() FROM kernel.file"
    " WHERE tenant_id = %(t)s ON CONFLICT DO NOTHING",
    "INSERT INTO kernel.quota SELECT %(t)s, 'files', 1000000",
    "INSERT INTO kernel.confirmation"
    " (tenant_id, id, user_id, tool, kind, question, digest, expires_at)"
    " SELECT tenant_id, 'confirm-1', id, 't', 'folder', 'q', sha256('x'), now()"
    " FROM kernel.user_account WHERE tenant_id = %(t)s LIMIT 1",
    "INSERT INTO kernel.vector (tenant_id, chunk_id, file_id, model, text_hash, dims, embedding)"
    " SELECT tenant_id, id, file_id, 'm', text_hash, 3, '[1,2,3]' FROM kernel.chunk"
    " WHERE tenant_id = %(t)s",
)
# A node that is behind: the change log is kept for it.
NODE: LiteralString = "INSERT INTO kernel.index_node SELECT %(t)s, 'elsewhere', 0"


def count_rows(database: DatabaseLogins, tenant_id: object) -> dict[str, int]:
    """Rows of a tenant in every table that has a tenant_id, as the catalog lists them."""
    query = sql.SQL("SELECT count(*) FROM {} WHERE tenant_id = %s")
    with psycopg.connect(database.system) as connection:
        return {
            f"{schema}.{table}": _value(
                connection, query.format(sql.Identifier(schema, table)), tenant_id
            )
            for schema, table in connection.execute(TABLES).fetchall()
        }


def tenant_id_of(database: DatabaseLogins, name: str) -> Any:
    with psycopg.connect(database.system) as connection:
        return _value(connection, sql.SQL("SELECT id FROM kernel.tenant WHERE name = %s"), name)


@asynccontextmanager
async def open_filled(database: DatabaseLogins, home: Path, root: Path) -> AsyncGenerator[Pecia]:
    """A server, its indexer, and the tenants north and south with rows everywhere."""
    async with (
        listening_site(Site(["tools=echo"]), KernelSettings()) as url,
        open_pecia(database, home) as pecia,
        anyio.create_task_group() as tasks,
    ):
        kernel = pecia.app.settings.kernel
        tasks.start_soon(IndexFollower(pecia.app.store, index_root(kernel), QUICK).run)
        for tenant in ("north", "south"):
            _execute(database, tenant, NODE)
            await _fill(pecia, tenant, root / tenant, url)
            _execute(database, tenant, *BRIEF)
        await pecia.app.audit_log.drain()
        yield pecia
        tasks.cancel_scope.cancel()


async def search(pecia: Pecia, tenant: str, query: str) -> list[str]:
    """The keys that a lexical search of the folder finds."""
    asked = {"query": query, "mode": "lexical", "source_id": "folder"}
    said = await pecia.call("lake/search_content", asked, bearing(pecia.tokens[tenant, "ana"]))
    assert said.status_code == 200, said.text
    return sorted({it["key"] for it in said.json()["hits"]})


async def _fill(pecia: Pecia, tenant: str, root: Path, url: str) -> None:
    who = bearing(pecia.tokens[tenant, "ana"])

    async def call(tool: str, **arguments: Any) -> Any:
        said = await pecia.call(tool, arguments, who)
        if said.status_code == 428:
            said = await pecia.confirmed(tool, arguments, who)
        assert said.status_code == 200, (tool, said.text)
        return said.json()

    (root / "files").mkdir(parents=True)
    (root / "files/plan.md").write_text(f"# Plan\n\nthe heron of {tenant}\n")
    (root / "spaces/notes").mkdir(parents=True)
    (root / "spaces/notes/a.md").write_text("alpha\n")
    await allow(
        pecia.app,
        tenant,
        folders=[str(root / "files"), str(root / "repo.git")],
        hosts=[urlsplit(url).netloc],
        space_roots=[str(root / "spaces")],
    )
    await call("admin/add_user", name="cy", known_as=["email::cy@example.org"])
    await call("admin/add_group", name="staff")
    await call("admin/add_member", group="staff", user="bo")
    await call("admin/set_secret", purpose="upstream", name="key", value="s3cret")
    await call("admin/add_source", source_id="folder", folder=str(root / "files"), trim_mode="open")
    await call("admin/grant", source_id="folder", to="group:staff", role="reader")
    await call("admin/grant", source_id="folder", to="group:staff", role="reader", folder="a")
    _repository(root / "repo.git")
    await call("admin/add_source", source_id="git", git=(root / "repo.git").as_uri())
    await call("admin/add_source", source_id="inbox", protocol="upload")
    body = base64.b64encode(b"an upload").decode()
    await call("admin/upload_file", source_id="inbox", key="u.txt", content=body)
    await call("admin/add_space", folder=str(root / "spaces/notes"))
    write = {"docName": "b", "markdown": "beta\n", "position": "replace"}
    await call("wiki/write_document", **write)
    await call("hub/add_server", server="inner", url=f"{url}/mcp")
    for source in ("folder", "git", "inbox"):
        await call("admin/crawl_source", source_id=source)
    await run_until_idle(pecia.app.store, pecia.app.jobs)
    with anyio.fail_after(30):
        while await search(pecia, tenant, "heron") != ["plan.md"]:  # noqa: ASYNC110
            await anyio.sleep(0.05)


def _repository(path: Path) -> None:
    made = pygit2.init_repository(str(path), bare=True)
    tree = made.TreeBuilder()
    tree.insert("code.md", made.create_blob(b"code"), pygit2.enums.FileMode.BLOB)
    made.create_commit("refs/heads/main", SOMEBODY, SOMEBODY, "m", tree.write(), [])
    made.set_head("refs/heads/main")


def _execute(database: DatabaseLogins, tenant: str, *statements: LiteralString) -> None:
    tenant_id = tenant_id_of(database, tenant)
    with psycopg.connect(database.system) as connection:
        for statement in statements:
            connection.execute(statement, {"t": tenant_id})


def _value(
    connection: "psycopg.Connection[Any]", query: sql.SQL | sql.Composed, value: object
) -> Any:
    row = connection.execute(query, [value]).fetchone()
    return row and row[0]
