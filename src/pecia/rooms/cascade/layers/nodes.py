"""Another MCP server as a layer: its nodes become concepts, its facts sections.

What it says is a stranger's word: every field is checked, and what does not fit is a problem with a
name. A server that is silent, dead or lying degrades the layer and nothing else.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.text.slug import github_slug
from pecia.rooms.cascade.dates import age_rank, document_date
from pecia.rooms.cascade.identity import composed, is_id, without_extension
from pecia.rooms.cascade.layers.reading import Reading, Report, quiet
from pecia.rooms.cascade.manifest import LayerSpec
from pecia.rooms.cascade.model import Document, Problem, Section
from pecia.rooms.cascade.ports import ForeignNodes


class NodesLayer:
    """The nodes of a program that the manifest names."""

    def __init__(self, spec: LayerSpec, nodes: ForeignNodes, folder: Path) -> None:
        self.spec = spec
        self._nodes = nodes
        self._folder = folder

    async def read(self, report: Report = quiet) -> Reading:
        try:
            found = await self._nodes.nodes(self.spec.argv, self._folder)
        except PeciaError as error:
            return Reading(degraded=f"unreachable: {error.message}")
        documents: dict[str, Document] = {}
        problems: list[Problem] = []
        for number, node in enumerate(found):
            document = node_document(node)
            if document is None or document.id in documents:
                name = str(node.get("node"))[:200] or str(number)
                message = "the node has no usable name, or one that another has"
                problems.append(Problem(self.spec.name, name, "invalid-node", message))
            else:
                documents[document.id] = document
        report(len(documents), len(found))
        return Reading(documents, tuple(problems))


def node_document(node: Mapping[str, Any]) -> Document | None:
    """A node as a concept, None where it has no name that a concept could have."""
    name = node.get("node")
    if not isinstance(name, str) or not is_id(without_extension(name)):
        return None
    concept = composed(without_extension(name))
    facts = [cast(Mapping[str, Any], it) for it in _list(node.get("facts")) if isinstance(it, dict)]
    touched = [_text(it.get("lastTouched")) for it in facts]
    frontmatter: dict[str, Json] = {
        "type": _text(node.get("kind")) or "concept",
        "title": _text(node.get("title")) or concept,
    }
    if latest := max(filter(None, touched), key=age_rank, default=None):
        frontmatter["updated"] = latest
    sections = (*_facts(facts), *_related(node))
    return Document(concept, concept, "", frontmatter, document_date(frontmatter), sections)


def _facts(facts: Sequence[Mapping[str, Any]]) -> list[Section]:
    made: dict[str, Section] = {}
    for it in facts:
        topic = _text(it.get("topic")) or "untitled"
        key = " ".join(topic.lower().split())
        if key not in made:
            lines = tuple((_text(it.get("text")) or "").split("\n"))
            made[key] = _section(topic, key, lines, _text(it.get("lastTouched")))
    return [*made.values()]


def _related(node: Mapping[str, Any]) -> list[Section]:
    names = [it for it in _list(node.get("see_also")) if isinstance(it, str)]
    links = ", ".join(f"[[{it}]]" for it in names)
    return [_section("Related", "related", (links,), None)] if names else []


def _section(topic: str, key: str, lines: tuple[str, ...], updated: str | None) -> Section:
    heading = f"## {topic} {{#{key}}}"
    return Section(key, heading, heading, 2, lines, updated, None, github_slug(topic), True)


def _list(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
