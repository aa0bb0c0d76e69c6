-- Statements on the caller's own graph. The functions reach no other.

-- name: nodes
SELECT id, labels, properties FROM memory.nodes();

-- name: edges
SELECT id, type, start_id, end_id, properties FROM memory.edges();

-- name: hold
SELECT memory.hold_graph();

-- name: put_node
SELECT memory.put_node(%(id)s, %(labels)s::text[], %(properties)s, %(most)s);

-- name: put_edge
SELECT memory.put_edge(%(id)s, %(type)s, %(start_id)s, %(end_id)s, %(properties)s, %(most)s);

-- name: drop_from_graph
SELECT memory.drop_from_graph(%(nodes)s::text[], %(edges)s::text[]);
