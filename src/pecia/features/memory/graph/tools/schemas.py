"""Inputs and outputs of the knowledge graph tools."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from pecia.features.memory.graph.core.plan import GraphOperation
from pecia.features.memory.graph.core.search import NAME_PROPERTIES
from pecia.features.memory.tools.arguments import UNAUDITED, ClosedArguments
from pecia.kernel.tool.model import Input, Output

MAX_GRAPH_TEXT_CHARS = 20_000


def _trim(text: str) -> str:
    plain = text.strip()
    if not plain:
        raise PydanticCustomError("blank", "Input should not be blank")
    return plain


Id = Annotated[str, Field(max_length=200), AfterValidator(_trim)]
Label = Annotated[str, Field(max_length=100), AfterValidator(_trim)]
Labels = Annotated[list[Label], Field(max_length=20)]
Properties = dict[str, Any]
EMPTY_PROPERTIES = Field(default_factory=dict[str, Any])


class AddNode(Input):
    id: Id
    labels: Annotated[list[Label], Field(min_length=1, max_length=20)]
    properties: Properties = EMPTY_PROPERTIES


class AddEdge(Input):
    sourceId: Id
    targetId: Id
    edgeType: Label
    properties: Properties = EMPTY_PROPERTIES


class UpdateNode(Input):
    nodeId: Id
    properties: Annotated[Properties, Field(min_length=1)]
    labels: Annotated[list[Label], Field(min_length=1, max_length=20)] | None = None


class DeleteNode(Input):
    id: Id


class GetNeighbors(Input):
    nodeId: Id
    direction: Literal["in", "out", "both"] = "both"
    edgeTypes: Labels = Field(default_factory=list[str])
    limit: int = Field(default=10, ge=1, le=100)


class SearchGraph(Input):
    searchType: Literal["nodes", "edges", "both"] = "both"
    nodeLabels: Labels = Field(default_factory=list[str])
    edgeTypes: Labels = Field(default_factory=list[str])
    labels: Labels = Field(default_factory=list[str], description="The older name of nodeLabels.")
    properties: Properties = Field(
        default_factory=dict[str, Any],
        description="A value, {gte, gt, lte, lt}, {any: []} or {all: []}.",
    )
    textSearch: str = Field(default="", max_length=1000)
    limit: int = Field(default=50, ge=1, le=1000)


class QueryGraph(Input):
    query: str = Field(min_length=1, max_length=5000)
    queryType: Literal["node", "edge", "path", "cypher"] = "node"
    parameters: Properties = EMPTY_PROPERTIES
    limit: int = Field(default=100, ge=1, le=1000)


class EnhancedOptions(ClosedArguments):
    semanticSearch: bool = Field(default=True, description="Match words in any order.")
    fuzzyMatching: bool = True
    fuzzyThreshold: float = Field(default=0.6, ge=0, le=1)
    includeRelated: bool = True
    relationDepth: int = Field(default=2, ge=1, le=3)
    searchProperties: list[Label] = Field(default_factory=lambda: [*NAME_PROPERTIES], max_length=20)
    naturalLanguage: bool = True


class EnhancedSearch(Input):
    query: str = Field(min_length=1, max_length=1000)
    searchType: Literal["auto", "nodes", "edges", "both"] = "auto"
    nodeLabels: Labels = Field(default_factory=list[str])
    edgeTypes: Labels = Field(default_factory=list[str])
    options: EnhancedOptions = Field(default_factory=EnhancedOptions)
    limit: int = Field(default=50, ge=1, le=1000)


class EntityOptions(ClosedArguments):
    entityTypes: Labels = Field(default_factory=list[str])
    autoLink: bool = Field(default=True, description="Add their relations too.")
    linkTypes: Labels = Field(default_factory=list[str])


class ExtractEntities(Input):
    text: str = Field(min_length=1, max_length=MAX_GRAPH_TEXT_CHARS, json_schema_extra=UNAUDITED)
    options: EntityOptions = Field(default_factory=EntityOptions)


class ProcessOptions(ClosedArguments):
    autoResolve: bool = Field(default=True, description="Reuse a node of the same name.")
    confidenceThreshold: float = Field(default=0.7, ge=0, le=1)
    autoCreateRelationships: bool = True
    context: str | None = Field(default=None, max_length=MAX_GRAPH_TEXT_CHARS)
    previousContext: str | None = Field(default=None, max_length=MAX_GRAPH_TEXT_CHARS)


class ProcessTextInput(Input):
    text: str = Field(min_length=1, max_length=MAX_GRAPH_TEXT_CHARS, json_schema_extra=UNAUDITED)
    options: ProcessOptions = Field(default_factory=ProcessOptions)


class RelateTargets(ClosedArguments):
    source: str = Field(default="", max_length=200, description="A node: its id or its name.")
    target: str = Field(default="", max_length=200, description="Another.")
    relationshipType: str = Field(default="", max_length=100)
    newType: str = Field(default="", max_length=100)
    labels: Labels = Field(default_factory=list[str])
    properties: Properties = EMPTY_PROPERTIES


class RelateOptions(ClosedArguments):
    preserveHistory: bool = Field(
        default=True, description="Record the previous state on changed items."
    )
    confidenceThreshold: float = Field(default=0.8, ge=0, le=1)
    autoResolveConflicts: bool = True
    bulkLimit: int = Field(default=100, ge=1, le=1000)
    validateRelationships: bool = True
    dryRun: bool = Field(default=True, description="Only report the changes.")


class RelateInput(Input):
    instruction: str = Field(min_length=1, max_length=2000)
    operation: GraphOperation = "auto"
    targets: RelateTargets = Field(default_factory=RelateTargets)
    options: RelateOptions = Field(default_factory=RelateOptions)


class GraphOut(Output):
    """Fields of every graph tool's output."""

    success: bool
    message: str
    timestamp: str


class NodeOut(GraphOut):
    node: dict[str, Any] | None = None


class EdgeOut(GraphOut):
    edgeId: str | None = None
    edge: dict[str, Any] | None = None


class NeighborsOut(Output):
    success: bool
    message: str
    neighbors: list[dict[str, Any]]


class GraphSearchOut(GraphOut):
    results: dict[str, Any]


class EnhancedOut(GraphOut):
    query: dict[str, Any]
    results: dict[str, Any]
    suggestions: list[str]


class ExtractedOut(GraphOut):
    extracted: int
    linked: int
    entities: list[dict[str, Any]]
    relationships: list[dict[str, Any]]


class PlannedOut(GraphOut):
    operation: str
    dryRun: bool
    changes: list[str] = Field(description="What was done, or would be.")
    affected: int
