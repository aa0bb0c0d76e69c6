"""The inspection report, for people to judge a package. Pure."""

from collections.abc import Container, Mapping, Sequence
from typing import Any, cast

from pecia.features.ckf.package.checks.findings import PackageFinding
from pecia.features.ckf.package.checks.validate import ValidationResult, validate_package
from pecia.features.ckf.package.fields import SECTION_BY_KEY
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.quality.inspect import inspect_package
from pecia.features.ckf.package.quality.metrics import measure_numeric_integrity
from pecia.features.ckf.pages.html import Html, Piece, tag
from pecia.features.ckf.pages.views.item import render_confidence
from pecia.features.ckf.pages.views.source import QuotedSource, count_quoted_chars
from pecia.kernel.errors import Json

MAX_ROWS = 50
MAX_CATALOGUE_ROWS = 300


def render_inspection(package: Package, source: QuotedSource | None, ids: Container[str]) -> Html:
    """The report. `ids` are the items on the same page."""
    # The report is our own, so its shape is known.
    report = cast(Mapping[str, Any], inspect_package(package, source.text if source else None))
    verdict = validate_package(package.body, strict=False, source=source.text if source else None)
    return tag(
        "section",
        tag("h2", "Inspection report"),
        _figures(key_figures(package, source, report, verdict)),
        _findings(verdict),
        tag(
            "div",
            _confidences(report["confidence"]),
            _absent(report),
            _types(report["atomic_types"]),
            _sizes(report["compression"]),
            class_="columns",
        ),
        _rules(report["rules"], ids),
        id="inspection",
    )


def key_figures(
    package: Package,
    source: QuotedSource | None,
    report: Mapping[str, Any],
    verdict: ValidationResult,
) -> list[tuple[str, str]]:
    """The few numbers that matter most, named."""
    found = [
        ("items", str(sum(1 for _ in package.iter_items()))),
        ("items with a trace", f"{report['traceability']['pct']:g} %"),
        ("mean confidence", _number(report["confidence"]["mean"])),
        ("errors, warnings", f"{len(verdict.errors)}, {len(verdict.warnings)}"),
    ]
    if source is None:
        return found
    numbers = cast(Mapping[str, Any], measure_numeric_integrity(package, source.text))
    share = count_quoted_chars(source) / max(1, len(source.text))
    return [
        *found,
        ("quotations found in the source", f"{report['source_coverage']['located_pct']:g} %"),
        ("of the source is quoted", f"{100 * share:.0f} %"),
        ("numbers kept", f"{numbers['source_values_kept']} of {numbers['source_values']}"),
        ("tokens, as Markdown, over source", _number(report["compression"]["ratio"]["markdown"])),
    ]


def _figures(found: Sequence[tuple[str, str]]) -> Html:
    return tag(
        "ul",
        (tag("li", tag("b", value), tag("span", name)) for name, value in found),
        class_="figures",
    )


def _findings(verdict: ValidationResult) -> Html:
    if not verdict.findings:
        return tag("p", "Every rule of the format is kept.", class_="note")
    shown = [*verdict.errors, *verdict.warnings][:MAX_ROWS]
    left = len(verdict.findings) - len(shown)
    more = tag("p", f"and {left} more: ckf.validate lists them") if left else None
    summary = f"{len(verdict.errors)} errors and {len(verdict.warnings)} warnings"
    entries = tag("ul", (tag("li", _render_finding(it)) for it in shown), class_="findings")
    return tag("details", tag("summary", summary), entries, more, open=not verdict.valid)


def _render_finding(it: PackageFinding) -> Piece:
    kind = it.severity.value
    return (
        tag("span", kind, class_=f"badge {kind}"),
        " ",
        tag("code", it.code),
        f" {it.message} ",
        tag("code", it.path),
    )


def _confidences(report: Mapping[str, Any]) -> Html:
    buckets: Mapping[str, int] = report["buckets"]
    highest = max(1, *buckets.values())
    rows = [
        (name, tag("meter", str(count), min=0, max=highest, value=count), count)
        for name, count in buckets.items()
    ]
    return _table("Confidence", [*rows, ("unrated", None, report["unrated"])])


def _absent(report: Mapping[str, Any]) -> Html:
    worst = report["traceability"]["worst_sections"]
    rows: list[tuple[Piece, ...]] = [
        ("empty sections", _names(report["empty_sections"])),
        (
            "least traced",
            ", ".join(f"{_name(it['section'])} {it['pct']:g} %" for it in worst) or "none",
        ),
        ("items that nothing refers to", str(len(report["orphans"]))),
    ]
    return _table("What is missing", rows)


def _types(types: Mapping[str, int]) -> Html | None:
    if not types:
        return None
    return _table("Atomic units", [(name or "untyped", count) for name, count in types.items()])


def _sizes(report: Mapping[str, Any]) -> Html:
    rows = [
        (name, f"{size:,} bytes", f"{report['tokens'][name]:,} tokens")
        for name, size in report["bytes"].items()
    ]
    if report["source_tokens"]:
        rows.append(("source", "", f"{report['source_tokens']:,} tokens"))
    return _table("Size", rows)


def _rules(rules: Sequence[Mapping[str, Any]], ids: Container[str]) -> Html | None:
    if not rules:
        return None
    rows = (
        tag(
            "tr",
            tag("td", _rule(it, ids)),
            tag("td", _name(it["section"])),
            tag("td", render_confidence(it["confidence"])),
        )
        for it in rules[:MAX_CATALOGUE_ROWS]
    )
    left = len(rules) - MAX_CATALOGUE_ROWS
    note = tag("p", f"and {left:,} more, in their sections", class_="note") if left > 0 else None
    table = tag("table", tag("tbody", rows))
    summary = tag("summary", f"Catalogue of {len(rules):,} rules")
    return tag("details", summary, tag("div", table, class_="wide"), note)


def _rule(rule: Mapping[str, Any], ids: Container[str]) -> Piece:
    if rule["id"] not in ids:
        return str(rule["rule"])
    return tag("a", rule["rule"], href=f"#item-{rule['id']}")


def _table(title: str, rows: Sequence[Sequence[Piece]]) -> Html:
    body = (
        tag("tr", tag("th", first, scope="row"), (tag("td", it) for it in rest))
        for first, *rest in rows
    )
    return tag("table", tag("caption", title), tag("tbody", body))


def _names(keys: Sequence[str]) -> str:
    return ", ".join(_name(it) for it in keys) or "none"


def _name(key: str) -> str:
    return SECTION_BY_KEY[key].title.lower()


def _number(value: Json) -> str:
    return "–" if value is None else f"{value:g}" if isinstance(value, (int, float)) else str(value)
