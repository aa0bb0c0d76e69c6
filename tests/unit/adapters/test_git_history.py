"""A history of ours: written, read back, and readable by anybody's git."""

import os
import random
import shutil
import subprocess
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import anyio
import pygit2
import pytest

from pecia.adapters.git.libgit2 import to_commit
from pecia.adapters.git.model import Commit, CommitDraft, GitChangeKind, GitSignature
from pecia.adapters.git.repository import GitReadLimits, HistoryRepository
from pecia.kernel.errors import (
    Conflict,
    InvalidFormat,
    InvalidInput,
    NotFound,
    PayloadTooLarge,
    Unavailable,
)

pytestmark = pytest.mark.anyio

MAIN = "refs/heads/main"
NOON = datetime(2026, 1, 2, 12, 0, tzinfo=timezone(timedelta(hours=2)))
ANA = GitSignature("ana", "ana@example.com", NOON)
BO = GitSignature("bo", "bo@example.com", NOON)


@pytest.fixture
async def history(tmp_path: Path) -> HistoryRepository:
    return await HistoryRepository.open(tmp_path / "history.git")


async def record(
    history: HistoryRepository,
    changes: dict[str, bytes | None],
    message: str = "edit",
    ref: str = MAIN,
) -> Commit:
    commit = await history.record(CommitDraft(ref, changes, ANA, message))
    assert commit is not None
    return commit


async def test_a_history_that_many_open_at_once_is_made_once(tmp_path: Path) -> None:
    for round_ in range(20):
        place = tmp_path / str(round_) / "history"
        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(HistoryRepository.open, place)
        assert [it.name for it in place.parent.iterdir()] == ["history"]
        await record(await HistoryRepository.open(place), {"a.md": b"one"})


async def test_what_is_recorded_is_read_back(history: HistoryRepository) -> None:
    draft = CommitDraft(
        MAIN,
        {"a.md": b"one", "deep/er/b.md": b"two"},
        ANA,
        "first\n\nA body.\n",
        committer=BO,
        trailers=(("Pecia-Actor", '{"v":1}'), ("Co-Authored-By", "bo <bo@example.com>")),
    )
    made = await history.record(draft)
    found = await history.commit("main")
    assert made == found
    assert (found.author, found.committer, found.subject) == (ANA, BO, "first")
    assert found.trailers == draft.trailers
    assert found.author.when.utcoffset() == timedelta(hours=2)
    assert await history.read("main", "deep/er/b.md") == b"two"
    listing = await history.tree("main")
    assert {it.path: it.size_bytes for it in listing.files} == {"a.md": 3, "deep/er/b.md": 3}


async def test_a_change_leaves_the_other_files_alone(history: HistoryRepository) -> None:
    await record(history, {"a.md": b"1", "d/b.md": b"2", "d/c.md": b"3", "e/f/g.md": b"4"})
    await record(history, {"d/b.md": b"changed", "e/f/g.md": None, "nowhere/x.md": None})
    listing = await history.tree("main")
    assert [it.path for it in listing.files] == ["a.md", "d/b.md", "d/c.md"]
    assert await history.read("main", "d/b.md") == b"changed"
    assert await history.read("main", "d/c.md") == b"3"


async def test_a_file_may_become_a_folder_and_back(history: HistoryRepository) -> None:
    await record(history, {"a": b"file"})
    await record(history, {"a": None, "a/b": b"inside"})
    assert await history.read("main", "a/b") == b"inside"
    await record(history, {"a/b": None, "a": b"file again"})
    assert await history.read("main", "a") == b"file again"


async def test_a_draft_that_changes_nothing_makes_no_commit_unless_it_is_kept(
    history: HistoryRepository,
) -> None:
    await record(history, {"a.md": b"1"})
    assert await history.record(CommitDraft(MAIN, {"a.md": b"1"}, ANA, "again")) is None
    kept = await history.record(CommitDraft(MAIN, {}, ANA, "a named version", kept=True))
    assert kept is not None
    assert (await history.commit("main")).oid == kept.oid


async def test_a_draft_that_starts_from_an_old_commit_is_a_conflict(
    history: HistoryRepository,
) -> None:
    first = await record(history, {"a.md": b"1"})
    await record(history, {"a.md": b"2"})
    with pytest.raises(Conflict):
        await history.record(CommitDraft(MAIN, {"a.md": b"3"}, ANA, "late", parents=(first.oid,)))
    assert await history.read("main", "a.md") == b"2"


