"""Tokens that were tampered with get the right answer and challenge, over HTTP."""

from pathlib import Path

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import bearing, open_pecia
from tests.issuer import (
    AUDIENCE,
    SigningKey,
    base64url,
    encoded,
    fetch,
    forge_hmac,
    public_pem,
    serve,
)

pytestmark = pytest.mark.anyio


async def test_a_tampered_token_is_refused_with_a_challenge(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    key = SigningKey.new("first", "RS256")
    with serve(key) as issuer:
        opened = open_pecia(
            database,
            tmp_path / "home",
            fetch=fetch,
            oidc_issuer=issuer.url,
            resource_url=AUDIENCE,
        )
        async with opened as pecia:
            claims = issuer.claims(tenant="north", scope="pecia.read")
            good = issuer.token(tenant="north", scope="pecia.read")
            unsigned = f"{encoded({'alg': 'none', 'kid': 'first'})}.{encoded(claims)}."
            confused = forge_hmac({"alg": "HS256", "kid": "first"}, claims, public_pem(key))
            swapped = ".".join([good.split(".")[0], base64url(b"{}"), good.split(".")[2]])
            pat = pecia.tokens["north", "bo"]
            assert (await pecia.call("admin/whoami", {}, bearing(good))).status_code == 200
            for token in (unsigned, confused, swapped, good[:-9], pat[:-1], pat[:-1] + "!"):
                answer = await pecia.call("admin/whoami", {}, bearing(token))
                assert answer.status_code == 401, token
                assert 'error="invalid_token"' in answer.headers["www-authenticate"]
            stranger = issuer.token(tenant="nowhere", scope="pecia.read")
            answer = await pecia.call("admin/whoami", {}, bearing(stranger))
            assert answer.status_code == 403
