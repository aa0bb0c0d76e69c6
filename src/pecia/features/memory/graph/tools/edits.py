"""Tools that change one node or edge at a time."""

import secrets
import time
from dataclasses import dataclass, replace

from pecia.features.memory.core.format import format_now
from pecia.features.memory.graph.model import GraphEdge, GraphNode
from pecia.features.memory.graph.store import (
    delete_from_graph,
    load_graph,
    lock_graph,
    upsert_graph,
)
from pecia.features.memory.graph.tools.schemas import (
    AddEdge,
    AddNode,
    DeleteNode,
    EdgeOut,
    NodeOut,
    UpdateNode,
)
from pecia.features.memory.tools.arguments import require_bounded
from pecia.features.memory.tools.search import FEATURE
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool


@dataclass(frozen=True, slots=True)
class GraphEditTools:
    """The handlers."""

    store: Store

    async def add_node(self, call: Call, ask: AddNode) -> NodeOut:
        """Add a node to the knowledge graph, with labels and properties."""
        node = GraphNode(
            ask.id, tuple(dict.fromkeys(ask.labels)), require_bounded("properties", ask.properties)
        )
        async with self.store.writing(call.caller, call.trace) as tx:
            await lock_graph(tx)
            if ask.id in (await load_graph(tx)).nodes:
                return _node(f"Node '{ask.id}' already exists in the knowledge graph")
            await upsert_graph(tx, [node], [])
        return _node(f"Node '{node.id}' was added", node)

    async def update_node(self, call: Call, ask: UpdateNode) -> NodeOut:
        """Merge properties into a node, or replace its labels."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await lock_graph(tx)
            before = (await load_graph(tx)).nodes.get(ask.nodeId)
            if before is None:
                return _node(f"Node '{ask.nodeId}' is not in the knowledge graph")
            properties = require_bounded("properties", {**before.properties, **ask.properties})
            labels = tuple(dict.fromkeys(ask.labels or before.labels))
            node = replace(before, labels=labels, properties=properties)
            await upsert_graph(tx, [node], [])
        return _node(f"Node '{node.id}' was changed", node)

    async def delete_node(self, call: Call, ask: DeleteNode) -> NodeOut:
        """Delete a node and all its edges."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await lock_graph(tx)
            node = (await load_graph(tx)).nodes.get(ask.id)
            await delete_from_graph(tx, [ask.id], [])
        outcome = "was removed" if node else "was not in the knowledge graph"
        return NodeOut(success=True, message=f"Node '{ask.id}' {outcome}", timestamp=format_now())

    async def add_edge(self, call: Call, ask: AddEdge) -> EdgeOut:
        """Add an edge between two nodes of the knowledge graph."""
        stamp = f"{time.time_ns() // 1_000_000}"
        name = f"edge_{ask.sourceId}_{ask.targetId}_{ask.edgeType}_{stamp}"
        properties = require_bounded("properties", ask.properties)
        async with self.store.writing(call.caller, call.trace) as tx:
            await lock_graph(tx)
            graph = await load_graph(tx)
            missing = [it for it in (ask.sourceId, ask.targetId) if it not in graph.nodes]
            if missing:
                message = f"Node '{missing[0]}' is not in the knowledge graph"
                return EdgeOut(success=False, message=message, timestamp=format_now())
            if name in graph.edges:
                name = f"{name}_{secrets.token_hex(3)}"
            edge = GraphEdge(name, ask.edgeType, ask.sourceId, ask.targetId, properties)
            await upsert_graph(tx, [], [edge])
        return EdgeOut(
            success=True,
            message="The edge was added",
            timestamp=format_now(),
            edgeId=edge.id,
            edge=edge.to_json(),
        )


def graph_edit_tools(editing: GraphEditTools) -> tuple[AnyTool, ...]:
    it = editing
    changing: tuple[AnyTool, ...] = (
        Tool(FEATURE, "cipher_add_node", Scope.WRITE, AddNode, NodeOut, it.add_node),
        Tool(FEATURE, "cipher_add_edge", Scope.WRITE, AddEdge, EdgeOut, it.add_edge),
        Tool(FEATURE, "cipher_update_node", Scope.WRITE, UpdateNode, NodeOut, it.update_node),
        Tool(
            FEATURE,
            "cipher_delete_node",
            Scope.WRITE,
            DeleteNode,
            NodeOut,
            it.delete_node,
            destructive=True,
            idempotent=True,
        ),
    )
    return tuple(replace(one, read_only=False) for one in changing)


def _node(message: str, node: GraphNode | None = None) -> NodeOut:
    return NodeOut(
        success=node is not None,
        message=message,
        timestamp=format_now(),
        node=node.to_json() if node else None,
    )
