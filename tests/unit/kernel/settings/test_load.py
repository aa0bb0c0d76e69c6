"""Where a value comes from, and what is said when it is wrong."""

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from pecia.kernel.errors import InvalidInput
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.settings.layers.origin import SettingLayer
from pecia.kernel.settings.load import load_settings
from pecia.kernel.settings.model import SettingsSection
from tests.unit.kernel.settings.sample import Sample, read


def file(folder: Path, text: str, name: str = "config.yml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def complaint(error: pytest.ExceptionInfo[InvalidInput]) -> str:
    return str(error.value)


def test_with_nothing_given_every_value_is_its_default() -> None:
    settings = read()
    assert settings.part(Sample) == Sample()
    assert {it.layer for it in settings.provenance.values()} == {SettingLayer.DEFAULT}
    assert settings.warnings == ()


def test_the_kernel_is_loaded_whether_it_is_named_or_not() -> None:
    assert read(environ={"PECIA_PORT": "4000"}).kernel.port == 4000


def test_a_room_reads_its_section_and_the_kernel_reads_bare_names() -> None:
    settings = read(environ={"PECIA_SAMPLE_SIZE": "7", "PECIA_PORT": "0"})
    assert settings.part(Sample).size == 7
    assert settings.kernel.port == 0


def test_provenance_names_the_variable_and_its_text() -> None:
    origin = read(environ={"PECIA_SAMPLE_SIZE": "07"}).provenance["sample.size"]
    assert (origin.layer, origin.where, origin.raw) == (
        SettingLayer.ENVIRONMENT,
        "PECIA_SAMPLE_SIZE",
        "07",
    )


def test_provenance_names_the_file_and_the_line(tmp_path: Path) -> None:
    path = file(tmp_path, "# a note\nsample:\n  wait_s: 5\n  size: 4\n")
    origin = read(project_file=path).provenance["sample.size"]
    assert (origin.layer, origin.where, origin.raw) == (SettingLayer.PROJECT, f"{path}:4", "4")


def test_a_name_of_a_reference_may_carry_another_unit() -> None:
    assert read(environ={"OLD_WAIT": "1500"}).part(Sample).wait_s == 1.5


def test_our_name_beats_a_reference_s_and_provenance_says_so() -> None:
    settings = read(environ={"OLD_WAIT": "60000", "PECIA_SAMPLE_WAIT_S": "5"})
    origin = settings.provenance["sample.wait_s"]
    assert settings.part(Sample).wait_s == 5
    assert str(origin) == "environment PECIA_SAMPLE_WAIT_S (over environment OLD_WAIT)"
    assert origin.overruled[0].raw == "60000"


def test_two_names_that_agree_overrule_nothing() -> None:
    origin = read(environ={"OLD_WAIT": "5000", "PECIA_SAMPLE_WAIT_S": "5"}).provenance
    assert origin["sample.wait_s"].overruled == ()


def test_the_first_of_two_names_of_references_wins() -> None:
    assert read(environ={"OLDER_WAIT": "9", "OLD_WAIT": "1000"}).part(Sample).wait_s == 1


def test_a_weaker_value_that_is_wrong_does_not_stop_a_stronger_one() -> None:
    settings = read(environ={"OLD_WAIT": "soon", "PECIA_SAMPLE_WAIT_S": "5"})
    assert settings.provenance["sample.wait_s"].overruled[0].raw == "soon"


def test_a_bad_value_names_source_field_expected_and_got() -> None:
    with pytest.raises(InvalidInput) as error:
        read(environ={"PECIA_SAMPLE_WAIT_S": "-1"})
    assert complaint(error) == (
        "sample.wait_s from environment PECIA_SAMPLE_WAIT_S: expected greater than 0, got '-1'"
    )
    assert error.value.fields["field"] == "sample.wait_s"
    assert error.value.fields["source"] == "environment PECIA_SAMPLE_WAIT_S"
    assert error.value.fields["expected"] == "greater than 0"
    assert error.value.fields["got"] == "'-1'"


def test_text_that_cannot_be_converted_says_the_unit() -> None:
    with pytest.raises(InvalidInput, match="expected a number of milliseconds, got '1s'"):
        read(environ={"OLD_WAIT": "1s"})


@pytest.mark.parametrize("text", ["nan", "inf"])
def test_a_duration_is_a_finite_number(text: str) -> None:
    with pytest.raises(InvalidInput, match="finite number"):
        read(environ={"OLD_WAIT": text})


def test_every_mistake_is_named_in_one_error(tmp_path: Path) -> None:
    path = file(tmp_path, "samples: 1\nsample:\n  size: many\n")
    with pytest.raises(InvalidInput) as error:
        read(environ={"PECIA_PORT": "x"}, flags={"prot": "1"}, user_file=path)
    problems = error.value.fields["problems"]
    assert isinstance(problems, list)
    assert [it["field"] for it in problems if isinstance(it, dict)] == [
        "prot",
        "samples",
        "port",
        "sample.size",
    ]


def test_a_secret_is_in_neither_provenance_nor_errors_nor_repr() -> None:
    settings = read(environ={"PECIA_SAMPLE_PASSWORD": "hunter22"})
    assert settings.part(Sample).password == SecretStr("hunter22")
    assert "hunter22" not in repr(settings)
    with pytest.raises(InvalidInput) as error:
        read(environ={"PECIA_DOWNLOAD_SIGNING_SECRET": "hunter22"})
    assert "hunter22" not in complaint(error) + repr(error.value.payload())
    assert "expected 32 characters or more, got a secret" in complaint(error)


def test_a_lenient_name_with_a_bad_value_is_a_warning_and_the_next_layer_speaks() -> None:
    settings = read(environ={"OLD_COLOUR": "green"})
    assert settings.part(Sample).colour == "red"
    assert settings.warnings == (
        "sample.colour from environment OLD_COLOUR: expected 'red' or 'blue', got 'green'; "
        "it is passed over",
    )


def test_our_own_name_is_never_lenient() -> None:
    with pytest.raises(InvalidInput, match="got 'green'"):
        read(environ={"PECIA_SAMPLE_COLOUR": "green"})


def test_an_unknown_variable_of_ours_is_a_warning_with_the_nearest_name() -> None:
    settings = read(environ={"PECIA_SAMPLE_SIZES": "1", "HOSTNAME": "x"})
    assert settings.warnings == (
        "PECIA_SAMPLE_SIZES is not a setting; did you mean PECIA_SAMPLE_SIZE?",
    )


def test_a_flag_that_was_not_given_says_nothing() -> None:
    assert read(flags={"sample.size": None}).provenance["sample.size"].layer is SettingLayer.DEFAULT


def test_a_flag_may_be_text_or_a_value() -> None:
    assert read(flags={"sample.size": "4"}).part(Sample).size == 4
    assert read(flags={"sample.size": 4}).part(Sample).size == 4
    assert read(flags={"sample.names": ["ana", "bo"]}).part(Sample).names == ("ana", "bo")


def test_a_flag_that_is_no_setting_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"did you mean `sample\.size`"):
        read(flags={"sample.sizes": 1})


