"""Editors that count as JavaScript does may cut a character in two: none of them is sent away."""

import re
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pycrdt
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pecia.features.wiki.live.core.crdt import LiveText, new_server_client_id
from pecia.features.wiki.live.core.lib0 import encode_bytes, encode_varuint
from pecia.features.wiki.live.core.update import ItemRun, Place, YjsUpdate, parse_update
from pecia.features.wiki.live.core.validate import UpdateValidator, UpdateVerdict
from tests.soak import SOAK

MANY = 20_000 if SOAK else 200

# Halves of characters, and the signs that stand for them in an editor's own copy.
HALVES = {0xD800 + it: 0xE000 + it for it in range(0x800)}
SIGNS = {sign: half for half, sign in HALVES.items()}


def taken_apart(words: str) -> str:
    """A sign for each place that JavaScript counts."""
    units = words.encode("utf-16-le")
    found = (int.from_bytes(units[it : it + 2], "little") for it in range(0, len(units), 2))
    return "".join(map(chr, found)).translate(HALVES)


def put_together(signs: str) -> str:
    """The words; a half that is alone is what JavaScript writes for it."""
    units = signs.translate(SIGNS).encode("utf-16-le", "surrogatepass")
    return re.sub("[\ud800-\udfff]", "\ufffd", units.decode("utf-16-le", "surrogatepass"))


def rewritten(update: YjsUpdate, words: Any) -> bytes:
    """The same update with other words."""
    runs = zip(update.written, update.places, strict=True)
    sections = [list(it) for _, it in groupby(runs, lambda it: it[0].client)]
    parts = [encode_varuint(len(sections))]
    for section in sections:
        first = section[0][0]
        parts += map(encode_varuint, (len(section), first.client, first.start))
        parts += (_run(run, place, words) for run, place in section)
    return b"".join(parts) + _deletions(update.deleted)


def _run(run: ItemRun, place: Place, words: Any) -> bytes:
    left, right = place
    flags = (4 if run.words else 1) | (0x80 if left else 0) | (0x40 if right else 0)
    spots = b"".join(map(encode_varuint, (*(left or ()), *(right or ()))))
    spots = spots or encode_varuint(1) + encode_bytes(b"source")
    length = encode_varuint(run.end - run.start)
    return (
        bytes((flags,)) + spots + (encode_bytes(words(run.words).encode()) if run.words else length)
    )


def _deletions(runs: list[ItemRun]) -> bytes:
    sections = [list(it) for _, it in groupby(runs, lambda it: it.client)]
    parts = [encode_varuint(len(sections))]
    for section in sections:
        parts += map(encode_varuint, (section[0].client, len(section)))
        parts += (encode_varuint(it.start) + encode_varuint(it.end - it.start) for it in section)
    return b"".join(parts)


@dataclass
class Editor:
    """Its changes wait to be sent, and those of others to be heard, each in order."""

    client: int
    outbox: list[bytes] = field(default_factory=list[bytes])
    inbox: list[bytes] = field(default_factory=list[bytes])

    def __post_init__(self) -> None:
        self.doc: pycrdt.Doc[pycrdt.Text] = pycrdt.Doc(client_id=self.client)
        self.source = self.doc.get("source", type=pycrdt.Text)

    @property
    def text(self) -> str:
        return put_together(str(self.source))

    def hear(self, change: bytes) -> None:
        self.doc.apply_update(rewritten(parse_update(change), taken_apart))

    def type(self, at: int, gone: int, words: str) -> None:
        """Replace places, be they whole characters or not."""
        signs, made = str(self.source), list[bytes]()
        watching = self.doc.observe(lambda event: made.append(event.update))
        at %= len(signs) + 1
        start, end = (len(signs[:it].encode()) for it in (at, at + gone))
        with self.doc.transaction():
            if end > start:
                del self.source[start:end]
            if words:
                self.source.insert(start, taken_apart(words))
        self.doc.unobserve(watching)
        self.outbox += [rewritten(parse_update(it), put_together) for it in made]


@dataclass
class Server:
    """A text that stays open, one that is kept up by what it lacks, and what is told to editors."""

    text: LiveText
    editors: list[Editor]

    def __post_init__(self) -> None:
        self.other = LiveText(self.text.state)
        for it in self.editors:
            it.hear(self.text.state)

    def take(self, sender: Editor) -> None:
        data = sender.outbox.pop(0)
        judge = UpdateValidator(LiveText(self.text.state), {}, 1_000_000, 0)
        # Whatever is refused is raised.
        verdict = judge.validate(data, f"principal-{sender.client}", may_write=True)
        assert verdict in (UpdateVerdict.TAKEN, UpdateVerdict.KNOWN)
        for row in (*judge.repairs, data) if verdict is UpdateVerdict.TAKEN else ():
            self.text.apply(row)
            for it in self.editors:
                it.inbox += [row] if it is not sender or row is not data else []
        self.other.apply(self.text.encode_diff(self.other.encoded_state_vector))
        assert str(self.text) == str(self.other) == str(LiveText(self.text.state))

    def settle(self) -> None:
        for it in self.editors:
            while it.outbox:
                self.take(it)
        for it in self.editors:
            for change in it.inbox:
                it.hear(change)


WHO = st.integers(0, 2)
STEPS = st.one_of(
    st.tuples(
        st.just("type"), WHO, st.integers(0, 30), st.integers(0, 3), st.text("xy🐝🦊", max_size=2)
    ),
    st.tuples(st.sampled_from(("send", "hear")), WHO),
)


# Two write between the same halves, two delete one half each, one deletes from half to half.
@example("a🐝b", [("type", 0, 2, 0, "x"), ("type", 1, 2, 0, "y")])
@example("a🐝b", [("type", 0, 1, 1, ""), ("type", 1, 2, 1, "")])
@example("🐝ab🦊", [("type", 0, 1, 4, "x"), ("type", 1, 5, 0, "y")])
@settings(max_examples=MANY, deadline=None)
@given(st.text("ab🐝🦊", min_size=1, max_size=6), st.lists(STEPS, max_size=20))
def test_editors_that_cut_characters_in_two_stay_and_have_the_same_in_the_end(
    begin: str, steps: list[Any]
) -> None:
    editors = [Editor(100 + it) for it in range(3)]
    server = Server(LiveText.create(begin, new_server_client_id()), editors)
    for step in steps:
        what, it, rest = step[0], editors[int(step[1])], step[2:]
        if what == "type":
            it.type(*rest)
        elif what == "send" and it.outbox:
            server.take(it)
        elif what == "hear" and it.inbox:
            it.hear(it.inbox.pop(0))
    server.settle()
    assert {it.text for it in editors} == {str(server.text)}
    assert "\ufffd" not in str(server.text), "every character is whole"
