"""Stock editors, agents, suggestions, renames, rollbacks and programs, while the server is killed:
in the end everybody has the same, and each word is where it must be, once.
"""

import random
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import pytest

from pecia.app.app import App
from pecia.interfaces.http.server import serve_http
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.faults.test_wiki_live import kill, victim
from tests.faults.test_wiki_write import STORED
from tests.faults.wiki_live_victim import POINTS as OURS
from tests.faults.wiki_live_victim import PROGRAM_POINTS, SUGGESTION_POINTS, open_here
from tests.faults.wiki_team import (
    BEGIN,
    WORD,
    StockEditors,
    WikiDocumentLog,
    WikiTeam,
    misplaced,
)
from tests.mcp.tools import needs
from tests.soak import FIRST, ROUNDS, SOAK, record
from tests.web.conftest import free_port

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.fault,
    pytest.mark.timeout(0 if SOAK else 400),
    needs("node22", "yjs"),
]

SEEDS = ROUNDS if SOAK else 2 * ROUNDS
LIVES = 12 if SOAK else 3
HITS = (2, 6)
FEW_HITS = (1, 3)
"""Of points that are passed once a suggestion."""
POINTS = (*OURS, *PROGRAM_POINTS, *SUGGESTION_POINTS)
DOCUMENTS = 3
PATIENCE_S = 60
LIFE_S = 15 if SOAK else 5
"""A server that has not come to its point by then dies where it is. A seed takes up to `LIVES`
times this, and the starts: over three minutes in a soak, and five on a machine that is busy."""
Turn = Callable[[], Awaitable[None]]


async def until_it_dies(turn: Turn, everybody: anyio.CancelScope) -> None:
    """Whoever notices first says so: others may have nothing to ask."""
    try:
        while True:
            await turn()
            await anyio.sleep(0.01)
    except (httpx.NetworkError, httpx.RemoteProtocolError):
        everybody.cancel()


async def until(over: anyio.Event, turn: Turn) -> None:
    """People and programs go on when nobody is there to listen."""
    while not over.is_set():
        await turn()
        await anyio.sleep(0.01)


async def live_and_die(team: WikiTeam) -> None:
    """Everybody works until the server is dead."""

    async def change_now_and_then() -> None:
        await anyio.sleep(team.dice.choice((0.2, 0.5)))
        await team.dice.choice((team.rename, team.roll_back))()

    async with anyio.create_task_group() as tasks:
        for turn in (team.edit, team.suggest, team.decide, change_now_and_then):
            tasks.start_soon(until_it_dies, turn, tasks.cancel_scope)


async def settle(team: WikiTeam) -> dict[str, str]:
    """Wait until all editors and the file have the same; the texts by document."""
    with anyio.fail_after(PATIENCE_S):
        while True:
            for it in team.documents:
                await team.call("read_document", path=f"{it.name}.md")
            files = {it.name: (team.folder / f"{it.name}.md").read_text() for it in team.documents}
            texts = await team.editors.do("texts")
            seen = [({texts[who] for who in it.editors}, it.name) for it in team.documents]
            same = all(found == {files[name]} for found, name in seen)
            if same and await team.editors.do("synced"):
                return files
            await anyio.sleep(0.1)


async def check_history(team: WikiTeam, app: App, texts: dict[str, str]) -> None:
    """The last version is the text, and so is what the index is made of."""
    async with app.store.system() as tx:
        rows = await tx.fetch_all(STORED, source_id=f"wiki:{team.space}")
    stored = {row["key"]: WORD.findall(row["text"]) for row in rows}
    assert stored == {f"{name}.md": WORD.findall(text) for name, text in texts.items()}
    for it in team.documents:
        history = await team.call("get_history", docName=it.name)
        assert history is not None
        asked = {"space": team.space, "doc": it.name, "version": history["entries"][0]["sha"]}
        shown = await team.http.get("/wiki/version", params=asked)
        assert shown.json()["text"] == texts[it.name]


async def check_suggestions(team: WikiTeam, texts: dict[str, str]) -> Counter[str]:
    """Each can be read, and what its pieces say of themselves is so."""
    states: Counter[str] = Counter()
    for it in team.documents:
        for id_, words in it.suggested.items():
            found = await team.call("read_suggestion", suggestion=id_)
            assert found is not None, "a suggestion is never dropped"
            for piece in found["pieces"]:
                states[piece["state"]] += 1
                new = [word for word in words if word in piece["new"]]
                if piece["state"] != "accepted":
                    assert not [word for word in new if f"{word};" in texts[it.name]], piece
    return states


