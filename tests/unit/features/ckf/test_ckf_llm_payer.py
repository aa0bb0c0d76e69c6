"""Whose key is used for whom, decided without sending anything."""

from dataclasses import replace
from datetime import date
from uuid import UUID

import pytest
from pydantic import SecretStr

from pecia.app.composition.chat_models import ProviderModels, build_provider_models
from pecia.features.ckf.llm.access import KEY_SHAPES, ModelAccess, ModelRequest
from pecia.features.ckf.llm.quota import DailyAllowance, DailyQuota
from pecia.features.ckf.settings import CkfSettings, parse_kill_switch
from pecia.kernel.errors import AuthRequired, Forbidden, PeciaError
from pecia.kernel.identity.caller import EVERY_SCOPE, Caller, CredentialKind

HOUSE_KEY = "the-key-of-the-house"
BO = Caller(
    UUID(int=1), CredentialKind.PAT, UUID(int=2), "north", UUID(int=3), "bo", frozenset(EVERY_SCOPE)
)
OWNER = replace(BO, kind=CredentialKind.LOCAL)
ADMIN = replace(BO, is_admin=True)
STRANGER = replace(BO, kind=CredentialKind.ANONYMOUS, user_id=None)
HELD = CkfSettings(openai_key=SecretStr(HOUSE_KEY), operator_provider="openai")


class NoQuota:
    """Nothing here is charged."""

    async def take(
        self, tenant_id: UUID, payer: UUID, day: date, allowed: DailyAllowance
    ) -> str | None:
        raise AssertionError("nothing was to be counted")


def payer(settings: CkfSettings) -> ModelAccess:
    return ModelAccess(
        settings, build_provider_models(settings), DailyQuota(DailyAllowance(1, 1), NoQuota())
    )


@pytest.mark.parametrize("caller", [OWNER, ADMIN])
@pytest.mark.parametrize("provider", ["openai", "operator", "lovable", ""])
def test_a_key_of_the_server_serves_its_owner_and_admins(caller: Caller, provider: str) -> None:
    paid = payer(HELD).authorize(caller, ModelRequest(provider, "", ""))
    assert (paid.is_server_paid, paid.key, paid.model.name) == (True, HOUSE_KEY, "gpt-5-mini")
    assert HOUSE_KEY not in f"{paid!r} {HELD!r}"


@pytest.mark.parametrize(("caller", "kind"), [(BO, Forbidden), (STRANGER, AuthRequired)])
@pytest.mark.parametrize("provider", ["openai", "operator", "lovable", ""])
def test_a_key_of_the_server_serves_nobody_else(
    caller: Caller, kind: type[PeciaError], provider: str
) -> None:
    with pytest.raises(kind) as caught:
        payer(HELD).authorize(caller, ModelRequest(provider, "", ""))
    assert "byok_key" in str(caught.value.fields["hint"])


def test_the_allowlist_is_for_one_user_of_one_tenant() -> None:
    listed = payer(HELD.model_copy(update={"allowlist": ("north/bo",)}))
    assert listed.authorize(BO, ModelRequest("", "", "")).is_server_paid
    with pytest.raises(Forbidden):
        listed.authorize(replace(BO, tenant="south"), ModelRequest("", "", ""))


def test_the_operators_model_is_not_exchanged_for_a_dearer_one() -> None:
    with pytest.raises(Forbidden):
        payer(HELD).authorize(ADMIN, ModelRequest("operator", "gpt-5", ""))


def test_every_provider_has_a_shape_of_keys() -> None:
    assert KEY_SHAPES.keys() == ProviderModels().providers.keys()


def test_only_a_plain_no_leaves_the_kill_switch_open() -> None:
    assert [
        parse_kill_switch(it) for it in ("1", "true", "yes", "please", "0", "false", "off", "")
    ] == [
        *[True] * 4,
        *[False] * 4,
    ]


def test_an_operators_server_needs_a_model_and_excludes_a_provider() -> None:
    both = CkfSettings(operator_url="http://127.0.0.1:1/v1", operator_provider="openai")
    assert [it.field for it in both.clashes()] == ["operator_url", "operator_model"]
    assert [*HELD.clashes()] == []
