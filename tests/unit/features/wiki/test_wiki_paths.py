"""Names, ignore rules, the disk behind them, and where a document can be seen."""

import os
import socket
from functools import partial
from pathlib import Path

import orjson
import pytest

from pecia.features.wiki.config.folder_rules import FolderDefaults
from pecia.features.wiki.core.catalog import CatalogEntry, render_catalogs
from pecia.features.wiki.core.ignore import IgnoreRules
from pecia.features.wiki.core.names import parse_document_name
from pecia.features.wiki.preview import PreviewSettings, choose_preview, read_ui_lock
from pecia.features.wiki.storage import disk, posix
from pecia.features.wiki.storage.journal import (
    JournaledFile,
    JournaledMove,
    WriteJournal,
    delete_journal,
    digest,
    read_journal,
    write_journal,
)
from pecia.features.wiki.storage.recovery import roll_back
from pecia.features.wiki.storage.scan import scan_space
from pecia.kernel.errors import (
    Conflict,
    InvalidFormat,
    InvalidInput,
    Json,
    NotFound,
    PayloadTooLarge,
)


@pytest.mark.parametrize(
    ("given", "name"),
    [("a", "a"), ("a/b.md", "a/b"), ("x.MDX", "x"), ("v1.2", "v1.2"), ("a.md.md", "a.md")],
)
def test_a_name_loses_one_extension(given: str, name: str) -> None:
    assert parse_document_name(given) == name


@pytest.mark.parametrize(
    "given",
    [
        *("", "/a", "a/", "a//b", "../a", "a/../b", "./a", "a\\b", "a\0b", "a\nb", "x.markdown"),
        *("__system__", "__config__/project", "__user__/config.yml", ".git/x", "a/.pecia/b"),
        *(".ok/x", ".GIT/x", "x" * 300, "a/" * 600 + "b"),
    ],
)
def test_a_name_that_is_no_place_for_a_document_is_refused(given: str) -> None:
    with pytest.raises(InvalidFormat) as caught:
        parse_document_name(given)
    assert caught.value.fields["field"] == "docName"


def test_the_last_line_that_fits_decides() -> None:
    rules = IgnoreRules().with_file("*.tmp\n/top\nbuild/\nlogs/*.md\n# comment\n\n")
    rules = rules.with_file("!keep.tmp\n!logs/good.md\n")
    for path in ("a.tmp", "x/y.tmp", "top", "logs/a.md"):
        assert rules.is_ignored(path, is_folder=False), path
    for path in ("keep.tmp", "x/top", "build", "logs/good.md", "x/logs/a.md"):
        assert not rules.is_ignored(path, is_folder=False), path
    assert rules.is_ignored("build", is_folder=True)
    assert rules.is_path_ignored("x/build/deep/a.md")


def test_nested_ignore_files_count_below_their_folder() -> None:
    rules = IgnoreRules().with_file("secret*\n", "a/b")
    assert rules.is_ignored("a/b/secret.md", is_folder=False)
    assert rules.is_ignored("a/b/c/secrets", is_folder=True)
    assert not rules.is_ignored("secret.md", is_folder=False)


def test_folders_of_tools_are_never_documents() -> None:
    assert IgnoreRules().is_ignored("node_modules", is_folder=True)
    assert not IgnoreRules().is_ignored("docs/build", is_folder=True)
    assert IgnoreRules().is_ignored("docs/node_modules", is_folder=True)
    assert IgnoreRules().is_ignored("docs/.hidden", is_folder=True)
    assert IgnoreRules().is_path_ignored("a/.git/x.md")
    assert IgnoreRules().is_path_ignored(".pecia/catalogs/INDEX.md")


def test_a_scan_finds_documents_and_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("x")
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    for name in ("a.md", "both.md", "both.mdx", "docs/b.MD", "docs/c.txt", "docs/out.md"):
        (root / name).write_text("x")
    (root / ".okignore").write_text("out.md\n")
    (root / "link.md").symlink_to(outside / "secret.md")
    (root / "linked").symlink_to(outside)
    found = scan_space(root)
    assert found.documents == {"a": "a.md", "both": "both.mdx", "docs/b": "docs/b.MD"}
    assert [*found.other_files] == [".okignore", "both.md", "docs/c.txt"]