async def test_a_commit_may_join_several_chains(history: HistoryRepository) -> None:
    one = await record(history, {"a.md": b"1"}, ref="refs/wip/main/ana")
    two = await record(history, {"b.md": b"2"}, ref="refs/wip/main/bo")
    joined = await history.record(
        CommitDraft("refs/checkpoints/1", {"b.md": b"2"}, ANA, "both", parents=(one.oid, two.oid))
    )
    assert joined is not None
    assert joined.parents == (one.oid, two.oid)
    log = await history.log(["refs/checkpoints/1"])
    assert {it.oid for it in log.commits} == {one.oid, two.oid, joined.oid}


@pytest.mark.parametrize(
    "path",
    ["../a", "/a", "a/../b", ".git/config", "a/.GIT/x", ".git. /x", ".g\u200cit/x", "a//b", ""],
)
async def test_a_path_that_leaves_the_tree_or_enters_git_is_refused(
    history: HistoryRepository, path: str
) -> None:
    with pytest.raises(InvalidFormat):
        await history.record(CommitDraft(MAIN, {path: b"x"}, ANA, "no"))


async def test_a_path_cannot_be_a_file_and_a_folder(history: HistoryRepository) -> None:
    with pytest.raises(InvalidInput):
        await history.record(CommitDraft(MAIN, {"a": b"x", "a/b": b"y"}, ANA, "no"))


@pytest.mark.parametrize(
    "draft",
    [
        CommitDraft(MAIN, {"a": b""}, GitSignature("a<b", "e@x"), "m"),
        CommitDraft(MAIN, {"a": b""}, GitSignature("a", "e\nx"), "m"),
        CommitDraft(MAIN, {"a": b""}, ANA, "m", trailers=(("Key", "two\nlines"),)),
        CommitDraft(MAIN, {"a": b""}, ANA, "m\0"),
        CommitDraft("heads/main", {"a": b""}, ANA, "m"),
        CommitDraft("refs/heads/a..b", {"a": b""}, ANA, "m"),
    ],
)
async def test_a_draft_that_git_would_garble_is_refused(
    history: HistoryRepository, draft: CommitDraft
) -> None:
    with pytest.raises(InvalidFormat):
        await history.record(draft)


@pytest.mark.parametrize("ref", [":/edit", "main^{/edit}", "main~1", "a..b", "@{-1}", "--all", ""])
async def test_only_names_and_ids_are_looked_up(history: HistoryRepository, ref: str) -> None:
    await record(history, {"a.md": b"1"})
    with pytest.raises((InvalidFormat, NotFound)):
        await history.commit(ref)


async def test_what_is_not_there_is_not_found(history: HistoryRepository, tmp_path: Path) -> None:
    await record(history, {"d/a.md": b"1"})
    for ref, path in (("nobranch", "d/a.md"), ("main", "b.md"), ("main", "d")):
        with pytest.raises(NotFound):
            await history.read(ref, path)
    (tmp_path / "history.git/inner").mkdir()
    with pytest.raises(NotFound):
        await HistoryRepository(tmp_path / "history.git/inner").commit("main")


async def test_a_file_larger_than_the_bound_is_not_read(history: HistoryRepository) -> None:
    await record(history, {"a.md": b"x" * 100})
    small = HistoryRepository(history.place, GitReadLimits(file_bytes=99))
    with pytest.raises(PayloadTooLarge):
        await small.read("main", "a.md")


async def test_the_life_of_a_file_is_followed_through_renames(history: HistoryRepository) -> None:
    text = b"".join(b"line %d\n" % number for number in range(50))
    await record(history, {"old.md": text, "other.md": b"x"}, "create")
    await record(history, {"other.md": b"y"}, "elsewhere")
    await record(history, {"old.md": None, "new.md": text}, "move")
    await record(history, {"new.md": text + b"more\n"}, "change")
    await record(history, {"new.md": None, "last.md": text + b"more and more\n"}, "move and change")
    page = await history.history(["main"], "last.md")
    assert [(it.commit.subject, it.kind, it.path, it.came_from) for it in page.steps] == [
        ("move and change", GitChangeKind.RENAMED, "last.md", "new.md"),
        ("change", GitChangeKind.CHANGED, "new.md", None),
        ("move", GitChangeKind.RENAMED, "new.md", "old.md"),
        ("create", GitChangeKind.ADDED, "old.md", None),
    ]
    assert not page.has_more


