-- name: forget
-- What is over, and of a user's questions all but the newest.
DELETE FROM kernel.confirmation
 WHERE tenant_id = %(tenant_id)s AND user_id = %(user_id)s
   AND (expires_at <= now()
        OR id IN (SELECT id FROM kernel.confirmation
                   WHERE tenant_id = %(tenant_id)s AND user_id = %(user_id)s
                   ORDER BY asked_at DESC, id OFFSET %(most)s));

-- name: ask
INSERT INTO kernel.confirmation (tenant_id, id, user_id, tool, kind, question, digest, expires_at)
VALUES (%(tenant_id)s, %(id)s, %(user_id)s, %(tool)s, %(kind)s, %(question)s, %(digest)s,
        now() + make_interval(secs => %(lasts_s)s))
ON CONFLICT (tenant_id, user_id, digest) DO UPDATE SET expires_at = EXCLUDED.expires_at
RETURNING id;

-- name: spend
DELETE FROM kernel.confirmation
 WHERE tenant_id = %(tenant_id)s AND user_id = %(user_id)s AND digest = %(digest)s
   AND confirmed_at IS NOT NULL AND expires_at > now()
RETURNING id;

-- name: pending
SELECT c.id, c.tool, c.kind, c.question, c.asked_at, c.expires_at, u.name AS user
  FROM kernel.confirmation c JOIN kernel.user_account u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
 WHERE c.tenant_id = %(tenant_id)s AND c.confirmed_at IS NULL AND c.expires_at > now()
 ORDER BY c.asked_at, c.id;

-- name: confirm
UPDATE kernel.confirmation SET confirmed_at = now(), confirmed_by = %(credential_id)s
 WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND expires_at > now()
RETURNING id;

-- name: refuse
DELETE FROM kernel.confirmation WHERE tenant_id = %(tenant_id)s AND id = %(id)s
RETURNING id;
