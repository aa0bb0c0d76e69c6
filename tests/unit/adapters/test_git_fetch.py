"""Copying repositories from real servers on loopback, over TLS, through the guarded tunnel."""

import logging
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import psutil
import pygit2
import pytest
from anyio.abc import ByteStream
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from pygit2.enums import FileMode

from pecia.adapters.git.fetch import GitCredentials, GitFetchLimits, GitFetchPolicy, fetch
from pecia.adapters.git.repository import Repository
from pecia.adapters.http.egress_rules import EgressRules
from pecia.kernel.errors import Forbidden, InvalidFormat, PayloadTooLarge, Timeout, UpstreamError
from tests.unit.adapters.git_server import GitServer
from tests.unit.adapters.loopback import Answer, Authority, ReceivedRequest, Server, guard, serving

pytestmark = pytest.mark.anyio

SOMEBODY = pygit2.Signature("somebody", "s@example.com", 1_700_000_000, 0)


@pytest.fixture
def origin(tmp_path: Path) -> pygit2.Repository:
    repository = pygit2.init_repository(str(tmp_path / "origin"), bare=True, initial_head="main")
    commit(repository, b"first")
    return repository


def commit(repository: pygit2.Repository, data: bytes, ref: str = "refs/heads/main") -> str:
    tree = repository.TreeBuilder()
    tree.insert("a.md", repository.create_blob(data), FileMode.BLOB)
    tip = repository.references.get(ref)
    parents = [] if tip is None else [tip.target]
    return str(repository.create_commit(ref, SOMEBODY, SOMEBODY, "m", tree.write(), parents))


@asynccontextmanager
async def over_tls(tmp_path: Path, answer: Answer) -> AsyncGenerator[tuple[Server, GitFetchPolicy]]:
    authority = Authority.new()
    tls = authority.server(tmp_path, "git.test")
    async with serving(answer, tls=tls) as server:
        names = guard(
            EgressRules.from_trusted_hosts(["127.0.0.1"]), git=[["127.0.0.1"]], evil=[["127.0.0.1"]]
        )
        yield server, GitFetchPolicy(names, authorities=authority.write(tmp_path / "ca.pem"))


def url_of(server: Server, host: str = "git.test") -> str:
    return server.url("/repo.git", host=host, scheme="https")


def copies(folder: Path) -> list[str]:
    """Everything in the folder that a copy left there, finished or not."""
    return sorted(it.name for it in folder.glob("*clone*"))


async def test_a_repository_is_copied_over_https(tmp_path: Path, origin: pygit2.Repository) -> None:
    async with over_tls(tmp_path, GitServer(origin)) as (server, trust):
        cloned = await fetch(url_of(server), tmp_path / "clone", trust)
    assert cloned.head == "refs/heads/main"
    assert await Repository(tmp_path / "clone").read("main", "a.md") == b"first"
    assert copies(tmp_path) == ["clone"]


async def test_a_second_fetch_brings_what_is_new_and_drops_what_is_gone(
    tmp_path: Path, origin: pygit2.Repository
) -> None:
    commit(origin, b"side", "refs/heads/side")
    async with over_tls(tmp_path, GitServer(origin)) as (server, trust):
        first = await fetch(url_of(server), tmp_path / "clone", trust)
        origin.references.delete("refs/heads/side")
        new = commit(origin, b"second")
        second = await fetch(url_of(server), tmp_path / "clone", trust)
    assert set(first.references) == {"refs/heads/main", "refs/heads/side"}
    assert second.references == {"refs/heads/main": new}
    assert await Repository(tmp_path / "clone").read("main", "a.md") == b"second"


async def test_a_host_at_a_forbidden_address_is_not_asked(
    tmp_path: Path, origin: pygit2.Repository
) -> None:
    async with over_tls(tmp_path, GitServer(origin)) as (server, trust):
        rules = EgressRules(ports=frozenset({server.port}))
        closed = GitFetchPolicy(guard(rules, git=[["127.0.0.1"]]), authorities=trust.authorities)
        with pytest.raises(Forbidden) as caught:
            await fetch(url_of(server), tmp_path / "clone", closed)
    assert caught.value.fields["rule"] == "loopback"
    assert server.asked == []


async def test_a_name_that_changes_its_answer_gains_nothing(
    tmp_path: Path, origin: pygit2.Repository
) -> None:
    async with over_tls(tmp_path, GitServer(origin)) as (server, trust):
        names = guard(
            EgressRules.from_trusted_hosts(["127.0.0.1"]), git=[["127.0.0.1"], ["10.0.0.1"]]
        )
        turncoat = GitFetchPolicy(names, authorities=trust.authorities)
        await fetch(url_of(server), tmp_path / "clone", turncoat)
        with pytest.raises(Forbidden):
            await fetch(url_of(server), tmp_path / "clone", turncoat)


async def test_a_redirect_to_another_host_is_not_followed(
    tmp_path: Path, origin: pygit2.Repository
) -> None:
    async with serving(GitServer(origin)) as inside:
        hostile = GitServer(origin, redirect_to=inside.url("/info/refs?service=git-upload-pack"))
        async with over_tls(tmp_path, hostile) as (server, trust):
            with pytest.raises(UpstreamError):
                await fetch(url_of(server), tmp_path / "clone", trust)
    assert len(server.asked) >= 1
    assert inside.asked == []


async def test_a_server_that_shows_another_name_is_not_trusted(
    tmp_path: Path, origin: pygit2.Repository
) -> None:
    async with over_tls(tmp_path, GitServer(origin)) as (server, trust):
        with pytest.raises(UpstreamError):
            await fetch(url_of(server, "evil.test"), tmp_path / "clone", trust)
        stranger = GitFetchPolicy(trust.guard)
        with pytest.raises(UpstreamError):
            await fetch(url_of(server), tmp_path / "clone", stranger)
    assert not (tmp_path / "clone").exists()


