"""Access tokens: what a good one says, and every way in which a bad one is refused."""

import json
from base64 import urlsafe_b64decode
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.errors import AuthRequired, Conflict
from pecia.kernel.identity.oidc import ClaimNames, Claims, Issuer, TokenVerifier, list_principals
from tests.issuer import (
    AUDIENCE,
    LoopbackIssuer,
    SigningKey,
    base64url,
    encoded,
    fetch,
    forge_hmac,
    public_pem,
    serve,
)

pytestmark = pytest.mark.anyio

RSA = SigningKey.new("rsa-1", "RS256")
CURVE = SigningKey.new("ec-1", "ES256")
EDWARDS = SigningKey.new("ed-1", "EdDSA")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def issuer() -> Generator[LoopbackIssuer]:
    with serve(RSA, CURVE, EDWARDS) as issuer:
        yield issuer


def described(issuer: LoopbackIssuer, **changed: Any) -> Issuer:
    good: dict[str, Any] = {
        "issuer": issuer.url,
        "audiences": (AUDIENCE,),
        "jwks_url": issuer.jwks_url,
        "tenant": "acme",
    }
    return Issuer(**{**good, **changed})


def verifier(issuer: LoopbackIssuer, **changed: Any) -> TokenVerifier:
    return TokenVerifier([described(issuer, **changed)], fetch)


async def refusal(issuer: LoopbackIssuer, token: str, **changed: Any) -> str:
    """Why the token is refused. No refusal repeats the token."""
    with pytest.raises(AuthRequired) as caught:
        await verifier(issuer, **changed).verify(token)
    assert caught.value.fields == {"challenge": "invalid_token"}
    assert token[-20:] not in str(caught.value) or not token
    return str(caught.value)


@pytest.mark.parametrize("key", [RSA, CURVE, EDWARDS], ids=lambda key: key.algorithm)
async def test_a_good_token_says_who_bears_it(issuer: LoopbackIssuer, key: SigningKey) -> None:
    token = issuer.token(
        key,
        exp=4_000_000_000,
        jti="t-1",
        email="Ana@Example.com",
        email_verified=True,
        upn="ana@corp.example",
        groups=["g1", "g2"],
        scope="openid pecia.search",
    )
    assert await verifier(issuer).verify(token) == Claims(
        issuer=issuer.url,
        subject="ana",
        tenant="acme",
        email="Ana@Example.com",
        email_is_verified=True,
        upn="ana@corp.example",
        groups=("g1", "g2"),
        has_more_groups=False,
        scopes=frozenset({"openid", "pecia.search"}),
        expires_at=datetime.fromtimestamp(4_000_000_000, UTC),
        token_id="t-1",
    )


async def test_the_newer_name_of_the_edwards_algorithm_is_accepted(issuer: LoopbackIssuer) -> None:
    token = issuer.forge({"alg": "Ed25519"}, issuer.claims(), EDWARDS)
    assert (await verifier(issuer).verify(token)).subject == "ana"


async def test_one_audience_of_several_is_enough(issuer: LoopbackIssuer) -> None:
    token = issuer.token(aud=["https://other.example", AUDIENCE])
    assert (await verifier(issuer).verify(token)).subject == "ana"


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": None},
        {"aud": []},
        {"aud": ""},
        {"aud": "https://other.example"},
        {"aud": f"{AUDIENCE}/"},
        {"aud": {AUDIENCE: True}},
        {"iss": None},
        {"iss": "https://other.example"},
        {"iss": [AUDIENCE]},
        {"exp": None},
        {"exp": 1},
        {"exp": "4000000000"},
        {"exp": True},
        {"exp": float("inf")},
        {"exp": 10**400},
        {"nbf": 4_000_000_000},
        {"nbf": "soon"},
        {"iat": 4_000_000_000},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"email": ["ana@example.com"]},
        {"groups": {"g1": True}},
        {"groups": ["g1", 2]},
        {"scope": 7},
        {"jti": 7},
    ],
    ids=str,
)
async def test_a_signed_token_with_a_wrong_claim_is_refused(
    issuer: LoopbackIssuer, changed: dict[str, Any]
) -> None:
    good = issuer.claims()
    claims = {name: it for name, it in {**good, **changed}.items() if it is not None}
    await refusal(issuer, issuer.forge({}, claims))


