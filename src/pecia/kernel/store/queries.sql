-- name: enter
SELECT kernel.enter(%(credential)s);

-- name: add_audit
-- The first write of a call carries its row; a second write in the same call finds it there.
INSERT INTO kernel.audit (id, tenant_id, at, user_id, credential_id, tool, door, arguments, sources, keys,
                          row_count, status, code, client_ip, request_id, duration_us)
VALUES (%(id)s, %(tenant_id)s, %(at)s, %(user_id)s, %(credential_id)s, %(tool)s, %(door)s, %(arguments)s,
        %(sources)s, %(keys)s, %(row_count)s, %(status)s, %(code)s, %(client_ip)s, %(request_id)s, %(duration_us)s)
ON CONFLICT DO NOTHING;

-- name: settle_audit
-- From the spool. A row that a write already committed learns how the call ended, and stays one row.
INSERT INTO kernel.audit AS a (id, tenant_id, at, user_id, credential_id, tool, door, arguments, sources, keys,
                               row_count, status, code, client_ip, request_id, duration_us)
SELECT %(id)s, t.id, %(at)s, %(user_id)s, %(credential_id)s, %(tool)s, %(door)s, %(arguments)s,
       %(sources)s, %(keys)s, %(row_count)s, %(status)s, %(code)s, %(client_ip)s, %(request_id)s, %(duration_us)s
  FROM (SELECT 1) AS one LEFT JOIN kernel.tenant t ON t.id = %(tenant_id)s
 WHERE %(tenant_id)s::uuid IS NULL OR t.id IS NOT NULL
ON CONFLICT (id) DO UPDATE
   SET status = EXCLUDED.status, code = EXCLUDED.code, duration_us = EXCLUDED.duration_us,
       sources = EXCLUDED.sources, keys = EXCLUDED.keys, row_count = EXCLUDED.row_count
 WHERE EXCLUDED.status <> 'interrupted';

-- name: authenticate
SELECT * FROM kernel.authenticate(%(hash)s);
