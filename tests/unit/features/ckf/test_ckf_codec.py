"""Three encodings: their canonical form, what foreign writers do, and what is refused."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from pecia.features.ckf.package.codec.codec import (
    PackageFormat,
    decode_document,
    detect_format,
    encode_package,
    parse_package,
)
from pecia.features.ckf.package.model import NO_DATE, Package
from pecia.features.ckf.package.normalize import compact_package, normalize
from pecia.features.ckf.package.schema import build_package_schema
from pecia.kernel.errors import Json, Unprocessable
from tests.unit.features.ckf.ckf_sample import sample

OLD_MARKDOWN = """\
# CKF — COMPILED KNOWLEDGE FORMAT PACKAGE

package_id: ckf_demo_1
format_version: 0.1
source_type: Article
source_title: Sleep: and memory
source_author: [A, B]
subdomains: [sleep, memory]
created_at: 2026-05-15T10:00:00Z
human_readability: 0.7

---

## 1. CORE INTENT

```yaml
core_intent:
  primary_purpose: >-
    Explain why sleep
    matters.
```

## 3. Entities

```yaml
entities:
- id: ENT_001
  name: Sleep
  type: process
  description: "starts at 12:30"
  since: 2024-05-31
  at: 12:30
  quoted: |
    ```yaml
    entities: []
    ```
```

## 7. DECISION RULES

```yaml
decision_rules: []  # none extracted
```
"""

REPORT = """\
# Sleep and memory
> Compiled with **a provider** - model `m` - CKF v1.0

## 1. Core intent
**Primary purpose:** Explain sleep.
**Intended agent use:**
- answer
- plan

## 2. Domain map
**Main domain:** science
**Adjacent:** biology, medicine

## 3. Entities (1)
### Hippocampus _(organ)_ _[e_001 | explicit | c=0.95 | s_001]_
Stores recent memories.
_Aliases:_ seahorse
_Relations:_ supports -> **Memory**

## 4. Concepts (1)
### Consolidation _[c_001 | inferred | c=0.70 | s_001, s_002]_
What sleep does to memories.

## 7. Decision rules
- IF tired THEN sleep _(rest helps)_ _[dr_001 | explicit | c=0.90 | s_002]_

## 8. Procedures
### Rest _[pr_001 | explicit | c=0.90 | s_003]_
_Objective:_ be awake
1. lie down
2. close your eyes

## 17. Q&A pairs
- **Q:** Why sleep?
  **A:** To remember. _[qa_001 | explicit | c=0.90 | s_003]_

## 19. Atomic units (1)
- _[fact]_ Sleep is long. _[au_001 | explicit | c=0.90 | s_003]_

## 21. Knowledge limits
**Missing context**
- dreams