def test_a_file_is_written_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    disk.write(tmp_path, "a/b/c.md", b"one")
    (tmp_path / "a/b/c.md").chmod(0o640)
    stamp = disk.write(tmp_path, "a/b/c.md", b"two")
    assert disk.read(tmp_path, "a/b/c.md") == b"two"
    assert disk.stat_file(tmp_path, "a/b/c.md") == stamp
    assert (tmp_path / "a/b/c.md").stat().st_mode & 0o777 == 0o640
    assert [it.name for it in (tmp_path / "a/b").iterdir()] == ["c.md"]


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "a//b", ".", ""])
def test_no_path_leads_out_of_the_folder(tmp_path: Path, path: str) -> None:
    for act in (disk.read, disk.remove, disk.exists, disk.stat_file):
        with pytest.raises(InvalidInput):
            act(tmp_path, path)
    with pytest.raises(InvalidInput):
        disk.write(tmp_path, path, b"")


def test_links_are_neither_read_nor_written_through(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "x.md").write_text("theirs")
    (root / "folder").symlink_to(outside)
    (root / "file.md").symlink_to(outside / "x.md")
    for path in ("folder/x.md", "file.md"):
        with pytest.raises(InvalidInput):
            disk.read(root, path)
        with pytest.raises(InvalidInput):
            disk.write(root, path, b"ours")
    with pytest.raises(InvalidInput):
        disk.move(root, "file.md", "moved.md")
    disk.remove(root, "file.md")
    assert (outside / "x.md").read_text() == "theirs"


def test_nothing_is_moved_over_what_is_there(tmp_path: Path) -> None:
    disk.write(tmp_path, "a.md", b"a")
    disk.write(tmp_path, "b.md", b"b")
    with pytest.raises(Conflict):
        disk.move(tmp_path, "a.md", "b.md")
    disk.move(tmp_path, "a.md", "deep/c.md")
    assert disk.read(tmp_path, "deep/c.md") == b"a"
    with pytest.raises(NotFound):
        disk.read(tmp_path, "a.md")


def test_only_plain_files_of_bounded_size_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(InvalidInput):
        disk.read(tmp_path, "pipe.md")
    (tmp_path / "big.md").write_bytes(b"x" * 11)
    with pytest.raises(PayloadTooLarge):
        disk.read(tmp_path, "big.md", 10)


def test_a_change_that_was_cut_off_is_put_back(tmp_path: Path) -> None:
    for path, body in (("old.md", b"moved"), ("linker.md", b"[[old]]")):
        disk.write(tmp_path, path, body)
    moved, linked = digest(b"moved"), digest(b"[[new/name]]")
    snapshots = (
        *(JournaledFile("linker.md", b"[[old]]", linked), JournaledFile("old.md", b"moved", moved)),
    )
    write_journal(
        tmp_path, "", WriteJournal("1", (JournaledMove("old.md", "new/name.md"),), snapshots)
    )
    disk.move(tmp_path, "old.md", "new/name.md")
    disk.write(tmp_path, "linker.md", b"[[new/name]]")
    assert recover(tmp_path, "")
    assert disk.read(tmp_path, "old.md") == b"moved"
    assert disk.read(tmp_path, "linker.md") == b"[[old]]"
    assert not (tmp_path / "new").exists()
    assert not recover(tmp_path, "")


def recover(project: Path, lead: str) -> bool:
    """Follow the journal, if there is one to follow."""
    journal = read_journal(project, lead)
    if journal is None:
        return False
    roll_back(project / lead, journal)
    delete_journal(project)
    return True


