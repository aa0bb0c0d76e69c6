"""A server whose spaces are made one at a time, for laws about their files."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from anyio.from_thread import BlockingPortal, start_blocking_portal

from pecia.app.app import SETTINGS, App, open_app
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, house_flags, no_fetch


@dataclass(frozen=True)
class SpaceServer:
    app: App
    portal: BlockingPortal
    folder: Path

    async def add_space(self, files: Mapping[str, str]) -> tuple[Caller, Path]:
        """A space with these files, and its owner."""
        owner = await self.app.authenticate(None, CONTEXT)
        assert isinstance(owner, Caller)
        folder = self.folder / f"space-{uuid4().hex[:8]}"
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        await self.app.call(owner, "add_space", {"folder": str(folder)}, CONTEXT)
        return owner, folder


@contextmanager
def open_space_server(logins: DatabaseLogins, home: Path, folder: Path) -> Generator[SpaceServer]:
    flags = house_flags(logins, home)
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    with start_blocking_portal() as portal:
        opening = open_app(settings, fetch=no_fetch, report=lambda _: None)
        with portal.wrap_async_context_manager(opening) as app:
            yield SpaceServer(app, portal, folder)
