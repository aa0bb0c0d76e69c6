"""A rename killed at any step, and a hand edit made before anybody looks again: nothing is lost."""

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
import orjson
import pytest

from pecia.app.app import App
from pecia.kernel.errors import Json
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.faults.wiki_live_victim import open_here
from tests.faults.wiki_write_victim import AFTER_COMMIT
from tests.soak import SOAK
from tests.warm import start as warm

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(0 if SOAK else 300)]

# Named points with how often each is passed in one rename.
POINTS = (
    *(("after_journal", 1), ("after_move", 1), ("after_write", 1), ("after_write", 2)),
    *(("before_commit", 1), *((it, 1) for it in AFTER_COMMIT)),
)
JOURNAL = ".pecia/write-journal.json"
HAND = "written by hand\n"
# The document's own links and both referrers change in either rename.
BEFORE = {
    "d/one.md": "# One\n\n[b](../b.md) ![i](i.png)\n",
    "d/i.png": "picture",
    "b.md": "see [one](d/one.md)\n",
    "e/c.md": "also [[d/one]]\n",
    "z.md": "alone\n",
}
Renames = Mapping[str, tuple[dict[str, Json], str, dict[str, str]]]
RENAMES: Renames = {
    "wiki.rename_document": (
        {"docName": "d/one", "newDocName": "n/m/two"},
        "n/m/two.md",
        {
            "n/m/two.md": "# One\n\n[b](../../b.md) ![i](../../d/i.png)\n",
            "d/i.png": "picture",
            "b.md": "see [one](n/m/two.md)\n",
            "e/c.md": "also [[n/m/two]]\n",
            "z.md": "alone\n",
        },
    ),
    "wiki.rename_folder": (
        {"fromFolder": "d", "toFolder": "n/m"},
        "n/m/one.md",
        {
            "n/m/one.md": "# One\n\n[b](../../b.md) ![i](i.png)\n",
            "n/m/i.png": "picture",
            "b.md": "see [one](n/m/one.md)\n",
            "e/c.md": "also [[n/m/one]]\n",
            "z.md": "alone\n",
        },
    ),
}
SOURCE, REFERRER = "d/one.md", "b.md"


@dataclass(frozen=True, slots=True)
class Cut:
    """A space in which a rename was cut off."""

    folder: Path
    target: str
    final: dict[str, str]
    is_finished: bool

    @property
    def goal(self) -> dict[str, str]:
        """What all files must be that nobody touched."""
        return self.final if self.is_finished else BEFORE

    def write(self, path: str) -> None:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(HAND, encoding="utf-8")

    def append(self, path: str) -> None:
        with (self.folder / path).open("a", encoding="utf-8") as file:
            file.write(HAND)

    def files(self) -> dict[str, str]:
        return {
            str(it.relative_to(self.folder)): it.read_text(encoding="utf-8")
            for it in self.folder.rglob("*")
            if it.is_file() and ".pecia" not in it.parts
        }

    def in_history(self, text: str) -> bool:
        """Whether any version holds a file with exactly this text. Asked of git itself."""
        git = ["git", f"--git-dir={self.folder}/.pecia/history"]
        body = text.encode()
        asked = subprocess.run(
            ["git", "hash-object", "--stdin"], input=body, capture_output=True, check=True
        )
        oid = asked.stdout.decode().strip()
        listed = subprocess.run(
            [*git, "rev-list", "--objects", "--all"], capture_output=True, check=False
        )
        return oid in listed.stdout.decode()


def nothing(cut: Cut) -> None:
    """Nobody came by."""


def write_source(cut: Cut) -> None:
    cut.write(SOURCE)


def write_target(cut: Cut) -> None:
    cut.write(cut.target)


def write_referrer(cut: Cut) -> None:
    cut.write(REFERRER)


def append_to_referrer(cut: Cut) -> None:
    cut.append(REFERRER)


def append_to_document(cut: Cut) -> None:
    cut.append(cut.target if (cut.folder / cut.target).exists() else SOURCE)


def delete_document(cut: Cut) -> None:
    for it in (SOURCE, cut.target):
        (cut.folder / it).unlink(missing_ok=True)


def delete_referrer(cut: Cut) -> None:
    (cut.folder / REFERRER).unlink()


