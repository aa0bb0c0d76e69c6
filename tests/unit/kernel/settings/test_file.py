"""What a configuration file may hold, and what is said of one that is wrong."""

from pathlib import Path

import pytest

from pecia.kernel.errors import InvalidFormat, InvalidInput, NotFound, PayloadTooLarge
from pecia.kernel.settings.layers.file import MAX_FILE_BYTES
from pecia.kernel.settings.load import Settings
from tests.unit.kernel.settings.sample import Sample, read


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.yml"


def loaded(path: Path, text: str) -> Settings:
    path.write_text(text, encoding="utf-8")
    return read(user_file=path)


def refused(path: Path, text: str) -> InvalidInput:
    with pytest.raises(InvalidInput) as error:
        loaded(path, text)
    return error.value


def test_kernel_keys_stand_at_the_top_and_rooms_in_their_section(path: Path) -> None:
    settings = loaded(path, "port: 81\nsample:\n  names: [ana, bo]\n  size: 4\n")
    assert settings.kernel.port == 81
    assert settings.part(Sample).names == ("ana", "bo")
    assert settings.part(Sample).size == 4


@pytest.mark.parametrize("text", ["", "# nothing but a note\n", "sample:\n", "{}\n"])
def test_an_empty_file_says_nothing(path: Path, text: str) -> None:
    assert loaded(path, text).part(Sample) == Sample()


def test_an_unknown_key_names_file_line_and_the_nearest_known_key(path: Path) -> None:
    error = refused(path, "sample:\n  size: 4\n  wiat_s: 2\n")
    assert str(error) == (
        f"{path}:3: `sample.wiat_s` is not a setting; did you mean `sample.wait_s`?"
    )
    assert error.fields["file"] == str(path)
    assert error.fields["line"] == 3
    assert error.fields["nearest"] == "sample.wait_s"


def test_a_key_in_the_wrong_section_is_found_by_its_last_word(path: Path) -> None:
    assert refused(path, "wait_s: 4\n").fields["nearest"] == "sample.wait_s"


def test_a_key_like_no_other_is_refused_without_a_guess(path: Path) -> None:
    assert str(refused(path, "zzz: 1\n")) == f"{path}:1: `zzz` is not a setting"


def test_a_key_given_twice_is_refused(path: Path) -> None:
    error = refused(path, "port: 1\nsample: {}\nport: 2\n")
    assert str(error) == f"{path}:3: `port` is on line 1 already"


def test_a_section_is_a_mapping(path: Path) -> None:
    assert "`sample` is a section, got a single value" in str(refused(path, "sample: 4\n"))


@pytest.mark.parametrize("text", ["size: {a: 1}", "names: [[ana]]", "names: [ana, null]"])
def test_a_setting_is_a_value_or_a_list_of_plain_values(path: Path, text: str) -> None:
    error = refused(path, f"sample:\n  {text}\n")
    assert "takes a value or a list of plain values" in str(error)


def test_a_list_is_not_taken_for_one_value(path: Path) -> None:
    assert "got '[4]'" in str(refused(path, "sample:\n  size: [4]\n"))


def test_null_unsets_what_may_be_unset_and_nothing_else(path: Path) -> None:
    assert loaded(path, "sample:\n  nickname: null\n").part(Sample).nickname is None
    assert "got 'null'" in str(refused(path, "sample:\n  size:\n"))


@pytest.mark.parametrize("word", ["no", "2020-01-01", "0x10", "1e3", "~user"])
def test_text_stays_the_text_that_was_written(path: Path, word: str) -> None:
    assert loaded(path, f"sample:\n  nickname: {word}\n").part(Sample).nickname == word


def test_a_reference_s_key_means_our_setting(path: Path) -> None:
    settings = loaded(path, "old:\n  wait: 8\n  theirs: [1]\n")
    assert settings.part(Sample).wait_s == 8
    assert settings.provenance["sample.wait_s"].where == f"{path}:2"


def test_our_key_beats_a_reference_s_wherever_it_stands(path: Path) -> None:
    settings = loaded(path, "old:\n  wait: 8\nsample:\n  wait_s: 9\n")
    assert settings.part(Sample).wait_s == 9
    assert [it.raw for it in settings.provenance["sample.wait_s"].overruled] == ["8"]


def test_keys_that_a_room_reads_itself_are_left_alone(path: Path) -> None:
    assert loaded(path, "folders: [{match: a}]\n").part(Sample) == Sample()


def test_an_anchor_that_holds_itself_ends(path: Path) -> None:
    assert "plain values" in str(refused(path, "sample:\n  names: &a [*a]\n"))


@pytest.mark.parametrize(
    "text", ["port: [1\n", "a: b: c\n", "\tport: 1\n", "---\na: 1\n---\nb: 2\n"]
)
def test_broken_yaml_names_the_file_and_the_line(path: Path, text: str) -> None:
    with pytest.raises(InvalidFormat, match=r"config\.yml:\d: not valid YAML") as error:
        loaded(path, text)
    assert error.value.fields["field"] == str(path)


def test_yaml_nested_beyond_reason_is_refused(path: Path) -> None:
    with pytest.raises(InvalidFormat, match="not valid YAML"):
        loaded(path, "port: " + "[" * 50_000)


@pytest.mark.parametrize("text", ["- port\n", "port\n"])
def test_a_file_is_a_mapping(path: Path, text: str) -> None:
    with pytest.raises(InvalidFormat, match="expected a mapping of settings, got a"):
        loaded(path, text)


def test_a_file_that_is_not_utf_8_is_refused(path: Path) -> None:
    path.write_bytes(b"port: \xff\n")
    with pytest.raises(InvalidFormat, match="not UTF-8 at byte 6"):
        read(user_file=path)


def test_a_byte_order_mark_is_no_part_of_the_first_key(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfport: 5\n")
    assert read(user_file=path).kernel.port == 5


def test_a_file_that_was_named_and_is_not_there_is_an_error(path: Path) -> None:
    with pytest.raises(NotFound, match="there is no configuration file"):
        read(user_file=path)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidFormat, match="directory"):
        read(user_file=tmp_path)


def test_a_file_too_long_to_be_settings_is_refused(path: Path) -> None:
    path.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(PayloadTooLarge, match="longer than"):
        read(user_file=path)


def test_an_unknown_key_of_a_project_is_a_warning_with_file_line_and_nearest_key(
    path: Path,
) -> None:
    path.write_text("sample:\n  wiat_s: 1\nzzz: 1\n", encoding="utf-8")
    settings = read(project_file=path)
    assert len(settings.warnings) == 2
    assert settings.warnings[0].startswith(
        f"{path}:2: `sample.wiat_s` is not a setting; did you mean `sample.wait_s`?"
    )
    assert settings.warnings[1].startswith(f"{path}:3: `zzz` is not a setting")