## 22. Source traceability
### e_001 — part 1
> the hippocampus stores
"""


def test_json_is_indented_by_two_with_keys_in_schema_order() -> None:
    text = encode_package(normalize(dict(reversed(sample().items()))), PackageFormat.JSON)
    assert text.startswith('{\n  "metadata": {\n    "package_id": "refunds-1",\n')
    assert list(orjson.loads(text)) == list(sample())


def test_markdown_has_a_header_and_22_numbered_sections() -> None:
    text = encode_package(normalize(sample()), PackageFormat.MARKDOWN)
    lines = text.split("\n")
    assert lines[:4] == [
        "# CKF — KNOWLEDGE CONTEXT PACKAGE",
        "",
        "package_id: refunds-1",
        "protocol_version: ckf-1.0",
    ]
    assert lines[8] == "subdomains: [returns]"
    assert lines[13:18] == ["ai_utility_score: 0.81", "", "---", "", "## 1. CORE INTENT"]
    assert "## 3. ENTITY GRAPH\n\n```yaml\nentities: []  # none extracted\n```\n\n## 4." in text
    assert [it.split(".")[0] for it in lines if it.startswith("## ")] == [
        f"## {number}" for number in range(1, 23)
    ]


def test_metadata_that_the_header_cannot_say_gets_a_block() -> None:
    body: Any = sample()
    body["metadata"] |= {"source_isbn": "007", "source_manifest": [], "source_title": " spaced "}
    text = encode_package(normalize(body), PackageFormat.MARKDOWN)
    assert "## 0. METADATA" in text
    assert parse_package(text) == normalize(body)


def test_yaml_is_in_blocks_without_anchors() -> None:
    twice = ["same"] * 2
    body: Any = sample()
    body["agent_instructions"] = {"behavior_rules": twice, "response_rules": twice}
    text = encode_package(normalize(body), PackageFormat.YAML)
    assert "  behavior_rules:\n    - same\n    - same\n" in text
    assert "&" not in text
    assert "{" not in text


def test_a_fence_in_a_text_does_not_end_its_block() -> None:
    body: Any = sample()
    body["concepts"][0]["definition"] = "a\n```\n## 5. PRINCIPLES\n```yaml\nconcepts: []\n```\n"
    assert parse_package(encode_package(normalize(body), PackageFormat.MARKDOWN)) == normalize(body)


def test_numbers_look_like_numbers_to_older_readers_too() -> None:
    body: Any = sample()
    body["extra"] = [1e-07, 1e22, "1e-07", "12:30", "yes", "2024-05-31", "0.1"]
    text = encode_package(normalize(body), PackageFormat.YAML)
    assert '- 1.0e-07\n  - 1.0e+22\n  - "1e-07"\n  - "12:30"\n  - "yes"\n' in text
    assert parse_package(text) == normalize(body)


def test_unknown_keys_and_fields_survive_in_every_format() -> None:
    body: Any = sample()
    body["audit_matrix"] = [{"item_id": "con_refund", "numeric_ok": True}]
    body["concepts"][0]["seen_on"] = {"page": 3}
    for format in PackageFormat:
        assert parse_package(encode_package(normalize(body), format)) == normalize(body)


def test_markdown_of_older_writers_is_read() -> None:
    found = parse_package(OLD_MARKDOWN)
    assert found.metadata["protocol_version"] == "0.1"
    assert found.metadata["source_title"] == "Sleep: and memory"
    assert found.metadata["source_author"] == "[A, B]"
    assert found.metadata["subdomains"] == ["sleep", "memory"]
    assert found.metadata["human_readability"] == 0.7
    assert found.section_object("core_intent")["primary_purpose"] == "Explain why sleep matters."
    (entity,) = found.items("entities")
    assert (entity["since"], entity["at"]) == ("2024-05-31", "12:30")
    assert entity["quoted"] == "```yaml\nentities: []\n```\n"
    assert parse_package(encode_package(found, PackageFormat.MARKDOWN)) == found


def test_the_report_form_is_read_with_a_warning() -> None:
    found = decode_document(REPORT)
    body: Any = found.body
    assert found.format is PackageFormat.MARKDOWN
    assert found.warnings
    assert body["core_intent"]["intended_agent_use"] == ["answer", "plan"]
    assert body["domain_map"] == {
        "main_domain": "science",
        "adjacent_domains": ["biology", "medicine"],
    }
    assert body["entities"] == [
        {
            "id": "e_001",
            "source_basis": "explicit",
            "confidence": 0.95,
            "source_refs": ["s_001"],
            "name": "Hippocampus",
            "type": "organ",
            "aliases": ["seahorse"],
            "related": [{"name": "Memory", "relation": "supports"}],
            "description": "Stores recent memories.",
        }
    ]
    assert body["concepts"][0]["source_refs"] == ["s_001", "s_002"]
    assert body["decision_rules"][0]["condition"] == "tired"
    assert body["procedures"][0]["steps"] == ["lie down", "close your eyes"]
    assert body["qa_pairs"][0]["ideal_answer"] == "To remember."
    assert body["atomic_units"][0]["type"] == "fact"
    assert body["knowledge_limits"] == {"missing_context": ["dreams"]}
    assert body["source_traceability"][0]["source_excerpt"] == "the hippocampus stores"


def test_what_a_document_leaves_out_is_filled_in() -> None:
    short = parse_package('{"metadata": {"package_id": "a"}}')
    long = parse_package('{"metadata": {"package_id": "a", "subdomains": []}, "entities": []}')
    assert short == long
    assert short.metadata["created_at"] == NO_DATE
    assert list(short.body) == list(sample())


def test_what_is_left_out_to_save_words_comes_back() -> None:
    whole = normalize(sample())
    short = Package(compact_package(whole))
    for format in PackageFormat:
        text = encode_package(short, format)
        assert len(text) < len(encode_package(whole, format))
        assert parse_package(text) == whole


@pytest.mark.parametrize(
    ("text", "section", "line"),
    [
        ("", "document", 1),
        ("{", "document", 1),
        ('{\n "metadata": {}\n', "document", 3),
        ("[]", "document", 1),
        ('{"a": 1}', "document", 1),
        ('{"metadata": {"x": NaN}}', "document", 1),
        ('{"metadata": {"x": 99999999999999999999}}', "document", 1),
        ('{"metadata": {"x": "\\ud800"}}', "document", 1),
        ('{"metadata": ' + "[" * 60 + "]" * 60 + "}", "document", 1),
        ("just words", "document", 1),
        ("# Title\n\nwords\n", "document", 1),
        ("metadata:\n  a: [1\n", "document", 3),
        ("# CKF\n\n```yaml\nentities:\n  - id: [\n```\n", "entities", 6),
        ("# CKF\n\n## 3. ENTITY GRAPH\n\n```yaml\nentities: []\n", "3. ENTITY GRAPH", 5),
        ("# C\n```yaml\nentities: []\n```\n```yaml\nentities: []\n```\n", "entities", 6),
        ("# C\n```yaml\n- a\n```\n", "document", 3),
    ],
)
def test_a_broken_document_is_refused_with_section_and_line(
    text: str, section: str, line: int
) -> None:
    with pytest.raises(Unprocessable) as caught:
        decode_document(text)
    assert (caught.value.fields["section"], caught.value.fields["line"]) == (section, line)


def test_a_name_given_twice_is_told() -> None:
    assert decode_document('{"metadata": {"a": 1, "a": 2}}').warnings
    assert decode_document("metadata:\n  a: 1\n  a: 2\n").warnings


@pytest.mark.parametrize(
    ("text", "filename", "format"),
    [
        (' {"a": 1}', "", PackageFormat.JSON),
        ("# T", "", PackageFormat.MARKDOWN),
        ("words\n```yaml\n", "", PackageFormat.MARKDOWN),
        ("a: 1", "", PackageFormat.YAML),
        ("a: 1", "x.ckf.MD", PackageFormat.MARKDOWN),
        ("# a", "x.ckf.yaml", PackageFormat.YAML),
        ("# a", "x.ckf", PackageFormat.MARKDOWN),
    ],
)
def test_the_format_is_told_by_name_and_then_by_text(
    text: str, filename: str, format: PackageFormat
) -> None:
    assert detect_format(text, filename) is format


def test_the_schema_is_the_published_one_and_our_fields() -> None:
    published = orjson.loads(Path(__file__).with_name("ckf-v0.2.schema.json").read_bytes())
    ours: Any = orjson.loads(orjson.dumps(build_package_schema(extensions=False)))
    for it in (published, ours):
        it.pop("description")
    assert typed(ours) == typed(published)


def test_the_schema_takes_a_sound_package_and_our_fields() -> None:
    checker: Any = Draft202012Validator(build_package_schema())
    assert not list(checker.iter_errors(sample()))
    spoilt: Any = sample()
    spoilt["exceptions"][0]["modifies"] = "dec_refunds_paid"
    assert list(checker.iter_errors(spoilt))


def typed(schema: Json) -> Json:
    """The schema with the type of a choice said, and lists that are sets in order."""
    if isinstance(schema, list):
        return [typed(it) for it in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: typed(it) for key, it in schema.items()}
    required = found.get("required")
    if isinstance(required, list):
        found["required"] = list[Json](sorted(map(str, required)))
    return {"type": "string", **found} if isinstance(found.get("enum"), list) else found
