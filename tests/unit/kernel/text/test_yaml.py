"""YAML that is read safely, and written so that it is read back."""

import pytest

from pecia.kernel.errors import InvalidFormat, Json, PayloadTooLarge, Unprocessable
from pecia.kernel.text.yaml.patch import merge_patch, patch_yaml
from pecia.kernel.text.yaml.reader import RepeatedKey, YamlLimits, YamlSource, load_yaml
from pecia.kernel.text.yaml.writer import dump_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("~", None),
        ("", None),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.5e3", 1500.0),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", "9223372036854775808"),
        ("12:30", "12:30"),
        ("!!str 12", "12"),
        ("'12'", "12"),
        ("[a, {b: 1}]", ["a", {"b": 1}]),
    ],
)
def test_scalars_are_those_of_yaml_1_2_and_json(text: str, value: Json) -> None:
    loaded = load_yaml(f"key: {text}").value
    assert repr(loaded) == repr({"key": value})


def test_no_document_is_null() -> None:
    assert load_yaml("").value is None
    assert load_yaml("# only a comment\n").value is None


def test_a_key_that_comes_twice_has_its_last_value_and_is_reported() -> None:
    loaded = load_yaml("a: 1\nb: 2\na: 3\n", YamlSource("x", first_line=2))
    assert loaded.value == {"a": 3, "b": 2}
    assert [(it.key, it.at.line) for it in loaded.repeated] == [("a", 4)]
    assert all(isinstance(it, RepeatedKey) for it in loaded.repeated)


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("a: b: c", 1, 5, "mapping values"),
        ("a: 1\nb: [", 2, 5, "expected the node content"),
        ("a: *x", 1, 4, "no complete anchor 'x'"),
        ("a: &x [*x]", 1, 8, "no complete anchor"),
        ("a: !!python/object:os.system x", 1, 4, "is not allowed"),
        ("a: !thing x", 1, 4, "is not allowed"),
        ("a: 1\n---\nb: 2", 2, 1, "second document"),
        ("? [a]\n: b", 1, 3, "a key must be"),
        ("a: \x07", 1, 4, "special characters"),
        ('a: "\\ud800"', 1, 4, "surrogate"),
    ],
)
def test_an_error_says_what_and_where(text: str, line: int, column: int, says: str) -> None:
    with pytest.raises(InvalidFormat, match=says) as caught:
        load_yaml(text, YamlSource("config.yml"))
    assert caught.value.fields == {"field": "config.yml", "line": line, "column": column}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 60_000,
        "{a: " * 15_000,
        "- " * 30_000,
        "? " * 30_000,
        "a: &a [x, x]\n" + "".join(f"k{i}: &a [*a, *a]\n" for i in range(40)),
        "a: [" + "x, " * 21_000 + "]",
    ],
)
def test_hostile_documents_are_refused_while_they_are_read(text: str) -> None:
    with pytest.raises(InvalidFormat):
        load_yaml(text)


def test_a_document_that_is_too_long_is_not_read() -> None:
    with pytest.raises(PayloadTooLarge, match="65540 bytes, at most 65536") as caught:
        load_yaml("é" * 32_770)
    assert caught.value.fields["max"] == 65_536
    assert load_yaml("a: " + "é" * 32_770, limits=YamlLimits(size_bytes=100_000)).value


@pytest.mark.parametrize(
    "word", ["yes", "No", "12:30", "1_000", "- x", "a: b", "x #y", "", "line\nline", "null", "7"]
)
def test_a_text_that_some_reader_takes_for_something_else_is_quoted(word: str) -> None:
    assert dump_yaml({"w": word}).startswith('w: "')
    assert load_yaml(dump_yaml({"w": word})).value == {"w": word}


def test_a_dump_is_in_block_style() -> None:
    value: Json = {"a": {"b": [1, {"c": []}]}, "tags": ["x", "z"], "d": "2026-01-01"}
    assert dump_yaml(value) == "a:\n  b:\n    - 1\n    - c: []\ntags: [x, z]\nd: 2026-01-01\n"


