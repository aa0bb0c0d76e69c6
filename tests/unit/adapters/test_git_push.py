"""Pushing to real repositories: git's own server over TLS, and a bare repository in a folder."""

import base64
import os
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from anyio.abc import ByteStream

from pecia.adapters.git.fetch import GitCredentials, GitFetchPolicy
from pecia.adapters.git.remote import RemoteBranch
from pecia.adapters.http.egress_rules import EgressRules
from pecia.kernel.errors import Forbidden, Unprocessable, UpstreamError
from tests.unit.adapters.loopback import Authority, ReceivedRequest, guard, page, serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

AUTHOR = ("Ana Lima", "ana@example.com")
SECRET = "bot:t0ken"


@dataclass
class GitBackend:
    """`git http-backend` behind a password."""

    root: Path

    async def __call__(self, asked: ReceivedRequest, stream: ByteStream) -> None:
        if asked.headers.get("authorization", "") != f"Basic {_encode(SECRET)}":
            await page(b"", 'WWW-Authenticate: Basic realm="x"', status="401 No")(asked, stream)
            return
        body = await _read_body(asked, stream)
        parts = urlsplit(asked.path)
        environ = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "bot",
            "REQUEST_METHOD": asked.line.split(" ")[0],
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "CONTENT_TYPE": asked.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
        }
        done = await anyio.run_process(["git", "http-backend"], input=body, env=environ)
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        headers = head.decode().split("\r\n")
        status = next((it[8:] for it in headers if it.startswith("Status: ")), "200 OK")
        await page(rest, *headers, status=status)(asked, stream)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout.strip()


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    place = tmp_path / "repo.git"
    git(tmp_path, "init", "--bare", "--initial-branch", "main", str(place))
    return place


@asynccontextmanager
async def over_https(bare: Path, tmp_path: Path, name: str) -> AsyncGenerator[RemoteBranch]:
    authority = Authority.new()
    tls = authority.server(tmp_path, "git.test")
    async with serving(GitBackend(bare.parent), tls=tls) as server:
        names = guard(EgressRules.from_trusted_hosts(["127.0.0.1"]), git=[["127.0.0.1"]])
        trust = GitFetchPolicy(names, authorities=authority.write(tmp_path / "ca.pem"))
        url = server.url("/repo.git", host="git.test", scheme="https")
        user, secret = SECRET.split(":")
        login = GitCredentials(user, secret)
        yield RemoteBranch(url, tmp_path / name, "main", trust, login)


async def commit(branch: RemoteBranch, parent: str | None, text: str) -> str:
    made = await branch.commit(parent, {"a.md": text.encode()}, AUTHOR, f"{text}\n")
    assert made is not None
    return made


def tip(bare: Path) -> str:
    return git(bare, "rev-parse", "main")


async def test_a_branch_is_advanced_over_https_and_never_by_force(
    tmp_path: Path, bare: Path
) -> None:
    async with over_https(bare, tmp_path, "copy") as branch:
        assert await branch.fetch() is None
        first = await commit(branch, None, "one")
        assert await branch.push(None, first)
        assert await branch.fetch() == tip(bare) == first
        ours, theirs = await commit(branch, first, "ours"), await commit(branch, first, "theirs")
        assert await branch.push(first, theirs)
        assert not await branch.push(first, ours)
        assert tip(bare) == theirs
        assert await branch.contains(theirs, first)
        assert not await branch.contains(theirs, ours)


async def test_a_branch_that_somebody_else_moved_is_left_alone(tmp_path: Path, bare: Path) -> None:
    async with over_https(bare, tmp_path, "copy") as branch:
        await branch.fetch()
        first = await commit(branch, None, "one")
        assert await branch.push(None, first)
        url = f"file://{bare}"
        other = RemoteBranch(url, tmp_path / "other", "main", GitFetchPolicy(folders=None))
        await other.fetch()
        theirs = await commit(other, first, "theirs")
        assert await other.push(first, theirs)
        # We have not seen their commit.
        ours = await commit(branch, first, "ours")
        assert not await branch.push(first, ours)
        assert tip(bare) == theirs


async def test_a_hook_that_refuses_and_a_wrong_password_are_errors(
    tmp_path: Path, bare: Path
) -> None:
    hook = bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    async with over_https(bare, tmp_path, "copy") as branch:
        await branch.fetch()
        made = await commit(branch, None, "one")
        with pytest.raises(UpstreamError, match="refused the push"):
            await branch.push(None, made)
        branch.credentials = GitCredentials("bot", "wrong")
        with pytest.raises(UpstreamError, match="credentials"):
            await branch.push(None, made)


async def test_of_many_who_push_to_a_folder_at_once_one_succeeds(
    tmp_path: Path, bare: Path
) -> None:
    async def open_branch(name: str) -> RemoteBranch:
        trust = GitFetchPolicy(folders=None)
        it = RemoteBranch(f"file://{bare}", tmp_path / name, "main", trust)
        await it.fetch()
        return it

    branches = [await open_branch(f"copy{it}") for it in range(4)]
    made = [await commit(it, None, f"by {number}") for number, it in enumerate(branches)]
    won: list[str] = []

    async def push(at: int) -> None:
        if await branches[at].push(None, made[at]):
            won.append(made[at])

    async with anyio.create_task_group() as group:
        for at in range(len(branches)):
            group.start_soon(push, at)
    assert won == [tip(bare)]
    assert len(git(bare, "for-each-ref").splitlines()) == 1


async def test_a_work_tree_and_a_repository_that_leads_out_of_the_bounds_are_not_pushed_to(
    tmp_path: Path, bare: Path
) -> None:
    branch = RemoteBranch(
        f"file://{bare}", tmp_path / "copy", "main", GitFetchPolicy(folders=(tmp_path,))
    )
    await branch.fetch()
    made = await commit(branch, None, "one")
    assert await branch.push(None, made)
    (bare / "objects" / "info" / "alternates").write_text("/elsewhere\n")
    second = await commit(branch, made, "two")
    with pytest.raises(Forbidden):
        await branch.push(made, second)
    branch.trust = GitFetchPolicy(folders=(tmp_path / "other",))
    with pytest.raises(Forbidden):
        await branch.push(made, second)
    git(tmp_path, "init", str(tmp_path / "tree"))
    branch.url, branch.trust = f"file://{tmp_path / 'tree'}", GitFetchPolicy(folders=None)
    with pytest.raises(Unprocessable, match="bare"):
        await branch.push(None, made)


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def _read_body(asked: ReceivedRequest, stream: ByteStream) -> bytes:
    body = asked.rest
    if asked.headers.get("transfer-encoding", "") != "chunked":
        while len(body) < int(asked.headers.get("content-length", "0")):
            body += await stream.receive()
        return body
    while not body.endswith(b"0\r\n\r\n"):
        body += await stream.receive()
    whole = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        if not int(size, 16):
            return whole
        whole += body[: int(size, 16)]
        body = body[int(size, 16) + 2 :]
