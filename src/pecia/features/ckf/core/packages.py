"""The computations of the package tools, from input to output. Pure.

Runs in compute workers: an untrusted package may take arbitrarily long to parse.
"""

import json

from pecia.features.ckf.package.checks.validate import validate_package
from pecia.features.ckf.package.codec.codec import encode_package
from pecia.features.ckf.package.diff.diff import diff_bodies
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.normalize import normalize
from pecia.features.ckf.package.quality.stats import count_stats
from pecia.features.ckf.package.slice.slice import PackageSlice, slice_package
from pecia.features.ckf.package.tokens import CHARACTERS_PER_TOKEN, estimate_tokens
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
SLICE_STEP_TOKENS = 24
NOTHING_FOUND = "Nothing in the package is about this question."
NOTHING_FITS = "The budget is too small for any item."


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
    """The largest slice whose whole reply, as JSON, keeps the budget."""
    package = parse_package_argument(ask.package)
    reply = _slice_reply(ask, slice_package(package, ask.query, 0))
    low, high = 0, ask.budget_tokens
    # The reply grows with the slice's own budget, though not strictly: the best that fits is kept.
    while high - low > SLICE_STEP_TOKENS:
        middle = (low + high) // 2
        tried = _slice_reply(ask, slice_package(package, ask.query, middle))
        if tried.tokens <= ask.budget_tokens:
            low, reply = middle, tried
        else:
            high = middle
    return reply


def _slice_reply(ask: SliceInput, found: PackageSlice) -> SliceOut:
    """The reply with as many names of items left out as the budget allows."""
    relevant = bool(found.included or found.omitted)
    reply = SliceOut(
        document=found.document,
        tokens=ask.budget_tokens,
        budget_tokens=ask.budget_tokens,
        answered=bool(found.included),
        note="" if found.included else NOTHING_FITS if relevant else NOTHING_FOUND,
        included=[*found.included],
        left_out=[],
        left_out_count=len(found.omitted),
        links=[*found.links],
    )
    spare = ask.budget_tokens * CHARACTERS_PER_TOKEN - len(reply.model_dump_json())
    named: list[str] = []
    for it in found.omitted:
        spare -= len(json.dumps(it, ensure_ascii=False)) + len(",")
        if spare < 0:
            break
        named.append(it)
    reply = reply.model_copy(update={"left_out": named})
    return reply.model_copy(update={"tokens": estimate_tokens(reply.model_dump_json())})


def run_verify(package: Package, sources: dict[str, CurrentSource]) -> VerifyOut:
    found = verify_quotations(package, sources)
    fine = (QuotationState.HOLDS, QuotationState.MOVED)
    problems = [it for it in found.quotations if it.state not in fine]
    return VerifyOut(
        stale=[*found.stale],
        altered=found.altered,
        holds=found.holds,
        counts=found.counts(),
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
