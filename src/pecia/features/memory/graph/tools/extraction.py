"""Tools that fill a graph from a text, or change it in bulk."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pecia.features.memory.core.format import format_now
from pecia.features.memory.graph.core.entities import (
    Entity,
    Relation,
    extract_entities,
    extract_relations,
)
from pecia.features.memory.graph.core.instruction import parse_instruction
from pecia.features.memory.graph.core.plan import GraphChange, GraphPlan, find_node, plan_change
from pecia.features.memory.graph.model import GraphEdge, GraphNode, KnowledgeGraph
from pecia.features.memory.graph.store import (
    delete_from_graph,
    load_graph,
    lock_graph,
    upsert_graph,
)
from pecia.features.memory.graph.tools.schemas import (
    ExtractedOut,
    ExtractEntities,
    PlannedOut,
    ProcessTextInput,
    RelateInput,
)
from pecia.features.memory.tools.arguments import require_bounded
from pecia.features.memory.tools.search import FEATURE
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool

HISTORY_PROPERTY = "previousProperties"


@dataclass(frozen=True, slots=True)
class GraphExtractionTools:
    """The handlers."""

    store: Store

    async def extract_entities(self, call: Call, ask: ExtractEntities) -> ExtractedOut:
        """Extract entities and their relations from a text and add them to the knowledge graph."""
        options = ask.options
        entities = extract_entities(ask.text, options.entityTypes)
        linked = (
            extract_relations(ask.text, entities, options.linkTypes) if options.autoLink else []
        )
        return await self._add_to_graph(call, entities, linked, by_name=False)

    async def intelligent_processor(self, call: Call, ask: ProcessTextInput) -> ExtractedOut:
        """Like extract_entities, but reuses existing nodes of the same name and leaves out entities
        of low confidence."""
        options = ask.options
        least = options.confidenceThreshold
        text = "\n".join(it for it in (options.previousContext, options.context, ask.text) if it)
        entities = [it for it in extract_entities(ask.text) if it.confidence >= least]
        linked = extract_relations(text, entities) if options.autoCreateRelationships else []
        return await self._add_to_graph(call, entities, linked, by_name=options.autoResolve)

    async def relationship_manager(self, call: Call, ask: RelateInput) -> PlannedOut:
        """Merge, replace or change nodes and edges of the knowledge graph in bulk. A dry run unless
        options.dryRun is false."""
        options = ask.options
        change = _requested_change(ask)
        async with self.store.writing(call.caller, call.trace) as tx:
            await lock_graph(tx)
            graph = await load_graph(tx)
            made = (
                plan_change(graph, change)
                if change
                else GraphPlan(problem="the instruction could not be parsed")
            )
            if made.size > options.bulkLimit:
                made = GraphPlan(problem=f"{made.size} changes exceed bulkLimit")
            if not made.problem and not options.dryRun:
                kept = _with_history(graph, made) if options.preserveHistory else made
                await upsert_graph(tx, kept.nodes, kept.edges)
                await delete_from_graph(tx, kept.gone_nodes, kept.gone_edges)
        verb = "would be made" if options.dryRun else "were made"
        return PlannedOut(
            success=not made.problem,
            message=made.problem or f"{made.size} changes {verb}",
            timestamp=format_now(),
            operation=change.operation if change else ask.operation,
            dryRun=options.dryRun,
            changes=[*made.changes],
            affected=made.size,
        )

    async def _add_to_graph(
        self,
        call: Call,
        entities: Sequence[Entity],
        relations: Sequence[Relation],
        *,
        by_name: bool,
    ) -> ExtractedOut:
        async with self.store.writing(call.caller, call.trace) as tx:
            await lock_graph(tx)
            graph = await load_graph(tx)
            ids = {it.id: _id(graph, it, by_name=by_name) for it in entities}
            new = [_node(it, ids[it.id]) for it in entities if ids[it.id] not in graph.nodes]
            edges = [_edge(it, ids) for it in relations]
            added = [it for it in edges if it.id not in graph.edges]
            await upsert_graph(tx, new, added)
        fresh = {it.id for it in new}
        return ExtractedOut(
            success=True,
            message=f"{len(new)} nodes and {len(added)} edges were added",
            timestamp=format_now(),
            extracted=len(entities),
            linked=len(edges),
            entities=[
                {
                    "id": ids[it.id],
                    "name": it.name,
                    "type": it.type,
                    "confidence": it.confidence,
                    "created": ids[it.id] in fresh,
                }
                for it in entities
            ],
            relationships=[it.to_json() for it in edges],
        )


def graph_extraction_tools(growing: GraphExtractionTools) -> tuple[AnyTool, ...]:
    return (
        Tool(
            FEATURE,
            "cipher_extract_entities",
            Scope.WRITE,
            ExtractEntities,
            ExtractedOut,
            growing.extract_entities,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            FEATURE,
            "cipher_intelligent_processor",
            Scope.WRITE,
            ProcessTextInput,
            ExtractedOut,
            growing.intelligent_processor,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            FEATURE,
            "cipher_relationship_manager",
            Scope.WRITE,
            RelateInput,
            PlannedOut,
            growing.relationship_manager,
            read_only=False,
            destructive=True,
        ),
    )


def _requested_change(ask: RelateInput) -> GraphChange | None:
    if ask.operation == "auto":
        return parse_instruction(ask.instruction)
    it = ask.targets
    return GraphChange(
        ask.operation,
        it.source,
        it.target,
        it.relationshipType,
        it.newType,
        it.labels,
        require_bounded("targets.properties", it.properties),
    )


def _with_history(graph: KnowledgeGraph, made: GraphPlan) -> GraphPlan:
    """Changed items record their previous state; new ones have none."""
    nodes = tuple(_node_with_history(graph.nodes.get(it.id), it) for it in made.nodes)
    edges = tuple(_edge_with_history(graph.edges.get(it.id), it) for it in made.edges)
    return replace(made, nodes=nodes, edges=edges)


def _node_with_history(before: GraphNode | None, node: GraphNode) -> GraphNode:
    if before is None or before == node:
        return node
    past = {name: it for name, it in before.properties.items() if name != HISTORY_PROPERTY}
    return replace(node, properties={**node.properties, HISTORY_PROPERTY: past})


def _edge_with_history(before: GraphEdge | None, edge: GraphEdge) -> GraphEdge:
    if before is None or before.type == edge.type:
        return edge
    return replace(edge, properties={**edge.properties, "previousType": before.type})


def _id(graph: KnowledgeGraph, entity: Entity, *, by_name: bool) -> str:
    known = find_node(graph, entity.name) if by_name else None
    return known.id if known else entity.id


def _node(entity: Entity, id_: str) -> GraphNode:
    facts: dict[str, Json] = {"name": entity.name, "confidence": entity.confidence}
    return GraphNode(id_, (entity.type,), facts)


def _edge(relation: Relation, ids: dict[str, str]) -> GraphEdge:
    """A repeated relation is one edge."""
    start, end = ids[relation.start.id], ids[relation.end.id]
    digest = hashlib.sha256(f"{start}\n{relation.type}\n{end}".encode()).hexdigest()[:24]
    return GraphEdge(f"edge_{digest}", relation.type, start, end, {})