@pytest.mark.parametrize("steps", range(6))
def test_wherever_a_rename_is_cut_off_the_space_is_put_back_whole(
    tmp_path: Path, steps: int
) -> None:
    before = {"d/a.md": b"[[d/b]]", "d/b.md": b"[[d/a]]", "d/p.png": b"-", "top.md": b"[[d/a]]"}
    for path, body in before.items():
        disk.write(tmp_path, path, body)
    written = {"d/a.md": "new/d/a.md", "d/b.md": "new/d/b.md", "top.md": "top.md"}
    snapshots = tuple(JournaledFile(it, before[it], digest(b"rewritten")) for it in written)
    acts = [
        lambda: write_journal(
            tmp_path,
            "",
            WriteJournal("1", (JournaledMove("d", "new/d", ("a.md", "b.md", "p.png")),), snapshots),
        ),
        lambda: disk.move(tmp_path, "d", "new/d"),
        *(partial(disk.write, tmp_path, it, b"rewritten") for it in written.values()),
    ]
    for act in acts[:steps]:
        act()
    assert recover(tmp_path, "") == (steps > 0)
    left = {
        it.relative_to(tmp_path).as_posix(): it.read_bytes()
        for it in tmp_path.rglob("*")
        if it.is_file() and ".pecia" not in it.parts
    }
    assert left == before
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("root", "moves", "path"),
    [
        ("../outside/", [], "x.md"),
        ("/etc/", [], "x.md"),
        ("", [], "../outside/x.md"),
        ("", [], ".git/hooks/post-commit"),
        ("", [], ".git/x.md"),
        ("", [], "Makefile"),
        ("", [["../outside/y.md", "a.md", ["n.md"]]], "x.md"),
        ("", [[".git/hooks/pre-push", "a.md", ["n.md"]]], "x.md"),
        ("", [["d", "e", ["../../outside/y.md"]]], "x.md"),
        ("", "nonsense", "x.md"),
    ],
)
def test_a_journal_that_somebody_made_up_is_not_followed(
    tmp_path: Path, root: str, moves: Json, path: str
) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    outside.mkdir()
    project.mkdir()
    (project / "a.md").write_text("mine", encoding="utf-8")
    plain = {"version": 1, "root": root, "transaction": "1", "moves": moves, "versions": None}
    plain["files"] = [{"path": path, "body": "ZXZpbA==", "after": None}]
    disk.write(project, ".pecia/write-journal.json", orjson.dumps(plain))
    assert not recover(project, "")
    assert [it.name for it in outside.iterdir()] == []
    assert sorted(it.name for it in project.iterdir()) == [".pecia", "a.md"]


LOCK: dict[str, Json] = {"pid": 1, "hostname": "here", "port": 4321}


@pytest.mark.requirement(
    "wiki.preview.desktop_scheme_first",
    "wiki.preview.env_second",
    "wiki.preview.ui_lock_third",
    "wiki.preview.config_last",
    "wiki.preview.null_when_unreachable",
)
def test_links_to_pages_come_from_the_first_source_that_there_is() -> None:
    project = Path("/srv/my notes")

    def links(
        ways: PreviewSettings, lock: dict[str, Json] | None, config: str | None
    ) -> dict[str, Json]:
        return choose_preview(project, ways, lock, config).link("a b/c")

    every = (PreviewSettings(desktop=True, base_url="https://e.x/"), LOCK, "https://c.x")
    assert links(*every) == {
        "previewUrl": "openknowledge://open?project=%2Fsrv%2Fmy%20notes&doc=a%20b%2Fc",
        "previewUrlSource": "electron-protocol",
    }
    assert links(PreviewSettings(base_url="https://e.x/"), LOCK, "https://c.x") == {
        "previewUrl": "https://e.x/#/a%20b/c",
        "previewUrlSource": "env",
    }
    assert links(PreviewSettings(base_url="no url"), LOCK, "https://c.x") == {
        "previewUrl": "http://localhost:4321/#/a%20b/c",
        "previewUrlSource": "lock",
    }
    assert links(PreviewSettings(), {**LOCK, "port": 0}, "https://c.x/w") == {
        "previewUrl": "https://c.x/w/#/a%20b/c",
        "previewUrlSource": "config",
    }
    assert links(PreviewSettings(), None, None) == {"previewUrl": None}


def test_the_page_beside_is_named_by_its_lock_alone() -> None:
    project = Path("/p")
    assert choose_preview(project, PreviewSettings(), LOCK, None).ui == {
        "baseUrl": "http://localhost:4321",
        "port": 4321,
    }
    assert choose_preview(project, PreviewSettings(), None, "https://c.x").ui == {
        "baseUrl": None,
        "port": None,
    }


