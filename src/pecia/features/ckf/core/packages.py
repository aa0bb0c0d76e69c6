"""The computations of the package tools, from input to output. Pure.

Runs in compute workers: an untrusted package may take arbitrarily long to parse.
"""

from pecia.features.ckf.package.checks.validate import validate_package
from pecia.features.ckf.package.codec.codec import encode_package
from pecia.features.ckf.package.diff.diff import diff_bodies
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.normalize import normalize
from pecia.features.ckf.package.quality.stats import count_stats
from pecia.features.ckf.package.slice.slice import slice_package
from pecia.features.ckf.package.verify import (
    CurrentSource,
    Quotation,
    QuotationState,
    verify_quotations,
)
from pecia.features.ckf.tools.arguments import (
    parse_document_argument,
    parse_package_argument,
    require_one_of,
)
from pecia.features.ckf.tools.inputs import (
    DiffInput,
    ParseInput,
    SerializeInput,
    SliceInput,
    ValidateInput,
)
from pecia.features.ckf.tools.outputs import (
    DiffOut,
    ParseOut,
    QuotationOut,
    SerializeOut,
    SliceOut,
    ValidateOut,
    VerifyOut,
)

MAX_FINDINGS = 200


def run_parse(ask: ParseInput) -> ParseOut:
    found = parse_document_argument(ask.document, ask.format, ask.filename)
    body = normalize(found.body).body
    return ParseOut(format=found.format, package=body, warnings=[*found.warnings])


def run_serialize(ask: SerializeInput) -> SerializeOut:
    document = encode_package(parse_package_argument(ask.package), ask.format)
    return SerializeOut(format=ask.format, document=document, bytes=len(document.encode()))


def run_validate(ask: ValidateInput) -> ValidateOut:
    value = require_one_of(ask.document, ask.package, ("document", "package"))
    found = parse_document_argument(value, ask.format)
    verdict = validate_package(found.body, strict=ask.strict, source=ask.source_text)
    errors, warnings = verdict.errors, verdict.warnings
    return ValidateOut(
        valid=verdict.valid,
        format=found.format,
        errors=[it.to_json() for it in errors[:MAX_FINDINGS]],
        warnings=[it.to_json() for it in warnings[:MAX_FINDINGS]],
        stats=count_stats(Package(found.body)),
        truncated=max(len(errors), len(warnings)) > MAX_FINDINGS,
    )


def run_diff(ask: DiffInput) -> DiffOut:
    a, b = parse_package_argument(ask.a), parse_package_argument(ask.b)
    found = diff_bodies(a, b, ignore_volatile=ask.ignore_volatile)
    return DiffOut.model_validate(found.to_json())


def run_slice(ask: SliceInput) -> SliceOut:
    found = slice_package(parse_package_argument(ask.package), ask.query, ask.budget_tokens)
    return SliceOut(
        document=found.document,
        tokens=found.tokens,
        budget_tokens=ask.budget_tokens,
        included=[*found.included],
        left_out=[*found.omitted],
        links=[*found.links],
    )


def run_verify(package: Package, sources: dict[str, CurrentSource]) -> VerifyOut:
    found = verify_quotations(package, sources)
    fine = (QuotationState.HOLDS, QuotationState.MOVED)
    problems = [it for it in found.quotations if it.state not in fine]
    return VerifyOut(
        holds=found.holds,
        counts=found.counts(),
        stale=[*found.stale],
        problems=[_quotation_out(it) for it in problems[:MAX_FINDINGS]],
        truncated=len(problems) > MAX_FINDINGS,
    )


def _quotation_out(it: Quotation) -> QuotationOut:
    return QuotationOut(
        path=it.path,
        item_id=it.item_id,
        source=it.source,
        excerpt=it.excerpt,
        state=it.state,
        char_start=it.span.start if it.span else None,
        char_end=it.span.end if it.span else None,
        was=it.was,
        now=it.now,
    )
