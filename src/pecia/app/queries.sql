-- name: authenticate
SELECT * FROM kernel.authenticate(%(hash)s);

-- name: closed_tenant
SELECT CASE status WHEN 'deleting' THEN 'this tenant is being deleted' ELSE 'this tenant is suspended' END
  FROM kernel.tenant WHERE id = %(id)s;

-- name: tenant_named
SELECT id, status FROM kernel.tenant WHERE name = %(name)s;

-- name: note_uses
UPDATE kernel.credential SET last_used_at = now() WHERE id = ANY (%(credentials)s);

-- name: enrol
-- The first principal of a token is its subject at its issuer, and finds the user again next time.
SELECT kernel.enrol(%(tenant_id)s, %(name)s, %(kinds)s, %(scopes_of)s, %(values)s, %(hash)s, %(scopes)s, %(expires_at)s);

-- name: create_tenant
SELECT kernel.create_tenant(%(name)s);

-- name: add_user
INSERT INTO kernel.user_account (tenant_id, name, role) VALUES (%(tenant_id)s, %(name)s, %(role)s)
ON CONFLICT (tenant_id, name) DO NOTHING;

-- name: standing_credential
-- The credential of someone who needs no token: the owner in local mode, the public elsewhere.
SELECT c.id AS credential_id, c.kind, c.tenant_id, t.name AS tenant, c.user_id, COALESCE(u.name, 'anonymous') AS user_name,
       c.scopes, COALESCE(u.role = 'admin', false) AS is_admin, c.expires_at
  FROM kernel.credential c
  JOIN kernel.tenant t ON t.id = c.tenant_id
  LEFT JOIN kernel.user_account u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
 WHERE t.name = %(tenant)s AND c.kind = %(kind)s AND c.revoked_at IS NULL
 ORDER BY c.created_at LIMIT 1;

-- name: add_standing_credential
INSERT INTO kernel.credential (tenant_id, kind, user_id, scopes, label)
SELECT t.id, %(kind)s, u.id, %(scopes)s, %(label)s
  FROM kernel.tenant t LEFT JOIN kernel.user_account u ON u.tenant_id = t.id AND u.name = %(user)s
 WHERE t.name = %(tenant)s;

-- name: tenant_ids
SELECT id FROM kernel.tenant;
