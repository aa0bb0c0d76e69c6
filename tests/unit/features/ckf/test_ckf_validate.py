"""Each rule finds its fault, once, where it is; a sound package has none."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from pecia.features.ckf.package.checks.findings import FINDING_RULES, FindingSeverity
from pecia.features.ckf.package.checks.validate import validate_package
from pecia.features.ckf.package.codec.codec import PackageFormat, decode_document, encode_package
from pecia.features.ckf.package.normalize import normalize
from tests.unit.features.ckf.ckf_sample import SOURCE, sample

Spoil: TypeAlias = Callable[[dict[str, Any]], object]

PORTUGUESE = "O reembolso é pago ao comprador em até catorze dias depois da data do pedido na loja."


def first(section: str, **fields: object) -> Spoil:
    return lambda body: body[section][0].update(fields)


def header(**fields: object) -> Spoil:
    return lambda body: body["metadata"].update(fields)


def without(section: str, field: str = "") -> Spoil:
    return lambda body: body[section][0].pop(field) if field else body.pop(section)


def second_concept(body: dict[str, Any]) -> None:
    body["concepts"].append(body["concepts"][0])


def counted_ids(body: dict[str, Any]) -> None:
    body["concepts"][0]["id"] = "c_001"
    body["source_traceability"][0]["extracted_item_id"] = "c_001"


def reference_by_label(body: dict[str, Any]) -> None:
    counted_ids(body)
    body["concepts"][0]["supports"] = ["Refund"]


def no_quotation(body: dict[str, Any]) -> None:
    body["concepts"][0]["source_excerpts"] = []
    body["source_traceability"][0]["extracted_item_id"] = "dec_refunds_paid"


FAULTS: list[tuple[str, str, Spoil]] = [
    ("SECTION_MISSING", "/qa_pairs", without("qa_pairs")),
    ("SECTION_TYPE", "/qa_pairs", lambda body: body.update(qa_pairs={})),
    ("FIELD_MISSING", "/concepts/0/label", without("concepts", "label")),
    ("FIELD_MISSING", "/concepts/0/label", first("concepts", label="")),
    ("FIELD_TYPE", "/concepts/0/aliases", first("concepts", aliases="money back")),
    ("FIELD_TYPE", "/metadata/source_title", header(source_title=12)),
    ("ENUM", "/metadata/compression_level", header(compression_level="tiny")),
    ("ID_FORMAT", "/concepts/0/id", counted_ids),
    ("ID_DUPLICATE", "/concepts/1/id", second_concept),
    ("REF_DANGLING", "/concepts/0/supports/0", first("concepts", supports=["con_nothing"])),
    ("REF_DANGLING", "/concepts/0/supports/0", first("concepts", supports=["proc_refund"])),
    ("REF_BY_LABEL", "/concepts/0/supports/0", reference_by_label),
    ("CONFIDENCE_RANGE", "/concepts/0/confidence", first("concepts", confidence=1.2)),
    ("CONFIDENCE_PRECISION", "/concepts/0/confidence", first("concepts", confidence=0.925)),
    ("CONFIDENCE_BAND", "/concepts/0/confidence", first("concepts", confidence=0.5)),
    ("TRACE_MISSING", "/concepts/0", no_quotation),
    (
        "TRACE_BASIS_MISMATCH",
        "/source_traceability/0/extraction_type",
        first("source_traceability", extraction_type="inferred"),
    ),
    ("EXPLICIT_WITHOUT_QUOTE", "/concepts/0/source_excerpts", no_quotation),
    (
        "EXCERPT_NOT_IN_SOURCE",
        "/concepts/0/source_excerpts/0",
        first("concepts", source_excerpts=["A refund is a gift."]),
    ),
    (
        "EXCERPT_TOO_LONG",
        "/concepts/0/source_excerpts/0",
        first("concepts", source_excerpts=[SOURCE + SOURCE]),
    ),
    ("LANGUAGE_TAG", "/metadata/language", header(language="english language")),
    ("LANGUAGE_DRIFT", "/concepts/0/definition", first("concepts", definition=PORTUGUESE)),
    (
        "NUMERIC_DRIFT",
        "/decision_rules/0/decision",
        first("decision_rules", decision="pay in 41 days"),
    ),
    ("NOT_NFC", "/concepts/0/definition", first("concepts", definition="cafe\u0301")),
    ("WHITESPACE", "/concepts/0/definition", first("concepts", definition="money  back")),
    ("DOMAIN_OPEN", "/metadata/domain", header(domain="cooking")),
    ("STEP_ORDER", "/procedures/0/steps", first("procedures", steps=[{"step": 2, "action": "a"}])),
    ("PROTOCOL_UNKNOWN", "/metadata/protocol_version", header(protocol_version="ckf-9")),
]


def test_a_sound_package_has_no_finding() -> None:
    assert validate_package(sample(), source=SOURCE).findings == ()


@pytest.mark.parametrize("format", PackageFormat)
def test_a_sound_package_is_valid_in_every_encoding(format: PackageFormat) -> None:
    text = encode_package(normalize(sample()), format)
    assert validate_package(decode_document(text, format).body, source=SOURCE).findings == ()


@pytest.mark.parametrize(("code", "path", "spoil"), FAULTS)
def test_a_fault_is_found_where_it_is(code: str, path: str, spoil: Spoil) -> None:
    body = sample()
    spoil(body)
    found = validate_package(body, source=SOURCE).findings
    assert (code, path) in {(it.code, it.path) for it in found}


def test_every_rule_is_tried() -> None:
    assert {code for code, _, _ in FAULTS} == FINDING_RULES.keys()


def test_several_faults_are_listed_at_once() -> None:
    body: Any = sample()
    body.pop("qa_pairs")
    body["metadata"]["language"] = "english language"
    body["concepts"][0]["confidence"] = 7
    assert {it.code for it in validate_package(body).errors} == {
        "SECTION_MISSING",
        "LANGUAGE_TAG",
        "CONFIDENCE_RANGE",
    }


def test_the_counters_of_other_compilers_are_only_warned_of() -> None:
    body: Any = sample()
    counted_ids(body)
    verdict = validate_package(body, source=SOURCE)
    assert verdict.valid
    assert [it.code for it in verdict.warnings] == ["ID_FORMAT"]


def test_a_missing_trace_is_an_error_only_where_checking_is_strict() -> None:
    body: Any = sample()
    body["source_traceability"].pop(0)
    assert [it.code for it in validate_package(body).errors] == ["TRACE_MISSING"]
    lenient = validate_package(body, strict=False)
    assert lenient.valid
    assert [it.severity for it in lenient.findings] == [FindingSeverity.WARNING]


def test_what_was_synthesized_needs_no_trace() -> None:
    body: Any = sample()
    body["concepts"][0].update(source_basis="synthesized", source_excerpts=[])
    body["source_traceability"].pop(0)
    assert validate_package(body).findings == ()


def test_a_word_of_another_language_is_no_drift() -> None:
    body: Any = sample()
    body["concepts"][0]["definition"] = (
        "The résumé of the maître d'hôtel, sent to the café with a piñata, is kept for the record."
    )
    assert validate_package(body).findings == ()


def test_an_issue_says_what_was_expected_and_what_to_do() -> None:
    body: Any = sample()
    body["metadata"]["compression_level"] = "tiny"
    (found,) = validate_package(body).errors
    assert found.to_json() == {
        "code": "ENUM",
        "path": "/metadata/compression_level",
        "message": "'tiny' is not one of the values of compression_level",
        "section": "metadata",
        "expected": ["light", "standard", "dense", "agentic"],
        "got": "tiny",
        "hint": "Use one of the expected values.",
    }


def test_items_of_a_wrong_type_do_not_stop_the_checks() -> None:
    body: Any = sample()
    body["concepts"] = [3, *body["concepts"]]
    body["metadata"] = "none"
    body["source_traceability"] = None
    codes = [it.code for it in validate_package(body, source=SOURCE).errors]
    assert codes.count("SECTION_TYPE") == 2
    assert "FIELD_TYPE" in codes
