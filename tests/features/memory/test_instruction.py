"""Changes of a graph asked for in a sentence: what is understood, and that no sentence stalls."""

import resource
import subprocess
import sys

import pytest

from pecia.features.memory.graph.core.instruction import parse_instruction
from pecia.features.memory.graph.core.plan import GraphChange

CPU_S = 20
HOSTILE = (
    'f"merge{gap}x"',
    '"merge a and b" + gap + "\\nx"',
    '"merge " * size',
    '"merge a and " * size + "\\n"',
    '"replace a with " * size + "\\n-"',
    '"delete the relationships of a and " * size + "\\nx"',
    '"rename a to b between a to " * size + "\\nx"',
    '"-" * size + "merge" + "." * size',
)


@pytest.mark.parametrize(
    ("sentence", "wish"),
    [
        (
            "Merge Postgres into PostgreSQL.",
            GraphChange("merge_entities", "Postgres", "PostgreSQL"),
        ),
        ("please merge 'a b' and `c d`!", GraphChange("merge_entities", "a b", "c d")),
        ("replace C with C++", GraphChange("replace_entity", "C", "C++")),
        ("Replace the old API by Gate 2.", GraphChange("replace_entity", "the old API", "Gate 2")),
        ("delete all USES relationships", GraphChange("delete_relationships", type="USES")),
        ("remove relationships of Foo", GraphChange("delete_relationships", "Foo")),
        (
            "delete the USES relationship between Foo and Bar Baz",
            GraphChange("delete_relationships", "Foo", "Bar Baz", "USES"),
        ),
        (
            "rename the relationship USES to NEEDS from a to b",
            GraphChange("update_relationship", "a", "b", "USES", "NEEDS"),
        ),
        ("change USES to NEEDS", GraphChange("update_relationship", type="USES", new_type="NEEDS")),
        ("merge", None),
        ("make it nicer", None),
        ("delete everything", None),
    ],
)
def test_a_sentence_states_a_wish_or_none(sentence: str, wish: GraphChange | None) -> None:
    assert parse_instruction(sentence) == wish


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_sentence_takes_more_than_its_length(hostile: str) -> None:
    """A thousand times what a call may send, within processor time that a square would exceed."""
    _read_in_bounds(
        "from pecia.features.memory.graph.core.instruction import parse_instruction as read\n",
        hostile,
    )


@pytest.mark.parametrize("hostile", ['"a-" * size', '"a." * size', '"a/" * size'])
def test_no_text_takes_more_than_its_length_to_find_what_it_names(hostile: str) -> None:
    _read_in_bounds(
        "from pecia.features.memory.graph.core.entities import extract_entities as read\n", hostile
    )


def _read_in_bounds(reader: str, hostile: str) -> None:
    values = "size = 100_000; gap = ' ' * 2_000_000\n"
    script = f"{reader}{values}read({hostile})\nprint('read')"

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))

    done = subprocess.run(
        [sys.executable, "-c", script],
        preexec_fn=limited,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "read\n", done.stderr
