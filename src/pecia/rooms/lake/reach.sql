-- What the operator gave a tenant's sources to open.

-- name: reach
-- The tenant of a local install is the one that its owner enters without a token.
SELECT EXISTS (SELECT 1 FROM kernel.credential c
                WHERE c.tenant_id = %(tenant_id)s AND c.kind = 'local' AND c.revoked_at IS NULL) AS is_local,
       ARRAY (SELECT value FROM lake.reach WHERE tenant_id = %(tenant_id)s AND kind = 'folder' ORDER BY value) AS folders,
       ARRAY (SELECT value FROM lake.reach WHERE tenant_id = %(tenant_id)s AND kind = 'host' ORDER BY value) AS hosts;

-- name: allow
INSERT INTO lake.reach (tenant_id, kind, value) VALUES (%(tenant_id)s, %(kind)s, %(value)s) ON CONFLICT DO NOTHING;

-- name: disallow
DELETE FROM lake.reach WHERE tenant_id = %(tenant_id)s AND kind = %(kind)s AND value = %(value)s;
