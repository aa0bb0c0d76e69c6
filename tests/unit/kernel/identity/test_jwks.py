"""The keys of an issuer: rotation, cool-down, a dead issuer, and many callers at once."""

import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from pecia.kernel.errors import AuthRequired, PeciaError, Unavailable, UpstreamError
from pecia.kernel.identity.issuer import Issuer
from pecia.kernel.identity.jwk import MAX_JWKS_BYTES, Jwk, choose_key, parse_key_set
from pecia.kernel.identity.jwks import FetchJwks, JwksCachePolicy
from pecia.kernel.identity.oidc import TokenVerifier
from tests.issuer import AUDIENCE, LoopbackIssuer, SigningKey, fetch, serve

pytestmark = pytest.mark.anyio

FRESHNESS = JwksCachePolicy(ttl_s=600, cool_down_s=30, max_stale_s=3600, timeout_s=5)
OLD = SigningKey.new("old", "ES256")
NEW = SigningKey.new("new", "ES256")
RSA = SigningKey.new("rsa", "RS256")


@dataclass(slots=True)
class Clock:
    seconds: float = 0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def issuer() -> Generator[LoopbackIssuer]:
    with serve(OLD) as issuer:
        yield issuer


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def verifier(issuer: LoopbackIssuer, clock: Clock) -> TokenVerifier:
    return reading(issuer, clock)


def reading(issuer: LoopbackIssuer, clock: Clock, fetch_keys: FetchJwks = fetch) -> TokenVerifier:
    described = Issuer(
        issuer=issuer.url, audiences=(AUDIENCE,), jwks_url=issuer.jwks_url, tenant="acme"
    )
    return TokenVerifier([described], fetch_keys, freshness=FRESHNESS, clock=clock)


async def refused(verifier: TokenVerifier, token: str) -> PeciaError:
    with pytest.raises(PeciaError) as caught:
        await verifier.verify(token)
    return caught.value


async def test_keys_are_read_once_for_many_tokens(
    issuer: LoopbackIssuer, verifier: TokenVerifier
) -> None:
    for _ in range(5):
        await verifier.verify(issuer.token())
    assert issuer.hits == 1


async def test_callers_that_arrive_together_share_one_read(
    issuer: LoopbackIssuer, verifier: TokenVerifier
) -> None:
    subjects: list[str] = []

    async def verify() -> None:
        subjects.append((await verifier.verify(issuer.token())).subject)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(verify)
    assert subjects == ["ana"] * 10
    assert issuer.hits == 1