def test_a_list_is_written_with_commas() -> None:
    names = read(environ={"PECIA_SAMPLE_NAMES": " ana, bo ,"}).part(Sample).names
    assert names == ("ana", "bo")


def test_an_empty_variable_unsets_what_may_be_unset() -> None:
    settings = read(environ={"PECIA_SAMPLE_NICKNAME": "", "PECIA_SAMPLE_NAMES": ""})
    assert settings.part(Sample).nickname is None
    assert settings.part(Sample).names == ()


def test_an_empty_variable_is_no_number() -> None:
    with pytest.raises(InvalidInput, match="expected a valid integer, got ''"):
        read(environ={"PECIA_SAMPLE_SIZE": ""})


def test_two_settings_that_cannot_both_hold_name_the_one_to_change() -> None:
    with pytest.raises(InvalidInput) as error:
        read(environ={"PECIA_SAMPLE_SIZE": "9", "PECIA_SAMPLE_WAIT_S": "1"})
    assert complaint(error) == (
        "sample.size from environment PECIA_SAMPLE_SIZE: expected at most wait_s"
    )


def test_a_project_may_not_choose_what_belongs_to_the_machine(tmp_path: Path) -> None:
    path = file(tmp_path, "database_url: postgresql://elsewhere/\n")
    with pytest.raises(InvalidInput, match="may not be set by a project; use PECIA_DATABASE_URL"):
        read(project_file=path)
    assert read(user_file=path).kernel.database_url is not None


def test_settings_cannot_be_changed() -> None:
    settings = read()
    with pytest.raises(ValidationError, match="frozen"):
        settings.kernel.port = 1
    with pytest.raises(TypeError):
        settings.provenance["port"] = settings.provenance["host"]  # pyright: ignore[reportIndexIssue]


def test_naming_a_part_twice_is_harmless() -> None:
    twice = [KernelSettings, Sample, Sample, KernelSettings]
    made = load_settings(twice, flags={}, environ={}, project_file=None, user_file=None)
    assert list(made.parts) == [KernelSettings, Sample]


def test_a_part_may_have_no_setting_of_its_own() -> None:
    class Bare(SettingsSection):
        section = "bare"

    made = load_settings([Bare], flags={}, environ={}, project_file=None, user_file=None)
    assert made.part(Bare) == Bare()