async def test_a_file_that_was_removed_still_has_a_history(history: HistoryRepository) -> None:
    await record(history, {"a.md": b"1", "b.md": b"1"}, "create")
    await record(history, {"a.md": None}, "remove")
    await record(history, {"a.md": b"2"}, "again")
    await record(history, {"a.md": None}, "for good")
    page = await history.history(["main"], "a.md")
    assert [it.commit.subject for it in page.steps] == ["for good", "again", "remove", "create"]
    assert [it.kind for it in page.steps] == [
        GitChangeKind.REMOVED,
        GitChangeKind.ADDED,
        GitChangeKind.REMOVED,
        GitChangeKind.ADDED,
    ]


async def test_both_sides_of_a_merge_are_part_of_the_history(history: HistoryRepository) -> None:
    base = await record(history, {"a.md": b"0"}, "base")
    await history.point("refs/heads/side", base.oid)
    side = await record(history, {"a.md": b"side"}, "side", ref="refs/heads/side")
    main = await record(history, {"a.md": b"main"}, "main")
    parents = (main.oid, side.oid)
    await history.record(
        CommitDraft(MAIN, {"a.md": b"main"}, ANA, "ours", parents=parents, kept=True)
    )
    page = await history.history(["main"], "a.md")
    assert sorted(it.commit.subject for it in page.steps) == ["base", "main", "side"]


async def test_a_history_comes_in_pages(history: HistoryRepository) -> None:
    for number in range(5):
        await record(history, {"a.md": b"%d" % number}, f"edit {number}")
    first = await history.history(["main"], "a.md", limit=2)
    rest = await history.history(["main"], "a.md", limit=3, offset=2)
    subjects = [it.commit.subject for it in (*first.steps, *rest.steps)]
    assert subjects == [f"edit {number}" for number in (4, 3, 2, 1, 0)]
    assert (first.has_more, rest.has_more) == (True, False)
    assert (await history.log(["main"], limit=2)).has_more
    bounded = HistoryRepository(history.place, GitReadLimits(commits=2))
    assert (await bounded.history(["main"], "a.md")).has_more


async def test_every_file_knows_who_touched_it_last(history: HistoryRepository) -> None:
    await record(history, {"a.md": b"1", "b.md": b"1", "gone.md": b"1"}, "first")
    await record(history, {"a.md": b"2", "gone.md": None}, "second")
    touched = await history.last_touched("main")
    assert {path: it.subject for path, it in touched.items()} == {"a.md": "second", "b.md": "first"}


async def test_at_the_edge_of_a_shallow_copy_nobody_knows_who_touched_a_file(
    history: HistoryRepository,
) -> None:
    edge = await record(history, {"a.md": b"1", "b.md": b"1"}, "edge")
    await record(history, {"a.md": b"2"}, "since")
    (history.place / "shallow").write_text(f"{edge.oid}\n")
    touched = await history.last_touched("main")
    assert {path: it.subject for path, it in touched.items()} == {"a.md": "since"}


async def test_a_diff_tells_what_changed_line_by_line(history: HistoryRepository) -> None:
    one = await record(
        history, {"a.md": b"one\ntwo\n", "b.md": b"same\n" * 20, "c": b"\0\1", "d.md": b"gone\n"}
    )
    changes = {
        "a.md": b"one\n2\n",
        "b.md": None,
        "e.md": b"same\n" * 20,
        "c": b"\0\2",
        "d.md": None,
    }
    two = await record(history, changes)
    found = {it.path: it for it in await history.diff(one.oid, two.oid)}
    assert (found["a.md"].added_lines, found["a.md"].removed_lines) == (1, 1)
    assert "-two\n+2\n" in (found["a.md"].patch or "")
    assert (found["e.md"].kind, found["e.md"].came_from) == (GitChangeKind.RENAMED, "b.md")
    assert (found["c"].patch, found["c"].reason) == (None, "binary")
    assert found["d.md"].kind is GitChangeKind.REMOVED
    alone = await history.diff(one.oid, two.oid, path="a.md")
    assert [it.path for it in alone] == ["a.md"]
    everything = await history.diff(None, one.oid)
    assert {it.kind for it in everything} == {GitChangeKind.ADDED}


