-- name: enter
SELECT kernel.enter(%(credential)s);

-- name: add_audit
-- The first write of a call inserts its row; a second write in the same call finds it there.
INSERT INTO kernel.audit (id, tenant_id, at, user_id, credential_id, tool, interface, arguments, sources, keys,
                          row_count, status, code, client_ip, request_id, duration_us)
VALUES (%(id)s, %(tenant_id)s, %(at)s, %(user_id)s, %(credential_id)s, %(tool)s, %(interface)s, %(arguments)s,
        %(sources)s, %(keys)s, %(row_count)s, %(status)s, %(code)s, %(client_ip)s, %(request_id)s, %(duration_us)s)
ON CONFLICT DO NOTHING;

-- name: settle_audit
-- From the spool, a batch as one document: a statement a row costs ten times as much.
-- A row that a write already committed learns how the call ended, and stays one row.
INSERT INTO kernel.audit AS a (id, tenant_id, at, user_id, credential_id, tool, interface, arguments, sources, keys,
                               row_count, status, code, client_ip, request_id, duration_us)
SELECT r.begin, r.tenant_id, r.at, r.user_id, r.credential_id, r.tool, r.interface, COALESCE(r.arguments, '{}'),
       COALESCE(r.sources, '{}'), COALESCE(r.keys, '{}'), COALESCE(r.row_count, 0), COALESCE(r.status, 'interrupted'),
       r.code, r.client_ip, r.request_id, r.duration_us
  FROM jsonb_to_recordset(%(records)s) AS r (
           begin uuid, tenant_id uuid, at timestamptz, user_id uuid, credential_id uuid, tool text, interface text,
           arguments jsonb, sources text[], keys text[], row_count integer, status text, code text, client_ip text,
           request_id text, duration_us bigint)
 -- A deleted tenant's audit log is gone with it.
 WHERE r.tenant_id IS NULL OR EXISTS (SELECT 1 FROM kernel.tenant t WHERE t.id = r.tenant_id)
ON CONFLICT (id) DO UPDATE
   SET status = EXCLUDED.status, code = EXCLUDED.code, duration_us = EXCLUDED.duration_us,
       sources = EXCLUDED.sources, keys = EXCLUDED.keys, row_count = EXCLUDED.row_count
 WHERE EXCLUDED.status <> 'interrupted';
