"""The caller's graph, read whole and written bit by bit. Rights are the functions' business."""

from collections.abc import Sequence

from psycopg.types.json import Jsonb

from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.transaction import Transaction
from pecia.rooms.memory.graph.model import Edge, Graph, Node

SQL = load_queries("pecia.rooms.memory.graph", "graph.sql")

# A graph is searched in memory, so there must be an end to it.
MOST_NODES = 10_000
MOST_EDGES = 50_000


async def read_graph(tx: Transaction) -> Graph:
    nodes = [
        Node(row["id"], tuple(row["labels"]), row["properties"])
        for row in await tx.all(SQL["nodes"])
    ]
    edges = await tx.all_as(Edge, SQL["edges"])
    return Graph({it.id: it for it in nodes}, {it.id: it for it in edges})


async def hold_graph(tx: Transaction) -> None:
    """Be the only one who writes to it until the transaction ends."""
    await tx.run(SQL["hold"])


async def put(tx: Transaction, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
    """Write these, in place of what has their ids. Nodes come before the edges between them."""
    for node in nodes:
        await tx.run(
            SQL["put_node"],
            id=node.id,
            labels=[*node.labels],
            properties=Jsonb(dict(node.properties)),
            most=MOST_NODES,
        )
    for edge in edges:
        await tx.run(
            SQL["put_edge"],
            id=edge.id,
            type=edge.type,
            start_id=edge.start_id,
            end_id=edge.end_id,
            properties=Jsonb(dict(edge.properties)),
            most=MOST_EDGES,
        )


async def drop(tx: Transaction, nodes: Sequence[str], edges: Sequence[str]) -> None:
    """Remove these nodes, with their edges, and these edges."""
    if nodes or edges:
        await tx.run(SQL["drop_from_graph"], nodes=[*nodes], edges=[*edges])