async def test_a_team_with_stock_editors_converges_whatever_dies(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    kills, done, pieces = Counter[str](), Counter[str](), Counter[str]()
    for seed in range(FIRST, FIRST + SEEDS):
        folder = tmp_path / f"notes{seed}"
        folder.mkdir()
        home = TeamHome(database, tmp_path / f"home{seed}", free_port(), seed)
        editors = StockEditors(home.url, folder.name)
        try:
            async with httpx.AsyncClient(base_url=home.url, trust_env=False, timeout=60) as http:
                team = WikiTeam(folder, http, editors, random.Random(seed), make_documents(folder))
                try:
                    await begin(team, home)
                    kills += await work(team, home)
                    pieces += await finish(team, home)
                except BaseException:
                    await keep_evidence(team, tmp_path / f"evidence{seed}.txt")
                    raise
                done += Counter(team.done)
        finally:
            editors.close()
        figures = {"seeds": seed + 1 - FIRST, "first": FIRST, "kills": dict(kills)}
        record("wiki-team", {**figures, "done": dict(sorted(done.items())), "pieces": dict(pieces)})


async def keep_evidence(team: WikiTeam, file: Path) -> None:
    """What everybody did and has: the versions are in the folder beside it."""
    lines = [*team.events]
    with anyio.CancelScope(shield=True), anyio.move_on_after(PATIENCE_S):
        texts, states = await team.editors.do("texts"), await team.editors.do("states")
        for it in team.documents:
            path = team.folder / f"{it.name}.md"
            lines += [f"== {it}", path.read_text() if path.exists() else "no file"]
            lines += [f"== {who} {states.get(who)}\n{texts.get(who)}" for who in it.editors]
    await anyio.Path(file).write_text("\n".join(lines))


@dataclass(frozen=True)
class TeamHome:
    """Where the servers of one seed are."""

    database: DatabaseLogins
    folder: Path
    port: int
    seed: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator[App]:
        opened = open_here(self.database, self.folder)
        async with opened as app, serve_http(app, port=self.port, instance="quiet"):
            yield app


def make_documents(folder: Path) -> list[WikiDocumentLog]:
    documents = [WikiDocumentLog(f"w{n}", (f"ana{n}", f"bo{n}")) for n in range(DOCUMENTS)]
    for it in documents:
        (folder / f"{it.name}.md").write_text(BEGIN, encoding="utf-8")
    return documents


async def begin(team: WikiTeam, home: TeamHome) -> None:
    """All editors have the documents open before programs write them."""
    async with home.serve() as app:
        ana = await app.authenticate(None, CONTEXT)
        await app.call(ana, "add_space", {"folder": str(team.folder)}, CONTEXT)
        for it in team.documents:
            for name in it.editors:
                await team.editors.do("open", name=name, room=it.name)
        await settle(team)


async def kill_after(seconds: float, pid: int) -> None:
    await anyio.sleep(seconds)
    kill(pid)


async def work(team: WikiTeam, home: TeamHome) -> Counter[str]:
    """Servers live and die, people and programs go on; where they died."""
    over, hits = anyio.Event(), Counter[str]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(until, over, team.type)
        tasks.start_soon(until, over, team.program)
        for _ in range(LIVES):
            point = team.dice.choice(POINTS)
            hit = team.dice.randint(*(FEW_HITS if point in SUGGESTION_POINTS else HITS))
            async with victim(home.database, home.folder, point, hit, home.port) as said:
                pid = int(said[0].split()[2])
                team.log("life", pid, point, hit)
                async with anyio.create_task_group() as life:
                    # Where the point is not reached it dies anywhere. It dies first, and whoever
                    # waits for it hears so: one who went away before would count as after its
                    # rollback what is typed while the server is still at it.
                    life.start_soon(kill_after, LIFE_S, pid)
                    with suppress(httpx.NetworkError, httpx.RemoteProtocolError):
                        await team.settle_names()
                        await live_and_die(team)
                    life.cancel_scope.cancel()
                # A connection that was cut by a busy machine is no death.
                kill(pid)
            team.log("death", said)
            hits.update([it.split()[1] for it in said if it.startswith("hit ")] or ["anywhere"])
        over.set()
    return hits


async def finish(team: WikiTeam, home: TeamHome) -> Counter[str]:
    """Everybody is back and nobody writes."""
    async with home.serve() as app:
        await team.settle_names()
        texts = await settle(team)
        assert misplaced(team, texts) == {}, home.seed
        await check_history(team, app, texts)
        return await check_suggestions(team, texts)
