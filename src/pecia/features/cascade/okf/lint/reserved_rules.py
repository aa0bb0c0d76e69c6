"""Rules for the two reserved files, `index.md` and `log.md`. Pure."""

import re
from collections.abc import Iterator
from datetime import date

from pecia.features.cascade.okf.lint.bundle import BundlePage
from pecia.features.cascade.okf.lint.findings import LintFinding, error, warning
from pecia.kernel.text.links.extract import find_links
from pecia.kernel.text.span import split_lines

VERSION = "okf_version"


def check_index(page: BundlePage) -> Iterator[LintFinding]:
    """An index: headings, each over a list of links; a version only at the root."""
    if page.failure is not None:
        yield error(page.path, page.failure.code, page.failure.message)
        return
    assert page.okf is not None
    if not page.okf.split.body.strip():
        yield error(page.path, "index-empty", "the index is empty")
        return
    yield from _index_head(page)
    if not any(it.heading for it in page.okf.outline.sections):
        yield error(page.path, "index-heading", "an index must have a heading")
    if not find_links(page.text):
        yield error(page.path, "index-link", "an index must list links")


def check_log(page: BundlePage) -> Iterator[LintFinding]:
    """A log: days, the newest first, each over flat bullets."""
    if page.failure is not None:
        yield error(page.path, page.failure.code, page.failure.message)
        return
    assert page.okf is not None
    if page.okf.split.has_block:
        yield warning(page.path, "log-frontmatter", "a log must not have frontmatter")
    days: list[date] = []
    start = page.line_of(page.okf.split.block.end)
    for number, line in enumerate(split_lines(page.okf.split.body), start=start):
        yield from _log_line(page.path, line.rstrip("\r\n"), number, days)


def _index_head(page: BundlePage) -> Iterator[LintFinding]:
    assert page.okf is not None
    values = page.okf.frontmatter
    if page.okf.split.has_block and page.folder:
        rule = "index-version" if VERSION in values else "index-frontmatter"
        yield error(page.path, rule, "only the root index may have frontmatter")
    elif VERSION in values and not isinstance(values[VERSION], str):
        yield error(page.path, "index-version", f'`{VERSION}` must be a string, such as "0.2"')
    elif page.okf.split.has_block and not values:
        yield warning(page.path, "empty-frontmatter", "the frontmatter is empty")
    for key in sorted(values.keys() - {VERSION}) if not page.folder else ():
        yield warning(page.path, "index-key", f"`{key}` has no meaning in an index")


def _log_line(path: str, line: str, number: int, days: list[date]) -> Iterator[LintFinding]:
    if not line.strip():
        return
    heading = _HEADING.fullmatch(line)
    if heading is None:
        yield from _log_text(path, line, number, bool(days))
        return
    level, words = len(heading[1]), heading[2].strip()
    looks_dated = bool(_DATE.match(words))
    if level == 1 and not days and not looks_dated:
        return
    if level > 2:
        yield error(path, "log-nested", "headings must be days, at level 2", number)
    elif level != 2:
        yield error(path, "log-level", "a day must be a level 2 heading", number)
    else:
        yield from _day(path, words, number, days)


def _day(path: str, words: str, number: int, days: list[date]) -> Iterator[LintFinding]:
    if not _DATE.fullmatch(words):
        yield error(path, "log-format", f"{words!r} is not a date such as 2026-01-31", number)
        return
    try:
        day = date.fromisoformat(words)
    except ValueError:
        yield error(path, "log-date", f"no such date: {words}", number)
        return
    if days and day > days[-1]:
        yield error(path, "log-order", "the newest day must come first", number)
    days.append(day)


def _log_text(path: str, line: str, number: int, in_day: bool) -> Iterator[LintFinding]:
    if _NESTED.match(line):
        yield error(path, "log-bullet", "bullets must not be nested", number)
    elif in_day and not _BULLET.match(line) and not line.startswith("  "):
        yield error(path, "log-text", "a day may hold bullets only", number)


_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*?))?[ \t]*#*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_BULLET = re.compile(r"[-*+] ")
_NESTED = re.compile(r"[ \t]+[-*+] ")
