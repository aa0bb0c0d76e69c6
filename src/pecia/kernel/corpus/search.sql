-- name: visible
-- Which of these chunks the caller may see.
SELECT c.id FROM kernel.chunk c WHERE c.tenant_id = kernel.tenant() AND c.id = ANY (%(ids)s::bigint[]);
