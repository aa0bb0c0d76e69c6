"""What becomes of a change that an editor sends."""

from itertools import count
from typing import Any

import pycrdt
import pytest

from pecia.features.wiki.live.core.crdt import LiveText, new_server_client_id
from pecia.features.wiki.live.core.lib0 import encode_bytes, encode_varuint
from pecia.features.wiki.live.core.validate import UpdateValidator, UpdateVerdict
from pecia.kernel.errors import Conflict, Forbidden, InvalidFormat, PayloadTooLarge

HOUSE = new_server_client_id()
ANA, BO = "principal-ana", "principal-bo"


def judge(text: LiveText, **given: Any) -> UpdateValidator:
    return UpdateValidator(
        LiveText(text.state), given.get("owners", {}), given.get("most", 1000), 0
    )


def begun(text: str = "ab🐝c") -> LiveText:
    return LiveText.create(text, HOUSE)


def written(words: str, *, left: int | None = None, right: int | None = None) -> bytes:
    """Words of the client 7 between clocks of the house's own text."""
    flags, rest = 4, b""
    for bit, clock in ((0x80, left), (0x40, right)):
        if clock is not None:
            flags |= bit
            rest += encode_varuint(HOUSE) + encode_varuint(clock)
    if flags == 4:
        rest = encode_varuint(1) + encode_bytes(b"source")
    head = b"".join(map(encode_varuint, (1, 1, 7, 0)))
    return head + bytes((flags,)) + rest + encode_bytes(words.encode()) + encode_varuint(0)


def deleted(start: int, length: int, client: int = HOUSE) -> bytes:
    return b"".join(map(encode_varuint, (0, 1, client, 1, start, length)))


def test_a_change_between_its_neighbours_is_taken_and_tried() -> None:
    it = judge(begun())
    assert it.validate(written("x", left=0, right=1), ANA, may_write=True) is UpdateVerdict.TAKEN
    assert str(it.text) == "axb🐝c"
    assert it.claimed == {7: ANA}


def test_what_is_known_is_known_whoever_sends_it() -> None:
    text = begun()
    text.apply(written("x", left=0, right=1))
    text.apply(deleted(1, 1))
    for change in (written("x", left=0, right=1), deleted(1, 1), b"\x00\x00"):
        assert judge(text).validate(change, BO, may_write=False) is UpdateVerdict.KNOWN


def test_who_may_only_read_changes_nothing() -> None:
    for change in (written("x", left=0), deleted(0, 1)):
        it = judge(begun())
        assert it.validate(change, ANA, may_write=False) is UpdateVerdict.NOT_ALLOWED
        assert str(it.text) == "ab🐝c"


@pytest.mark.parametrize(
    "change",
    [
        written("x", left=5),
        written("x", right=99),
        deleted(4, 2),
        deleted(0, 1, client=8),
        b"".join(map(encode_varuint, (1, 1, 7, 3)))
        + b"\x84"
        + encode_varuint(HOUSE)
        + b"\x00\x01x\x00",
    ],
    ids=count(1),
)
def test_what_refers_to_something_unknown_comes_too_early(change: bytes) -> None:
    it = judge(begun())
    assert it.validate(change, ANA, may_write=True) is UpdateVerdict.TOO_EARLY
    assert not it.is_dirty


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
    it.validate(change, ANA, may_write=True)
    assert not it.is_dirty
    # Whole characters, and whoever opens the document anew reads the same.
    assert str(it.text).encode() == str(LiveText(it.text.state)).encode()


def test_no_change_stands_before_what_it_follows() -> None:
    text = begun("abcd")
    it = judge(text)
    with pytest.raises(InvalidFormat, match="stands before"):
        it.validate(written("x", left=2, right=0), ANA, may_write=True)
    assert it.is_dirty
    it.reset(text.state, [written("y", left=0, right=1)])
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
        judge(text).validate(change, ANA, may_write=True)


def test_who_has_not_seen_what_came_between_may_write_there() -> None:
    text = begun()
    text.apply(written("x", left=0, right=1))
    late = written("y", left=0, right=1).replace(encode_varuint(7), encode_varuint(8), 1)
    assert judge(text).validate(late, BO, may_write=True) is UpdateVerdict.TAKEN


def test_runs_that_wait_for_each_other_are_no_change() -> None:
    head = b"\x44" + encode_varuint(8) + encode_varuint(0) + encode_bytes(b"x")
    other = b"\x44" + encode_varuint(7) + encode_varuint(0) + encode_bytes(b"y")
    first, second = (b"".join(map(encode_varuint, (1, it, 0))) for it in (7, 8))
    change = encode_varuint(2) + first + head + second + other + encode_varuint(0)
    text = begun()
    with pytest.raises(InvalidFormat, match="follows itself"):
        judge(text).validate(change, ANA, may_write=True)
    # One that was stored before this was looked at is in nobody's way.
    text.apply(change)
    late = written("y", left=0, right=1).replace(encode_varuint(7), encode_varuint(9), 1)
    assert judge(text).validate(late, BO, may_write=True) is UpdateVerdict.TAKEN


def test_an_update_names_each_client_once() -> None:
    # A library that keeps the last part would delete one character, and another both.
    part = b"".join(map(encode_varuint, (HOUSE, 1)))
    twice = b"\x00\x02" + part + b"\x00\x01" + part + b"\x04\x01"
    run = b"".join(map(encode_varuint, (1, 7, 0))) + b"\x84" + encode_varuint(HOUSE) + b"\x00\x01x"
    for change in (twice, b"\x02" + run + run + b"\x00"):
        with pytest.raises(InvalidFormat, match="two sections"):
            judge(begun()).validate(change, ANA, may_write=True)


def test_an_id_belongs_to_who_wrote_under_it_first() -> None:
    change = written("x", left=0)
    with pytest.raises(Forbidden):
        judge(begun(), owners={7: BO}).validate(change, ANA, may_write=True)
    it = judge(begun(), owners={7: ANA})
    assert it.validate(change, ANA, may_write=True) is UpdateVerdict.TAKEN
    assert it.claimed == {}


def test_nobody_writes_as_the_house() -> None:
    text = begun()
    doc: pycrdt.Doc[pycrdt.Text] = pycrdt.Doc(client_id=HOUSE)
    doc.apply_update(text.state)
    doc.get("source", type=pycrdt.Text).insert(0, "x")
    with pytest.raises(Forbidden):
        judge(text).validate(doc.get_update(), ANA, may_write=True)


def test_the_text_of_an_earlier_life_does_not_come_back() -> None:
    earlier = LiveText.create("old words", new_server_client_id())
    it = judge(begun())
    with pytest.raises(Conflict):
        it.validate(earlier.state, ANA, may_write=True)
    with pytest.raises(Conflict):
        it.require_same_history(earlier.state_vector)
    it.require_same_history({})
    # Also of one that never had a word.
    with pytest.raises(Conflict):
        it.require_same_history(LiveText.create("", new_server_client_id()).state_vector)


def test_a_text_has_its_bound_and_so_has_its_history() -> None:
    with pytest.raises(PayloadTooLarge):
        judge(begun(), most=20).validate(written("x" * 20, left=0), ANA, may_write=True)
    it = judge(begun(), most=20)
    it.state_bytes = 79
    with pytest.raises(PayloadTooLarge):
        it.validate(deleted(0, 1), ANA, may_write=True)