async def test_a_file_too_large_to_compare_says_so(history: HistoryRepository) -> None:
    one = await record(history, {"a.md": b"x\n" * 10})
    two = await record(history, {"a.md": b"y\n" * 1000})
    small = HistoryRepository(history.place, GitReadLimits(diff_bytes=100))
    (found,) = await small.diff(one.oid, two.oid)
    assert (found.patch, found.reason) == (None, "too large")


async def test_a_tag_names_one_commit_for_good(history: HistoryRepository) -> None:
    first = await record(history, {"a.md": b"1"})
    await history.tag("v1", "main")
    await history.tag("v1-signed", "main", message="the first", tagger=BO)
    await record(history, {"a.md": b"2"})
    assert (await history.commit("v1")).oid == (await history.commit("v1-signed")).oid == first.oid
    assert list(await history.references("refs/tags/")) == ["refs/tags/v1", "refs/tags/v1-signed"]
    with pytest.raises(Conflict):
        await history.tag("v1", "main")


async def test_a_reference_is_moved_and_removed(history: HistoryRepository) -> None:
    first = await record(history, {"a.md": b"1"})
    await history.point("refs/wip/main/ana", first.oid)
    assert await history.references("refs/wip/") == {"refs/wip/main/ana": first.oid}
    await history.point("refs/wip/main/ana", None)
    assert await history.references("refs/wip/") == {}
    with pytest.raises(NotFound):
        await history.point("refs/wip/main/ana", None)


async def test_opening_a_history_again_keeps_it(history: HistoryRepository) -> None:
    made = await record(history, {"a.md": b"1"})
    again = await HistoryRepository.open(history.place)
    assert (await again.commit("main")).oid == made.oid


async def test_the_settings_of_the_user_do_not_count(
    history: HistoryRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitconfig").write_text("[user]\nname = nobody\n[core]\nautocrlf = true\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    await record(history, {"a.md": b"a\r\nb\n"})
    assert await history.read("main", "a.md") == b"a\r\nb\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to read it with")
async def test_people_can_read_it_with_git(history: HistoryRepository) -> None:
    await record(history, {"a.md": b"1\n"}, "first")
    await record(history, {"d/b.md": b"2\n"}, "second")

    def git(*words: str) -> str:
        run = subprocess.run(
            ["git", "--git-dir", str(history.place), *words],
            capture_output=True,
            text=True,
            check=True,
        )
        return run.stdout

    assert git("log", "--format=%an %s") == "ana second\nana first\n"
    assert git("show", "main:d/b.md") == "2\n"
    git("fsck", "--strict")
    await history.compact()
    git("fsck", "--strict")
    assert git("log", "--format=%s") == "second\nfirst\n"


async def test_compacting_keeps_all_that_a_reference_leads_to(history: HistoryRepository) -> None:
    for number in range(10):
        await record(history, {f"{number}.md": b"%d" % number})
    await history.tag("v1", "main", message="m", tagger=BO)
    before = {path.path for path in (await history.tree("v1")).files}
    await history.compact()
    await history.compact()
    assert {path.path for path in (await history.tree("v1")).files} == before
    packs = sorted(it.suffix for it in (history.place / "objects/pack").iterdir())
    assert packs == [".idx", ".pack"]
    await record(history, {"new.md": b"after"})
    assert await history.read("main", "0.md") == b"0"


def test_a_time_that_no_clock_has_is_brought_into_range(tmp_path: Path) -> None:
    repository = pygit2.init_repository(str(tmp_path), bare=True)
    raw = (
        f"tree {repository.TreeBuilder().write()}\n"
        "author a <a> 99999999999999 +9999\ncommitter a <a> -5 -9999\n\nm\n"
    )
    oid = repository.odb.write(pygit2.enums.ObjectType.COMMIT, raw.encode())
    commit = to_commit(repository[oid].peel(pygit2.Commit))
    assert commit.author.when.tzinfo is not None
    assert commit.committer.when >= datetime(1970, 1, 1, tzinfo=UTC)


