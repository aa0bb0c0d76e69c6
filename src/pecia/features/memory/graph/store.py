"""The caller's graph, read whole and written row by row. The SQL functions check rights."""

from collections.abc import Sequence

from psycopg.types.json import Jsonb

from pecia.features.memory.graph.model import GraphEdge, GraphNode, KnowledgeGraph
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction

SQL = load_queries("pecia.features.memory.graph", "queries.sql")

# A graph is searched in memory, so its size is bounded.
MAX_NODES = 10_000
MAX_EDGES = 50_000


async def load_graph(tx: Transaction) -> KnowledgeGraph:
    nodes = [
        GraphNode(row["id"], tuple(row["labels"]), row["properties"])
        for row in await tx.fetch_all(SQL["nodes"])
    ]
    edges = await tx.fetch_all_as(GraphEdge, SQL["edges"])
    return KnowledgeGraph({it.id: it for it in nodes}, {it.id: it for it in edges})


async def lock_graph(tx: Transaction) -> None:
    """Hold the graph's write lock until the transaction ends."""
    await tx.execute(SQL["hold"])


async def upsert_graph(
    tx: Transaction, nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]
) -> None:
    """Upsert by id. Nodes are written before the edges between them."""
    for node in nodes:
        await tx.execute(
            SQL["put_node"],
            id=node.id,
            labels=[*node.labels],
            properties=Jsonb(dict(node.properties)),
            most=MAX_NODES,
        )
    for edge in edges:
        await tx.execute(
            SQL["put_edge"],
            id=edge.id,
            type=edge.type,
            start_id=edge.start_id,
            end_id=edge.end_id,
            properties=Jsonb(dict(edge.properties)),
            most=MAX_EDGES,
        )


async def delete_from_graph(tx: Transaction, nodes: Sequence[str], edges: Sequence[str]) -> None:
    """Delete these nodes, with their edges, and these edges."""
    if nodes or edges:
        await tx.execute(SQL["drop_from_graph"], nodes=[*nodes], edges=[*edges])
