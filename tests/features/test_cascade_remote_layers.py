"""Layers that lie elsewhere: repositories and archives by URL, spaces of a wiki that is not there.

Real servers on loopback; whoever cannot be reached is named, and the rest answers.
"""

import io
import json
import zipfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import FileMode

from pecia.adapters.git.fetch import GitFetchPolicy
from pecia.adapters.http.egress_rules import EgressRules
from pecia.adapters.http.guard import EgressGuard
from pecia.app.composition.cascade_ports import GitRepositories, WebFiles
from pecia.features.cascade import cascade
from pecia.features.cascade.ports import CascadePorts
from pecia.kernel.errors import Json
from tests.features.cascade_fixture import CascadeClient, asking, document, write_layers
from tests.unit.adapters.git_server import GitServer
from tests.unit.adapters.loopback import Answer, Authority, Server, guard, page, serving

pytestmark = pytest.mark.anyio

GOOD = document("type: note\ntitle: Good", "## Here\n\nfine")
WHEN = pygit2.Signature("ana", "ana@example.com", 1_700_000_000, 0)


def with_layer(tmp_path: Path, ports: CascadePorts, **layer: Json) -> CascadeClient:
    """One layer of some kind over a company's folder."""
    manifest = write_layers(tmp_path / "cascade", {"company": {"base": GOOD}})
    value = json.loads(manifest.read_text(encoding="utf-8"))
    value["layers"].append({"name": "extra", "level": 1, **layer})
    manifest.write_text(json.dumps(value), encoding="utf-8")
    return asking(manifest, tmp_path / "spool", ports=ports)


async def seen(it: CascadeClient) -> tuple[list[str], str]:
    """The concepts, and why the layer is missing."""
    found = await it.ask("list_concepts")
    reasons = [it["reason"] for it in found.get("degraded", []) if it["layer"] == "extra"]
    return [it["id"] for it in found["concepts"]], "".join(reasons)


def commit(repository: pygit2.Repository, **pages: str) -> None:
    folder = repository.TreeBuilder()
    for name, text in pages.items():
        folder.insert(f"{name}.md", repository.create_blob(text.encode()), FileMode.BLOB)
    root = repository.TreeBuilder()
    root.insert("kb", folder.write(), FileMode.TREE)
    tip = repository.references.get("refs/heads/main")
    parents = [] if tip is None else [tip.target]
    repository.create_commit("refs/heads/main", WHEN, WHEN, "m", root.write(), parents)


@asynccontextmanager
async def over_tls(tmp_path: Path, answer: Answer) -> AsyncGenerator[tuple[Server, GitFetchPolicy]]:
    authority = Authority.new()
    async with serving(answer, tls=authority.server(tmp_path, "git.test")) as server:
        names = guard(EgressRules.from_trusted_hosts(["127.0.0.1"]), git=[["127.0.0.1"]])
        yield server, GitFetchPolicy(names, authorities=authority.write(tmp_path / "ca.pem"))


async def test_a_repository_by_url_is_a_layer_and_is_fetched_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = pygit2.init_repository(str(tmp_path / "origin"), bare=True, initial_head="main")
    commit(origin, x=GOOD)
    async with over_tls(tmp_path, GitServer(origin)) as (server, trust):
        ports = CascadePorts(git=GitRepositories(tmp_path / "copies", trust))
        url = server.url("/kb.git", host="git.test", scheme="https")
        it = with_layer(tmp_path, ports, source="git", url=url, ref="main", subdir="kb")
        assert await seen(it) == (["base", "x"], "")
        found = await it.ask("read_file", concept_id="x")
        assert found["contributors"][0]["updated"] == "2023-11-14"
        commit(origin, x=GOOD, y=GOOD)
        assert await seen(it) == (["base", "x"], "")
        monkeypatch.setattr(cascade, "REFRESH_INTERVAL_S", -1.0)
        assert await seen(it) == (["base", "x", "y"], "")


async def test_a_repository_whose_server_is_gone_or_forbidden_is_named(tmp_path: Path) -> None:
    async with over_tls(tmp_path, page(b"no", status="500 No")) as (server, trust):
        url = server.url("/kb.git", host="git.test", scheme="https")
        ports = CascadePorts(git=GitRepositories(tmp_path / "copies", trust))
        ids, why = await seen(with_layer(tmp_path, ports, source="git", url=url))
        assert (ids, bool(why)) == (["base"], True)
        ports = CascadePorts(
            git=GitRepositories(tmp_path / "copies", replace(trust, guard=EgressGuard()))
        )
        ids, why = await seen(with_layer(tmp_path, ports, source="git", url=url))
        assert (ids, bool(why)) == (["base"], True)


def zipped(**pages: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in pages.items():
            archive.writestr(f"kb/{name}.md", text)
    return made.getvalue()


async def test_an_archive_by_url_is_a_layer(tmp_path: Path) -> None:
    async with serving(page(zipped(x=GOOD))) as server:
        ports = CascadePorts(fetched=WebFiles(EgressGuard(server.trusting_loopback)))
        url = server.url("/kb.zip")
        it = with_layer(tmp_path, ports, source="archive", url=url, subdir="kb")
        assert await seen(it) == (["base", "x"], "")


async def test_an_archive_that_does_not_come_is_named(tmp_path: Path) -> None:
    async with serving(page(b"gone", status="404 Not Found")) as server:
        url = server.url("/kb.zip")
        ports = CascadePorts(fetched=WebFiles(EgressGuard(server.trusting_loopback)))
        it = with_layer(tmp_path, ports, source="http", url=url)
        assert await seen(it) == (["base"], f"{url} answered 404")
        asked = len(server.asked)
        it = with_layer(tmp_path, CascadePorts(fetched=WebFiles()), source="archive", url=url)
        ids, why = await seen(it)
        assert (ids, bool(why), len(server.asked)) == (["base"], True, asked)
        it = with_layer(tmp_path, CascadePorts(), source="archive", url=url)
        assert "cannot fetch from the web" in (await seen(it))[1]


@pytest.mark.parametrize("source", ["wiki:handbook", "lake:plans"])
async def test_a_source_is_named_where_no_server_could_read_it(tmp_path: Path, source: str) -> None:
    manifest = write_layers(tmp_path / "cascade", {"company": {"base": GOOD}})
    value = json.loads(manifest.read_text(encoding="utf-8"))
    value["layers"].append({"name": "extra", "level": 1, "source": source})
    manifest.write_text(json.dumps(value), encoding="utf-8")
    it = asking(manifest, tmp_path / "spool", may_read_all=True)
    ids, why = await seen(it)
    assert (ids, "are read there" in why) == (["base"], True)
    assert (await it.ask("read_file", concept_id="base"))["degraded"][0]["layer"] == "extra"
