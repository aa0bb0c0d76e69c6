"""Sites, repositories and buckets from the shell: added, crawled, found, followed, kept secret."""

import os
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, cast
from urllib.parse import urlsplit

import anyio
import psycopg
import pygit2
import pytest
from pygit2.enums import FileMode

from pecia.interfaces.cli.server.client import ServerClient
from pecia.interfaces.cli.server.credentials import read_owner_token
from pecia.interfaces.cli.tools.confirmation import call_as_owner
from pecia.kernel.errors import Forbidden, InvalidInput
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_commands import external
from tests.origin_servers import Site, Store, served
from tests.unit.adapters.git_server import GitServer
from tests.unit.adapters.loopback import Authority, serving

pytestmark = pytest.mark.slow

BUCKET_SECRET = "b7Kq/not+a+real/secretOfTheBucket"
GIT_TOKEN = "ghp-0f3b-not-a-real-token"
SITE_TOKEN = "site-5d1e-not-a-real-token"
SOMEBODY = pygit2.Signature("somebody", "s@example.com", 1_700_000_000, 0)


@dataclass(frozen=True, slots=True)
class World:
    """A server that runs, and three places that it may reach."""

    shell: Shell
    site: Site
    site_url: str
    store: Store
    store_url: str
    repository: pygit2.Repository
    git_url: str

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers over HTTP."""
        server = ServerClient(self.shell.lock.url, read_owner_token(self.shell.home))
        return cast(dict[str, Any], call_as_owner(server, f"/api/v1/{tool}", arguments))

    def add(self, source: str, **where: str) -> None:
        self.call("admin/add_source", source_id=source, trim_mode="open", **where)

    def crawl(self, source: str) -> dict[str, Any]:
        """Crawl to the end, by the API; how that went."""
        found = self.call("admin/crawl_source", source_id=source)
        give_up = time.monotonic() + 40
        while found["state"] in ("waiting", "listing", "reading"):
            assert time.monotonic() < give_up, found
            time.sleep(0.05)
            found = self.call("admin/crawl_status", source_id=source)
        return found

    def crawled(self, source: str) -> tuple[int, ...]:
        return counts(self.crawl(source))

    def expect(self, query: str, source: str, *keys: str) -> None:
        """These are the hits, once the index has followed."""
        asked = {"query": query, "mode": "lexical", "source_id": source}
        give_up = time.monotonic() + 20
        while True:
            hits = self.call("lake/search_content", **asked)["hits"]
            if (found := sorted({it["key"] for it in hits})) == [*keys]:
                return
            assert time.monotonic() < give_up, (query, found)
            time.sleep(0.05)


def counts(crawl: dict[str, Any]) -> tuple[int, ...]:
    assert crawl["state"] == "done", crawl
    return tuple(crawl[it] for it in ("seen", "added", "changed", "gone", "failed"))


@pytest.fixture(scope="module")
def world(module_database: DatabaseLogins) -> Iterator[World]:
    site = Site({"/robots.txt": "User-agent: *\nDisallow: /private/"}, f"Bearer {SITE_TOKEN}")
    store = Store(secret=BUCKET_SECRET)
    with opened_shell() as plain, served(site) as site_url, served(store) as store_url:
        repository = pygit2.init_repository(str(plain.root / "theirs"), bare=True)
        commit(repository, {"first.md": b"# Spokes\n"})
        with git_served(plain.root, GitServer(repository, f"token:{GIT_TOKEN}")) as git_url:
            hosts = [urlsplit(it).netloc for it in (site_url, store_url, git_url)]
            env = {
                **external(module_database),
                "PECIA_LAKE_TRUSTED_HOSTS": ",".join(hosts),
                "PECIA_LAKE_AUTHORITIES": str(plain.root / "ca.pem"),
                "PECIA_LOG_LEVEL": "debug",
                "PECIA_LOG_FILE": str(plain.root / "pecia.log"),
            }
            shell = Shell(plain.root, env)
            shell.ok("start", shell.folder("notes"), "--detach", "--port", 0)
            yield World(shell, site, site_url, store, store_url, repository, git_url)


def commit(repository: pygit2.Repository, files: dict[str, bytes]) -> None:
    tree = repository.TreeBuilder()
    for name, body in files.items():
        tree.insert(name, repository.create_blob(body), FileMode.BLOB)
    tip = repository.references.get("refs/heads/main")
    parents = [] if tip is None else [tip.target]
    repository.create_commit("refs/heads/main", SOMEBODY, SOMEBODY, "m", tree.write(), parents)


@contextmanager
def git_served(folder: Path, server: GitServer) -> Generator[str]:
    """Over TLS, in a thread, under a certificate of our own authority."""
    authority = Authority.new()
    authority.write(folder / "ca.pem")
    tls = authority.server(folder, "localhost")
    ready, over = threading.Event(), threading.Event()
    urls: list[str] = []

    async def main() -> None:
        async with serving(server, tls=tls) as found:
            urls.append(found.url("/repo.git", host="localhost", scheme="https"))
            ready.set()
            await anyio.to_thread.run_sync(over.wait)

    thread = threading.Thread(target=anyio.run, args=(main,), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield urls[0]
    finally:
        over.set()
        thread.join()


def test_a_site_is_crawled_found_and_followed(world: World) -> None:
    pages = world.site.pages
    pages |= {
        "/": '<title>Home</title><a href="/a.html">a</a><a href="/b.html">b</a>',
        "/a.html": "<p>The heron fishes at dawn.</p>",
        "/b.html": '<p>Otters sleep afloat.</p><a href="/private/c.html">c</a>',
        "/private/c.html": "<p>Not for crawlers.</p>",
    }
    shell = world.shell
    shell.ok("source", "add", "site", "--web", f"{world.site_url}/", "--trim-mode", "open")
    refused = shell.run("source", "crawl", "site", "--wait", "--json")
    assert (refused.code, refused.document["state"]) == (1, "failed")
    assert refused.document["problem"].endswith("the server answers 401")
    shell.ok("source", "credential", "site", stdin=f"Bearer {SITE_TOKEN}")
    done = shell.ok("source", "crawl", "site", "--wait", "--json").document
    assert counts(done) == (3, 3, 0, 0, 0)
    assert done["index_lag"] == 0, "with --wait, search finds the files at once"
    world.expect("heron", "site", "/a.html")
    world.expect("crawlers", "site")
    pages["/a.html"] = "<p>The kingfisher fishes at dusk.</p>"
    pages["/"] = '<title>Home</title><a href="/a.html">a</a><a href="/d.html">d</a>'
    pages["/d.html"] = "<p>Newts are new.</p>"
    del pages["/b.html"]
    assert world.crawled("site") == (3, 1, 2, 1, 0)
    world.expect("kingfisher", "site", "/a.html")
    world.expect("newts", "site", "/d.html")
    world.expect("otters heron", "site")
    assert world.crawled("site") == (3, 0, 0, 0, 0)


def test_a_repository_is_crawled_found_and_followed(world: World) -> None:
    files = {"first.md": b"# Spokes\n\nSteel.\n", "second.md": b"# Rims\n\nWood.\n"}
    commit(world.repository, files)
    world.add("code", git=world.git_url, ref="main")
    assert "credentials" in world.crawl("code")["problem"]
    env = {"GIT_TOKEN": GIT_TOKEN}
    world.shell.ok("source", "credential", "code", "--from-env", "GIT_TOKEN", env=env)
    assert world.crawled("code") == (2, 2, 0, 0, 0)
    world.expect("rims", "code", "second.md")
    commit(world.repository, {"first.md": b"# Hubs\n", "third.md": b"# Tyres\n"})
    assert world.crawled("code") == (2, 1, 1, 1, 0)
    world.expect("hubs", "code", "first.md")
    world.expect("rims spokes", "code")
    assert world.crawled("code") == (2, 0, 0, 0, 0)


def test_a_bucket_is_crawled_found_and_followed(world: World) -> None:
    objects = world.store.objects
    objects |= {
        "docs/a.md": b"# Sails\n\nLinen.\n",
        "docs/b.md": b"# Masts\n\nPine.\n",
        "docs/deep/c d.txt": b"Anchors hold.",
        "elsewhere.md": b"# Sails\n",
    }
    where = {"endpoint": world.store_url, "region": world.store.region}
    world.add("shelf", s3="s3://shelf/docs", **where)
    assert world.crawl("shelf")["problem"] == "the bucket's server answers AccessDenied"
    keys = f"{world.store.key_id}:{BUCKET_SECRET}"
    world.call("admin/set_credential", source_id="shelf", value=keys)
    assert world.crawled("shelf") == (3, 3, 0, 0, 0)
    world.expect("sails", "shelf", "a.md")
    world.expect("anchors", "shelf", "deep/c d.txt")
    objects["docs/a.md"] = b"# Sails\n\nHemp.\n"
    objects["docs/e.md"] = b"# Keels\n"
    del objects["docs/b.md"]
    world.store.asked.clear()
    assert world.crawled("shelf") == (3, 1, 1, 1, 0)
    fetched = [it for it in world.store.asked if "list-type" not in it]
    assert sorted(fetched) == ["/shelf/docs/a.md", "/shelf/docs/e.md"]
    world.expect("hemp", "shelf", "a.md")
    world.expect("masts", "shelf")


def test_a_credential_of_another_shape_or_for_a_folder_is_refused_unsaid(world: World) -> None:
    shell = world.shell
    world.add("bare", s3="s3://shelf", endpoint=world.store_url)
    wrong = shell.run("source", "credential", "bare", "--json", stdin=BUCKET_SECRET)
    assert wrong.code == 1
    assert wrong.document["error"]["field"] == "value"
    assert "KEY_ID:SECRET" in wrong.document["error"]["message"]
    flag = shell.run("call", "admin.set_credential", "--source-id", "bare", "--value", "a:b")
    assert flag.code != 0
    with pytest.raises(InvalidInput) as folder:
        world.call("admin/set_credential", source_id="wiki:notes", value="a:b")
    assert folder.value.fields["field"] == "source_id"


def test_a_file_url_of_the_owner_is_read_and_a_bucket_within_is_not_unless_trusted(
    world: World,
) -> None:
    world.add("here", git=Path(world.repository.path).as_uri(), ref="main")
    assert world.crawled("here")[0] > 0
    with pytest.raises(Forbidden) as refused:
        world.add("inside", s3="s3://bucket", endpoint="http://127.0.0.1:9")
    assert refused.value.fields["field"] == "endpoint"


def test_no_credential_is_in_any_table_file_log_or_answer(
    world: World, module_database: DatabaseLogins
) -> None:
    """Last of all: what the tests above kept and used is nowhere to be read."""
    shell = world.shell
    listed = shell.ok("source", "list", "--json").out + shell.ok("audit", "--json").out
    # On a slow machine those who wait for a crawl ask so often that this is on a later page.
    listed += shell.ok("audit", "--tool", "set_credential", "--json").out
    shell.ok("stop")
    haystacks = {"answers": listed.encode(), "tables": every_row(module_database).encode()}
    for folder, _, names in os.walk(shell.root):
        for path in (Path(folder) / name for name in names):
            if path.is_file():
                haystacks[str(path)] = path.read_bytes()
    assert str(shell.root / "pecia.log") in haystacks
    for secret in (BUCKET_SECRET, GIT_TOKEN, SITE_TOKEN):
        assert [name for name, it in haystacks.items() if secret.encode() in it] == []
    assert "set_credential" in listed


def every_row(database: DatabaseLogins) -> str:
    """Every row of every table of ours, as text."""
    rows: list[str] = []
    with psycopg.connect(database.system) as connection:
        tables = connection.execute(
            "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n"
            " ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname IN"
            " ('kernel', 'lake', 'jobs', 'ckf') AND has_table_privilege(c.oid, 'SELECT')"
        ).fetchall()
        for (table,) in tables:
            asked = cast(LiteralString, f"SELECT to_jsonb(t)::text FROM {table} t")
            rows += [it[0] for it in connection.execute(asked).fetchall()]
    assert any("set_credential" in it for it in rows)
    return "\n".join(rows)
