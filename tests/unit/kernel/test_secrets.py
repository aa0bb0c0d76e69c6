"""Sealed secrets and the key file: who can open what, and who can read the keys."""

import json
import os
import pickle
import stat
import threading
from pathlib import Path

import pytest

from pecia.kernel.errors import (
    Conflict,
    Forbidden,
    InvalidEnum,
    InvalidFormat,
    InvalidInput,
    NotFound,
    Unprocessable,
)
from pecia.kernel.secrets import Keyring, Purpose, key_file

SECRET = b"correct horse battery staple"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def test_a_secret_opens_for_its_own_row() -> None:
    ring = Keyring.fresh()
    sealed = ring.seal(Purpose.SOURCE, b"source/7", SECRET)
    assert SECRET not in sealed.ciphertext
    assert ring.open(Purpose.SOURCE, b"source/7", sealed) == SECRET


def test_a_secret_copied_to_another_row_does_not_open() -> None:
    ring = Keyring.fresh()
    sealed = ring.seal(Purpose.SOURCE, b"source/7", SECRET)
    with pytest.raises(Unprocessable) as caught:
        ring.open(Purpose.SOURCE, b"source/8", sealed)
    assert caught.value.fields == {"key_id": sealed.key_id}


def test_the_same_secret_is_never_sealed_the_same_way_twice() -> None:
    ring = Keyring.fresh()
    once, again = (ring.seal(Purpose.SOURCE, b"", SECRET) for _ in range(2))
    assert once.nonce != again.nonce
    assert once.ciphertext != again.ciphertext


def test_a_process_without_a_purpose_can_neither_open_nor_seal_for_it() -> None:
    ring = Keyring.fresh()
    sealed = ring.seal(Purpose.SOURCE, b"source/7", SECRET)
    api = ring.restrict_to({"upstream"})
    assert api.purposes == {Purpose.UPSTREAM}
    with pytest.raises(Forbidden, match="source"):
        api.open(Purpose.SOURCE, b"source/7", sealed)
    with pytest.raises(Forbidden):
        api.seal(Purpose.SOURCE, b"source/7", SECRET)
    with pytest.raises(Forbidden):
        api.sign("link", b"message")
    with pytest.raises(Forbidden):
        api.restrict_to({"source"})
    with pytest.raises(Unprocessable):
        api.open(Purpose.UPSTREAM, b"source/7", sealed)


def test_an_unknown_purpose_is_refused_by_name() -> None:
    for limited in (Keyring.fresh, Keyring.fresh().restrict_to):
        with pytest.raises(InvalidEnum) as caught:
            limited({"sources"})
        assert caught.value.fields["allowed"] == ["source", "upstream", "signing"]


def test_rotating_keeps_old_secrets_readable_and_says_which_are_old() -> None:
    ring = Keyring.fresh()
    old = ring.seal(Purpose.SOURCE, b"source/7", SECRET)
    rotated = ring.rotate(Purpose.SOURCE)
    assert not ring.is_old(Purpose.SOURCE, old)
    assert rotated.is_old(Purpose.SOURCE, old)
    assert rotated.open(Purpose.SOURCE, b"source/7", old) == SECRET
    new = rotated.reseal(Purpose.SOURCE, b"source/7", old)
    assert not rotated.is_old(Purpose.SOURCE, new)
    assert rotated.open(Purpose.SOURCE, b"source/7", new) == SECRET
    assert rotated.keys(Purpose.UPSTREAM) == ring.keys(Purpose.UPSTREAM)


def test_a_retired_key_opens_nothing_more() -> None:
    ring = Keyring.fresh()
    old = ring.seal(Purpose.SOURCE, b"source/7", SECRET)
    retired = ring.rotate(Purpose.SOURCE).retire(Purpose.SOURCE, old.key_id)
    with pytest.raises(Unprocessable, match=old.key_id):
        retired.open(Purpose.SOURCE, b"source/7", old)
    with pytest.raises(NotFound):
        retired.retire(Purpose.SOURCE, old.key_id)
    with pytest.raises(Conflict):
        retired.retire(Purpose.SOURCE, retired.keys(Purpose.SOURCE).current_id)


def test_a_signature_holds_for_one_message_in_one_context() -> None:
    ring = Keyring.fresh()
    signature = ring.sign("link", b"message")
    assert ring.is_valid_signature("link", b"message", signature)
    assert not ring.is_valid_signature("link", b"massage", signature)
    assert not ring.is_valid_signature("cursor", b"message", signature)
    assert not Keyring.fresh().is_valid_signature("link", b"message", signature)


