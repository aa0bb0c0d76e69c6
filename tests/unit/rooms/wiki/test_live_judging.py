"""What becomes of a change that an editor sends."""

from itertools import count
from typing import Any

import pycrdt
import pytest

from pecia.kernel.errors import Conflict, Forbidden, InvalidFormat, PayloadTooLarge
from pecia.rooms.wiki.live.encoding import number, prefixed
from pecia.rooms.wiki.live.judging import Judge, Verdict
from pecia.rooms.wiki.live.text import LiveText, new_house_id

HOUSE = new_house_id()
ANA, BO = "principal-ana", "principal-bo"


def judge(text: LiveText, **given: Any) -> Judge:
    return Judge(LiveText(text.state), given.get("owners", {}), given.get("most", 1000), 0)


def begun(text: str = "ab🐝c") -> LiveText:
    return LiveText.begun(text, HOUSE)


def written(words: str, *, left: int | None = None, right: int | None = None) -> bytes:
    """Words of the client 7 between clocks of the house's own text."""
    flags, rest = 4, b""
    for bit, clock in ((0x80, left), (0x40, right)):
        if clock is not None:
            flags |= bit
            rest += number(HOUSE) + number(clock)
    if flags == 4:
        rest = number(1) + prefixed(b"source")
    head = b"".join(map(number, (1, 1, 7, 0)))
    return head + bytes((flags,)) + rest + prefixed(words.encode()) + number(0)


def deleted(start: int, length: int, client: int = HOUSE) -> bytes:
    return b"".join(map(number, (0, 1, client, 1, start, length)))


def test_a_change_between_its_neighbours_is_taken_and_tried() -> None:
    it = judge(begun())
    assert it.judge(written("x", left=0, right=1), ANA, may_write=True) is Verdict.TAKEN
    assert str(it.text) == "axb🐝c"
    assert it.claimed == {7: ANA}


def test_what_is_known_is_known_whoever_sends_it() -> None:
    text = begun()
    text.apply(written("x", left=0, right=1))
    text.apply(deleted(1, 1))
    for change in (written("x", left=0, right=1), deleted(1, 1), b"\x00\x00"):
        assert judge(text).judge(change, BO, may_write=False) is Verdict.KNOWN


def test_who_may_only_read_changes_nothing() -> None:
    for change in (written("x", left=0), deleted(0, 1)):
        it = judge(begun())
        assert it.judge(change, ANA, may_write=False) is Verdict.NOT_ALLOWED
        assert str(it.text) == "ab🐝c"


@pytest.mark.parametrize(
    "change",
    [
        written("x", left=5),
        written("x", right=99),
        deleted(4, 2),
        deleted(0, 1, client=8),
        b"".join(map(number, (1, 1, 7, 3))) + b"\x84" + number(HOUSE) + b"\x00\x01x\x00",
    ],
    ids=count(1),
)
def test_what_refers_to_something_unknown_comes_too_early(change: bytes) -> None:
    it = judge(begun())
    assert it.judge(change, ANA, may_write=True) is Verdict.TOO_EARLY
    assert not it.is_spoilt


@pytest.mark.parametrize(
    "change",
    [
        written("x", left=2),
        written("x", left=2, right=3),
        deleted(3, 1),
        deleted(2, 1),
        deleted(0, 3),
    ],
    ids=count(1),
)
def test_a_change_that_cuts_a_character_in_two_is_taken_and_can_be_repaired(change: bytes) -> None:
    it = judge(begun())
    it.judge(change, ANA, may_write=True)
    assert not it.is_spoilt
    # Whole characters, and whoever opens the document anew reads the same.
    assert str(it.text).encode() == str(LiveText(it.text.state)).encode()


def test_no_change_stands_before_what_it_follows() -> None:
    text = begun("abcd")
    it = judge(text)
    with pytest.raises(InvalidFormat, match="stands before"):
        it.judge(written("x", left=2, right=0), ANA, may_write=True)
    assert it.is_spoilt
    it.mend(text.state, [written("y", left=0, right=1)])
    assert str(it.text) == "aybcd"