def test_a_merge_patch_is_rfc_7396() -> None:
    value: Json = {"a": "b", "c": {"d": "e", "f": "g"}, "l": [1]}
    patch: dict[str, Json] = {"a": "z", "c": {"f": None}, "l": [2], "n": {"m": None}}
    assert merge_patch(value, patch) == {"a": "z", "c": {"d": "e"}, "l": [2], "n": {}}


def test_a_list_keeps_the_comments_between_its_items() -> None:
    text = "tags:\n  - a # first\n  # second follows\n  - b\n"
    assert patch_yaml(text, {"tags": ["a", "b", "c"]}) == text + "  - c\n"
    assert patch_yaml(text, {"tags": ["z", "a", "b"]}) == text.replace("  - a", "  - z\n  - a")
    assert patch_yaml(text, {"tags": ["b"]}) == "tags:\n  # second follows\n  - b\n"
    assert patch_yaml(text, {"tags": ["x", "b"]}) == text.replace("- a #", "- x #")


@pytest.mark.parametrize(
    ("text", "patch", "result"),
    [
        ("a: 1 # why\nb: 2\n", {"a": 9}, "a: 9 # why\nb: 2\n"),
        ("a: 'x'\n", {"a": "it's"}, "a: 'it''s'\n"),
        ('a: "x"\n', {"a": "y"}, 'a: "y"\n'),
        ("a:\nb: 2\n", {"a": "x"}, "a: x\nb: 2\n"),
        ("a: [x,  y] # c\n", {"a": ["z"]}, "a: [z] # c\n"),
        ("a: {b: 1,  c: 2}\n", {"a": {"c": 3}}, "a: {b: 1, c: 3}\n"),
        (
            "a:\n    b: 1\n    # why\n    c: 2\n",
            {"a": {"c": 3}},
            "a:\n    b: 1\n    # why\n    c: 3\n",
        ),
        ("a:\n    b: 1\n", {"a": {"c": 3}}, "a:\n    b: 1\n    c: 3\n"),
        ("a:\n  b: 1\nc: 2\n", {"a": {"b": None}}, "a: {}\nc: 2\n"),
        ("a: |\n  x\n  y\n\nb: 1\n", {"a": "z"}, "a: z\n\nb: 1\n"),
        ("a: |\n  x\nb: 1\n", {"a": None}, "b: 1\n"),
        ("a: 1", {"b": 2}, "a: 1\nb: 2\n"),
        ("a: 1\r\n", {"b": {"c": 2}}, "a: 1\r\nb:\r\n  c: 2\r\n"),
        ("# only\n", {"a": 1}, "# only\na: 1\n"),
        ("", {"a": ["x"]}, "a: [x]\n"),
        ("{a: 1}\n", {"b": 2}, "{a: 1, b: 2}\n"),
        ("{a:   1}\n", {"a": 1}, "{a:   1}\n"),
        ("a: {b:   1}\nc: 1\n", {"a": {"b": 1}, "c": 2}, "a: {b:   1}\nc: 2\n"),
        ("a: 1\nb: 2\n", {"a": None, "b": None}, ""),
        ("a: b\n", {"a": {"c": ["x", {"y": 1}]}}, 'a:\n  c:\n    - x\n    - "y": 1\n'),
    ],
)
def test_a_patch_changes_the_value_and_nothing_else(
    text: str, patch: dict[str, Json], result: str
) -> None:
    assert patch_yaml(text, patch) == result


def test_a_value_that_others_stand_on_is_not_taken_away() -> None:
    with pytest.raises(Unprocessable, match="cannot be changed in place"):
        patch_yaml("a: &x 1\nb: *x\n", {"a": None})


def test_only_mappings_can_be_patched() -> None:
    with pytest.raises(InvalidFormat, match="has no keys"):
        patch_yaml("- a\n", {"a": 1})
