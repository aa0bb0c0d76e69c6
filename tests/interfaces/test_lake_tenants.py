"""What the operator gives one tenant to read is of no use to another."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pygit2
import pytest

from pecia.app.operator.allowlist import AllowlistChange, disallow
from pecia.app.operator.session import OperatorSession
from pecia.kernel.jobs.worker import run_until_idle
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import opened_shell
from tests.interfaces.tenant_server import Pecia, allow, bearing, open_pecia
from tests.interfaces.test_cli_commands import external
from tests.origin_servers import Site, served

pytestmark = pytest.mark.anyio

SOMEBODY = pygit2.Signature("somebody", "s@example.com", 1_700_000_000, 0)


@dataclass(frozen=True, slots=True)
class Two:
    """`north` and `south`, each with a folder of its own."""

    pecia: Pecia
    root: Path

    async def add(self, tenant: str, **where: str) -> tuple[int, Any]:
        asked = {"source_id": "s", "trim_mode": "open", **where}
        answer = await self.pecia.call("admin/add_source", asked, self.who(tenant))
        return answer.status_code, answer.json()

    async def crawl(self, tenant: str) -> dict[str, Any]:
        who, asked = self.who(tenant), {"source_id": "s"}
        await self.pecia.call("admin/crawl_source", asked, who)
        await run_until_idle(self.pecia.app.store, self.pecia.app.jobs)
        return (await self.pecia.call("admin/crawl_status", asked, who)).json()

    async def keys(self, tenant: str) -> list[str]:
        found = await self.pecia.call("lake/list_files", {"source_id": "s"}, self.who(tenant))
        return [it["key"] for it in found.json()["files"]]

    def who(self, tenant: str) -> dict[str, str]:
        return bearing(self.pecia.tokens[tenant, "ana"])


@pytest.fixture
async def two(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Two]:
    async with open_pecia(database, tmp_path / "home") as pecia:
        for name in ("north", "south"):
            (tmp_path / name / "deep").mkdir(parents=True)
            (tmp_path / name / "deep" / f"{name}.md").write_text(f"the plans of {name}")
            await allow(pecia.app, name, folders=[str(tmp_path / name)])
        yield Two(pecia, tmp_path)


async def test_a_tenant_reads_what_it_was_given_and_no_folder_of_another(two: Two) -> None:
    (two.root / "south" / "door").symlink_to(two.root / "north")
    # Nor is told which folder is the server's own.
    own = two.pecia.app.settings.kernel.home
    for path in (two.root / "north", two.root / "north" / "deep", two.root, "/", "/etc", own):
        status, answer = await two.add("south", folder=str(path))
        assert (status, answer["error"]["code"]) == (403, "FORBIDDEN"), path
        assert "pecia tenant allow" in answer["error"]["hint"]
    for spelled in ("south/door", "south/door/deep", "south/../north", "North"):
        status, answer = await two.add("south", folder=f"{two.root}/{spelled}")
        assert status in (400, 403, 422), spelled
    assert (await two.add("south", folder=f"{two.root}/south/"))[0] == 200
    assert (await two.crawl("south"))["state"] == "done"
    assert await two.keys("south") == ["deep/south.md"]


async def test_a_folder_that_becomes_a_way_to_another_tenant_is_read_no_more(two: Two) -> None:
    assert (await two.add("south", folder=str(two.root / "south" / "deep")))[0] == 200
    assert (await two.crawl("south"))["state"] == "done"
    (two.root / "south" / "deep").rename(two.root / "south" / "gone")
    (two.root / "south" / "deep").symlink_to(two.root / "north" / "deep")
    ended = await two.crawl("south")
    assert (ended["state"], "not among those" in ended["problem"]) == ("failed", True)
    assert "north.md" not in await two.keys("south")


async def test_what_is_taken_away_is_read_no_more_and_the_source_can_be_switched_off(
    two: Two,
) -> None:
    assert (await two.add("south", folder=str(two.root / "south")))[0] == 200
    operating = OperatorSession(two.pecia.app.store, two.pecia.app.audit_log, "test")
    await disallow(operating, "south", AllowlistChange(folders=[str(two.root / "south")]))
    assert "not among those" in (await two.crawl("south"))["problem"]
    changes: list[tuple[dict[str, Any], int]] = [
        ({"include": ["*.md"]}, 403),
        ({"enabled": True}, 403),
        ({"enabled": False}, 200),
    ]
    for change, status in changes:
        asked = {"source_id": "s", **change}
        answer = await two.pecia.call("admin/set_source", asked, two.who("south"))
        assert answer.status_code == status, answer.text


async def test_a_host_of_the_own_network_is_reached_by_the_tenant_that_it_was_given_to(
    two: Two,
) -> None:
    with served(Site({"/": "<p>the plans of north</p>"})) as url:
        host = urlsplit(url).netloc
        for tenant in ("north", "south"):
            await allow(two.pecia.app, tenant, hosts=[host])
            assert (await two.add(tenant, web=f"{url}/"))[0] == 200
        operating = OperatorSession(two.pecia.app.store, two.pecia.app.audit_log, "test")
        await disallow(operating, "south", AllowlistChange(hosts=[host]))
        for tenant, state in (("north", "done"), ("south", "failed")):
            ended = await two.crawl(tenant)
            assert ended["state"] == state, ended
        assert await two.keys("south") == []


@pytest.mark.parametrize(
    ("field", "origin"),
    [
        ("web", {"web": "http://127.0.0.1:8080/"}),
        ("web", {"web": "http://localhost:8080/"}),
        ("web", {"web": "https://[::1]/"}),
        ("web", {"web": "http://10.0.0.7/"}),
        ("web", {"web": "http://169.254.169.254/latest/meta-data"}),
        ("web", {"web": "http://93.184.215.14:8080/"}),
        ("git", {"git": "https://192.168.1.1/repository.git"}),
        ("endpoint", {"s3": "s3://bucket", "endpoint": "http://127.0.0.1:9000"}),
    ],
)
async def test_a_host_that_a_tenant_was_not_given_is_refused_when_the_source_is_added(
    two: Two, field: str, origin: dict[str, str]
) -> None:
    await allow(two.pecia.app, "south", hosts=["wiki.south.internal"])
    status, answer = await two.add("south", **origin)
    error = answer["error"]
    assert (status, error["code"], error["field"]) == (403, "FORBIDDEN", field)
    assert "wiki.south.internal" in error["message"]
    assert "pecia tenant allow" in error["hint"]
    # A name that only a lookup could tell apart is left to the crawl, which checks every request.
    assert (await two.add("south", web="http://wiki.south.internal/"))[0] == 200


def repository(path: Path, body: bytes) -> pygit2.Repository:
    made = pygit2.init_repository(str(path), bare=True)
    tree = made.TreeBuilder()
    tree.insert("plan.md", made.create_blob(body), pygit2.enums.FileMode.BLOB)
    made.create_commit("refs/heads/main", SOMEBODY, SOMEBODY, "m", tree.write(), [])
    made.set_head("refs/heads/main")
    return made


async def test_a_repository_of_its_own_is_no_way_to_that_of_another_tenant(two: Two) -> None:
    theirs = repository(two.root / "north" / "repo.git", b"the plans of north")
    tip = str(theirs.references["refs/heads/main"].target)
    work = two.root / "south" / "work"
    work.mkdir()
    (work / ".git").write_text(f"gitdir: {theirs.path}")
    linked = two.root / "south" / "linked"
    linked.mkdir()
    (linked / ".git").symlink_to(theirs.path)
    alternate = pygit2.init_repository(str(two.root / "south" / "alternate.git"), bare=True)
    (Path(alternate.path) / "objects" / "info" / "alternates").write_text(f"{theirs.path}objects\n")
    (Path(alternate.path) / "refs" / "heads" / "main").write_text(f"{tip}\n")
    for number, name in enumerate(("work", "linked", "alternate.git")):
        where = {"source_id": f"s{number}", "git": (two.root / "south" / name).as_uri()}
        answer = await two.pecia.call("admin/add_source", where, two.who("south"))
        asked = {"source_id": f"s{number}"}
        if answer.status_code == 200:
            await two.pecia.call("admin/crawl_source", asked, two.who("south"))
            await run_until_idle(two.pecia.app.store, two.pecia.app.jobs)
            ended = await two.pecia.call("admin/crawl_status", asked, two.who("south"))
            assert ended.json()["state"] == "failed", name
            files = await two.pecia.call("lake/list_files", asked, two.who("south"))
            assert files.json()["files"] == []
    repository(two.root / "south" / "repo.git", b"our own plans")
    assert (await two.add("south", git=(two.root / "south" / "repo.git").as_uri()))[0] == 200
    assert (await two.crawl("south"))["state"] == "done"
    assert await two.keys("south") == ["plan.md"]


@pytest.mark.slow
def test_the_operator_gives_shows_and_takes_away_from_the_shell(database: DatabaseLogins) -> None:
    with opened_shell(external(database)) as shell:
        folder = shell.folder("south")
        shell.ok("tenant", "add", "south")
        given = shell.ok(
            "tenant", "allow", "south", "--folder", folder, "--host", "MINIO.lan:9000", "--json"
        ).document
        assert given == {
            "tenant": "south",
            "folders": [str(folder)],
            "hosts": ["minio.lan:9000"],
            "space_roots": [],
        }
        assert shell.run("tenant", "allow", "south", "--folder", "relative").code != 0
        assert shell.run("tenant", "allow", "nobody", "--folder", folder).code != 0
        left = shell.ok("tenant", "allow", "south", "--folder", folder, "--remove", "--json")
        assert left.document["folders"] == []
        assert shell.run("tenant", "allow", "south", "--folder", folder, "--remove").code != 0
