"""Laws of sealed secrets: what was sealed opens, and whatever was changed does not."""

from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pecia.kernel.errors import PeciaError, Unprocessable
from pecia.kernel.secrets import Keyring, Purpose, SealedSecret

few = settings(max_examples=50, deadline=None)
purposes = st.sampled_from(Purpose)
identities = st.binary(max_size=40)
plaintexts = st.binary(max_size=200)
RING = Keyring.fresh()


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@few
@given(purposes, identities, plaintexts)
def test_what_was_sealed_opens_as_it_was(
    purpose: Purpose, identity: bytes, plaintext: bytes
) -> None:
    assert RING.open(purpose, identity, RING.seal(purpose, identity, plaintext)) == plaintext


@few
@given(purposes, identities, plaintexts, st.data())
def test_no_bit_of_a_sealed_secret_can_change(
    purpose: Purpose, identity: bytes, plaintext: bytes, data: st.DataObject
) -> None:
    sealed = RING.seal(purpose, identity, plaintext)
    part = data.draw(st.sampled_from(["nonce", "ciphertext", "key_id"]))
    content = sealed.key_id.encode() if part == "key_id" else getattr(sealed, part)
    changed = flipped(content, data.draw(st.integers(0, 8 * len(content) - 1)))
    value = changed.decode("latin-1") if part == "key_id" else changed
    with pytest.raises(Unprocessable):
        RING.open(purpose, identity, replace(sealed, **{part: value}))


@few
@given(identities, plaintexts, st.binary(max_size=12), st.integers(0, 300))
def test_neither_a_cut_nor_another_nonce_opens(
    identity: bytes, plaintext: bytes, nonce: bytes, length: int
) -> None:
    sealed = RING.seal(Purpose.SOURCE, identity, plaintext)
    for changed in (
        replace(sealed, ciphertext=sealed.ciphertext[: length % len(sealed.ciphertext)]),
        replace(sealed, nonce=nonce),
    ):
        with pytest.raises(Unprocessable):
            RING.open(Purpose.SOURCE, identity, changed)


@few
@given(purposes, purposes, identities, identities, st.binary(min_size=8, max_size=200))
def test_a_secret_opens_for_its_purpose_and_row_alone_and_errors_tell_nothing(
    purpose: Purpose, other: Purpose, identity: bytes, other_identity: bytes, plaintext: bytes
) -> None:
    assume((purpose, identity) != (other, other_identity))
    sealed = RING.seal(purpose, identity, plaintext)
    with pytest.raises(Unprocessable) as caught:
        RING.open(other, other_identity, sealed)
    said = f"{caught.value} {caught.value!r} {caught.value.payload()}"
    assert repr(plaintext)[2:-1] not in said
    assert plaintext.hex() not in said


@few
@given(identities, identities)
def test_no_two_rows_are_bound_by_the_same_bytes(identity: bytes, other: bytes) -> None:
    """Joining the parts is injective, also for identities that imitate the joint."""
    assume(identity != other)
    for ours, theirs in ((identity, other), (b"\0" + identity, identity)):
        sealed = RING.seal(Purpose.SOURCE, ours, b"secret")
        with pytest.raises(PeciaError):
            RING.open(Purpose.SOURCE, theirs, sealed)


@few
@given(st.lists(purposes, max_size=6), purposes, identities, plaintexts)
def test_rotations_lose_nothing_and_resealing_makes_everything_new(
    rotations: list[Purpose], purpose: Purpose, identity: bytes, plaintext: bytes
) -> None:
    sealed = RING.seal(purpose, identity, plaintext)
    rotated = reduce(Keyring.rotate, rotations, RING)
    assert rotated.open(purpose, identity, sealed) == plaintext
    assert rotated.is_old(purpose, sealed) == (purpose in rotations)
    renewed = rotated.reseal(purpose, identity, sealed)
    assert not rotated.is_old(purpose, renewed)
    assert rotated.open(purpose, identity, renewed) == plaintext


@few
@given(st.sets(purposes), purposes, identities, plaintexts)
def test_a_limited_keyring_opens_what_it_was_given_and_no_more(
    given_purposes: set[Purpose], purpose: Purpose, identity: bytes, plaintext: bytes
) -> None:
    sealed = RING.seal(purpose, identity, plaintext)
    limited = RING.restrict_to(given_purposes)

    def opens(it: SealedSecret) -> bool:
        try:
            return limited.open(purpose, identity, it) == plaintext
        except PeciaError:
            return False

    assert opens(sealed) == (purpose in given_purposes)


@few
@given(st.text(), st.text(), plaintexts, plaintexts)
def test_a_signature_is_ours_for_its_context_and_message_alone(
    context: str, other_context: str, message: bytes, other_message: bytes
) -> None:
    signature = RING.sign(context, message)
    is_same = (context, message) == (other_context, other_message)
    assert RING.is_valid_signature(context, message, signature)
    assert RING.is_valid_signature(other_context, other_message, signature) == is_same
    assert not RING.is_valid_signature(context, message, replace(signature, mac=signature.mac[:-1]))


@few
@given(purposes, identities, plaintexts)
def test_a_box_opens_for_who_holds_the_key_and_after_it_was_rotated(
    purpose: Purpose, identity: bytes, plaintext: bytes
) -> None:
    sealed = RING.sealing_key(purpose).seal(purpose, identity, plaintext)
    assert RING.open_sealed_box(purpose, identity, sealed) == plaintext
    assert RING.rotate(purpose).open_sealed_box(purpose, identity, sealed) == plaintext


@few
@given(purposes, identities, plaintexts, st.data())
def test_no_bit_of_a_box_can_change_and_no_other_key_opens_it(
    purpose: Purpose, identity: bytes, plaintext: bytes, data: st.DataObject
) -> None:
    sealed = RING.sealing_key(purpose).seal(purpose, identity, plaintext)
    part = data.draw(st.sampled_from(["nonce", "ciphertext"]))
    content = getattr(sealed, part)
    changed = flipped(content, data.draw(st.integers(0, 8 * len(content) - 1)))
    other = RING.rotate(purpose).sealing_key(purpose)
    for ring, bound_to, found in (
        (RING, identity, replace(sealed, **{part: changed})),
        (RING, identity + b"x", sealed),
        (Keyring.fresh(), identity, sealed),
        (RING, identity, replace(other.seal(purpose, identity, plaintext), key_id=sealed.key_id)),
    ):
        with pytest.raises(Unprocessable):
            ring.open_sealed_box(purpose, bound_to, found)