async def test_the_leeway_forgives_a_clock_that_is_a_little_off(issuer: LoopbackIssuer) -> None:
    now = 2_000_000_000
    token = issuer.token(iat=now + 25, nbf=now + 25, exp=now - 25)

    def at(seconds: int, leeway_s: int) -> TokenVerifier:
        return TokenVerifier(
            [described(issuer, leeway_s=leeway_s)], fetch, now=lambda: now + seconds
        )

    assert (await at(0, 30).verify(token)).subject == "ana"
    for seconds, leeway_s in ((0, 10), (6, 30), (-6, 30)):
        with pytest.raises(AuthRequired):
            await at(seconds, leeway_s).verify(token)


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "NONE", "", "HS256", "HS512", "RS1", "ES256K"]
)
async def test_no_other_algorithm_is_accepted(issuer: LoopbackIssuer, algorithm: str) -> None:
    header = {"alg": algorithm, "kid": RSA.kid}
    unsigned = f"{encoded(header)}.{encoded(issuer.claims())}."
    for token in (unsigned, issuer.forge(header, issuer.claims())):
        await refusal(issuer, token)


async def test_a_public_key_is_no_shared_secret(issuer: LoopbackIssuer) -> None:
    for secret in (public_pem(RSA), public_pem(RSA).strip(), json.dumps(RSA.jwk()).encode()):
        for header in ({"alg": "HS256", "kid": RSA.kid}, {"alg": "HS256"}):
            await refusal(issuer, forge_hmac(header, issuer.claims(), secret))


async def test_an_issuer_may_use_only_the_algorithms_it_was_given(issuer: LoopbackIssuer) -> None:
    only_rsa = frozenset({"RS256"})
    assert (await verifier(issuer, algorithms=only_rsa).verify(issuer.token())).subject == "ana"
    assert "algorithm" in await refusal(issuer, issuer.token(CURVE), algorithms=only_rsa)


async def test_an_algorithm_must_be_that_of_the_key_it_names(issuer: LoopbackIssuer) -> None:
    for signer, claimed in ((RSA, CURVE), (CURVE, RSA), (CURVE, EDWARDS), (EDWARDS, RSA)):
        mixed = {"alg": signer.algorithm, "kid": claimed.kid}
        assert "algorithm" in await refusal(issuer, issuer.forge(mixed, issuer.claims(), signer))


async def test_a_token_signed_by_someone_else_is_refused(issuer: LoopbackIssuer) -> None:
    for ours in (RSA, CURVE, EDWARDS):
        stranger = SigningKey.new(ours.kid, ours.algorithm)
        assert "signature" in await refusal(issuer, issuer.token(stranger))


async def test_a_token_of_one_issuer_with_the_keys_of_another_is_refused(
    issuer: LoopbackIssuer,
) -> None:
    with serve(SigningKey.new("ec-2", "ES256")) as other:
        both = TokenVerifier([described(issuer), described(other, tenant="other")], fetch)
        assert (await both.verify(other.token())).tenant == "other"
        with pytest.raises(AuthRequired):
            await both.verify(other.token(iss=issuer.url))


async def test_keys_that_a_token_brings_along_are_ignored(issuer: LoopbackIssuer) -> None:
    stranger = SigningKey.new("stranger", "ES256")
    with serve(stranger) as elsewhere:
        brought = {
            "jku": elsewhere.jwks_url,
            "x5u": elsewhere.jwks_url,
            "jwk": stranger.jwk(),
            "x5c": ["A" * 2000],
        }
        forged = issuer.forge(brought, issuer.claims(), stranger)
        assert "does not publish" in await refusal(issuer, forged)
        named_as_ours = issuer.forge({**brought, "kid": CURVE.kid}, issuer.claims(), stranger)
        assert "signature" in await refusal(issuer, named_as_ours)
        genuine = issuer.forge(brought, issuer.claims(), CURVE)
        assert (await verifier(issuer).verify(genuine)).subject == "ana"
        assert elsewhere.hits == 0


@pytest.mark.parametrize(
    "header",
    [
        {"crit": ["exp"], "exp": 1},
        {"crit": ["b64"], "b64": False},
        {"crit": []},
        {"b64": True},
        {"cty": "JWT"},
        {"enc": "A256GCM"},
        {"zip": "DEF"},
        {"typ": "logout+jwt"},
        {"typ": "dpop+jwt"},
        {"typ": 7},
        {"kid": 7},
        {"kid": ["rsa-1"]},
        {"alg": 7},
        {"alg": None},
    ],
    ids=str,
)
async def test_a_header_that_asks_for_more_than_a_plain_signature_is_refused(
    issuer: LoopbackIssuer, header: dict[str, Any]
) -> None:
    await refusal(issuer, issuer.forge(header, issuer.claims()))


