"""One folder and two installations: two databases, of which each knows its own transactions."""

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from pecia.app.app import SETTINGS, App, open_app
from pecia.features.wiki.storage.journal import (
    JOURNAL_PATH,
    JournaledFile,
    WriteJournal,
    digest,
    write_journal,
)
from pecia.kernel.errors import Conflict, Json
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, house_flags, no_fetch

pytestmark = pytest.mark.anyio

WRITES = 8


@pytest.fixture
async def apps(
    database: DatabaseLogins, module_database: DatabaseLogins, tmp_path: Path
) -> AsyncGenerator[tuple[App, App]]:
    one, two = (
        load_settings(
            SETTINGS,
            flags=house_flags(logins, tmp_path / name),
            environ={},
            project_file=None,
            user_file=None,
        )
        for logins, name in ((database, "one"), (module_database, "two"))
    )
    async with (
        open_app(one, fetch=no_fetch, report=lambda _: None) as first,
        open_app(two, fetch=no_fetch, report=lambda _: None) as second,
    ):
        yield first, second


async def call(app: App, tool: str, **arguments: Json) -> Json:
    owner = await app.authenticate(None, CONTEXT)
    return (await app.call(owner, tool, arguments, CONTEXT)).structured


async def add(app: App, folder: Path) -> str:
    added = await call(app, "admin.add_space", folder=str(folder))
    assert isinstance(added, dict)
    return str(added["name"])


async def test_no_acknowledged_write_is_lost_to_another_installation(
    apps: tuple[App, App], tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "log.md").write_text("# Log\n")
    first, second = apps
    space = await add(first, folder)
    acknowledged: list[str] = []

    async def append(app: App, line: str) -> None:
        try:
            await call(
                app,
                "wiki.write_document",
                space=space,
                docName="log",
                position="append",
                markdown=line,
            )
        except Conflict:
            return
        acknowledged.append(line)

    # Nothing is written there yet, so both may have it; the first writer holds it.
    await add(second, folder)
    async with anyio.create_task_group() as tasks:
        for number in range(WRITES):
            tasks.start_soon(append, first, f"first-{number}")
            tasks.start_soon(append, second, f"second-{number}")
    lines = (folder / "log.md").read_text().split()
    assert len({it.partition("-")[0] for it in acknowledged}) == 1
    assert [it for it in acknowledged if it not in lines] == []
    holder, other = apps if acknowledged[0].startswith("first") else (second, first)
    with pytest.raises(Conflict, match="served by another installation") as refused:
        await add(other, folder)
    assert refused.value.fields["home"] == str(holder.settings.kernel.home)
    # Removed there, it is free for the other: without a stop, and in every process.
    await call(holder, "admin.remove_space", name=space)
    await call(other, "wiki.list_documents", space=space)
    with pytest.raises(Conflict, match="served by another installation"):
        await add(holder, folder)


@pytest.mark.parametrize("is_whole", [True, False])
async def test_the_journal_of_another_installation_is_judged_by_the_files(
    apps: tuple[App, App], tmp_path: Path, is_whole: bool
) -> None:
    """Its transaction says nothing here. What was committed there is whole on disk."""
    folder = tmp_path / "notes"
    folder.mkdir()
    app = apps[0]
    space = await add(app, folder)
    written = {"a.md": b"new\n", "b.md": b"new\n" if is_whole else b"old\n"}
    for name, body in written.items():
        (folder / name).write_bytes(body)
    files = tuple(JournaledFile(it, b"old\n", digest(b"new\n")) for it in written)
    write_journal(folder, "", WriteJournal("3", (), files, None, "another"))
    await call(app, "wiki.list_documents", space=space)
    assert not (folder / JOURNAL_PATH).exists()
    expected = b"new\n" if is_whole else b"old\n"
    assert {(folder / it).read_bytes() for it in written} == {expected}
