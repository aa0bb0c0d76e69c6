"""Another MCP server as a layer: its nodes, concepts or resources become concepts here.

Its output is untrusted: every field is checked, and what does not fit is reported as a problem. A
server that hangs, crashes or lies degrades the layer and nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pecia.features.cascade.core.concept_id import is_id, normalize_nfc, without_extension
from pecia.features.cascade.core.dates import age_rank, read_document_date
from pecia.features.cascade.layers.layer import (
    LayerContent,
    LayerFile,
    ReportProgress,
    no_progress,
    parse_files,
)
from pecia.features.cascade.manifest import LayerSpec
from pecia.features.cascade.model import ConceptDocument, ConceptSection, LayerProblem
from pecia.features.cascade.ports import ForeignServer, ForeignServerContent
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.text.slug import github_slug


class McpLayer:
    """The content of the MCP server that the manifest names."""

    def __init__(self, spec: LayerSpec, server: ForeignServer, folder: Path) -> None:
        self.spec = spec
        self._server = server
        self._folder = folder

    async def read(self, report: ReportProgress = no_progress) -> LayerContent:
        try:
            content = await self._server.read(self.spec.argv, self._folder)
        except PeciaError as error:
            return LayerContent(degraded=f"unreachable: {error.message}")
        found = await compute(self.spec.name, parse_foreign_content, self.spec.name, content)
        report(len(found.documents), len(found.documents))
        return found


def parse_foreign_content(layer: str, content: ForeignServerContent) -> LayerContent:
    """A server's content as concepts; what does not fit is a problem."""
    files = [LayerFile(path, _bytes(text)) for path, text in content.pages.items()]
    read = parse_files(layer, files, len(files))
    documents = dict(read.documents)
    problems = [*read.problems, *_parse_nodes(layer, content.nodes, documents)]
    refused = [
        LayerProblem(layer, name[:200], "refused", why) for name, why in content.refused.items()
    ]
    return LayerContent(documents, (*problems, *refused))


def _parse_nodes(
    layer: str, nodes: Sequence[Mapping[str, Any]], documents: dict[str, ConceptDocument]
) -> Iterator[LayerProblem]:
    """Add every valid node to `documents`; yields the problems of the others."""
    for node in nodes:
        document = parse_node(node)
        if document is None or document.id in documents:
            message = "the node has no valid name, or a duplicate one"
            yield LayerProblem(layer, str(node.get("node"))[:200], "invalid-node", message)
        else:
            documents[document.id] = document


def parse_node(node: Mapping[str, Any]) -> ConceptDocument | None:
    """A node as a concept, None without a valid concept id."""
    name = node.get("node")
    if not isinstance(name, str) or not is_id(without_extension(name)):
        return None
    concept = normalize_nfc(without_extension(name))
    facts = [cast(Mapping[str, Any], it) for it in _list(node.get("facts")) if isinstance(it, dict)]
    touched = [_text(it.get("lastTouched")) for it in facts]
    frontmatter: dict[str, Json] = {
        "type": _text(node.get("kind")) or "concept",
        "title": _text(node.get("title")) or concept,
    }
    if latest := max(filter(None, touched), key=age_rank, default=None):
        frontmatter["updated"] = latest
    sections = (*_facts(facts), *_related_section(node))
    return ConceptDocument(
        concept, concept, "", frontmatter, read_document_date(frontmatter), sections
    )


def _facts(facts: Sequence[Mapping[str, Any]]) -> list[ConceptSection]:
    made: dict[str, ConceptSection] = {}
    for it in facts:
        topic = _text(it.get("topic")) or "untitled"
        key = " ".join(topic.lower().split())
        if key not in made:
            lines = tuple((_text(it.get("text")) or "").split("\n"))
            made[key] = _section(topic, key, lines, _text(it.get("lastTouched")))
    return [*made.values()]


def _related_section(node: Mapping[str, Any]) -> list[ConceptSection]:
    names = [it for it in _list(node.get("see_also")) if isinstance(it, str)]
    links = ", ".join(f"[[{it}]]" for it in names)
    return [_section("Related", "related", (links,), None)] if names else []


def _section(topic: str, key: str, lines: tuple[str, ...], updated: str | None) -> ConceptSection:
    heading = f"## {topic} {{#{key}}}"
    return ConceptSection(key, heading, heading, 2, lines, updated, None, github_slug(topic), True)


def _bytes(text: str) -> bytes:
    # A lone surrogate becomes invalid UTF-8, which is reported.
    return text.encode("utf-8", "surrogatepass")


def _list(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