@pytest.mark.parametrize("kind", ["JWT", "jwt", "at+jwt", "application/at+jwt", None])
async def test_the_types_of_access_tokens_are_accepted(
    issuer: LoopbackIssuer, kind: str | None
) -> None:
    token = issuer.forge({"typ": kind}, issuer.claims())
    assert (await verifier(issuer).verify(token)).subject == "ana"


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "....",
        "e30.e30.e30",
        "a.b.c",
        "peciapat_0",
        "é.é.é",
        "\ud800.e30.AA",
        f"{encoded(['alg'])}.{encoded({})}.AA",
        f"{encoded(['alg', 'b64'])}.{encoded({})}.AA",
        f"{encoded('alg')}.{encoded({})}.AA",
        f"{encoded({'alg': 'RS256'})}.{encoded([])}.AA",
        f"{encoded({'alg': 'RS256'})}.{encoded(None)}.AA",
        # A nested, encrypted token has five parts.
        f"{encoded({'alg': 'RSA-OAEP', 'enc': 'A256GCM'})}.AA.AA.AA.AA",
    ],
)
async def test_what_is_not_a_signed_token_is_refused(issuer: LoopbackIssuer, text: str) -> None:
    await refusal(issuer, text)


async def test_json_that_is_nested_too_deeply_is_refused(issuer: LoopbackIssuer) -> None:
    deep = base64url(b"[" * 4000)
    await refusal(issuer, f"{deep}.{encoded({})}.AA")
    await refusal(issuer, f"{encoded({'alg': 'RS256'})}.{deep}.AA")


async def test_every_change_of_the_content_is_noticed(issuer: LoopbackIssuer) -> None:
    header, claims, signature = issuer.token(CURVE).split(".")
    richer = {**json.loads(urlsafe_b64decode(claims + "==")), "sub": "bo"}
    assert "signature" in await refusal(issuer, f"{header}.{encoded(richer)}.{signature}")
    for without in (f"{header}.{claims}.", f"{header}.{claims}", f"{header}.{claims}.{signature}="):
        await refusal(issuer, without)


async def test_an_oversized_token_is_refused_before_it_is_read(issuer: LoopbackIssuer) -> None:
    long = issuer.token(padding="x" * 20_000)
    assert "longer" in await refusal(issuer, long)
    assert "longer" in await refusal(issuer, "x" * 20_000)
    assert (await verifier(issuer, max_token_bytes=40_000).verify(long)).subject == "ana"


async def test_each_issuer_has_its_own_size(issuer: LoopbackIssuer) -> None:
    with serve(SigningKey.new("ec-2", "ES256")) as other:
        roomy = described(other, max_token_bytes=40_000)
        both = TokenVerifier([described(issuer), roomy], fetch)
        assert (await both.verify(other.token(padding="x" * 20_000))).subject == "ana"
        with pytest.raises(AuthRequired, match="longer"):
            await both.verify(issuer.token(padding="x" * 20_000))


async def test_a_token_without_an_id_is_named_by_what_was_signed(issuer: LoopbackIssuer) -> None:
    once, again = issuer.token(CURVE, sub="ana"), issuer.token(CURVE, sub="bo")
    ids = [(await verifier(issuer).verify(token)).token_id for token in (once, once, again)]
    assert ids[0] == ids[1] != ids[2]
    # The twin (r, n - s) of a signature is good too, and must not be another token.
    header, claims, signature = once.split(".")
    raw = urlsafe_b64decode(signature + "==")
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    twin_s = (order - int.from_bytes(raw[32:])).to_bytes(32)
    twin = f"{header}.{claims}.{base64url(raw[:32] + twin_s)}"
    assert (await verifier(issuer).verify(twin)).token_id == ids[0]


async def test_the_tenant_may_come_from_a_claim(issuer: LoopbackIssuer) -> None:
    by_claim = {"tenant": None, "tenant_claim": "org.name"}
    token = issuer.token(org={"name": "globex"})
    assert (await verifier(issuer, **by_claim).verify(token)).tenant == "globex"
    for org in (None, {"name": ""}, {"name": 7}, "globex"):
        await refusal(issuer, issuer.token(org=org), **by_claim)


