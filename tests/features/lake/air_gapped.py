"""A program for a machine with no network: a whole lake, asked by a caller with a token.

Run with the four words that open a house: home, and the logins of app, owner and system.
"""

import json
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from pecia.app.app import SETTINGS, App, open_app
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, EVERY_SCOPE, House, house_flags, no_fetch
from tests.features.lake.conftest import Lake

FILE: dict[str, Json] = {"source_id": "docs", "key": "a.md"}
CALLS: Mapping[str, dict[str, Json]] = {
    "search_content": {"query": "derailleur", "mode": "lexical"},
    "get_file_text": FILE,
    "get_file_window": FILE,
    "get_file_metadata": FILE,
    "list_sources": {},
    "list_files": {"source_id": "docs"},
}


async def main() -> None:
    home, app, owner, system = sys.argv[1:]
    flags = {**house_flags(DatabaseLogins(owner, app, system), Path(home)), "embed.kind": "none"}
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as opened:
        answers = await asked(opened, Path(home).with_name("docs"))
    sys.stdout.write(json.dumps({"has_network": has_network(), "answers": answers}))


async def asked(app: App, folder: Path) -> dict[str, Any]:
    ana = await app.authenticate(None, CONTEXT)
    assert isinstance(ana, Caller)
    lake = Lake(House(app, ana, ana, ""), folder)
    lake.write({"a.md": "A derailleur moves the chain.\n"})
    await lake.house.call(ana, "add_source", source_id="docs", folder=str(folder), trim_mode="open")
    await lake.crawl()
    made = await lake.house.call(ana, "make_token", label="test", scopes=EVERY_SCOPE)
    caller = await app.authenticate(str(made["token"]), CONTEXT)
    return {
        tool: (await app.call(caller, tool, arguments, CONTEXT)).structured
        for tool, arguments in CALLS.items()
    }


def has_network() -> bool:
    """Whether there is any interface but a loopback that is down."""
    return [name for _, name in socket.if_nameindex()] != ["lo"]


if __name__ == "__main__":
    anyio.run(main)
