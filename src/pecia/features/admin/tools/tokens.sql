-- name: tokens
SELECT c.id, c.kind, COALESCE(u.name, 'anonymous') AS user, c.label, c.hint, c.scopes, c.created_at, c.expires_at,
       c.last_used_at, c.revoked_at
  FROM kernel.credential c
  LEFT JOIN kernel.user_account u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
 WHERE (%(user)s::text IS NULL OR u.name = %(user)s)
   AND (%(include_revoked)s OR c.revoked_at IS NULL)
   AND (%(after)s::uuid IS NULL OR c.id > %(after)s)
 ORDER BY c.id LIMIT %(limit)s;

-- name: token
SELECT c.id, c.kind, COALESCE(u.name, 'anonymous') AS user, c.label, c.hint, c.scopes, c.created_at, c.expires_at,
       c.last_used_at, c.revoked_at
  FROM kernel.credential c
  LEFT JOIN kernel.user_account u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
 WHERE c.id = %(id)s;

-- name: make_token
INSERT INTO kernel.credential (tenant_id, kind, user_id, hash, hint, label, scopes, expires_at)
SELECT u.tenant_id, 'pat', u.id, %(hash)s, %(hint)s, %(label)s, %(scopes)s, %(expires_at)s
  FROM kernel.user_account u WHERE u.tenant_id = kernel.tenant() AND u.name = %(user)s
RETURNING id;

-- name: revoke_token
UPDATE kernel.credential SET revoked_at = now() WHERE tenant_id = kernel.tenant() AND id = %(id)s;
