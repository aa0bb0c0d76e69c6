"""The settings as people and programs see them."""

import json

from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.settings.table import HIDDEN, SettingRow, list_setting_rows, render_settings_table
from tests.unit.kernel.settings.sample import Sample, read


def row(name: str, **environ: str) -> SettingRow:
    return next(it for it in list_setting_rows(read(environ=environ)) if it.name == name)


def test_a_row_says_value_unit_origin_meaning_default_and_names() -> None:
    shown = row("sample.wait_s", OLD_WAIT="5000")
    assert shown.value == 5.0
    assert shown.unit == "s"
    assert str(shown.origin) == "environment OLD_WAIT"
    assert shown.meaning == "How long."
    assert shown.default == 60.0
    assert shown.env == ("PECIA_SAMPLE_WAIT_S", "OLD_WAIT", "OLDER_WAIT")


def test_a_secret_is_shown_as_dots_and_its_absence_as_absence() -> None:
    assert row("sample.password", PECIA_SAMPLE_PASSWORD="hunter22").value == HIDDEN
    assert row("sample.password").value is None


def test_a_list_is_shown_as_a_list() -> None:
    assert row("trusted_proxies", PECIA_TRUSTED_PROXIES="10.0.0.0/8").value == ["10.0.0.0/8"]


def test_every_row_is_json_and_holds_no_secret() -> None:
    environ = {
        "PECIA_SAMPLE_PASSWORD": "hunter22",
        "PECIA_DATABASE_URL": "postgresql://u:hunter22@h/",
    }
    text = json.dumps([it.as_json() for it in list_setting_rows(read(environ=environ))])
    assert "hunter22" not in text
    assert {it["name"] for it in json.loads(text)} == read().provenance.keys()


def test_json_says_what_was_overruled() -> None:
    made = row("sample.wait_s", OLD_WAIT="5000", PECIA_SAMPLE_WAIT_S="1").as_json()
    assert made["origin"] == {
        "layer": "environment",
        "where": "PECIA_SAMPLE_WAIT_S",
        "raw": "1",
        "overruled": [
            {"layer": "environment", "where": "OLD_WAIT", "raw": "5000", "overruled": []}
        ],
    }


def test_the_reference_table_has_a_line_for_every_setting() -> None:
    lines = render_settings_table([Sample]).splitlines()
    assert lines == [
        "| setting | default | variables | meaning |",
        "|---|---|---|---|",
        "| `sample.wait_s` | `60` s | `PECIA_SAMPLE_WAIT_S`, `OLD_WAIT`, `OLDER_WAIT` "
        "| How long. A project file may set it. |",
        "| `sample.size` | `1` | `PECIA_SAMPLE_SIZE` | How many. A project file may set it. |",
        "| `sample.colour` | `red` | `PECIA_SAMPLE_COLOUR`, `OLD_COLOUR` | Which. |",
        "| `sample.names` | empty | `PECIA_SAMPLE_NAMES` | Who. A project file may set it. |",
        "| `sample.nickname` | `none yet` | `PECIA_SAMPLE_NICKNAME` "
        "| If any. A project file may set it. |",
        "| `sample.password` | unset | `PECIA_SAMPLE_PASSWORD` | Hidden. Secret. |",
    ]


def test_the_reference_table_names_no_folder_of_this_machine() -> None:
    assert str(KernelSettings().home) not in render_settings_table([KernelSettings])
    assert "| `home` | the user's data directory |" in render_settings_table([KernelSettings])