def test_a_signature_outlives_rotation_but_not_retirement() -> None:
    ring = Keyring.fresh()
    signature = ring.sign("link", b"message")
    rotated = ring.rotate(Purpose.SIGNING)
    assert rotated.is_valid_signature("link", b"message", signature)
    retired = rotated.retire(Purpose.SIGNING, signature.key_id)
    assert not retired.is_valid_signature("link", b"message", signature)


def test_nothing_shows_or_carries_away_a_secret() -> None:
    ring = Keyring.fresh()
    sealed = ring.seal(Purpose.SOURCE, b"source/7", SECRET)
    signature = ring.sign("link", b"message")
    assert repr(ring) == "Keyring(signing, source, upstream)"
    shown = repr([ring, ring.keys(Purpose.SOURCE), sealed, signature])
    for hidden in (*ring.keys(Purpose.SOURCE).key_by_id.values(), sealed.ciphertext, signature.mac):
        assert repr(hidden) not in shown
    with pytest.raises(TypeError):
        pickle.dumps(ring)


def test_a_key_file_is_read_back_as_it_was_written(path: Path) -> None:
    ring = Keyring.fresh().rotate(Purpose.SOURCE)
    key_file.create(path, ring)
    loaded = key_file.load(path)
    assert loaded.purposes == ring.purposes
    assert all(loaded.keys(it) == ring.keys(it) for it in ring.purposes)


def test_a_file_for_another_process_holds_only_its_purposes(path: Path) -> None:
    ring = Keyring.fresh()
    key_file.create(path, ring.restrict_to({"upstream", "signing"}))
    assert key_file.load(path).purposes == {Purpose.UPSTREAM, Purpose.SIGNING}
    assert "source" not in path.read_text()


def test_a_key_file_is_private_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        key_file.create(path, Keyring.fresh())
        key_file.update(path, lambda ring: ring.rotate(Purpose.SOURCE))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o620, 0o601])
def test_a_key_file_that_others_can_reach_is_refused(path: Path, mode: int) -> None:
    key_file.create(path, Keyring.fresh())
    path.chmod(mode)
    with pytest.raises(InvalidInput) as caught:
        key_file.load(path)
    assert caught.value.fields == {"field": "key_file", "expected": "0600", "got": f"{mode:04o}"}


def test_an_existing_key_file_is_never_overwritten(path: Path) -> None:
    key_file.create(path, Keyring.fresh())
    before = path.read_bytes()
    with pytest.raises(Conflict):
        key_file.create(path, Keyring.fresh())
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_key_file_is_not_found(path: Path) -> None:
    with pytest.raises(NotFound):
        key_file.load(path)


def test_a_change_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    key_file.create(path, Keyring.fresh())
    before = path.read_bytes()
    with pytest.raises(NotFound):
        key_file.update(path, lambda ring: ring.retire(Purpose.SOURCE, "none"))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_rotations_at_the_same_time_lose_no_key(path: Path) -> None:
    key_file.create(path, Keyring.fresh())
    ready = threading.Barrier(4)

    def rotate() -> None:
        ready.wait(30)
        for _ in range(5):
            key_file.update(path, lambda ring: ring.rotate(Purpose.SOURCE))

    threads = [threading.Thread(target=rotate) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(key_file.load(path).keys(Purpose.SOURCE).key_by_id) == 21


KEY = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="
GOOD = {"version": 1, "purposes": {"source": {"current": "k1", "keys": {"k1": KEY}}}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[" * 100_000,
        json.dumps([KEY]).encode(),
        json.dumps({**GOOD, "version": 2}).encode(),
        json.dumps({"version": 1, "purposes": [KEY]}).encode(),
        json.dumps({"version": 1, "purposes": {"other": GOOD["purposes"]}}).encode(),
        json.dumps({"version": 1, "purposes": {"source": KEY}}).encode(),
        json.dumps({"version": 1, "purposes": {"source": {"keys": {"k1": KEY}}}}).encode(),
        json.dumps(GOOD).replace('"current": "k1"', '"current": "k2"').encode(),
        json.dumps(GOOD).replace(KEY, KEY[4:]).encode(),
        json.dumps(GOOD).replace(KEY, f"?{KEY}").encode(),
        json.dumps(GOOD).replace(f'"{KEY}"', "7").encode(),
        json.dumps(GOOD).encode()[:-1],
    ],
    ids=lambda content: f"{len(content)} bytes",
)
def test_a_damaged_key_file_is_refused_without_being_repeated(path: Path, content: bytes) -> None:
    path.write_bytes(json.dumps(GOOD).encode())
    path.chmod(0o600)
    assert key_file.load(path).purposes == {Purpose.SOURCE}
    path.write_bytes(content)
    with pytest.raises(InvalidFormat) as caught:
        key_file.load(path)
    assert caught.value.fields["field"] == "key_file"
    assert caught.value.__context__ is None
    assert KEY[:16] not in str(caught.value)