async def test_a_rotated_key_is_picked_up(
    issuer: LoopbackIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    await verifier.verify(issuer.token(OLD))
    issuer.keys = [NEW, OLD]
    clock.seconds += FRESHNESS.cool_down_s
    assert (await verifier.verify(issuer.token(NEW))).subject == "ana"
    assert (await verifier.verify(issuer.token(OLD))).subject == "ana"
    assert issuer.hits == 2


async def test_a_withdrawn_key_is_refused_once_the_keys_are_read_again(
    issuer: LoopbackIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    await verifier.verify(issuer.token(OLD))
    issuer.keys = [NEW]
    clock.seconds += FRESHNESS.ttl_s
    assert isinstance(await refused(verifier, issuer.token(OLD)), AuthRequired)
    assert (await verifier.verify(issuer.token(NEW))).subject == "ana"


async def test_unknown_keys_cannot_hammer_the_issuer(
    issuer: LoopbackIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    await verifier.verify(issuer.token())
    for number in range(100):
        token = issuer.forge({"kid": f"made up {number}"}, issuer.claims())
        assert isinstance(await refused(verifier, token), AuthRequired)
    assert issuer.hits == 1
    clock.seconds += FRESHNESS.cool_down_s
    for number in range(100):
        await refused(verifier, issuer.forge({"kid": f"made up {number}"}, issuer.claims()))
    assert issuer.hits == 2


async def test_a_mismatched_algorithm_never_asks_the_issuer(
    issuer: LoopbackIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    await verifier.verify(issuer.token())
    clock.seconds += FRESHNESS.cool_down_s
    mixed = issuer.forge({"alg": "EdDSA"}, issuer.claims())
    assert isinstance(await refused(verifier, mixed), AuthRequired)
    assert issuer.hits == 1


async def test_a_dead_issuer_keeps_its_known_keys_until_they_are_too_old(
    issuer: LoopbackIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    await verifier.verify(issuer.token())
    issuer.is_dead = True
    clock.seconds = FRESHNESS.max_stale_s - 1
    for _ in range(3):
        assert (await verifier.verify(issuer.token())).subject == "ana"
    assert issuer.hits == 2
    clock.seconds = FRESHNESS.max_stale_s
    assert isinstance(await refused(verifier, issuer.token()), Unavailable)
    issuer.is_dead = False
    clock.seconds += FRESHNESS.cool_down_s
    assert (await verifier.verify(issuer.token())).subject == "ana"


async def test_an_unknown_key_of_a_dead_issuer_is_to_be_tried_again(
    issuer: LoopbackIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    await verifier.verify(issuer.token(OLD))
    issuer.is_dead = True
    issuer.keys = [NEW]
    clock.seconds += FRESHNESS.cool_down_s
    error = await refused(verifier, issuer.token(NEW))
    assert isinstance(error, Unavailable)
    assert error.fields == {"retry_after_seconds": 30}
    clock.seconds += 10.5
    assert (await refused(verifier, issuer.token(NEW))).fields == {"retry_after_seconds": 20}
    assert issuer.hits == 2


async def test_an_issuer_that_was_never_read_is_unavailable(
    issuer: LoopbackIssuer, verifier: TokenVerifier
) -> None:
    issuer.is_dead = True
    assert isinstance(await refused(verifier, issuer.token()), Unavailable)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"keys": {}}', b"[" * 100_000, b" " * 300_000]
)
async def test_an_answer_that_is_no_key_set_counts_as_no_answer(
    issuer: LoopbackIssuer, verifier: TokenVerifier, clock: Clock, body: bytes
) -> None:
    await verifier.verify(issuer.token())
    issuer.body = body
    clock.seconds += FRESHNESS.ttl_s
    assert (await verifier.verify(issuer.token())).subject == "ana"
    assert issuer.hits == 2


async def test_an_empty_key_set_withdraws_every_key(
    issuer: LoopbackIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    await verifier.verify(issuer.token())
    issuer.body = b'{"keys": []}'
    clock.seconds += FRESHNESS.ttl_s
    assert isinstance(await refused(verifier, issuer.token()), AuthRequired)


async def test_a_good_key_does_not_wait_for_a_slow_refresh(
    issuer: LoopbackIssuer, clock: Clock
) -> None:
    started, may_end = anyio.Event(), anyio.Event()
    reads = 0

    async def slow_from_the_second_on(url: str) -> bytes:
        nonlocal reads
        reads += 1
        if reads > 1:
            started.set()
            await may_end.wait()
        return await fetch(url)

    verifier = reading(issuer, clock, slow_from_the_second_on)
    await verifier.verify(issuer.token())
    clock.seconds += FRESHNESS.ttl_s
    finished: list[str] = []

    async def verify(name: str) -> None:
        await verifier.verify(issuer.token())
        finished.append(name)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(verify, "the one who refreshes")
            await started.wait()
            await verify("the next one")
            may_end.set()
    assert finished == ["the next one", "the one who refreshes"]
    assert reads == 2


async def test_a_caller_that_hangs_up_does_not_spoil_the_read_for_the_others(
    issuer: LoopbackIssuer, clock: Clock
) -> None:
    started, may_end = anyio.Event(), anyio.Event()

    async def slow(url: str) -> bytes:
        started.set()
        await may_end.wait()
        return await fetch(url)

    verifier = reading(issuer, clock, slow)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            impatient = anyio.CancelScope()

            async def hang_up() -> None:
                with impatient:
                    await verifier.verify(issuer.token())

            group.start_soon(hang_up)
            await started.wait()
            impatient.cancel()
            may_end.set()
    assert (await verifier.verify(issuer.token())).subject == "ana"
    assert issuer.hits == 1


async def test_a_fetch_that_never_ends_is_cut_off(issuer: LoopbackIssuer, clock: Clock) -> None:
    async def hang(url: str) -> bytes:
        await anyio.sleep_forever()
        raise AssertionError(url)

    described = Issuer(issuer=issuer.url, audiences=("a",), jwks_url=issuer.jwks_url, tenant="acme")
    impatient = JwksCachePolicy(timeout_s=0.01)
    verifier = TokenVerifier([described], hang, freshness=impatient, clock=clock)
    with anyio.fail_after(10):
        assert isinstance(await refused(verifier, issuer.token()), Unavailable)


async def test_issuers_that_share_an_address_share_its_keys(
    issuer: LoopbackIssuer, clock: Clock
) -> None:
    names = (issuer.url, "https://second.example")
    described = [
        Issuer(issuer=name, audiences=(AUDIENCE,), jwks_url=issuer.jwks_url, tenant="acme")
        for name in names
    ]
    verifier = TokenVerifier(described, fetch, freshness=FRESHNESS, clock=clock)
    for name in names:
        assert (await verifier.verify(issuer.token(iss=name))).issuer == name
    assert issuer.hits == 1


async def test_a_changed_key_file_is_read_again(
    issuer: LoopbackIssuer, clock: Clock, tmp_path: Path
) -> None:
    keys = tmp_path / "jwks.json"
    keys.write_bytes(issuer.jwks())
    described = Issuer(issuer=issuer.url, audiences=(AUDIENCE,), jwks_file=keys, tenant="acme")
    verifier = TokenVerifier([described], fetch, clock=clock)
    await verifier.verify(issuer.token(OLD))
    issuer.keys = [NEW]
    keys.write_bytes(issuer.jwks())
    clock.seconds += 1
    assert (await verifier.verify(issuer.token(NEW))).subject == "ana"
    assert isinstance(await refused(verifier, issuer.token(OLD)), AuthRequired)
    keys.unlink()
    clock.seconds += 1
    assert (await verifier.verify(issuer.token(NEW))).subject == "ana"


async def test_a_token_need_not_name_the_only_key_that_fits(
    issuer: LoopbackIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    unnamed = issuer.forge({"kid": None}, issuer.claims())
    assert (await verifier.verify(unnamed)).subject == "ana"
    issuer.keys = [OLD, NEW]
    clock.seconds += FRESHNESS.ttl_s
    with pytest.raises(AuthRequired, match="which of its issuer's keys"):
        await verifier.verify(unnamed)


def test_keys_that_must_not_verify_are_passed_over() -> None:
    weak = SigningKey("weak", "RS256", rsa.generate_private_key(65537, 1024))
    entries = [
        {"kty": "oct", "kid": "shared", "k": "c2VjcmV0", "alg": "HS256"},
        {**OLD.jwk(), "use": "enc"},
        {**OLD.jwk(), "key_ops": ["sign"]},
        {**OLD.jwk(), "crv": "secp256k1"},
        {**OLD.jwk(), "x": "AAAA"},
        {**OLD.jwk(), "x": 7},
        {**OLD.jwk(), "kty": "EC2"},
        {"kty": "RSA", "n": "!", "e": "AQAB"},
        {"kty": "RSA"},
        weak.jwk(),
        "a text",
        {**NEW.jwk(), "d": "AAAA", "key_ops": ["verify"]},
    ]
    found = parse_key_set(json.dumps({"keys": entries}).encode())
    assert [key.kid for key in found] == ["new"]
    assert not found[0].key.is_private


def published(*entries: dict[str, Any]) -> tuple[Jwk, ...]:
    return parse_key_set(json.dumps({"keys": entries}).encode())


def test_a_key_published_without_an_algorithm_serves_every_algorithm_of_its_type() -> None:
    unnamed = {name: value for name, value in RSA.jwk().items() if name != "alg"}
    keys = published(unnamed)
    assert choose_key(keys, RSA.kid, "RS256") == choose_key(keys, RSA.kid, "PS512") == keys[0]
    with pytest.raises(AuthRequired, match="algorithm"):
        choose_key(keys, RSA.kid, "ES256")


def test_a_key_published_for_one_algorithm_serves_no_other() -> None:
    keys = published(RSA.jwk())
    assert choose_key(keys, RSA.kid, "RS256") == keys[0]
    with pytest.raises(AuthRequired, match="algorithm"):
        choose_key(keys, RSA.kid, "PS256")


def test_the_newer_name_of_the_edwards_algorithm_fits_the_older() -> None:
    edwards = SigningKey.new("ed", "EdDSA")
    keys = published({**edwards.jwk(), "alg": "Ed25519"})
    assert choose_key(keys, "ed", "EdDSA") == keys[0]


def test_a_key_set_that_is_too_large_is_not_parsed() -> None:
    with pytest.raises(UpstreamError, match="bytes"):
        parse_key_set(b" " * (MAX_JWKS_BYTES + 1))
