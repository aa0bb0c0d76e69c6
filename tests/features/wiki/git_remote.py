"""A bare repository, a person's clone of it, and spaces that sync with it."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pecia.features.wiki.remote.reconcile import SpaceReconciler, SyncOutcome
from pecia.kernel.feature import find_service
from tests.conftest import CONTEXT
from tests.features.wiki.conftest import Space

PERSON = ("Ana Lima", "ana@example.com")


def git(folder: Path, *words: str) -> str:
    """The git program, as a person runs it, and nothing of this machine's settings."""
    name, email = PERSON
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_NAME": name for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": email for who in ("AUTHOR", "COMMITTER")},
    }
    done = subprocess.run(
        ["git", *words], cwd=folder, env=environ, capture_output=True, check=True, timeout=60
    )
    return done.stdout.decode(errors="replace")


@dataclass(frozen=True, slots=True)
class GitRemote:
    """`bare` is the remote, `clone` the person's."""

    bare: Path
    clone: Path

    @classmethod
    def create(cls, below: Path) -> "GitRemote":
        bare, clone = below / "remote.git", below / "clone"
        bare.mkdir()
        git(bare, "init", "--bare", "--initial-branch", "main", ".")
        git(below, "clone", str(bare), str(clone))
        return cls(bare, clone)

    def commit(self, subject: str, **files: str | bytes | None) -> str:
        """What the person did, pushed. `a_md` is the file a.md."""
        return self.commit_files(subject, {_name(it): body for it, body in files.items()})

    def commit_files(self, subject: str, files: dict[str, str | bytes | None]) -> str:
        for path, body in files.items():
            place = self.clone / path
            if body is None:
                place.unlink()
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(body if isinstance(body, bytes) else body.encode())
        git(self.clone, "add", "-A")
        git(self.clone, "commit", "-m", subject)
        git(self.clone, "push", "origin", "HEAD:main")
        return self.tip

    def pull(self) -> None:
        git(self.clone, "pull", "--no-rebase", "--no-edit", "origin", "main")

    @property
    def tip(self) -> str:
        return git(self.bare, "rev-parse", "main").strip()

    def read(self, path: str) -> str:
        return git(self.bare, "show", f"main:{path}")

    def files(self) -> list[str]:
        return git(self.bare, "ls-tree", "-r", "--name-only", "main").split()

    def log(self, form: str) -> list[str]:
        return git(self.bare, "log", f"--format={form}", "main").splitlines()


@dataclass(frozen=True, slots=True)
class SyncedSpace:
    """A space and its remote."""

    space: Space
    remote: GitRemote

    async def set_remote(self, **given: Any) -> dict[str, Any]:
        asked = {"name": self.space.name, "url": str(self.remote.bare), **given}
        return await self.admin("admin.set_space_remote", asked)

    async def admin(self, tool: str, asked: dict[str, Any]) -> dict[str, Any]:
        served = self.space.served
        done = await served.app.call(served.ana, tool, asked, CONTEXT)
        assert isinstance(done.structured, dict)
        return done.structured

    async def status(self) -> dict[str, Any]:
        return await self.admin("admin.space_remote_status", {"name": self.space.name})

    async def sync(self) -> SyncOutcome:
        """As the job does it."""
        served = self.space.served
        reconciler = find_service(served.app.features, SpaceReconciler)
        done = await reconciler.sync(served.ana.tenant_id, f"wiki:{self.space.name}", _no_progress)
        assert done is not None
        return done


async def _no_progress(done: float, total: float | None, message: str | None) -> None:
    del done, total, message


def _name(word: str) -> str:
    return word.replace("_", ".")
