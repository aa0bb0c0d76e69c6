"""A folder as a source: several small files at once are what each is alone, and never more."""

import os
from pathlib import Path

import pytest

from pecia.adapters.connect.folder import Folder
from pecia.adapters.scan import Links, Selection
from pecia.kernel.corpus.connector import Passed, Seen

pytestmark = pytest.mark.anyio


async def test_a_handful_holds_the_small_files_and_leaves_out_the_rest(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.md").write_bytes(b"a" * 10)
    (tmp_path / "sub" / "b.md").write_bytes(b"")
    (tmp_path / "large.md").write_bytes(b"x" * 11)
    keys = ["a.md", "sub/b.md", "large.md", "gone.md", "sub"]
    found = await Folder(tmp_path, Selection()).handful(keys, 10)
    assert found == {"a.md": b"a" * 10, "sub/b.md": b""}


@pytest.mark.parametrize("links", Links)
async def test_a_handful_never_leaves_the_folder_nor_waits_for_a_pipe(
    tmp_path: Path, links: Links
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.md").write_text("hidden")
    (inside / "a.md").write_text("plain")
    (inside / "out.md").symlink_to(tmp_path / "secret.md")
    (inside / "in.md").symlink_to(inside / "a.md")
    os.mkfifo(inside / "pipe.md")
    keys = ["a.md", "out.md", "in.md", "pipe.md", "../secret.md"]
    found = await Folder(inside, Selection(links=links)).handful(keys, 100)
    followed = {"in.md": b"plain"} if links is Links.INSIDE else {}
    assert found == {"a.md": b"plain"} | followed


async def test_everything_is_listed_once_however_deep_it_lies(tmp_path: Path) -> None:
    for key in ("z.md", "a/b/c.md", "a/b.md", "a/b/d/e.md"):
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_text(key)
    os.mkfifo(tmp_path / "a" / "pipe")
    listed = [it async for it in Folder(tmp_path, Selection()).listing()]
    seen = sorted(it.key for it in listed if isinstance(it, Seen))
    assert seen == ["a/b.md", "a/b/c.md", "a/b/d/e.md", "z.md"]
    assert [it.key for it in listed if isinstance(it, Passed)] == ["a/pipe"]
