"""The linter: each rule fires on what it is about, and keeps quiet on what is fine."""

from datetime import UTC, datetime

import pytest

from pecia.features.cascade.okf.lint.bundle import parse_bundle
from pecia.features.cascade.okf.lint.findings import LintSeverity
from pecia.features.cascade.okf.lint.runner import lint_bundle, validate_bundle

NOW = datetime(2026, 6, 1, tzinfo=UTC)
HEAD = (
    "---\ntype: note\ntitle: T\ndescription: D.\n"
    "verified: {by: human:x, at: 2026-05-01T00:00:00Z}\n"
)


def rules(files: dict[str, bytes | str], *, strict: bool = False) -> dict[str, str]:
    """By rule, the severity of everything found."""
    raw = {path: it.encode() if isinstance(it, str) else it for path, it in files.items()}
    return {it.rule: it.severity.value for it in lint_bundle(parse_bundle(raw, NOW), strict=strict)}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (b"", "empty"),
        (b"words", "no-frontmatter"),
        (b"\n---\ntype: x\n---\n", "late-frontmatter"),
        (b"---\ntype: x\n", "unclosed-frontmatter"),
        (b"---\n---\n", "empty-frontmatter"),
        (b"---\na: b: c\n---\n", "bad-yaml"),
        (b"---\n- a\n---\n", "not-a-mapping"),
        (b"---\ntitle: x\n---\n", "type"),
        (b"---\ntype: ''\n---\n", "type"),
        (b"---\ntype: [x]\n---\n", "type"),
        (b"---\ntype: \xff\n---\n", "not-utf-8"),
    ],
)
def test_what_the_specification_forbids_is_an_error(text: bytes, rule: str) -> None:
    found = validate_bundle(parse_bundle({"a.md": text}, NOW))
    assert [it.rule for it in found] == [rule]


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("index.md", "", "index-empty"),
        ("index.md", "[words](a.md)", "index-heading"),
        ("index.md", "# H\n\nno link", "index-link"),
        ("x/index.md", '---\nokf_version: "0.2"\n---\n\n# H\n\n* [a](a.md)', "index-version"),
        ("x/index.md", "---\na: b\n---\n\n# H\n\n* [a](a.md)", "index-frontmatter"),
        ("index.md", "---\nokf_version: 0.2\n---\n\n# H\n\n* [a](a.md)", "index-version"),
        ("log.md", "# Log\n\n# 2026-01-01\n* x", "log-level"),
        ("log.md", "## yesterday\n* x", "log-format"),
        ("log.md", "## 2026-02-30\n* x", "log-date"),
        ("log.md", "## 2026-01-01\n* x\n\n## 2026-01-02\n* y", "log-order"),
        ("log.md", "## 2026-01-01\n### More\n* x", "log-nested"),
        ("log.md", "## 2026-01-01\n* x\n  * y", "log-bullet"),
        ("log.md", "## 2026-01-01\nwords", "log-text"),
    ],
)
def test_reserved_files_have_a_form(name: str, text: str, rule: str) -> None:
    found = validate_bundle(parse_bundle({name: text.encode()}, NOW))
    assert [it.rule for it in found] == [rule]


def test_what_is_in_order_has_no_errors() -> None:
    files = {
        "index.md": '---\nokf_version: "0.2"\n---\n\n# note\n\n* [T](a.md) - D.\n',
        "log.md": "# Log\n\n## 2026-01-02\n* **Update**: x\n\n## 2026-01-01\n* y\n",
        "a.md": HEAD + "---\n\n# T\n\ntext\n",
        "crlf.md": "---\r\ntype: x\r\n---\r\n",
    }
    assert validate_bundle(parse_bundle({it: files[it].encode() for it in files}, NOW)) == []


@pytest.mark.parametrize(
    ("more", "body", "rule"),
    [
        ("tags: x\n", "", "tags"),
        ("tags: [x, 7]\n", "", "tags"),
        ("resource: 'a b'\n", "", "resource"),
        ("status: old\n", "", "status"),
        ("stale_after: 2026-01-01T00:00:00Z\n", "", "stale"),
        ("stale_after: 2026-09-01\n", "", "time"),
        ("generated: {by: x, at: 2026-05-02T00:00:00Z}\n", "", "verified-before"),
        ("timestamp: 2026-01-01\n", "", "legacy-timestamp"),
        ("timestamp: 2026-01-01\n", "", "time"),
        ("timestamp: ['2026-01-01T00:00:00Z']\n", "", "time"),
        ("sources:\n  - id: s\n    resource: r\n", "", "uncited"),
        ("sources:\n  - id: s\n", "x[^s]", "source"),
        ("", "x[^nobody]", "footnote"),
        ("", "# Citations\n\nx", "legacy-citations"),
        ("", "# A\n\n[x](a.md)", "self-link"),
        ("", "# A\n\n[x](b.md#nope)", "anchor"),
        ("", "# A\n\n[x](#nope)", "anchor"),
        ("", "# A\n\n[x](b.md)", "deprecated"),
        ("title: again\n", "", "repeated-key"),
    ],
)
def test_advice_is_a_warning(more: str, body: str, rule: str) -> None:
    old = "---\ntype: note\nstatus: deprecated\n---\n\n# B\n"
    found = rules({"a.md": f"{HEAD}{more}---\n\n{body}\n", "b.md": old})
    assert found[rule] == LintSeverity.WARNING


def test_an_index_whose_frontmatter_says_nothing_is_told_so() -> None:
    found = rules({"index.md": "---\n---\n\n# H\n\n* [a](a.md)"})
    assert found["empty-frontmatter"] == LintSeverity.WARNING


def test_an_attested_computation_names_its_runtime() -> None:
    assert "runtime" in rules({"a.md": "---\ntype: Attested Computation\n---\n"})


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("---\ntype: note\n---\n", "recommended"),
        ("---\ntype: note\nstatus: draft\n---\n", "draft"),
        ("---\ntype: note\n---\n", "empty-body"),
        ("---\ntype: note\n---\n\nwords", "no-heading"),
        ("---\ntype: note\n---\n", "unverified"),
        ("---\ntype: note\n---\n", "no-index"),
        ("---\ntype: note\n---\n\n[x](gone.md)", "broken-link"),
        ("---\ntype: note\n---\n\n[[gone]]", "wiki-link"),
    ],
)
def test_the_rest_is_a_note(text: str, rule: str) -> None:
    assert rules({"a.md": text})[rule] == LintSeverity.INFO


def test_an_index_must_list_its_neighbours_in_their_words() -> None:
    index = "# note\n\n* [T](a.md) - Something else.\n"
    found = rules({"index.md": index, "a.md": HEAD + "---\n", "b.md": HEAD + "---\n"})
    assert found["index-description"] == LintSeverity.WARNING
    assert found["orphan"] == LintSeverity.WARNING
    assert found["duplicate-title"] == LintSeverity.WARNING


def test_guides_without_frontmatter_pass_unless_asked_strictly() -> None:
    assert rules({"README.md": "# Hello"})["no-frontmatter"] == LintSeverity.WARNING
    assert rules({"README.md": "# Hello"}, strict=True)["no-frontmatter"] == LintSeverity.ERROR


def test_a_log_with_frontmatter_is_only_warned_of() -> None:
    assert rules({"log.md": "---\ntype: Log\n---\n\n## 2026-01-01\n* x\n"}) == {
        "log-frontmatter": "warning"
    }