async def test_more_than_the_limit_is_refused_and_leaves_nothing(
    tmp_path: Path, origin: pygit2.Repository
) -> None:
    async with over_tls(tmp_path, GitServer(origin, padding=5_000_000)) as (server, trust):
        with pytest.raises(PayloadTooLarge):
            await fetch(
                url_of(server), tmp_path / "clone", trust, limits=GitFetchLimits(max_bytes=100_000)
            )
    assert copies(tmp_path) == []


async def test_a_server_that_falls_silent_ends_at_the_deadline(tmp_path: Path) -> None:
    async def silent(asked: ReceivedRequest, stream: ByteStream) -> None:
        await anyio.sleep_forever()

    async with over_tls(tmp_path, silent) as (server, trust):
        with pytest.raises(Timeout):
            await fetch(
                url_of(server), tmp_path / "clone", trust, limits=GitFetchLimits(timeout_s=2)
            )
    assert copies(tmp_path) == []


async def test_cancelling_ends_the_process_and_leaves_nothing(tmp_path: Path) -> None:
    asked = anyio.Event()
    others = {*psutil.Process().children(recursive=True)}

    async def silent(request: ReceivedRequest, stream: ByteStream) -> None:
        asked.set()
        await anyio.sleep_forever()

    async with over_tls(tmp_path, silent) as (server, trust):
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(fetch, url_of(server), tmp_path / "clone", trust)
                await asked.wait()
                group.cancel_scope.cancel()
    assert {*psutil.Process().children(recursive=True)} <= others
    assert copies(tmp_path) == []


async def test_a_process_without_memory_is_an_upstream_error(
    tmp_path: Path, origin: pygit2.Repository
) -> None:
    tight, trust = GitFetchLimits(memory_bytes=1_000_000), GitFetchPolicy(folders=(tmp_path,))
    with pytest.raises(UpstreamError):
        await fetch(f"file://{origin.path}", tmp_path / "clone", trust, limits=tight)
    assert copies(tmp_path) == []


async def test_credentials_are_shown_when_asked_for_and_nowhere_else(
    tmp_path: Path, origin: pygit2.Repository, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    known = GitCredentials("ana", "hunter-22")
    asking = GitServer(origin, secret="ana:hunter-22")
    async with over_tls(tmp_path, asking) as (server, trust):
        await fetch(url_of(server), tmp_path / "clone", trust, credentials=known)
        for wrong in (None, GitCredentials("ana", "hunter-23")):
            with pytest.raises(UpstreamError) as caught:
                await fetch(url_of(server), tmp_path / "other", trust, credentials=wrong)
            assert caught.value.fields["reason"] == "credentials_refused"
            assert caught.value.payload()["retryable"] is False
    kept = b"".join(it.read_bytes() for it in (tmp_path / "clone").rglob("*") if it.is_file())
    assert b"hunter" not in kept
    assert "hunter" not in caplog.text + repr(known) + str(caught.value.payload())


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://git.test/repo", "scheme"),
        ("git://git.test/repo", "scheme"),
        ("ext::sh -c id", "scheme"),
        ("git@git.test:repo", "scheme"),
        ("/etc", "scheme"),
        ("https://ana:pw@git.test/repo", "userinfo"),
        ("https://127.1/repo", "odd_address"),
        ("ssh://git@git.test/repo", "ssh_host"),
        ("ssh://git:pw@git.test/repo", "userinfo"),
        ("file:///etc", "folder"),
        ("file://host/etc", "folder"),
    ],
)
async def test_a_url_is_refused_by_a_named_rule(tmp_path: Path, url: str, rule: str) -> None:
    with pytest.raises(Forbidden) as caught:
        await fetch(url, tmp_path / "clone", GitFetchPolicy())
    assert caught.value.fields["rule"] == rule


def test_only_keys_that_the_ssh_library_survives_are_taken() -> None:
    def written(key: ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey, form: PrivateFormat) -> str:
        return key.private_bytes(Encoding.PEM, form, NoEncryption()).decode()

    good, bad = ed25519.Ed25519PrivateKey.generate(), rsa.generate_private_key(65537, 2048)
    for form in (PrivateFormat.OpenSSH, PrivateFormat.PKCS8):
        assert "PRIVATE" not in repr(GitCredentials("git", written(good, form), is_key=True))
        with pytest.raises(InvalidFormat) as caught:
            GitCredentials("git", written(bad, form), is_key=True)
        assert "PRIVATE" not in str(caught.value.payload())
    sealed = good.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
    for text in (sealed.decode(), "no key"):
        with pytest.raises(InvalidFormat):
            GitCredentials("git", text, is_key=True)


async def test_a_trusted_folder_is_copied_and_a_link_out_of_it_is_not(
    tmp_path: Path, origin: pygit2.Repository
) -> None:
    trusted = tmp_path / "trusted"
    trusted.mkdir()
    inside = trusted / "origin"
    shutil.move(origin.path, inside)
    cloned = await fetch(f"file://{inside}", tmp_path / "clone", GitFetchPolicy(folders=(trusted,)))
    assert set(cloned.references) == {"refs/heads/main"}
    outside = pygit2.init_repository(str(tmp_path / "outside"), bare=True)
    (trusted / "door").symlink_to(outside.path)
    with pytest.raises(Forbidden):
        await fetch(
            f"file://{trusted}/door", tmp_path / "other", GitFetchPolicy(folders=(trusted,))
        )
