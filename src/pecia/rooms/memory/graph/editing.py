"""The tools that change a graph by a node or an edge at a time."""

import secrets
import time
from dataclasses import dataclass, replace

from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool
from pecia.rooms.memory.arguments import bounded
from pecia.rooms.memory.graph.model import Edge, Node
from pecia.rooms.memory.graph.shapes import (
    AddEdge,
    AddNode,
    DeleteNode,
    EdgeOut,
    NodeOut,
    UpdateNode,
)
from pecia.rooms.memory.graph.store import drop, hold_graph, put, read_graph
from pecia.rooms.memory.recall import ROOM
from pecia.rooms.memory.shown import now


@dataclass(frozen=True, slots=True)
class Editing:
    """The handlers."""

    store: Store

    async def add_node(self, call: Call, ask: AddNode) -> NodeOut:
        """Add a thing to the knowledge graph, with labels and properties."""
        node = Node(ask.id, tuple(dict.fromkeys(ask.labels)), bounded("properties", ask.properties))
        async with self.store.writing(call.caller, call.trace) as tx:
            await hold_graph(tx)
            if ask.id in (await read_graph(tx)).nodes:
                return _node(f"Node '{ask.id}' already exists in the knowledge graph")
            await put(tx, [node], [])
        return _node(f"Node '{node.id}' was added", node)

    async def update_node(self, call: Call, ask: UpdateNode) -> NodeOut:
        """Give a node other properties, beside those it has, or other labels."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await hold_graph(tx)
            before = (await read_graph(tx)).nodes.get(ask.nodeId)
            if before is None:
                return _node(f"Node '{ask.nodeId}' is not in the knowledge graph")
            properties = bounded("properties", {**before.properties, **ask.properties})
            labels = tuple(dict.fromkeys(ask.labels or before.labels))
            node = replace(before, labels=labels, properties=properties)
            await put(tx, [node], [])
        return _node(f"Node '{node.id}' was changed", node)

    async def delete_node(self, call: Call, ask: DeleteNode) -> NodeOut:
        """Remove a node and every edge at it."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await hold_graph(tx)
            node = (await read_graph(tx)).nodes.get(ask.id)
            await drop(tx, [ask.id], [])
        said = "was removed" if node else "was not in the knowledge graph"
        return NodeOut(success=True, message=f"Node '{ask.id}' {said}", timestamp=now())

    async def add_edge(self, call: Call, ask: AddEdge) -> EdgeOut:
        """Say how two things of the knowledge graph hang together."""
        stamp = f"{time.time_ns() // 1_000_000}"
        name = f"edge_{ask.sourceId}_{ask.targetId}_{ask.edgeType}_{stamp}"
        properties = bounded("properties", ask.properties)
        async with self.store.writing(call.caller, call.trace) as tx:
            await hold_graph(tx)
            graph = await read_graph(tx)
            missing = [it for it in (ask.sourceId, ask.targetId) if it not in graph.nodes]
            if missing:
                message = f"Node '{missing[0]}' is not in the knowledge graph"
                return EdgeOut(success=False, message=message, timestamp=now())
            if name in graph.edges:
                name = f"{name}_{secrets.token_hex(3)}"
            edge = Edge(name, ask.edgeType, ask.sourceId, ask.targetId, properties)
            await put(tx, [], [edge])
        return EdgeOut(
            success=True,
            message="The edge was added",
            timestamp=now(),
            edgeId=edge.id,
            edge=edge.shown(),
        )


def editing_tools(editing: Editing) -> tuple[AnyTool, ...]:
    it = editing
    changing: tuple[AnyTool, ...] = (
        Tool(ROOM, "cipher_add_node", Scope.WRITE, AddNode, NodeOut, it.add_node),
        Tool(ROOM, "cipher_add_edge", Scope.WRITE, AddEdge, EdgeOut, it.add_edge),
        Tool(ROOM, "cipher_update_node", Scope.WRITE, UpdateNode, NodeOut, it.update_node),
        Tool(
            ROOM,
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


def _node(message: str, node: Node | None = None) -> NodeOut:
    return NodeOut(
        success=node is not None,
        message=message,
        timestamp=now(),
        node=node.shown() if node else None,
    )
