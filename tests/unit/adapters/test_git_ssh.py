"""Copying from and pushing to a real ssh server on loopback: OpenSSH's, as the user of the test."""

import getpass
import shutil
import subprocess
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pygit2
import pytest

from pecia.adapters.git.fetch import GitBranchUpdate, GitCredentials, GitFetchPolicy, fetch, push
from pecia.adapters.http.egress_rules import EgressRules
from pecia.kernel.errors import UpstreamError
from tests.unit.adapters.loopback import guard
from tests.unit.adapters.test_git_fetch import commit
from tests.web.conftest import free_port

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(SSHD is None, reason="OpenSSH's server is not installed (sshd)"),
]


@dataclass(frozen=True)
class SshServer:
    """It lets in whoever has `key`; the client knows it by `home/.ssh/known_hosts`."""

    folder: Path
    port: int

    @property
    def url(self) -> str:
        return f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}{self.folder}/origin"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def policy(self) -> GitFetchPolicy:
        rules = EgressRules.from_trusted_hosts([f"127.0.0.1:{self.port}"])
        return GitFetchPolicy(guard(rules), ssh_home=self.home)

    def credentials(self, key: str = "key") -> GitCredentials:
        return GitCredentials(getpass.getuser(), (self.folder / key).read_text(), is_key=True)

    def trust(self, key: str) -> None:
        kind, secret, *_ = (self.folder / f"{key}.pub").read_text().split()
        hosts = self.home / ".ssh" / "known_hosts"
        hosts.parent.mkdir(parents=True, exist_ok=True)
        hosts.write_text(f"[127.0.0.1]:{self.port} {kind} {secret}\n")


@pytest.fixture
def server(tmp_path: Path) -> Generator[SshServer]:
    it = SshServer(tmp_path, free_port())
    for name in ("host", "key", "other"):
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(made, check=True)
    options = {
        "ListenAddress": f"127.0.0.1:{it.port}",
        "HostKey": tmp_path / "host",
        "AuthorizedKeysFile": tmp_path / "key.pub",
        "StrictModes": "no",
        "PidFile": "none",
        "UsePAM": "no",
        "PermitRootLogin": "yes",
        "PasswordAuthentication": "no",
    }
    (tmp_path / "sshd.conf").write_text("".join(f"{it} {to}\n" for it, to in options.items()))
    it.trust("host")
    # As root it wants a folder to be without privileges in.
    with_folder = Path("/run/sshd")
    if getpass.getuser() == "root":
        with_folder.mkdir(exist_ok=True)
    assert SSHD is not None
    words = [SSHD, "-D", "-e", "-f", str(tmp_path / "sshd.conf")]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert b"Server listening" in process.stderr.readline()
        yield it
        process.terminate()


@pytest.fixture
def origin(tmp_path: Path) -> pygit2.Repository:
    repository = pygit2.init_repository(str(tmp_path / "origin"), bare=True, initial_head="main")
    commit(repository, b"first")
    return repository


async def test_a_repository_is_copied_and_pushed_to_over_ssh(
    server: SshServer, origin: pygit2.Repository, tmp_path: Path
) -> None:
    shown = server.credentials()
    cloned = await fetch(server.url, tmp_path / "clone", server.policy, credentials=shown)
    assert cloned.head == "refs/heads/main"
    tip = str(origin.references["refs/heads/main"].target)
    new = commit(pygit2.Repository(str(tmp_path / "clone")), b"second")
    branch = GitBranchUpdate("refs/heads/main", tip, new)
    assert await push(server.url, tmp_path / "clone", branch, server.policy, credentials=shown)
    assert str(origin.references["refs/heads/main"].target) == new


async def test_another_host_key_is_refused_and_named_as_such(
    server: SshServer, origin: pygit2.Repository, tmp_path: Path
) -> None:
    shown = server.credentials()
    server.trust("other")
    with pytest.raises(UpstreamError, match="the host key of"):
        await fetch(server.url, tmp_path / "clone", server.policy, credentials=shown)
    (server.home / ".ssh" / "known_hosts").unlink()
    with pytest.raises(UpstreamError, match=r"known_hosts, or none is there"):
        await fetch(server.url, tmp_path / "clone", server.policy, credentials=shown)


async def test_another_key_is_not_let_in(
    server: SshServer, origin: pygit2.Repository, tmp_path: Path
) -> None:
    shown = server.credentials("other")
    with pytest.raises(UpstreamError, match="refused the credentials"):
        await fetch(server.url, tmp_path / "clone", server.policy, credentials=shown)
