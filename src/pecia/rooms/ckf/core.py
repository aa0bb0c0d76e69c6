"""What the tools over packages compute, from what they take to what they give. Pure.

Runs in compute workers: a package that a stranger sends may take any time to read.
"""

from pecia.rooms.ckf.argument import given_document, given_package, one_of
from pecia.rooms.ckf.inputs import Diff, Parse, Serialize, Slice, Validate
from pecia.rooms.ckf.outputs import (
    Differences,
    Parsed,
    QuotationOut,
    Serialized,
    Sliced,
    Validated,
    Verified,
)
from pecia.rooms.ckf.package.codec import encode
from pecia.rooms.ckf.package.diff import diff
from pecia.rooms.ckf.package.model import Package
from pecia.rooms.ckf.package.normal import normalize
from pecia.rooms.ckf.package.slice import slice_package
from pecia.rooms.ckf.package.stats import stats
from pecia.rooms.ckf.package.validate import validate
from pecia.rooms.ckf.package.verify import Quotation, Reread, State, verify

MOST = 200


def parsed(ask: Parse) -> Parsed:
    found = given_document(ask.document, ask.format, ask.filename)
    body = normalize(found.body).body
    return Parsed(format=found.format, package=body, warnings=[*found.warnings])


def serialized(ask: Serialize) -> Serialized:
    document = encode(given_package(ask.package), ask.format)
    return Serialized(format=ask.format, document=document, bytes=len(document.encode()))


def validated(ask: Validate) -> Validated:
    value = one_of(ask.document, ask.package, ("document", "package"))
    found = given_document(value, ask.format)
    verdict = validate(found.body, strict=ask.strict, source=ask.source_text)
    errors, warnings = verdict.errors, verdict.warnings
    return Validated(
        valid=verdict.valid,
        format=found.format,
        errors=[it.issue() for it in errors[:MOST]],
        warnings=[it.issue() for it in warnings[:MOST]],
        stats=stats(Package(found.body)),
        truncated=max(len(errors), len(warnings)) > MOST,
    )


def differences(ask: Diff) -> Differences:
    a, b = given_package(ask.a), given_package(ask.b)
    found = diff(a, b, ignore_volatile=ask.ignore_volatile)
    return Differences.model_validate(found.report())


def sliced(ask: Slice) -> Sliced:
    found = slice_package(given_package(ask.package), ask.query, ask.budget_tokens)
    return Sliced(
        document=found.document,
        tokens=found.tokens,
        budget_tokens=ask.budget_tokens,
        included=[*found.included],
        left_out=[*found.left_out],
        links=[*found.links],
    )


def verified(package: Package, sources: dict[str, Reread]) -> Verified:
    found = verify(package, sources)
    fine = (State.HOLDS, State.MOVED)
    problems = [it for it in found.quotations if it.state not in fine]
    return Verified(
        holds=found.holds,
        counts=found.counts(),
        stale=[*found.stale],
        problems=[_shown(it) for it in problems[:MOST]],
        truncated=len(problems) > MOST,
    )


def _shown(it: Quotation) -> QuotationOut:
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