@pytest.mark.requirement("wiki.preview.not_server_lock")
def test_only_the_lock_of_a_page_whose_process_lives_counts(tmp_path: Path) -> None:
    lock = {"pid": os.getpid(), "hostname": socket.gethostname(), "port": 5}
    disk.write(tmp_path, ".pecia/server.lock", orjson.dumps(lock))
    assert read_ui_lock(tmp_path) is None
    disk.write(tmp_path, ".pecia/ui.lock", orjson.dumps(lock))
    assert read_ui_lock(tmp_path) == lock
    assert read_ui_lock(tmp_path, is_alive=lambda _: False) is None
    disk.write(tmp_path, ".pecia/ui.lock", orjson.dumps({**lock, "hostname": "elsewhere"}))
    assert read_ui_lock(tmp_path) is None
    disk.write(tmp_path, ".pecia/ui.lock", b"no json")
    assert read_ui_lock(tmp_path) is None


ARTICLES = [
    CatalogEntry("a.md", "Zed", "Last of all.", ("x", "y")),
    CatalogEntry("docs/b.md", "Bee", None, ()),
    CatalogEntry("docs/deep/c d.md", "See [it]", None, ()),
    CatalogEntry("docs/INDEX.md", "Not an article", None, ()),
]


def test_a_catalog_lists_articles_by_title_and_folders_with_their_counts() -> None:
    pages = render_catalogs(ARTICLES, {"docs": FolderDefaults(description="All of them.")}, {})
    assert [*pages] == [
        ".pecia/catalogs/INDEX.md",
        ".pecia/catalogs/docs/INDEX.md",
        ".pecia/catalogs/docs/deep/INDEX.md",
    ]
    top = pages[".pecia/catalogs/INDEX.md"]
    assert 'title: "Project Content"' in top
    assert "generated: true\nschema_version: 1\n---\n" in top
    assert "- **[Zed](a.md)** — Last of all. Tags: x, y\n" in top
    assert "- **[docs](.pecia/catalogs/docs/INDEX.md)** (2 articles) — All of them.\n" in top
    docs = pages[".pecia/catalogs/docs/INDEX.md"]
    assert "- **[deep](.pecia/catalogs/docs/deep/INDEX.md)** (1 article)\n" in docs
    assert "Not an article" not in docs
    assert "- **[See (it)](<docs/deep/c d.md>)**" in pages[".pecia/catalogs/docs/deep/INDEX.md"]


def test_what_a_person_wrote_at_the_head_of_a_catalog_stays() -> None:
    page = ".pecia/catalogs/docs/INDEX.md"
    kept = {page: "---\ntitle: My papers\ndescription: Mine.\n---\nold body\n"}
    made = render_catalogs(ARTICLES, {"docs": FolderDefaults(title="Rule")}, kept)
    assert made[page].startswith('---\ntitle: "My papers"\ndescription: "Mine."\n')
    assert "old body" not in made[page]
    assert "[My papers]" in made[".pecia/catalogs/INDEX.md"]
    assert render_catalogs(ARTICLES, {"docs": FolderDefaults(title="Rule")}, made) == made


def test_a_space_without_documents_has_no_catalog() -> None:
    assert render_catalogs([], {}, {}) == {}


@pytest.mark.skipif(posix.open_folder("/") is None, reason="needs openat2 of Linux 5.6")
def test_a_folder_is_opened_at_once_only_where_no_link_is_on_the_way(tmp_path: Path) -> None:
    below = tmp_path / "real" / "below"
    below.mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "inner").symlink_to("below")
    (tmp_path / "file").write_text("x")
    held = posix.open_folder(str(below))
    assert held is not None
    assert os.path.samestat(os.fstat(held), below.stat())
    assert not os.get_inheritable(held)
    os.close(held)
    for path in ("link", "link/below", "real/inner", "file", "missing", "real/inner/x"):
        assert posix.open_folder(str(tmp_path / path)) is None, path
