"""What is written is read back, in every format, whatever the package holds."""

import orjson
import pytest
from hypothesis import HealthCheck, example, given, settings

from pecia.features.ckf.package.checks.validate import validate_package
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package, parse_package
from pecia.features.ckf.package.codec.yaml import encode_yaml
from pecia.features.ckf.package.codec.yaml_reader import parse_mapping, parse_own_yaml
from pecia.features.ckf.package.model import Item, Package
from pecia.features.ckf.package.normalize import compact_package, normalize
from tests.laws.ckf_packages import bodies, packages
from tests.soak import SOAK, record

COUNT = 5000 if SOAK else 40
many = settings(max_examples=COUNT, deadline=None, suppress_health_check=[HealthCheck.too_slow])
tried = {it.value: 0 for it in PackageFormat}
bytes_written = {it.value: 0 for it in PackageFormat}

pytestmark = pytest.mark.timeout(7200 if SOAK else 60)


@pytest.mark.parametrize("format", PackageFormat)
@given(packages)
@many
def test_parsing_what_was_written_gives_the_same_package(
    format: PackageFormat, package: Package
) -> None:
    text = encode_package(package, format)
    assert exactly(parse_package(text, format)) == exactly(package)
    tried[format] += 1
    bytes_written[format] += len(text.encode())


@given(packages)
@example(normalize({"metadata": {"created_at": "```"}}))
@many
def test_no_text_looks_like_the_end_of_its_block(package: Package) -> None:
    lines = encode_package(package, PackageFormat.MARKDOWN).split("\n")
    fences = [it for it in lines if "```" in it]
    assert fences == ["```yaml", "```"] * (len(fences) // 2)


@given(packages)
@many
def test_the_text_alone_tells_its_format(package: Package) -> None:
    for format in PackageFormat:
        assert exactly(parse_package(encode_package(package, format))) == exactly(package)


@given(bodies())
@many
def test_completing_twice_is_completing_once(body: Item) -> None:
    once = normalize(body)
    assert exactly(normalize(once.body)) == exactly(once)


@given(packages)
@many
def test_what_is_left_out_to_save_words_comes_back(package: Package) -> None:
    assert sorted_exactly(normalize(compact_package(package))) == sorted_exactly(package)


@given(packages)
@many
def test_the_short_form_is_as_valid_as_the_long_one(package: Package) -> None:
    assert (
        validate_package(compact_package(package)).errors == validate_package(package.body).errors
    )


@given(packages)
@many
def test_the_quick_reader_and_the_full_one_agree(package: Package) -> None:
    text = encode_yaml(package)
    quick = parse_own_yaml(text)
    # A comment sends the same text to the full parser.
    full = parse_mapping(f"# read in full\n{text}", "document").value
    assert quick is None or orjson.dumps(quick) == orjson.dumps(full)
    assert orjson.dumps(full) == exactly(package)


def test_the_figures_are_kept() -> None:
    assert not SOAK or min(tried.values()) >= COUNT
    record(
        "ckf-codec",
        {"packages_by_format": tried, "bytes_by_format": bytes_written, "differences": 0},
    )


def exactly(package: Package) -> bytes:
    """To the type of every number and the order of every key."""
    return orjson.dumps(package.body)


def sorted_exactly(package: Package) -> bytes:
    return orjson.dumps(package.body, option=orjson.OPT_SORT_KEYS)
