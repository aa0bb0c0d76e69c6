"""Live documents converge whatever the network does, and no stored word goes undeleted."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pycrdt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pecia.features.wiki.live.core.crdt import LiveText, new_server_client_id
from pecia.features.wiki.live.core.frames import decode_frame
from pecia.features.wiki.live.core.lib0 import encode_bytes, encode_varuint
from pecia.features.wiki.live.core.update import parse_update
from pecia.features.wiki.live.core.validate import UpdateValidator, UpdateVerdict
from pecia.kernel.errors import PeciaError
from tests.laws.live_world import Characters, Person, World
from tests.soak import SOAK

MANY = 20_000 if SOAK else 200

WHO = st.integers(0, 2)
PLACE = st.integers(0, 40)
SIZE = st.integers(0, 4)
STEPS = st.one_of(
    st.tuples(st.just("type"), WHO, PLACE, SIZE, SIZE),
    st.tuples(st.sampled_from(("send", "send", "send_again", "lose")), WHO, PLACE),
    st.tuples(st.sampled_from(("hear", "hear", "hear_again", "miss")), WHO, PLACE),
    st.tuples(st.sampled_from(("agent", "tool", "program")), PLACE, SIZE, SIZE),
    st.tuples(st.sampled_from(("file", "die", "ask", "other", "quit", "move")), WHO),
)


# Each of these went wrong once, or would with one thing left out.
@example(0, [("type", 0, 0, 0, 1), ("type", 0, 1, 0, 1), ("send", 0, 1), ("file", 0), ("quit", 0)])
@example(0, [("type", 0, 0, 0, 1), ("program", 0, 0, 1), ("send", 0, 0), ("die", 0)])
@example(2, [("agent", 0, 0, 1), ("program", 1, 0, 1), ("file", 0)])
@example(2, [("agent", 0, 0, 1), ("tool", 1, 0, 1), ("file", 0)])
@example(1, [("agent", 0, 0, 1), ("other", 0), ("hear", 0, 0), ("type", 0, 1, 0, 1), ("move", 0)])
@example(2, [("type", 0, 0, 1, 0), ("send", 0, 0), ("quit", 0)])
@example(1, [("type", 0, 1, 0, 2), ("send", 0, 0), ("tool", 0, 1, 1)])
@settings(max_examples=MANY, deadline=None)
@given(st.integers(0, 5), st.lists(STEPS, max_size=60))
def test_everybody_has_the_same_in_the_end_and_no_stored_word_is_lost_or_doubled(
    begin: int, steps: list[Any]
) -> None:
    characters = Characters()
    people = [Person(f"principal-{it}", 100 + it, at=it % 2) for it in range(3)]
    world = World(characters.some(begin), people, characters)
    for step in steps:
        take(world, *step)
    world.settle()
    texts = {
        *(it.text for it in world.people),
        *(str(it.text) for it in world.processes),
        world.file,
    }
    assert len(texts) == 1
    text = texts.pop()
    assert len(set(text)) == len(text), "no character is there twice"
    assert world.kept - world.deleted <= set(text), "no stored character went by itself"
    assert not world.gone & set(text), "no deleted character came back"


def take(world: World, what: str, *given: int) -> None:
    """One step, with numbers that are made to fit."""
    if what == "type":
        who, at, gone, new = given
        person = world.people[who]
        start, end = _within(person.text, at, gone)
        world.deleted |= set(person.change(start, end, world.characters.some(new)))
    elif what in ("send", "send_again", "lose"):
        _send(world, world.people[given[0]], what, given[1])
    elif what in ("hear", "hear_again", "miss"):
        _hear(world.people[given[0]], what, given[1])
    elif what in ("agent", "tool", "program"):
        _rewrite(world, what, *given)
    elif what == "other":
        world.catch_up(world.processes[given[0] % 2])
    elif what == "move":
        world.move(world.people[given[0]])
    elif what == "quit":
        world.quit(world.people[given[0]])
    elif what == "ask":
        world.ask(world.people[given[0]])
    else:
        world.file_it(is_cut_off=what == "die")


def _send(world: World, person: Person, what: str, place: int) -> None:
    if person.outbox:
        at = place % len(person.outbox)
        change = person.outbox[at]
        if what != "send_again":
            del person.outbox[at]
        if what != "lose":
            world.arrive(person, change)


def _hear(person: Person, what: str, place: int) -> None:
    if person.inbox:
        at = place % len(person.inbox)
        update = person.inbox[at]
        if what != "hear_again":
            del person.inbox[at]
        if what != "miss":
            person.doc.apply_update(update)


def _rewrite(world: World, what: str, at: int, gone: int, new: int) -> None:
    words = world.characters.some(new)
    text = world.text if what == "agent" else world.file
    start, end = _within(text, at, gone)
    change = {"agent": world.rewrite, "tool": world.rewrite_file, "program": world.edit_file}[what]
    change(start, end, words)


def _within(text: str, at: int, size: int) -> tuple[int, int]:
    start = at % (len(text) + 1)
    return start, min(len(text), start + size)


@settings(max_examples=MANY, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_a_rewritten_text_is_the_text_and_says_so_to_others(old: str, new: str) -> None:
    house_id = new_server_client_id()
    text = LiveText.create(old, house_id)
    other = LiveText(text.state)
    change = text.rewrite(new)
    if change is not None:
        other.apply(change)
    assert str(text) == str(other) == new
    assert (change is None) == (old == new)


@settings(max_examples=MANY, deadline=None)
@given(st.lists(st.tuples(PLACE, SIZE, st.text(max_size=5)), max_size=12))
def test_every_update_of_the_library_that_is_plain_text_is_read_whole(
    edits: list[tuple[int, int, str]],
) -> None:
    doc: pycrdt.Doc[pycrdt.Text] = pycrdt.Doc()
    source = doc.get("source", type=pycrdt.Text)
    for at, gone, words in edits:
        text = str(source)
        start, end = (len(text[:it].encode()) for it in _within(text, at, gone))
        with doc.transaction():
            del source[start:end]
            source.insert(start, words)
    update = parse_update(doc.get_update())
    clocks: dict[int, int] = {}
    for run in update.written:
        clocks[run.client] = max(clocks.get(run.client, 0), run.end)
    state = pycrdt.Decoder(doc.get_state())
    assert clocks == {
        state.read_var_uint(): state.read_var_uint() for _ in range(state.read_var_uint())
    }
    assert update.is_causally_complete({})


@dataclass(frozen=True)
class Crafted:
    """Runs of an editor that writes its updates by hand: words, and which places it names."""

    client: int
    runs: list[tuple[str, int | None, int | None]]
    gone: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Which places it deletes: from which one on, and how many."""
    again: int = 0
    """How many of the places that it wrote before it writes anew, as something else."""

    def update(self, clocks: dict[int, int]) -> bytes:
        """The bytes, naming places that are known, in whatever order they stand."""
        begin = clock = max(0, clocks.get(self.client, 0) - self.again)
        body = b""
        for words, left, right in self.runs:
            flags, rest = 4, b""
            for bit, wish in ((0x80, left), (0x40, right)):
                known = [(it, most) for it, most in {**clocks, self.client: clock}.items() if most]
                if wish is not None and known:
                    client, most = known[wish % len(known)]
                    flags |= bit
                    rest += encode_varuint(client) + encode_varuint(wish % most)
            if flags == 4:
                rest = encode_varuint(1) + encode_bytes(b"source")
            body += bytes((flags,)) + rest + encode_bytes(words.encode())
            clock += len(words.encode("utf-16-le")) // 2
        head = (1, len(self.runs), self.client, begin) if self.runs else (0,)
        return (
            b"".join(map(encode_varuint, head))
            + body
            + self._deletions({**clocks, self.client: clock})
        )

    def _deletions(self, clocks: dict[int, int]) -> bytes:
        known = [(it, most) for it, most in clocks.items() if most]
        found: dict[int, list[tuple[int, int]]] = {}
        for at, size in self.gone if known else ():
            client, most = known[at % len(known)]
            start = at % most
            found.setdefault(client, []).append((start, min(size, most - start)))
        parts = [encode_varuint(len(found))]
        for client, runs in found.items():
            parts += map(encode_varuint, (client, len(runs), *(it for run in runs for it in run)))
        return b"".join(parts)


