"""Whoever writes a live document, and whatever is cut off where: each word is there, and once.

People, agents and programs write one document in any order. Programs come in between the steps of
bringing its file up to date, between those of a tool, and halfway through their own. The steps are
cut off at any point, as by a kill: what was not committed is gone, what was done to the disk stays.
Replaced files grow old, and are given up.
"""

import os
import re
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from pecia.adapters.git.repository import HistoryRepository
from pecia.app.app import App
from pecia.features.wiki.live import copies, file_swap, flush
from pecia.features.wiki.live.copies import COPY_FOLDER, DocumentFiles
from pecia.features.wiki.live.core.crdt import LiveText
from pecia.features.wiki.live.flush import LiveFlusher
from pecia.features.wiki.live.news import NewsQuery, fetch_news
from pecia.features.wiki.live.store import SQL, CallerLiveRows, FileCopy, SystemLiveRows
from pecia.features.wiki.space_recovery import SpaceRecovery
from pecia.features.wiki.storage.disk import FileSnapshot
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.errors import PeciaError, Unavailable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.laws.space_server import SpaceServer, open_space_server
from tests.soak import SOAK

MANY = 1000 if SOAK else 25
BEGIN = "# Words\n\none;two;three;\nEND\n"
WORD = re.compile(r"[a-z]+\d+")

POINTS = ("look", "make", "intend", "swap", "settle", "add", "copy", "orphans", "resolve", "mine")
WAYS = ("append", "rewrite", "patch", "replace", "back_up")
PLACE = st.integers(0, 30)
PROGRAM = st.tuples(st.just("program"), st.sampled_from(WAYS), PLACE)
"""One step of a program: it begins, or goes on with what it began."""
BETWEEN = st.lists(
    st.tuples(st.sampled_from(POINTS), st.booleans(), PROGRAM | st.tuples(st.just("kill"))),
    max_size=4,
)
STEPS = st.one_of(
    st.tuples(st.just("type"), PLACE),
    st.tuples(st.just("agent"), PLACE, BETWEEN),
    st.tuples(st.just("age")),
    PROGRAM,
    st.tuples(st.just("file"), BETWEEN),
)


STALE_AND_READ_LATE: list[tuple[Any, ...]] = [
    ("program", "replace", 2),
    ("type", 4),
    ("type", 6),
    ("file", []),
    ("program", "replace", 2),
    ("program", "replace", 2),
    ("age",),
    ("program", "patch", 1),
    ("file", []),
]
"""A program writes what it read before the swap; when the replaced file is old, the next one is in
the middle of writing, so that the file cannot be read yet."""


class Killed(BaseException):
    """Nothing of ours runs after it, but the rollback that a database does by itself."""


