"""What a part must say of its fields before the program can start."""

from typing import Any

import pytest
from pydantic import Field, SecretStr

from pecia.kernel.settings.catalog import build_catalog
from pecia.kernel.settings.model import SettingsSection, setting, setting_from
from tests.unit.kernel.settings.sample import Sample


def part_with(annotation: Any, default: Any) -> type[SettingsSection]:
    return type("Odd", (SettingsSection,), {"__annotations__": {"odd": annotation}, "odd": default})


def test_a_field_is_made_by_setting() -> None:
    with pytest.raises(TypeError, match=r"Odd\.odd is not made by setting"):
        part_with(int, 1)
    with pytest.raises(TypeError, match=r"Odd\.odd is not made by setting"):
        part_with(int, Field(default=1, description="Words."))


def test_a_setting_is_described() -> None:
    with pytest.raises(TypeError, match="no description"):
        part_with(int, setting(1, description=""))


def test_a_secret_has_the_type_of_a_secret() -> None:
    with pytest.raises(TypeError, match="a secret is a SecretStr"):
        part_with(str, setting("", description="Words.", secret=True))
    with pytest.raises(TypeError, match="a secret is a SecretStr"):
        part_with(SecretStr | None, setting(None, description="Words."))


def test_a_project_file_holds_no_secret() -> None:
    with pytest.raises(TypeError, match="holds no secret"):
        part_with(SecretStr | None, setting(None, description="Words.", secret=True, project=True))


def test_a_default_of_the_machine_is_said_in_words() -> None:
    with pytest.raises(TypeError, match="shown_default"):
        part_with(str, setting_from(str, description="Words."))


def test_two_settings_may_not_share_a_name() -> None:
    class Twin(SettingsSection):
        section = "sample"
        size: int = setting(1, description="Words.")

    with pytest.raises(ValueError, match=r"sample\.size and sample\.size share the key"):
        build_catalog([Sample, Twin])


def test_two_settings_may_not_share_a_variable() -> None:
    class Kernel(SettingsSection):
        sample_size: int = setting(1, description="Words.")

    with pytest.raises(ValueError, match="share the variable PECIA_SAMPLE_SIZE"):
        build_catalog([Sample, Kernel])


def test_a_setting_may_not_be_called_like_a_section() -> None:
    class Kernel(SettingsSection):
        sample: int = setting(1, description="Words.")

    with pytest.raises(ValueError, match="a setting and a section are both called sample"):
        build_catalog([Sample, Kernel])