RUNS = st.tuples(
    st.text("abcdefghijé🐝🦊", min_size=1, max_size=3),
    st.none() | st.integers(0, 500),
    st.none() | st.integers(0, 500),
)
CRAFTED = st.builds(Crafted, st.integers(7, 9), st.lists(RUNS, min_size=1, max_size=3))


# Before and after the same half; after the second and before the first; at the ends of a text in
# which the same editor had written before, with no character cut.
@example("", [Crafted(7, [("🐝a", None, None)]), Crafted(7, [("b", 1, 1)])])
@example("a🐝", [Crafted(7, [("é", 356, 1), ("b", None, 242)]), Crafted(7, [("c", 1, None)])])
@example(
    "",
    [
        Crafted(7, [("a", None, None)]),
        Crafted(8, [("bc", None, None)]),
        Crafted(7, [("d", None, None), ("e", 0, None)]),
        Crafted(9, [("f", None, 134)]),
    ],
)
@settings(max_examples=MANY, deadline=None)
@given(st.text("ab🐝\n", max_size=8), st.lists(CRAFTED, max_size=8))
def test_a_change_that_is_written_by_hand_is_refused_or_the_same_to_everybody(
    begin: str, changes: list[Crafted]
) -> None:
    text = LiveText.create(begin, new_server_client_id())
    other = LiveText(text.state)
    for it in changes:
        judge = UpdateValidator(LiveText(text.state), {}, 1_000_000, 0)
        data = it.update(text.state_vector)
        try:
            verdict = judge.validate(data, "principal-1", may_write=True)
        except PeciaError:
            continue
        assert verdict is UpdateVerdict.TAKEN
        for row in (*judge.repairs, data):
            text.apply(row)
        other.apply(text.encode_diff(other.encoded_state_vector))
        assert str(text) == str(other) == str(LiveText(text.state)) == str(judge.text)