async def test_claims_are_found_where_the_issuer_puts_them(issuer: LoopbackIssuer) -> None:
    names = ClaimNames(
        subject="oid",
        email="mail",
        upn="preferred_username",
        groups="https://example.com/groups",
        scopes=("scp", "realm_access.roles"),
    )
    token = issuer.token(
        oid="6f1c",
        mail="ana@example.com",
        preferred_username="ana@corp",
        **{"https://example.com/groups": "only one"},
        scp=["pecia.read", "pecia.search"],
        realm_access={"roles": ["pecia.admin"]},
    )
    claims = await verifier(issuer, names=names).verify(token)
    assert (claims.subject, claims.email, claims.upn) == ("6f1c", "ana@example.com", "ana@corp")
    assert claims.groups == ("only one",)
    assert claims.scopes == {"pecia.read", "pecia.search", "pecia.admin"}


async def test_scopes_are_gathered_from_every_usual_place(issuer: LoopbackIssuer) -> None:
    for said in (
        {"scope": "a b"},
        {"scp": "a b"},
        {"scp": ["a", "b"]},
        {"scp": "a", "roles": ["b"]},
    ):
        assert (await verifier(issuer).verify(issuer.token(**said))).scopes == {"a", "b"}


async def test_the_words_of_a_role_are_not_roles(issuer: LoopbackIssuer) -> None:
    claims = await verifier(issuer).verify(issuer.token(roles=["not pecia.admin"]))
    assert claims.scopes == {"not pecia.admin"}


async def test_groups_that_were_left_out_are_reported(issuer: LoopbackIssuer) -> None:
    token = issuer.token(_claim_names={"groups": "src1"}, _claim_sources={"src1": {}})
    claims = await verifier(issuer).verify(token)
    assert claims.groups == ()
    assert claims.has_more_groups


async def test_the_bearer_is_every_principal_the_token_proves(issuer: LoopbackIssuer) -> None:
    token = issuer.token(
        email="Ana@Example.com", email_verified=True, upn="Ana@Corp", groups=["G1", "G1", "g1"]
    )
    scope = issuer.url.replace(":", "%3A")
    found = list_principals(await verifier(issuer).verify(token))
    assert [str(it) for it in found] == [
        f"oid:{scope}:ana",
        "email::ana@example.com",
        "upn::ana@corp",
        f"group:{scope}:G1",
        f"group:{scope}:g1",
    ]


@pytest.mark.parametrize(
    ("said", "trusts_email", "is_believed"),
    [
        ({}, False, False),
        ({"email_verified": False}, False, False),
        ({"email_verified": "false"}, False, False),
        ({"email_verified": "true"}, False, True),
        ({"email_verified": True}, False, True),
        ({}, True, True),
    ],
)
async def test_an_address_names_its_bearer_only_when_it_was_verified(
    issuer: LoopbackIssuer, said: dict[str, Any], trusts_email: bool, is_believed: bool
) -> None:
    token = issuer.token(email="ana@example.com", **said)
    claims = await verifier(issuer, trusts_email=trusts_email).verify(token)
    assert ("email::ana@example.com" in map(str, list_principals(claims))) == is_believed


async def test_a_claim_that_is_no_possible_principal_is_refused(issuer: LoopbackIssuer) -> None:
    for wrong in ({"sub": "a\x00b"}, {"groups": ["\ud800"]}, {"upn": "ana"}):
        claims = await verifier(issuer).verify(issuer.token(**wrong))
        with pytest.raises(AuthRequired):
            list_principals(claims)


async def test_keys_come_from_a_file_where_there_is_no_network(
    issuer: LoopbackIssuer, tmp_path: Path
) -> None:
    keys = tmp_path / "jwks.json"
    keys.write_bytes(issuer.jwks())
    offline = verifier(issuer, jwks_url=None, jwks_file=keys)
    before = issuer.hits
    assert (await offline.verify(issuer.token())).subject == "ana"
    assert issuer.hits == before


def test_two_issuers_with_one_name_are_refused(issuer: LoopbackIssuer) -> None:
    with pytest.raises(Conflict):
        TokenVerifier([described(issuer), described(issuer)], fetch)


async def test_without_issuers_every_token_is_refused(issuer: LoopbackIssuer) -> None:
    with pytest.raises(AuthRequired):
        await TokenVerifier([], fetch).verify(issuer.token())
