"""A world of live documents without sockets and without a database: what is left is the logic.

Editors, two server processes, a store, a file, programs that change the file, agents, and a network
that loses, doubles and reorders. Every character that is ever written is another one, so that each
can be followed.
"""

from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import pycrdt

from pecia.features.wiki.live.core.crdt import LiveText, new_server_client_id
from pecia.features.wiki.live.core.update import parse_state_vector
from pecia.features.wiki.live.core.validate import UpdateValidator, UpdateVerdict
from pecia.features.wiki.live.draft import LiveDraft, build_draft, text_digest
from pecia.features.wiki.live.store import FileBase, LiveChange, LiveRow

MOST_BYTES = 1_000_000
NEVER = -1


class Characters:
    """Each one once. Some take three bytes, and some two places in JavaScript.

    They are signs and no letters: a word that a tool changes is written anew as a whole, and then
    it is another one than that of somebody else who changes it at the same time.
    """

    def __init__(self) -> None:
        self._next = 0

    def some(self, count: int) -> str:
        found = range(self._next, self._next + count)
        self._next += count
        return "".join(chr((0x2200, 0x1F300, 0x2500)[it % 3] + it // 3) for it in found)


@dataclass
class Person:
    """An editor in a browser. What waits to be sent may get lost, doubled or out of order."""

    name: str
    client: int
    doc: Any = field(init=False)
    outbox: list[tuple[bytes, str, str]] = field(default_factory=list[tuple[bytes, str, str]])
    """Changes, with the characters that each writes and deletes."""
    inbox: list[bytes] = field(default_factory=list[bytes])
    typed: str = ""
    deleted: str = ""
    at: int = 0
    """Which process it is connected to."""

    def __post_init__(self) -> None:
        self.doc = pycrdt.Doc(client_id=self.client)
        self.source = self.doc.get("source", type=pycrdt.Text)

    @property
    def text(self) -> str:
        return str(self.source)

    def change(self, start: int, end: int, words: str) -> str:
        """Replace characters of its own copy; those that it deleted come back."""
        text = self.text
        made: list[bytes] = []
        watching: Any = self.doc.observe(lambda event: made.append(event.update))  # pyright: ignore[reportUnknownLambdaType,reportUnknownMemberType,reportUnknownArgumentType] - the library says little
        begin, stop = len(text[:start].encode()), len(text[:end].encode())
        with self.doc.transaction():
            if stop > begin:
                del self.source[begin:stop]
            if words:
                self.source.insert(begin, words)
        self.doc.unobserve(watching)
        gone = text[start:end]
        self.typed += words
        self.deleted += gone
        self.outbox += [(it, words, gone) for it in made]
        return gone


@dataclass
class Process:
    """What `OpenDocument` does with what comes, in the same order."""

    text: LiveText = field(default_factory=LiveText)
    applied: int = NEVER


@dataclass
class World:
    """The store, the file, and everybody.

    `kept` and `gone` are the characters of which somebody was told that it is stored that they are
    written, or deleted. `deleted` are those that anybody ever deleted, stored or not.
    """

    file: str
    people: list[Person]
    characters: Characters
    processes: tuple[Process, Process] = field(default_factory=lambda: (Process(), Process()))
    log: list[tuple[int, LiveChange]] = field(default_factory=list[tuple[int, LiveChange]])
    owners: dict[int, str] = field(default_factory=dict[int, str])
    kept: set[str] = field(default_factory=set[str])
    gone: set[str] = field(default_factory=set[str])
    deleted: set[str] = field(default_factory=set[str])
    head: int = 0
    intent: tuple[FileBase, int] | None = None
    row: LiveRow = field(init=False)

    def __post_init__(self) -> None:
        house_id = new_server_client_id()
        base = LiveText.create(self.file, house_id).state
        self.row = LiveRow(UUID(int=0), house_id, base, text_digest(self.file), 0, 0)
        self.kept |= set(self.file)
        for it in self.processes:
            self.catch_up(it)
        for person in self.people:
            person.doc.apply_update(base)

    @property
    def text(self) -> str:
        """All that is stored."""
        return self._held().text

    def process_of(self, person: Person) -> Process:
        return self.processes[person.at]

    def arrive(
        self, person: Person, change: tuple[bytes, str, str], *, answers: bool = False
    ) -> None:
        """A change comes in: it is judged, stored, said to be stored, and told."""
        process = self.process_of(person)
        self.catch_up(process)
        update, words, gone = change
        judge = UpdateValidator(LiveText(process.text.state), self.owners, MOST_BYTES, 0)
        verdict = judge.validate(update, person.name, may_write=True)
        if verdict is UpdateVerdict.TOO_EARLY:
            assert not answers, "what says everything refers to nothing else"
            self.ask(person)
            return
        if verdict is UpdateVerdict.TAKEN:
            self.owners |= judge.claimed
            self._append(LiveChange(person.name, update))
        self.kept |= set(words)
        self.gone |= set(gone)
        self.catch_up(process)

    def ask(self, person: Person) -> None:
        """The server says what it has; the editor answers with what is lacking."""
        self.catch_up(self.process_of(person))
        have = self.process_of(person).text.encoded_state_vector
        told = (person.doc.get_update(have), person.typed, person.deleted)
        self.arrive(person, told, answers=True)

    def quit(self, person: Person) -> None:
        """Somebody goes for good, with all that was not sent; somebody new sits down."""
        place = self.people.index(person)
        self.people[place] = Person(f"{person.name}'", person.client + 10, at=person.at)
        self.people[place].doc.apply_update(self.process_of(self.people[place]).text.state)

    def move(self, person: Person) -> None:
        """Somebody reconnects, to the other process; what is under way is lost."""
        person.at = 1 - person.at
        person.outbox.clear()
        person.inbox.clear()
        self.ask(person)

    def catch_up(self, process: Process) -> None:
        if process.applied >= self.head:
            return
        before = process.text.encoded_state_vector
        if process.applied < self.row.filed:
            process.text.apply(self.row.base)
        changes = [it.change for seq, it in self.log if seq > process.applied]
        for it in changes:
            process.text.apply(it)
        whole = process.applied < self.row.filed
        news = [process.text.encode_diff(before)] if whole else changes
        for person in self.people:
            if self.process_of(person) is process:
                person.inbox += news
        process.applied = self.head

    def file_it(self, *, is_cut_off: bool = False) -> None:
        """Bring the file up to the store; `is_cut_off` dies between the file and the store."""
        found = self._held()
        while found.added:
            self._add(found)
            found = self._held()
        # It was put down what the file will have; who comes next sees that it was swapped.
        self.intent = (found.build_file_base(), self.head)
        self.file = found.text
        if not is_cut_off:
            self._settle()

    def rewrite(self, start: int, end: int, words: str) -> None:
        """An agent replaces characters, with the document to itself."""
        found = self._held()
        text = found.text
        found.rewrite(text[:start] + words + text[end:], "agent")
        self._add(found)
        self.deleted |= set(text[start:end])
        self.gone |= set(text[start:end])
        self.kept |= set(words)

    def rewrite_file(self, start: int, end: int, words: str) -> None:
        """A tool that read the file alone replaces characters of it."""
        found = self._held()
        seen = found.file_text
        found.rewrite_file(seen[:start] + words + seen[end:], "agent")
        self._add(found)
        self.deleted |= set(seen[start:end])
        self.gone |= set(seen[start:end])
        self.kept |= set(words)

    def edit_file(self, start: int, end: int, words: str) -> None:
        """A program changes the file without asking anybody."""
        self.deleted |= set(self.file[start:end])
        self.gone |= set(self.file[start:end])
        self.file = self.file[:start] + words + self.file[end:]
        self.kept |= set(words)

    def settle(self) -> None:
        """Everybody comes back once, and nothing is lost any more."""
        for person in self.people:
            self.ask(person)
        self.file_it()
        for process in self.processes:
            self.catch_up(process)
        for person in self.people:
            clocks = person.doc.get_state()
            parse_state_vector(clocks)
            person.doc.apply_update(self.process_of(person).text.encode_diff(clocks))

    def _settle(self) -> None:
        if self.intent is not None:
            (based, head), self.intent = self.intent, None
            self.row = replace(self.row, **vars_of(based), filed=head)
            self.log = [it for it in self.log if it[0] > head]

    def _held(self) -> LiveDraft:
        self._settle()
        found = build_draft(self.row, [it for _, it in self.log])
        found.merge_file(self.file)
        return found

    def _add(self, found: LiveDraft) -> None:
        for it in found.added:
            self._append(it)
        self.row = replace(self.row, **vars_of(found.seen))

    def _append(self, change: LiveChange) -> None:
        self.head += 1
        self.log.append((self.head, change))


def vars_of(based: FileBase) -> dict[str, Any]:
    return {"base": based.base, "digest": based.digest}
