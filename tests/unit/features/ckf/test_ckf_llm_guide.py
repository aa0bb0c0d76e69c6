"""The guide to providers says what the program does."""

from pathlib import Path

import pytest

from pecia.adapters.models.providers import PROVIDERS
from pecia.features.ckf.llm.access import KEY_SHAPES
from pecia.features.ckf.settings import CkfSettings

GUIDE = (Path(__file__).parents[4] / "docs" / "providers.md").read_text("utf-8")


@pytest.mark.requirement("ckf.byok.where_to_get_keys")
def test_the_guide_lists_every_provider_with_its_keys_model_and_prices() -> None:
    rows = [it for it in GUIDE.splitlines() if it.startswith("| `") and "https://" in it]
    assert len(rows) == len(PROVIDERS) == len(KEY_SHAPES)
    for provider, row in zip(PROVIDERS.values(), rows, strict=True):
        name, where, shape, model, price = (it.strip() for it in row.strip("|").split("|"))
        assert f"`{provider.name}`" in name
        assert where.startswith("https://")
        assert model == f"`{provider.default_model}`"
        assert shape
        assert price


def test_the_guide_names_settings_that_exist() -> None:
    for name in CkfSettings.model_fields:
        if name.startswith(("operator", "daily", "allow", "chunk")):
            assert f"`ckf.{name}`" in GUIDE