@pytest.mark.parametrize(
    "change",
    [
        # At the beginning, in front of what has something in front of it.
        written("x", right=1),
        written("x", right=3),
        written("x", left=0, right=2),
        # Before and after the same half, and after the second and before the first.
        written("x", left=2, right=2),
        written("x", left=3, right=3),
        written("x", left=3, right=2),
    ],
    ids=count(1),
)
@pytest.mark.parametrize("is_deleted", [False, True])
def test_nobody_writes_between_what_never_were_neighbours(change: bytes, is_deleted: bool) -> None:
    text = begun()
    if is_deleted:
        text.apply(deleted(0, 5))
    with pytest.raises(InvalidFormat, match=r"neighbours|stands before"):
        judge(text).judge(change, ANA, may_write=True)


def test_who_has_not_seen_what_came_between_may_write_there() -> None:
    text = begun()
    text.apply(written("x", left=0, right=1))
    late = written("y", left=0, right=1).replace(number(7), number(8), 1)
    assert judge(text).judge(late, BO, may_write=True) is Verdict.TAKEN


def test_runs_that_wait_for_each_other_are_no_change() -> None:
    head = b"\x44" + number(8) + number(0) + prefixed(b"x")
    other = b"\x44" + number(7) + number(0) + prefixed(b"y")
    first, second = (b"".join(map(number, (1, it, 0))) for it in (7, 8))
    change = number(2) + first + head + second + other + number(0)
    text = begun()
    with pytest.raises(InvalidFormat, match="follows itself"):
        judge(text).judge(change, ANA, may_write=True)
    # One that was stored before this was looked at is in nobody's way.
    text.apply(change)
    late = written("y", left=0, right=1).replace(number(7), number(9), 1)
    assert judge(text).judge(late, BO, may_write=True) is Verdict.TAKEN


def test_an_update_names_each_client_once() -> None:
    # A library that keeps the last part would delete one character, and another both.
    part = b"".join(map(number, (HOUSE, 1)))
    twice = b"\x00\x02" + part + b"\x00\x01" + part + b"\x04\x01"
    run = b"".join(map(number, (1, 7, 0))) + b"\x84" + number(HOUSE) + b"\x00\x01x"
    for change in (twice, b"\x02" + run + run + b"\x00"):
        with pytest.raises(InvalidFormat, match="two parts"):
            judge(begun()).judge(change, ANA, may_write=True)


def test_an_id_belongs_to_who_wrote_under_it_first() -> None:
    change = written("x", left=0)
    with pytest.raises(Forbidden):
        judge(begun(), owners={7: BO}).judge(change, ANA, may_write=True)
    it = judge(begun(), owners={7: ANA})
    assert it.judge(change, ANA, may_write=True) is Verdict.TAKEN
    assert it.claimed == {}


def test_nobody_writes_as_the_house() -> None:
    text = begun()
    doc: pycrdt.Doc[pycrdt.Text] = pycrdt.Doc(client_id=HOUSE)
    doc.apply_update(text.state)
    doc.get("source", type=pycrdt.Text).insert(0, "x")
    with pytest.raises(Forbidden):
        judge(text).judge(doc.get_update(), ANA, may_write=True)


def test_the_text_of_an_earlier_life_does_not_come_back() -> None:
    earlier = LiveText.begun("old words", new_house_id())
    it = judge(begun())
    with pytest.raises(Conflict):
        it.judge(earlier.state, ANA, may_write=True)
    with pytest.raises(Conflict):
        it.require_same_history(earlier.clocks)
    it.require_same_history({})
    # Also of one that never had a word.
    with pytest.raises(Conflict):
        it.require_same_history(LiveText.begun("", new_house_id()).clocks)


def test_a_text_has_its_bound_and_so_has_its_history() -> None:
    with pytest.raises(PayloadTooLarge):
        judge(begun(), most=20).judge(written("x" * 20, left=0), ANA, may_write=True)
    it = judge(begun(), most=20)
    it.state_bytes = 79
    with pytest.raises(PayloadTooLarge):
        it.judge(deleted(0, 1), ANA, may_write=True)
