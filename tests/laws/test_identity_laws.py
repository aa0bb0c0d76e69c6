"""Laws of identity: one form per principal, no slip in a token, and no forged token, ever."""

import json
from functools import cache
from pathlib import Path
from string import ascii_letters, digits
from typing import Any, NoReturn

import anyio
import orjson
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pecia.kernel.errors import AuthRequired, BadArgument
from pecia.kernel.identity import pat
from pecia.kernel.identity.oidc import Issuer, TokenVerifier
from pecia.kernel.identity.oidc import list_principals as principals_of
from pecia.kernel.identity.principal import Principal, PrincipalKind
from tests.issuer import AUDIENCE, LoopbackIssuer, SigningKey, base64url

few = settings(max_examples=50, deadline=None)

# Letters whose case or composition is delicate, beside any that may stand in a name.
TRICKY = "aAzZ:%/@ \u0130\u0131\u00df\u03a3\u03c3\u03c2\u0301\u0307\u00c5\u212b\u01c5\u00e9"
letters = st.sampled_from(TRICKY) | st.characters(
    exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="\u037e\u1fef\u212a"
)
texts = st.text(letters, max_size=12).map(str.strip)
words = texts.filter(lambda text: text != "" and not text.startswith("//"))
halves = words.map(lambda text: "".join(text.replace("@", "").split()) or "x")
addresses = st.builds("{}@{}".format, halves, halves)
sids = st.builds("s-1-5-{}-{}".format, st.integers(0, 2**32), st.integers(0, 2**32))
numbers = st.integers(0, 2**32 - 1).map(str)

principals = st.one_of(
    st.builds(
        Principal, st.sampled_from([PrincipalKind.EMAIL, PrincipalKind.UPN]), st.just(""), addresses
    ),
    st.builds(Principal, st.just(PrincipalKind.SID), st.just(""), sids),
    st.builds(
        Principal, st.sampled_from([PrincipalKind.POSIXUID, PrincipalKind.POSIXGID]), words, numbers
    ),
    st.builds(Principal, st.just(PrincipalKind.OID), words, words),
    st.builds(
        Principal,
        st.sampled_from(
            [PrincipalKind.NAME, PrincipalKind.GROUP, PrincipalKind.USER, PrincipalKind.ROLE]
        ),
        texts,
        words,
    ),
    st.builds(Principal, st.just(PrincipalKind.EVERYONE), texts, st.just("")),
)


@few
@given(principals)
@example(Principal(PrincipalKind.GROUP, "100%:%3A%25", "a:b"))
def test_a_rendered_principal_reads_back_as_itself(principal: Principal) -> None:
    assert Principal.parse(principal.render()) == principal


@few
@given(principals)
def test_normalising_twice_is_normalising_once(principal: Principal) -> None:
    assert Principal(principal.kind, principal.scope, principal.value) == principal


@few
@given(st.lists(words, min_size=3, max_size=5), st.data())
@example(["a", "b", "c"], None)
@example(["a%", "3A", "c"], None)
def test_two_principals_never_share_a_text(pieces: list[str], data: st.DataObject | None) -> None:
    # The same letters, cut in two at different colons, are the likeliest to be confused.
    cuts = [data.draw(st.integers(1, len(pieces) - 1)) for _ in range(2)] if data else [1, 2]
    one, other = (
        Principal(PrincipalKind.GROUP, ":".join(pieces[:cut]), ":".join(pieces[cut:]))
        for cut in cuts
    )
    assert (one.render() == other.render()) == (one == other)


@few
@given(
    st.text(st.characters(), max_size=60)
    | st.builds("{}:{}:{}".format, st.sampled_from(PrincipalKind), texts, texts)
)
@example("name::\ud800")
@example("\ud800::ana")
@example("oid:\ud800%:ana")
def test_any_text_is_a_principal_or_an_error_that_names_a_field(text: str) -> None:
    found = parsed(text)
    if isinstance(found, Principal):
        assert Principal.parse(found.render()) == found
    else:
        assert str(found.fields["field"]).split(".")[0] == "principal"
        assert orjson.dumps(found.payload())


def parsed(text: str) -> Principal | BadArgument:
    try:
        return Principal.parse(text)
    except BadArgument as error:
        return error


@few
@given(st.binary(min_size=32, max_size=32))
@example(bytes(32))
@example(b"\xff" * 32)
def test_every_minted_token_checks(entropy: bytes) -> None:
    token = pat.encode(entropy)
    assert len(pat.check(token)) == 32
    assert len(token) == len(pat.encode(bytes(32)))


@few
@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
@example(bytes(32), (62**42).to_bytes(32))
def test_two_tokens_never_share_a_text(one: bytes, other: bytes) -> None:
    assert (pat.encode(one) == pat.encode(other)) == (one == other)