HOSTILE = st.builds(
    Crafted,
    st.integers(7, 9),
    st.lists(RUNS, max_size=3),
    st.lists(st.tuples(st.integers(0, 500), st.integers(1, 3)), max_size=3),
    st.integers(0, 2),
)


# Between the halves of a bee; one half of it deleted; begun again in the middle of one.
@example("a🐝b", [Crafted(7, [("x", 0, 0)], [(2, 1)]), Crafted(8, [], [(1, 1)])])
@example("", [Crafted(7, [("a🐝", None, None)]), Crafted(7, [("🐝b", None, None)], again=1)])
@pytest.mark.timeout(0 if SOAK else 240)
@settings(max_examples=MANY, deadline=None)
@given(st.text("ab🐝\n", max_size=8), st.lists(HOSTILE, max_size=8))
def test_whatever_was_sent_the_document_opens_with_every_character_and_can_be_edited(
    begin: str, changes: list[Crafted]
) -> None:
    text = LiveText.create(begin, new_server_client_id())
    other = LiveText(text.state)
    for it in changes:
        judge = UpdateValidator(LiveText(text.state), {}, 1_000_000, 0)
        data = it.update(text.state_vector)
        with suppress(PeciaError):
            if judge.validate(data, "principal-1", may_write=True) is UpdateVerdict.TAKEN:
                for row in (*judge.repairs, data):
                    text.apply(row)
                    other.apply(row)
        fresh = LiveText(text.state)
        assert str(fresh) == str(other) == str(text)
        change = fresh.rewrite(edited := f"🐝{fresh}é")
        assert change is not None
        reader = LiveText(text.state)
        reader.apply(change)
        assert str(reader).encode().decode() == str(fresh) == edited


@given(st.text("ab🐝", min_size=1, max_size=8), st.integers(0, 20))
def test_a_cut_through_a_character_leaves_the_character_and_every_other(
    begin: str, at: int
) -> None:
    house_id = new_server_client_id()
    text = LiveText.create(begin, house_id)
    clock = at % (len(begin.encode("utf-16-le")) // 2)
    flags = bytes((0x84,)) + encode_varuint(house_id) + encode_varuint(clock)
    data = (
        b"".join(map(encode_varuint, (1, 1, 7, 0))) + flags + encode_bytes(b"x") + encode_varuint(0)
    )
    judge = UpdateValidator(LiveText(text.state), {}, 1_000_000, 0)
    assert judge.validate(data, "principal-1", may_write=True) is UpdateVerdict.TAKEN
    for row in (*judge.repairs, data):
        text.apply(row)
    assert sorted(str(text)) == sorted(f"{begin}x")
    assert str(LiveText(text.state)).replace("x", "") == begin


@settings(max_examples=MANY, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_an_error_of_ours(data: bytes) -> None:
    for read in (decode_frame, parse_update):
        try:
            read(data)
        except PeciaError:
            continue
