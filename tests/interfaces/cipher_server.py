"""A served Pecia that `pecia cipher` finds by the lock of its home, and clients of that command."""

import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from pecia.adapters.models.providers import PROVIDERS
from pecia.app.app import SETTINGS, App, index_root, open_app
from pecia.app.composition.chat_models import ProviderModels, build_provider_models
from pecia.app.composition.memory_model import MemoryModelProvider
from pecia.features.ckf.llm.quota import DailyAllowance, DailyQuota, StoredQuotaCounter
from pecia.features.ckf.settings import CkfSettings
from pecia.features.memory.feature import memory_feature
from pecia.features.memory.settings import MemorySettings
from pecia.interfaces.cli.server.lock import ServerLock, claim_home, home_lock_path, write_lock
from pecia.interfaces.http.server import serve_http
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.tool.view import combine_tools
from tests.conftest import house_flags, no_fetch
from tests.provider import LoopbackProvider
from tests.warm import start as warm

INSTANCE = "the-one-under-test"


@dataclass(frozen=True, slots=True)
class CipherServer:
    """The App, where it is served, and the folder that is a user's home."""

    app: App
    url: str
    root: Path

    @property
    def said(self) -> Path:
        """Where stderr of the latest session went."""
        return self.root / "stderr"

    def environ(self, env: Mapping[str, str]) -> dict[str, str]:
        own = {"PATH": os.environ["PATH"], "HOME": str(self.root)}
        return {**own, "PECIA_HOME": str(self.root / "home"), **env}

    @asynccontextmanager
    async def session(self, args: list[str], env: Mapping[str, str]) -> AsyncGenerator[Client]:
        """A stock client that starts the program, as the `args` and `env` of a JSON block say."""
        command, *words = warm.pecia("cipher", *args)
        started = StdioServerParameters(
            command=command, args=words, env=self.environ(env), cwd=self.root
        )
        with self.said.open("w", encoding="utf-8") as stderr:
            async with Client(stdio_client(started, errlog=stderr), cache=None) as client:
                yield client

    async def run(self, *words: object, **env: str) -> tuple[int, str]:
        """One run of the command that ends by itself: its exit code, and all it said."""
        with anyio.fail_after(50):
            done = await anyio.run_process(
                warm.pecia("cipher", *words),
                input=b"",
                check=False,
                cwd=self.root,
                env=self.environ(env),
            )
        return done.returncode, (done.stdout + done.stderr).decode()


@asynccontextmanager
async def grounded(
    database: DatabaseLogins, root: Path, provider: LoopbackProvider, **environ: str
) -> AsyncGenerator[CipherServer]:
    """A Pecia whose model providers are all on loopback, served, with a lock in its home."""
    home = root / "home"
    home.mkdir(parents=True)
    settings = load_settings(
        SETTINGS,
        flags=house_flags(database, home),
        environ=environ,
        project_file=None,
        user_file=None,
    )
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as opened:
        app = _with_provider(opened, provider)
        async with serve_http(app, port=0, mounts=[mount_mcp], instance=INSTANCE) as where:
            lock = ServerLock(where.url, where.port, os.getpid(), "0", str(home), INSTANCE, "now")
            write_lock(home_lock_path(home), lock)
            # As every server of a home does: the owner's token goes to no other.
            with claim_home(home):
                yield CipherServer(app, where.url, root)


def tools_of(listed: Any) -> set[str]:
    return {it.name for it in listed.tools}


def _with_provider(app: App, provider: LoopbackProvider) -> App:
    """The same, and every provider is this one."""

    def models_of(settings: CkfSettings) -> ProviderModels:
        here = {name: provider.as_provider(name) for name in PROVIDERS}
        return replace(build_provider_models(settings), providers=here, guard=provider.guard)

    corpus = Corpus(app.store, ReaderCache(index_root(app.settings.kernel)), app.embedder)
    quota = DailyQuota(DailyAllowance(50, 500), StoredQuotaCounter(app.store))
    minds = MemoryModelProvider(app.settings.part(CkfSettings), quota, models_of)
    feature = memory_feature(corpus, app.settings.part(MemorySettings), minds)
    features = tuple(feature if it.name == "memory" else it for it in app.features)
    every = combine_tools(tool for it in features for tool in it.tools)
    return replace(app, features=features, full_view=every)


PYTHON = sys.executable
