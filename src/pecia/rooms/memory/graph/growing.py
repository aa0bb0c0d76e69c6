"""The tools that fill a graph from a text, or change many things of it at once."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool
from pecia.rooms.memory.arguments import bounded
from pecia.rooms.memory.graph.entities import Entity, Relation, entities_in, relations_in
from pecia.rooms.memory.graph.instruction import read_wish
from pecia.rooms.memory.graph.model import Edge, Graph, Node
from pecia.rooms.memory.graph.relate import Plan, Wish, find, plan
from pecia.rooms.memory.graph.shapes import (
    ExtractedOut,
    ExtractEntities,
    PlannedOut,
    Process,
    Relate,
)
from pecia.rooms.memory.graph.store import drop, hold_graph, put, read_graph
from pecia.rooms.memory.recall import ROOM
from pecia.rooms.memory.shown import now

PAST = "previousProperties"


@dataclass(frozen=True, slots=True)
class Growing:
    """The handlers."""

    store: Store

    async def extract_entities(self, call: Call, ask: ExtractEntities) -> ExtractedOut:
        """Find the things that a text names, and how it says they hang together, and add them to
        the knowledge graph."""
        options = ask.options
        entities = entities_in(ask.text, options.entityTypes)
        linked = relations_in(ask.text, entities, options.linkTypes) if options.autoLink else []
        return await self._grown(call, entities, linked, by_name=False)

    async def intelligent_processor(self, call: Call, ask: Process) -> ExtractedOut:
        """The same, but nodes that are there under the same name are taken for what they are, and
        what is doubtful is left out."""
        options = ask.options
        least = options.confidenceThreshold
        text = "\n".join(it for it in (options.previousContext, options.context, ask.text) if it)
        entities = [it for it in entities_in(ask.text) if it.confidence >= least]
        linked = relations_in(text, entities) if options.autoCreateRelationships else []
        return await self._grown(call, entities, linked, by_name=options.autoResolve)

    async def relationship_manager(self, call: Call, ask: Relate) -> PlannedOut:
        """Merge, replace or change things of the knowledge graph, many at once. It only says what
        it would do until options.dryRun is false."""
        options = ask.options
        wish = _wish(ask)
        async with self.store.writing(call.caller, call.trace) as tx:
            await hold_graph(tx)
            graph = await read_graph(tx)
            made = plan(graph, wish) if wish else Plan(problem="the instruction is not understood")
            if made.size > options.bulkLimit:
                made = Plan(problem=f"{made.size} changes are more than bulkLimit allows")
            if not made.problem and not options.dryRun:
                kept = _with_history(graph, made) if options.preserveHistory else made
                await put(tx, kept.nodes, kept.edges)
                await drop(tx, kept.gone_nodes, kept.gone_edges)
        verb = "would be made" if options.dryRun else "were made"
        return PlannedOut(
            success=not made.problem,
            message=made.problem or f"{made.size} changes {verb}",
            timestamp=now(),
            operation=wish.operation if wish else ask.operation,
            dryRun=options.dryRun,
            changes=[*made.told],
            affected=made.size,
        )

    async def _grown(
        self,
        call: Call,
        entities: Sequence[Entity],
        relations: Sequence[Relation],
        *,
        by_name: bool,
    ) -> ExtractedOut:
        async with self.store.writing(call.caller, call.trace) as tx:
            await hold_graph(tx)
            graph = await read_graph(tx)
            ids = {it.id: _id(graph, it, by_name=by_name) for it in entities}
            new = [_node(it, ids[it.id]) for it in entities if ids[it.id] not in graph.nodes]
            edges = [_edge(it, ids) for it in relations]
            added = [it for it in edges if it.id not in graph.edges]
            await put(tx, new, added)
        fresh = {it.id for it in new}
        return ExtractedOut(
            success=True,
            message=f"{len(new)} nodes and {len(added)} edges were added",
            timestamp=now(),
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
            relationships=[it.shown() for it in edges],
        )


def growing_tools(growing: Growing) -> tuple[AnyTool, ...]:
    return (
        Tool(
            ROOM,
            "cipher_extract_entities",
            Scope.WRITE,
            ExtractEntities,
            ExtractedOut,
            growing.extract_entities,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            ROOM,
            "cipher_intelligent_processor",
            Scope.WRITE,
            Process,
            ExtractedOut,
            growing.intelligent_processor,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            ROOM,
            "cipher_relationship_manager",
            Scope.WRITE,
            Relate,
            PlannedOut,
            growing.relationship_manager,
            read_only=False,
            destructive=True,
        ),
    )


def _wish(ask: Relate) -> Wish | None:
    if ask.operation == "auto":
        return read_wish(ask.instruction)
    it = ask.targets
    return Wish(
        ask.operation,
        it.source,
        it.target,
        it.relationshipType,
        it.newType,
        it.labels,
        bounded("targets.properties", it.properties),
    )


def _with_history(graph: Graph, made: Plan) -> Plan:
    """What is changed says what it was; what is new has no past."""
    nodes = tuple(_node_with_past(graph.nodes.get(it.id), it) for it in made.nodes)
    edges = tuple(_edge_with_past(graph.edges.get(it.id), it) for it in made.edges)
    return replace(made, nodes=nodes, edges=edges)


def _node_with_past(before: Node | None, node: Node) -> Node:
    if before is None or before == node:
        return node
    past = {name: it for name, it in before.properties.items() if name != PAST}
    return replace(node, properties={**node.properties, PAST: past})


def _edge_with_past(before: Edge | None, edge: Edge) -> Edge:
    if before is None or before.type == edge.type:
        return edge
    return replace(edge, properties={**edge.properties, "previousType": before.type})


def _id(graph: Graph, entity: Entity, *, by_name: bool) -> str:
    known = find(graph, entity.name) if by_name else None
    return known.id if known else entity.id


def _node(entity: Entity, id_: str) -> Node:
    facts: dict[str, Json] = {"name": entity.name, "confidence": entity.confidence}
    return Node(id_, (entity.type,), facts)


def _edge(relation: Relation, ids: dict[str, str]) -> Edge:
    """The same said twice is one edge."""
    start, end = ids[relation.start.id], ids[relation.end.id]
    digest = hashlib.sha256(f"{start}\n{relation.type}\n{end}".encode()).hexdigest()[:24]
    return Edge(f"edge_{digest}", relation.type, start, end, {})