@few
@given(st.binary(min_size=32, max_size=32), st.characters())
def test_no_single_character_of_a_token_can_change(entropy: bytes, any_sign: str) -> None:
    token = pat.encode(entropy)
    for position, right in enumerate(token):
        for wrong in {any_sign, *digits[:3], *ascii_letters[::9]} - {right}:
            with pytest.raises(AuthRequired):
                pat.check(token[:position] + wrong + token[position + 1 :])


@few
@given(st.binary(min_size=32, max_size=32), st.integers(0, 57))
def test_no_two_neighbours_of_a_token_can_change_places(entropy: bytes, position: int) -> None:
    token = pat.encode(entropy)
    swapped = token[:position] + token[position : position + 2][::-1] + token[position + 2 :]
    assume(swapped != token)
    with pytest.raises(AuthRequired):
        pat.check(swapped)


KEYS = [SigningKey.new(name, name) for name in ("RS256", "ES256", "EdDSA")]
ISSUER = LoopbackIssuer(KEYS)
ISSUER.url = "https://login.example"


async def no_network(url: str) -> NoReturn:
    raise AssertionError(f"{url} was fetched")


@pytest.fixture(scope="module")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> TokenVerifier:
    keys = Path(tmp_path_factory.mktemp("keys"), "jwks.json")
    keys.write_bytes(ISSUER.jwks())
    described = Issuer(issuer=ISSUER.url, audiences=(AUDIENCE,), jwks_file=keys, tenant="acme")
    return TokenVerifier([described], no_network, clock=lambda: 0)


@cache
def genuine(key: SigningKey) -> str:
    return ISSUER.token(key, exp=4_000_000_000)


@few
@given(st.sampled_from(KEYS), st.data())
def test_no_single_character_of_a_signed_token_can_change(
    verifier: TokenVerifier, key: SigningKey, data: st.DataObject
) -> None:
    token = genuine(key)
    assert anyio.run(verifier.verify, token).subject == "ana"
    position = data.draw(st.integers(0, len(token) - 1))
    wrong = data.draw(st.sampled_from(f"{ascii_letters}{digits}-_.=") | st.characters())
    assume(wrong != token[position])
    with pytest.raises(AuthRequired):
        anyio.run(verifier.verify, token[:position] + wrong + token[position + 1 :])


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
header_names = st.sampled_from(
    ["alg", "kid", "typ", "crit", "b64", "cty", "enc", "jku", "x5u", "jwk", "x5c"]
)
algorithms = st.sampled_from(["none", "HS256", "RS256", "ES256", "EdDSA", "Ed25519", "PS256"])
known_kids = st.sampled_from(["RS256", "ES256", "EdDSA", "other"])
odd_headers = st.dictionaries(header_names, json_values, max_size=3)


def header_of(odd: dict[str, Any], algorithm: str, kid: str) -> dict[str, Any]:
    return {"alg": algorithm, "kid": kid, **odd}


headers = json_values | st.builds(header_of, odd_headers, algorithms, known_kids)


@few
@given(headers, json_values, st.binary(max_size=80), st.booleans())
def test_whatever_is_not_signed_is_refused_and_nothing_else_happens(
    verifier: TokenVerifier, header: Any, odd_claims: Any, signature: bytes, has_good_claims: bool
) -> None:
    claims = ISSUER.claims() if has_good_claims else odd_claims
    token = ".".join(
        base64url(part)
        for part in (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    )
    with pytest.raises(AuthRequired):
        anyio.run(verifier.verify, token)


@few
@given(st.text(max_size=200) | st.binary(max_size=200).map(base64url))
def test_any_text_at_all_is_refused_as_a_token(verifier: TokenVerifier, text: str) -> None:
    for credential in (text, f"{text}.{text}.{text}"):
        with pytest.raises(AuthRequired):
            anyio.run(verifier.verify, credential)


claim_names = st.sampled_from(
    [
        "iss",
        "aud",
        "exp",
        "nbf",
        "iat",
        "sub",
        "jti",
        "email",
        "email_verified",
        "upn",
        "groups",
        "scope",
        "scp",
        "roles",
        "_claim_names",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(KEYS), st.dictionaries(claim_names, json_values, max_size=2))
def test_a_signed_token_of_any_content_is_claims_or_a_refusal_and_nothing_else(
    verifier: TokenVerifier, key: SigningKey, odd: dict[str, Any]
) -> None:
    content = {**ISSUER.claims(exp=4_000_000_000), **odd}
    try:
        claims = anyio.run(verifier.verify, ISSUER.forge({}, content, key))
        found = principals_of(claims)
    except AuthRequired:
        return
    assert claims.subject == content["sub"]
    assert content["aud"] == AUDIENCE or AUDIENCE in content["aud"]
    assert found[0] == Principal(PrincipalKind.OID, ISSUER.url, content["sub"])
