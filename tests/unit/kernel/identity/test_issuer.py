"""The description of an issuer: what an operator may not write, and which field is at fault."""

from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.errors import BadArgument
from pecia.kernel.identity.issuer import Issuer

GOOD: dict[str, Any] = {
    "issuer": "https://login.example",
    "audiences": ("https://pecia.example/mcp",),
    "jwks_url": "https://login.example/jwks",
    "tenant": "acme",
}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"jwks_url": "http://127.0.0.1:8080/jwks"},
        {"jwks_url": "http://localhost/jwks"},
        {"jwks_url": "http://[::1]/jwks"},
        {"jwks_url": None, "jwks_file": Path("jwks.json")},
        {"tenant": None, "tenant_claim": "tid"},
        {"algorithms": frozenset({"PS512"})},
        {"leeway_s": 0},
    ],
    ids=str,
)
def test_a_sound_description_is_accepted(changed: dict[str, Any]) -> None:
    issuer = Issuer(**{**GOOD, **changed})
    assert issuer.keys_at == (issuer.jwks_url or "jwks.json")


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"issuer": ""}, "issuer"),
        ({"audiences": ()}, "audiences"),
        ({"audiences": ("",)}, "audiences"),
        ({"jwks_url": None}, "jwks_url"),
        ({"jwks_file": Path("jwks.json")}, "jwks_url"),
        ({"jwks_url": "http://login.example/jwks"}, "jwks_url"),
        ({"jwks_url": "http://127.0.0.1.evil.example/jwks"}, "jwks_url"),
        ({"jwks_url": "file:///etc/jwks"}, "jwks_url"),
        ({"jwks_url": "login.example"}, "jwks_url"),
        ({"tenant": None}, "tenant"),
        ({"tenant_claim": "tid"}, "tenant"),
        ({"algorithms": frozenset[str]()}, "algorithms"),
        ({"algorithms": frozenset(["HS256"])}, "algorithms"),
        ({"algorithms": frozenset({"none"})}, "algorithms"),
        ({"leeway_s": -1}, "leeway_s"),
        ({"leeway_s": 301}, "leeway_s"),
    ],
    ids=str,
)
def test_an_unsound_description_is_refused_by_field(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(BadArgument) as caught:
        Issuer(**{**GOOD, **changed})
    assert caught.value.fields["field"] == field
