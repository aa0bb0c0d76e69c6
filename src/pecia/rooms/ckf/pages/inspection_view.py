"""The inspection report: what a person looks at before trusting a package. Pure."""

from collections.abc import Container, Mapping, Sequence
from typing import Any, cast

from pecia.kernel.errors import Json
from pecia.rooms.ckf.package.fields import SECTION_BY_KEY
from pecia.rooms.ckf.package.figures import numeric_integrity
from pecia.rooms.ckf.package.finding import Finding
from pecia.rooms.ckf.package.inspect import inspect
from pecia.rooms.ckf.package.model import Package
from pecia.rooms.ckf.package.validate import Verdict, validate
from pecia.rooms.ckf.pages.html import Html, Piece, tag
from pecia.rooms.ckf.pages.item_view import confidence
from pecia.rooms.ckf.pages.source_view import QuotedSource, covered

SHOWN = 50
CATALOGUED = 300


def inspection_view(package: Package, source: QuotedSource | None, ids: Container[str]) -> Html:
    """The report. `ids` are the items that stand on the same page."""
    # The report is our own, made a few lines away: its shape is known.
    report = cast(Mapping[str, Any], inspect(package, source.text if source else None))
    verdict = validate(package.body, strict=False, source=source.text if source else None)
    return tag(
        "section",
        tag("h2", "Inspection report"),
        _figures(figures(package, source, report, verdict)),
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


def figures(
    package: Package, source: QuotedSource | None, report: Mapping[str, Any], verdict: Verdict
) -> list[tuple[str, str]]:
    """The few numbers that matter most, named."""
    found = [
        ("items", str(sum(1 for _ in package.every_item()))),
        ("items with a trace", f"{report['traceability']['pct']:g} %"),
        ("mean confidence", _number(report["confidence"]["mean"])),
        ("errors, warnings", f"{len(verdict.errors)}, {len(verdict.warnings)}"),
    ]
    if source is None:
        return found
    numbers = cast(Mapping[str, Any], numeric_integrity(package, source.text))
    share = covered(source) / max(1, len(source.text))
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


def _findings(verdict: Verdict) -> Html:
    if not verdict.findings:
        return tag("p", "Every rule of the format is kept.", class_="note")
    shown = [*verdict.errors, *verdict.warnings][:SHOWN]
    left = len(verdict.findings) - len(shown)
    more = tag("p", f"and {left} more: ckf.validate lists them") if left else None
    summary = f"{len(verdict.errors)} errors and {len(verdict.warnings)} warnings"
    entries = tag("ul", (tag("li", _finding(it)) for it in shown), class_="findings")
    return tag("details", tag("summary", summary), entries, more, open=not verdict.valid)


def _finding(it: Finding) -> Piece:
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
    most = max(1, *buckets.values())
    rows = [
        (name, tag("meter", str(count), min=0, max=most, value=count), count)
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
            tag("td", confidence(it["confidence"])),
        )
        for it in rules[:CATALOGUED]
    )
    left = len(rules) - CATALOGUED
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