async def prepare(history: HistoryRepository, changes: dict[str, bytes | None]) -> str:
    parent = await history.tip()
    made = await history.prepare(changes, "ours\n", parent=parent, author=("ana", "ana@x"))
    assert made is not None
    return made


async def test_a_prepared_commit_is_not_in_history_until_it_advances(
    history: HistoryRepository,
) -> None:
    base = (await record(history, {"a.md": b"1"})).oid
    tip = await prepare(history, {"a.md": b"2"})
    assert await history.tip() == base
    for _ in range(2):
        await history.advance(base, tip)
        assert await history.tip() == tip


async def test_what_somebody_else_committed_meanwhile_stays_in_history(
    history: HistoryRepository,
) -> None:
    base = (await record(history, {"a.md": b"1", "gone.md": b"1"})).oid
    tip = await prepare(history, {"a.md": b"ours", "gone.md": None})
    theirs = (await record(history, {"a.md": b"theirs", "b.md": b"theirs"})).oid
    await history.advance(base, tip)
    merged = await history.commit("main")
    assert merged.parents == (theirs, tip)
    assert {it: await history.read("main", it) for it in await history.list_paths("main")} == {
        "a.md": b"ours",
        "b.md": b"theirs",
    }
    await history.advance(base, tip)
    assert await history.tip() == merged.oid


async def test_a_lock_that_is_held_is_respected_and_one_that_was_left_behind_is_removed(
    history: HistoryRepository,
) -> None:
    base = (await record(history, {"a.md": b"1"})).oid
    tip = await prepare(history, {"a.md": b"2"})
    lock = history.place / f"{MAIN}.lock"
    lock.touch()
    # Never old: as if somebody made it anew all the time.
    an_hour_on = lock.stat().st_mtime + 3600
    os.utime(lock, (an_hour_on, an_hour_on))
    with pytest.raises(Unavailable):
        await prepare(history, {"a.md": b"3"})
    with pytest.raises(Unavailable):
        await history.advance(base, tip)
    assert lock.exists()
    long_ago = an_hour_on - 7200
    os.utime(lock, (long_ago, long_ago))
    await history.advance(base, tip)
    assert (await history.tip(), lock.exists()) == (tip, False)
    # Left just now, by a process that was killed: it is waited for.
    lock.touch()
    assert await prepare(history, {"a.md": b"4"}) is not None
    assert not lock.exists()


async def test_the_index_of_files_finds_what_a_walk_through_all_commits_finds(
    history: HistoryRepository,
) -> None:
    dice = random.Random(3)
    names = ["a.md", "b.md", "d/a.md", "d/e/c.md"]
    now: dict[str, bytes] = {}
    for number in range(60):
        name = dice.choice(names)
        changes: dict[str, bytes | None] = {name: f"{name} {number}\n".encode() * 9}
        if name in now and dice.random() < 0.5:
            other = dice.choice(names)
            # A rename, over another file at times, or a removal.
            changes = {name: None, **({other: now[name]} if other != name else {})}
        await record(history, changes)
        now |= {it: body for it, body in changes.items() if body is not None}
        now = {it: body for it, body in now.items() if changes.get(it, b"") is not None}
        for it in names:
            walked = (await history.history([MAIN], it, limit=1000)).steps
            found = await history.file_commits(it, 1000)
            assert found == [(step.commit, step.path) for step in walked]
    # A rewritten history is indexed anew.
    await history.purge(["a.md"])
    walked = (await history.history([MAIN], "b.md", limit=1000)).steps
    assert await history.file_commits("b.md", 1000) == [(it.commit, it.path) for it in walked]


async def test_files_that_a_commit_has_otherwise_are_found_at_once(
    history: HistoryRepository,
) -> None:
    files: dict[str, bytes | None] = {"a.md": b"one", "d/b.md": b"two", "e.md": None}
    assert await history.find_differing(None, files) == ["a.md", "d/b.md"]
    made = await record(history, {"a.md": b"one", "d/b.md": b"two"})
    assert await history.find_differing(made.oid, files) == []
    other: dict[str, bytes | None] = {"a.md": b"1", "d/b.md": None, "d": b"x", "new.md": b""}
    assert await history.find_differing(made.oid, other) == [*other]
    assert await history.find_differing(made.oid, {"d": None}) == []
    assert await history.tip() == made.oid
