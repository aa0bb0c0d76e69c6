"""Rules for one concept file: errors and advice. Pure."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from pecia.features.cascade.core.dates import parse_instant
from pecia.features.cascade.okf.document import OkfDocument
from pecia.features.cascade.okf.lint.bundle import GUIDE_FILES, BundlePage
from pecia.features.cascade.okf.lint.findings import LintFinding, error, info, warning
from pecia.kernel.errors import Json
from pecia.kernel.text.markdown.sections import MarkdownSection

STATUSES = ("draft", "stable", "deprecated")
RECOMMENDED = ("title", "description")
COMPUTATION = "Attested Computation"


def check_concept_errors(page: BundlePage, *, strict: bool) -> Iterator[LintFinding]:
    """The two errors of a concept: no readable frontmatter, or no type in it."""
    if page.failure is not None:
        yield error(page.path, page.failure.code, page.failure.message)
        return
    assert page.okf is not None
    if not page.text.strip("\ufeff \t\r\n"):
        yield error(page.path, "empty", "the file is empty")
    elif not page.okf.split.has_block:
        yield _without_block(page, strict=strict)
    elif not page.okf.frontmatter:
        yield error(page.path, "empty-frontmatter", "the frontmatter is empty")
    else:
        kind = page.okf.frontmatter.get("type")
        if not isinstance(kind, str) or not kind.strip():
            yield error(page.path, "type", "`type` is required, a non-empty string")


def check_concept_advice(page: BundlePage, now: datetime) -> Iterator[LintFinding]:
    """Everything that OKF allows but is worth a warning."""
    if page.okf is None or not page.okf.frontmatter:
        return
    values = page.okf.frontmatter
    for it in page.okf.repeated:
        yield warning(page.path, "repeated-key", f"duplicate key `{it.key}`", it.at.line)
    yield from _keys(page.path, values)
    yield from _times(page.path, values, now)
    yield from _sources(page, values)
    yield from _body(page, page.okf)


def _without_block(page: BundlePage, *, strict: bool) -> LintFinding:
    assert page.okf is not None
    if page.okf.split.unclosed:
        return error(page.path, "unclosed-frontmatter", "the closing line --- is missing")
    if page.name in GUIDE_FILES and not strict:
        return warning(page.path, "no-frontmatter", "a guide without frontmatter")
    if page.text.lstrip("\ufeff \t\r\n").startswith("---"):
        return error(page.path, "late-frontmatter", "the first line must be --- alone")
    return error(page.path, "no-frontmatter", "a concept must begin with frontmatter")


def _keys(path: str, values: Mapping[str, Json]) -> Iterator[LintFinding]:
    for key in RECOMMENDED:
        if not values.get(key):
            yield info(path, "recommended", f"`{key}` is recommended")
    if "tags" in values and not _are_texts(values["tags"]):
        yield warning(path, "tags", "`tags` must be a list of strings")
    if values.get("status", "stable") not in STATUSES:
        yield warning(path, "status", f"`status` must be one of {', '.join(STATUSES)}")
    if values.get("status") == "draft":
        yield info(path, "draft", "the concept is a draft")
    resource = values.get("resource")
    if resource is not None and not (isinstance(resource, str) and _URI.fullmatch(resource)):
        yield warning(path, "resource", "`resource` must be a URI or a path")
    if values.get("type") == COMPUTATION and not values.get("runtime"):
        yield warning(path, "runtime", "an attested computation must name its `runtime`")
    if "timestamp" in values:
        yield warning(path, "legacy-timestamp", "`timestamp` is of OKF 0.1: use `generated.at`")


def _times(path: str, values: Mapping[str, Json], now: datetime) -> Iterator[LintFinding]:
    generated = _mapping(values.get("generated"))
    checked = verified_times(values)
    written = {key: values.get(key) for key in ("stale_after", "timestamp")}
    written |= {"generated.at": generated.get("at")}
    written |= {f"verified.{number}.at": it for number, it in enumerate(checked)}
    for key, value in written.items():
        if value is not None and not (isinstance(value, str) and _RFC3339.fullmatch(value)):
            yield warning(path, "time", f"`{key}` must be a date-time with an offset (RFC 3339)")
    if is_stale(values, now):
        yield warning(path, "stale", f"stale since {values.get('stale_after')}")
    if not checked:
        yield info(path, "unverified", "it was never verified")
    made = parse_instant(_text(generated.get("at")))
    seen = [found for it in checked if (found := parse_instant(_text(it)))]
    if made and seen and max(seen) < made:
        yield warning(path, "verified-before", "it changed after it was last verified")


def is_stale(values: Mapping[str, Json], now: datetime) -> bool:
    """Whether `stale_after` has passed."""
    limit = parse_instant(_text(values.get("stale_after")))
    return limit is not None and now >= limit


def verified_times(values: Mapping[str, Json]) -> list[Json]:
    """All verification times; a bare mapping is a list of one."""
    verified = values.get("verified")
    listed = verified if isinstance(verified, list) else [verified]
    return [it.get("at") for it in listed if isinstance(it, dict)]


def _sources(page: BundlePage, values: Mapping[str, Json]) -> Iterator[LintFinding]:
    listed = values.get("sources")
    sources = [it for it in listed if isinstance(it, dict)] if isinstance(listed, list) else []
    for number, it in enumerate(sources):
        if not it.get("resource"):
            yield warning(page.path, "source", f"`sources.{number}` has no `resource`")
    ids = {name for it in sources if (name := _text(it.get("id")))}
    cited = {it[1] for it in _FOOTNOTE.finditer(page.text)}
    for it in sorted(cited - ids):
        yield warning(page.path, "footnote", f"[^{it}] names no source")
    for it in sorted(ids - cited):
        yield warning(page.path, "uncited", f"the source {it!r} is never cited")


def _body(page: BundlePage, okf: OkfDocument) -> Iterator[LintFinding]:
    headed = [it for it in okf.outline.sections if it.heading]
    if not okf.split.body.strip():
        yield info(page.path, "empty-body", "the body is empty")
    elif not headed:
        yield info(page.path, "no-heading", "the body has no heading")
    for it in headed:
        if _is_citations(it):
            line = page.line_of(it.span.start)
            yield warning(page.path, "legacy-citations", "use `sources` for citations", line)


def _is_citations(section: MarkdownSection) -> bool:
    heading = section.heading
    return heading is not None and heading.level == 1 and section.key == "citations"


def _are_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(it, str) for it in value)


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


_URI = re.compile(r"[^\s<>\"{}|\\^`]+")
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)")
_FOOTNOTE = re.compile(r"\[\^([^\]\s]+)\](?!:)")
