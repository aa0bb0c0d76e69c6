"""A Pecia that may crawl one site on this machine."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from urllib.parse import urlsplit

from pecia.app.app import SETTINGS, App, open_app
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import OpenHouse, house_flags, no_fetch


def house_reaching(site: str) -> OpenHouse:
    def opened(database: DatabaseLogins, home: Path) -> AbstractAsyncContextManager[App]:
        flags = {
            **house_flags(database, home),
            "lake.trusted_hosts": urlsplit(site).netloc,
            "lake.page_pause_s": "0.001",
        }
        settings = load_settings(
            SETTINGS, flags=flags, environ={}, project_file=None, user_file=None
        )
        return open_app(settings, fetch=no_fetch, report=lambda _: None)

    return opened