@dataclass
class Paper:
    """One document in a space of its own, and everybody at it."""

    app: App
    owner: Caller
    place: SpaceLocation
    filing: LiveFlusher
    id: UUID
    typist: LiveText = field(default_factory=lambda: LiveText(house_id=77))
    words: set[str] = field(default_factory=set[str])
    unsure: set[str] = field(default_factory=set[str])
    """Of calls that were refused or cut off: there at most once."""
    old: set[str] = field(default_factory=set[str])
    """Replaced files that are old enough to be given up."""
    program: Iterator[None] | None = None
    """What a program has still to do: one at a time writes, as they know nothing of each other."""

    @property
    def file(self) -> Path:
        return self.place.root / "words.md"

    def new(self, who: str) -> str:
        word = f"{who}{len(self.words) + len(self.unsure)}"
        self.words.add(word)
        return word

    async def take(self, what: str, *given: Any) -> None:
        if what == "type":
            await self.type(given[0])
        elif what == "agent":
            await self.ask(*given)
        elif what == "age":
            self.age()
        elif what == "program":
            self.go_on(*given)
        else:
            await self.bring_up_to_date(given[0])

    async def type(self, at: int) -> None:
        """A person who has all that is stored types; it is stored when this returns."""
        await self.catch_up()
        text, word = str(self.typist), self.new("t")
        change = self.typist.rewrite(_with(text, word, at))
        assert change is not None
        asked = {"tenant_id": self.place.tenant_id, "id": self.id, "owners": Jsonb({})}
        async with self.app.store.system() as tx:
            await tx.execute(SQL["add_changes"], **asked, changes=[change], writers=["principal-1"])

    async def catch_up(self) -> None:
        async with self.app.store.system() as tx:
            [row] = await fetch_news(tx, [NewsQuery(self.place.tenant_id, self.id, -1)])
        assert row is not None, "the document is live as long as its file is there"
        for change in ([row["base"]] if row["base"] else []) + row["changes"]:
            self.typist.apply(change)

    async def ask(self, at: int, between: list[Any]) -> None:
        """A tool of ours, and the file that follows it."""
        mark, word = ("one;", "two;", "three;")[at % 3], self.new("a")
        given = {"find": mark, "replace": f"{mark}{_phrase(word, at)}"}
        asked = {"docName": "words", "space": self.place.project.name, **given}
        try:
            with interrupted(self, between):
                await self.app.call(self.owner, "wiki.edit_document", asked, CONTEXT)
        except (Killed, BaseExceptionGroup, PeciaError) as error:
            if isinstance(error, BaseExceptionGroup) and error.split(Killed)[1] is not None:
                raise
            self.words.remove(word)
            self.unsure.add(word)

    def age(self) -> None:
        """Time passes while no program is at work."""
        if self.program is None:
            self.old.update(it.name for it in (self.place.project / COPY_FOLDER).glob("*"))

    def is_given_up(self, found: FileSnapshot, copy: FileCopy) -> bool:
        return copy.name in self.old and not found.is_open

    def go_on(self, way: str, at: int) -> None:
        if self.program is None:
            self.program = _write(self.file, way, self.new("p"), at)
        if next(self.program, self) is self:
            self.program = None

    async def bring_up_to_date(self, between: list[Any]) -> None:
        # A program that has the file away keeps it changing.
        with suppress(Killed, Unavailable), interrupted(self, between):
            await self.filing.flush(self.place, "words.md")

    async def settle(self) -> str:
        """Nobody writes any more: the text that is in the file and in the document."""
        while self.program is not None:
            self.go_on("append", 0)
        with anyio.fail_after(60):
            while True:
                await self.filing.flush(self.place, "words.md")
                await self.catch_up()
                text = self.file.read_text(encoding="utf-8")
                async with self.app.store.system() as tx:
                    rows = SystemLiveRows(tx, self.place)
                    row = await rows.find("words.md")
                    assert row is not None
                    if row.is_flushed and str(self.typist) == text:
                        return text


@contextmanager
def interrupted(paper: Paper, between: list[Any]) -> Generator[None]:
    """Let others come in before or after the steps of filing; each when it is passed first."""
    waiting = [*between]

    def pass_by(point: str, *, is_after: bool) -> None:
        for it in [it for it in waiting if it[:2] == (point, is_after)]:
            waiting.remove(it)
            if it[2][0] == "kill":
                raise Killed
            paper.go_on(*it[2][1:])

    steps = {
        "look": (DocumentFiles, "read_with_retry"),
        "make": (DocumentFiles, "stage_file"),
        "intend": (SystemLiveRows, "stage_copy"),
        "swap": (DocumentFiles, "swap"),
        "settle": (SystemLiveRows, "complete_swap"),
        "add": (SystemLiveRows, "add"),
        "copy": (DocumentFiles, "read_copy"),
        "orphans": (DocumentFiles, "remove_orphans"),
        "resolve": (DocumentFiles, "is_swapped"),
        "mine": (CallerLiveRows, "add"),
    }
    with pytest.MonkeyPatch.context() as patch:
        # A program that is in the middle of writing is so until we are done.
        patch.setattr(file_swap, "SWAP_TIMEOUT_S", 0)
        patch.setattr(copies, "is_abandoned", paper.is_given_up)
        for point, (kind, name) in steps.items():
            patch.setattr(kind, name, _passing(getattr(kind, name), point, pass_by))
        yield


