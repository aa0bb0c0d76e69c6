-- What the operator allows a tenant's sources to open, and its spaces to lie in.

-- name: reach
-- The tenant of a local install is the one that its owner enters without a token.
SELECT EXISTS (SELECT 1 FROM kernel.credential c
                WHERE c.tenant_id = %(tenant_id)s AND c.kind = 'local' AND c.revoked_at IS NULL) AS is_local,
       ARRAY (SELECT value FROM lake.allowlist WHERE tenant_id = %(tenant_id)s AND kind = 'folder' ORDER BY value) AS folders,
       ARRAY (SELECT value FROM lake.allowlist WHERE tenant_id = %(tenant_id)s AND kind = 'host' ORDER BY value) AS hosts,
       ARRAY (SELECT value FROM lake.allowlist WHERE tenant_id = %(tenant_id)s AND kind = 'space-root' ORDER BY value) AS space_roots;

-- name: lock_roots
-- Concurrent grants must not give two tenants one folder.
SELECT pg_advisory_xact_lock(hashtextextended('lake.allowlist space-root', 0));

-- name: folders_of_others
SELECT t.name AS tenant, r.kind, r.value AS folder FROM lake.allowlist r JOIN kernel.tenant t ON t.id = r.tenant_id
 WHERE r.kind IN ('folder', 'space-root') AND r.tenant_id <> %(tenant_id)s ORDER BY r.value, r.kind;

-- name: allow
INSERT INTO lake.allowlist (tenant_id, kind, value) VALUES (%(tenant_id)s, %(kind)s, %(value)s) ON CONFLICT DO NOTHING;

-- name: disallow
DELETE FROM lake.allowlist WHERE tenant_id = %(tenant_id)s AND kind = %(kind)s AND value = %(value)s;
