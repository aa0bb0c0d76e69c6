-- name: create_tenant
SELECT kernel.create_tenant(%(name)s) AS id;

-- name: tenants
SELECT t.id, t.name, t.status, t.created_at,
       (SELECT count(*) FROM kernel.user_account u WHERE u.tenant_id = t.id) AS users,
       (SELECT count(*) FROM kernel.source s WHERE s.tenant_id = t.id) AS sources
  FROM kernel.tenant t ORDER BY t.name;

-- name: tenant
SELECT id, name, status FROM kernel.tenant WHERE name = %(name)s FOR UPDATE;

-- name: set_status
UPDATE kernel.tenant SET status = %(status)s WHERE id = %(id)s;

-- name: add_admin
INSERT INTO kernel.user_account (tenant_id, name, role) VALUES (%(tenant_id)s, %(name)s, 'admin') RETURNING id;

-- name: add_token
INSERT INTO kernel.credential (tenant_id, kind, user_id, hash, hint, label, scopes, expires_at)
VALUES (%(tenant_id)s, 'pat', %(user_id)s, %(hash)s, %(hint)s, %(label)s, %(scopes)s, %(expires_at)s);

-- name: set_quota
INSERT INTO kernel.quota (tenant_id, kind, most) VALUES (%(tenant_id)s, %(kind)s, %(most)s)
ON CONFLICT (tenant_id, kind) DO UPDATE SET most = EXCLUDED.most;

-- name: lift_quota
DELETE FROM kernel.quota WHERE tenant_id = %(tenant_id)s AND kind = %(kind)s;

-- name: quotas
SELECT k.kind, q.most, COALESCE(u.used, 0) AS used
  FROM unnest(ARRAY['files', 'bytes', 'chunks', 'model_tokens', 'upstreams']) WITH ORDINALITY AS k (kind, place)
  LEFT JOIN kernel.quota q ON q.tenant_id = %(tenant_id)s AND q.kind = k.kind
  LEFT JOIN kernel.usage u ON u.tenant_id = %(tenant_id)s AND u.kind = k.kind
 ORDER BY k.place;

-- name: add_operator_token
INSERT INTO kernel.operator_token (hash, label, expires_at) VALUES (%(hash)s, %(label)s, %(expires_at)s) RETURNING id;

-- name: operator_tokens
SELECT id, label, created_at, expires_at, revoked_at FROM kernel.operator_token ORDER BY created_at, id;

-- name: revoke_operator_token
UPDATE kernel.operator_token SET revoked_at = now() WHERE id = %(id)s AND revoked_at IS NULL;

-- name: has_way_in
-- Whether any token would be let in.
SELECT EXISTS (SELECT 1 FROM kernel.credential c JOIN kernel.tenant t ON t.id = c.tenant_id
                WHERE c.kind = 'pat' AND c.revoked_at IS NULL AND t.status = 'active'
                  AND (c.expires_at IS NULL OR c.expires_at > now()));