def _passing(
    step: Callable[..., Awaitable[Any]], point: str, pass_by: Callable[..., None]
) -> Callable[..., Awaitable[Any]]:
    async def passing(*args: Any) -> Any:
        pass_by(point, is_after=False)
        done = await step(*args)
        pass_by(point, is_after=True)
        return done

    return passing


def _write(file: Path, way: str, word: str, at: int) -> Iterator[None]:
    """A program that puts a word into the file; others come in wherever it yields."""
    if way == "append":
        opened = os.open(file, os.O_WRONLY | os.O_APPEND)
        yield
        os.write(opened, f"{_phrase(word, at)}\n".encode())
        yield
        os.close(opened)
        return
    body = _with(file.read_text(encoding="utf-8"), word, at).encode()
    if way == "patch":
        with file.open("r+b", buffering=0) as patched:
            body = _with(patched.read().decode(), word, at).encode()
            yield
            patched.seek(0)
            patched.write(body)
            yield
        return
    yield
    if way == "rewrite":
        with file.open("wb", buffering=0) as rewritten:
            yield
            rewritten.write(body[: len(body) // 2])
            yield
            rewritten.write(body[len(body) // 2 :])
    elif way == "replace":
        other = file.with_name(f".{word}.swp")
        other.write_bytes(body)
        yield
        other.replace(file)
    else:
        file.rename(file.with_name("words.md~"))
        yield
        file.write_bytes(body)


def _with(text: str, word: str, at: int) -> str:
    ends = [place + 1 for place, it in enumerate(text) if it in ";\n"] or [0]
    place = ends[at % len(ends)]
    return f"{text[:place]}{_phrase(word, at)}{text[place:]}"


def _phrase(word: str, at: int) -> str:
    """With a word that others write too, or without: nobody writes words that are all their own."""
    return f"so {word};" if at % 2 else f"{word};"


async def open_paper(server: SpaceServer) -> Paper:
    owner, folder = await server.add_space({"words.md": BEGIN})
    place = SpaceLocation(owner.tenant_id, f"wiki:{folder.name}", folder, "")
    flusher = LiveFlusher(SpaceRecovery(server.app.store, HistoryRepository.open))
    id_ = await flusher.make_live(place, "words.md", 1_000_000)
    return Paper(server.app, owner, place, flusher, id_)


async def live_through(server: SpaceServer, steps: list[Any]) -> None:
    paper = await open_paper(server)
    for step in steps:
        await paper.take(*step)
    text = await paper.settle()
    found = WORD.findall(text)
    assert sorted({*found} - paper.unsure) == sorted(paper.words), text
    assert len({*found}) == len(found), text


@pytest.fixture(scope="module")
def server(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SpaceServer]:
    home, spaces = (tmp_path_factory.mktemp(it) for it in ("home", "spaces"))
    with (
        pytest.MonkeyPatch.context() as patch,
        open_space_server(module_database, home, spaces) as found,
    ):
        # A program that takes longer than this between its read and its write is not promised
        # anything. How long that is here must not hang on how busy the machine is.
        patch.setattr(copies, "COPY_TTL_S", 3600.0)
        # A program that has the file away comes back in a step of its own, not in time.
        patch.setattr(copies, "MAX_READS", 1)
        patch.setattr(copies, "READ_INTERVAL_S", 0)
        patch.setattr(file_swap, "MAX_MISSES", 1_000_000)
        patch.setattr(flush, "MAX_RETRIES", 12)
        patch.setattr(flush, "RETRY_DELAY_S", 0)
        yield found


@pytest.mark.timeout(0 if SOAK else 300)
@settings(
    max_examples=MANY, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEPS, min_size=1, max_size=14))
@example(steps=STALE_AND_READ_LATE)
def test_each_word_of_anybody_is_in_the_document_and_in_the_file_once(
    server: SpaceServer, steps: list[Any]
) -> None:
    server.portal.call(live_through, server, steps)