EDITS: tuple[Callable[[Cut], None], ...] = (
    *(nothing, write_source, write_target, write_referrer, delete_document, delete_referrer),
    *(append_to_referrer, append_to_document),
)


@pytest.mark.parametrize("tool", RENAMES)
async def test_a_hand_edit_survives_the_recovery_of_a_rename(
    tool: str, database: DatabaseLogins, tmp_path: Path
) -> None:
    home, folder, kept = tmp_path / "home", tmp_path / "notes", tmp_path / "kept"
    arguments, target, final = RENAMES[tool]
    for path, text in BEFORE.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    shutil.copytree(folder, kept)
    async with open_here(database, home) as app:
        ana = await app.authenticate(None, CONTEXT)
        await app.call(ana, "add_space", {"folder": str(folder)}, CONTEXT)
        await recover(app)
    for point, hit in POINTS:
        put(kept, folder)
        await kill_at(point, hit, database, home, tool, {"space": "notes", **arguments})
        assert (folder / JOURNAL).exists(), point
        cut_off = tmp_path / f"{point}-{hit}"
        shutil.copytree(folder, cut_off)
        async with open_here(database, home) as app:
            for edit in EDITS:
                put(cut_off, folder)
                cut = Cut(folder, target, final, point in AFTER_COMMIT)
                was = cut.files()
                edit(cut)
                await recover(app)
                where = (tool, point, hit, edit.__name__)
                assert not (folder / JOURNAL).exists(), where
                check(cut, edit, was, where)


def check(cut: Cut, edit: Callable[[Cut], None], was: Mapping[str, str], where: object) -> None:
    """What is on the disk and in history, after the recovery, against what the person did."""
    files = cut.files()
    ours = {SOURCE, cut.target}
    is_moved = cut.target in was
    if edit is nothing:
        assert files == cut.goal, where
        return
    if edit in (append_to_referrer, append_to_document):
        # Their words stay, and the links are those of the outcome.
        own = cut.target if cut.is_finished else SOURCE
        path = REFERRER if edit is append_to_referrer else own
        assert files == {**cut.goal, path: cut.goal[path] + HAND}, where
        assert cut.in_history(files[path]), where
        return
    touched = {REFERRER} if edit in (write_referrer, delete_referrer) else ours
    assert others(files, touched) == others(cut.goal, touched), where
    found = {path: text for path, text in files.items() if path in touched}
    texts = sorted(found.values())
    if edit in (delete_document, delete_referrer):
        # The text as it was found, or as it was before the rename: its words are the same.
        gone = {text[it] for it in touched for text in (was, BEFORE) if it in text}
        assert not found, where
        assert any(cut.in_history(it) for it in gone), where
        return
    assert cut.in_history(HAND), where
    if edit is write_source and is_moved:
        assert files[SOURCE] == HAND, where
        assert files[cut.target] in (BEFORE[SOURCE], cut.final[cut.target]), where
    elif edit is write_target and not is_moved:
        assert found == {SOURCE: BEFORE[SOURCE], cut.target: HAND}, where
    else:
        assert texts == [HAND], where


def others(files: Mapping[str, str], touched: set[str]) -> dict[str, str]:
    return {path: text for path, text in files.items() if path not in touched}


def put(what: Path, where: Path) -> None:
    """The folder as it was, in its place."""
    shutil.rmtree(where)
    shutil.copytree(what, where)


async def recover(app: App) -> None:
    """Any call looks at the space, and so mends it first."""
    ana = await app.authenticate(None, CONTEXT)
    await app.call(ana, "wiki.list_documents", {"space": "notes"}, CONTEXT)


async def kill_at(
    point: str, hit: int, logins: DatabaseLogins, home: Path, tool: str, arguments: dict[str, Json]
) -> None:
    given: dict[str, Json] = {"owner": logins.owner, "app": logins.app, "system": logins.system}
    given |= {"home": str(home), "tool": tool, "arguments": arguments}
    command = warm.module("tests.faults.wiki_write_victim", point, hit, "kill")
    with anyio.fail_after(60):
        done = await anyio.run_process(command, input=orjson.dumps(given), check=False)
    assert done.stdout.decode().split() == ["hit", point], done
