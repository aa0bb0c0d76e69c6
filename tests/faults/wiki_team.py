"""People with stock editors, agents, suggestions and programs at the documents of one space.

Every word is another one, so that each can be followed: where it must be, where it may be, and
where it must not. One document has several names in its life; `WikiDocumentLog` is what is known
of it under all of them.
"""

import random
import re
import subprocess
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
import orjson
from anyio.to_thread import run_sync

from scripts.node import TOOLS, node
from tests.faults.wiki_programs import PATIENCE_S, WAYS, put_aside, write

PROGRAM = Path(__file__).with_name("wiki_editors.mjs")
WORD = re.compile(r"([a-z]\d+);")
LINES = 10
MAX_LOGGED = 2_000
PUT_ASIDE = 0.1
PROMPT_S = 5.0
"""A program is promised that nothing is lost if it writes so soon after it read: half of the time
that these servers keep a replaced file. A machine can stop it for longer."""
# Enough of their own to be found again by, whatever is typed before them.
BEGIN = "".join(
    (
        "# Words\n\n",
        *(f"- line {it} says {it * 7919} and more like that\n" for it in range(LINES)),
        "END\n",
    )
)


class StockEditors:
    """npm's yjs and y-websocket, many editors in one process of Node."""

    def __init__(self, url: str, space: str) -> None:
        # Modules are looked for beside the program, so it is put beside them.
        place = TOOLS / "yjs" / PROGRAM.name
        place.write_text(PROGRAM.read_text("utf-8"), "utf-8")
        self._process = subprocess.Popen(
            [node(), place, url.replace("http", "ws", 1), space],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._lock = anyio.Lock()

    async def do(self, command: str, **given: Any) -> Any:
        async with self._lock:
            return await run_sync(self._ask, orjson.dumps({"command": command, **given}))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _ask(self, line: bytes) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()
        return orjson.loads(self._process.stdout.readline())["answer"]


@dataclass
class WikiDocumentLog:
    """What is known of one document."""

    name: str
    editors: tuple[str, str]
    surely: set[str] = field(default_factory=set[str])
    """There exactly once in the end. Any other word that was tried is there at most once."""
    never: set[str] = field(default_factory=set[str])
    suggested: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Words of the suggestions that were acknowledged."""
    writing: anyio.Lock = field(default_factory=anyio.Lock)
    """Held by a program and by a rename: a program that writes a file which is gone makes another
    document."""
    rollbacks: int = 0
    """Begun and ended: a word that was written while one did either may be gone with it."""
    is_settled: bool = True
    """False while a cut-off rename is to be completed or undone."""

    def note(self, words: set[str], rollbacks: int) -> None:
        """These were written since the given number of rollbacks."""
        if self.rollbacks == rollbacks:
            self.surely |= words

    def overwrite(self) -> None:
        """By a text that was read so long ago that nothing is promised to what is newer."""
        self.rollbacks += 1
        self.surely.clear()


@dataclass
class WikiTeam:
    """Everybody, in turns that the dice decide."""

    folder: Path
    http: httpx.AsyncClient
    editors: StockEditors
    dice: random.Random
    documents: list[WikiDocumentLog]
    tried: set[str] = field(default_factory=set[str])
    done: dict[str, int] = field(default_factory=dict[str, int])
    events: list[str] = field(default_factory=list[str])
    """What everybody did, in order: who wants to know how a word was lost needs it."""
    _begun: float = field(default_factory=time.monotonic)

    @property
    def space(self) -> str:
        return self.folder.name

    def word(self, who: str) -> str:
        word = f"{who}{len(self.tried)}"
        self.tried.add(word)
        return word

    def count(self, what: str) -> None:
        self.done[what] = self.done.get(what, 0) + 1

    def log(self, *what: object) -> None:
        self.events.append(f"{time.monotonic() - self._begun:8.3f} {' '.join(map(str, what))}")

    async def call(self, tool: str, **asked: Any) -> dict[str, Any] | None:
        """None where it was refused."""
        self.log("ask", tool, asked)
        answer = await self.http.post(f"/api/v1/wiki/{tool}", json={"space": self.space, **asked})
        self.log("answer", tool, answer.status_code, answer.text[:MAX_LOGGED])
        # A document that was renamed meanwhile, a version that is another by now, a piece whose
        # text changed, a history that a killed server left locked.
        assert answer.status_code in (200, 404, 409, 503), (tool, answer.text)
        self.count(tool if answer.status_code == 200 else f"{tool} refused")
        return answer.json() if answer.status_code == 200 else None

    async def type(self) -> None:
        """What an editor typed it brings again when it comes back: every word must be there."""
        it = self.dice.choice(self.documents)
        word, rollbacks = self.word("t"), it.rollbacks
        asked = {"name": self.dice.choice(it.editors), "at": self.dice.randrange(1000)}
        if await self.editors.do("type", word=f"{word};", **asked):
            it.note({word}, rollbacks)
            self.log("typed", word, it.name, asked)
            self.count("typed")
        await anyio.sleep(self.dice.choice((0, 0.02, 0.3)))

    async def edit(self) -> None:
        it, word = self.dice.choice(self.documents), self.word("a")
        rollbacks = it.rollbacks
        asked = {"docName": it.name, "find": "END", "replace": f"{word};END"}
        if await self.call("edit_document", **asked):
            it.note({word}, rollbacks)

    async def suggest(self) -> None:
        it = self.dice.choice(self.documents)
        word, other = self.word("s"), self.word("s")
        read = await self.call("read_document", path=f"{it.name}.md")
        known = [*WORD.finditer(read["content"])] if read else []
        # One edit needs no version; two at once replace the document, as it was read.
        asked: dict[str, Any] = {"docName": it.name, "suggest": True}
        if not known or read is None or self.dice.random() < 0.6:
            line = f"line {self.dice.randrange(LINES)}"
            asked |= {"find": line, "replace": f"{line} {word};"}
            made = await self.call("edit_document", **asked)
        else:
            at, text = self.dice.choice(known).end(), read["content"]
            text = f"{text[:at]}{word};{text[at:]}".replace("END", f"{other};END")
            asked |= {"markdown": text, "position": "replace", "expected_version": read["version"]}
            made = await self.call("write_document", **asked)
        if made is not None:
            self.count("suggested")
            it.suggested[made["suggestion"]] = {word, other}

    async def decide(self) -> None:
        it = self.dice.choice(self.documents)
        if not it.suggested:
            return
        asked: dict[str, Any] = {"suggestion": self.dice.choice(sorted(it.suggested))}
        found = await self.call("read_suggestion", **asked)
        waiting = [piece for piece in (found or {}).get("pieces", ()) if piece["state"] == "open"]
        if not waiting:
            return
        some = self.dice.sample(waiting, self.dice.randint(1, len(waiting)))
        asked["pieces"] = [piece["piece"] for piece in some]
        tool, rollbacks = self.dice.choice(("accept", "accept", "accept", "reject")), it.rollbacks
        if await self.call(f"{tool}_suggestion", **asked):
            words = {*WORD.findall("".join(piece["new"] for piece in some))}
            words &= it.suggested[asked["suggestion"]]
            if tool == "accept":
                it.note(words, rollbacks)
            else:
                it.never |= words

    async def rename(self) -> None:
        it = self.dice.choice(self.documents)
        async with it.writing:
            new = f"{it.name.partition('-')[0]}-{len(self.tried)}"
            it.is_settled = False
            if await self.call("rename_document", docName=it.name, newDocName=new):
                await self.follow(it, new)
            it.is_settled = True

    async def follow(self, it: WikiDocumentLog, name: str) -> None:
        it.name = name
        self.log("moved", it.name)
        for editor in it.editors:
            await self.editors.do("move", name=editor, room=name)

    async def roll_back(self) -> None:
        """What is there and not in the version may go; what is in it is there afterwards."""
        it = self.dice.choice(self.documents)
        history = await self.call("get_history", docName=it.name)
        if history is None or not history["entries"]:
            return
        sha = self.dice.choice(history["entries"][:5])["sha"]
        asked = {"space": self.space, "doc": it.name, "version": sha}
        shown = await self.http.get("/wiki/version", params=asked)
        if shown.status_code != 200:
            return
        words = {*words_of(shown.json()["text"])}
        self.log("rollback", it.name, sha, sorted(words))
        it.rollbacks += 1
        try:
            done = await self.call("rollback_to_version", docName=it.name, commitSha=sha)
        finally:
            # Also those that were typed meanwhile: they were there before or after it.
            it.surely &= words
            it.rollbacks += 1
        if done:
            it.surely |= words

    async def program(self) -> None:
        it = self.dice.choice(self.documents)
        async with it.writing:
            word, file = self.word("p"), self.folder / f"{it.name}.md"
            if not it.is_settled:
                return
            rollbacks, began = it.rollbacks, time.monotonic()
            self.log("program", word, file.name)
            ways = (put_aside,) if self.dice.random() < PUT_ASIDE else WAYS
            way = await run_sync(write, file, word, self.dice, ways)
            self.log("program", word, "done", way)
            if time.monotonic() - began > PROMPT_S:
                it.overwrite()
                self.count("programs that the machine stopped")
            it.note({word}, rollbacks)
            self.count(f"program: {way}")
        await anyio.sleep(self.dice.choice((0, 0.2, 0.5)))

    async def settle_names(self) -> None:
        """After a kill a document has its old or its new name."""
        async with AsyncExitStack() as stack:
            # Some programs put a file aside before they write it: then it is not there to be seen.
            for it in self.documents:
                await stack.enter_async_context(it.writing)
            found = await self._list_names()
        names = {it.partition("-")[0]: it for it in found}
        assert len(names) == len(found), f"no document is there under two names: {found}"
        for it in self.documents:
            await self.follow(it, names[it.name.partition("-")[0]])
            it.is_settled = True

    async def _list_names(self) -> list[str]:
        with anyio.fail_after(PATIENCE_S):
            while True:
                read = await self.call("list_documents", limit=1000)
                if read is not None:
                    return [it["docName"] for it in read["documents"]]
                await anyio.sleep(0.1)


def words_of(text: str) -> list[str]:
    """Also those that another one was put into: an editor's place may be one that a rollback used
    for another word, and then both are whole, one within the other."""
    found: list[str] = []
    while here := WORD.findall(text):
        found += here
        text = WORD.sub("", text)
    return found


def misplaced(team: WikiTeam, texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Words that are not where they must be, by what is wrong with them."""
    found: dict[str, list[str]] = {"lost": [], "doubled": [], "rejected": [], "strange": []}
    for it in team.documents:
        words = words_of(texts[it.name])
        found["lost"] += sorted(it.surely - {*words})
        found["doubled"] += sorted({word for word in words if words.count(word) > 1})
        found["rejected"] += sorted(it.never & {*words})
        found["strange"] += sorted({*words} - team.tried)
    return {what: words for what, words in found.items() if words}
