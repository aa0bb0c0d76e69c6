-- name: servers
SELECT * FROM hub.servers();

-- name: server
SELECT * FROM hub.servers() WHERE name = %(name)s;

-- name: tools
SELECT server, name, exposed, approved, offered, is_gone, enabled AS is_enabled, open AS is_open, stamp
  FROM hub.tools(%(server)s, %(name)s);

-- name: require_admin
SELECT hub.require_admin();

-- name: add_server
SELECT hub.add_server(%(name)s, %(place)s, %(options)s, %(readers)s);

-- name: set_server
SELECT hub.set_server(%(name)s, %(place)s, %(options)s, %(enabled)s, %(readers)s);

-- name: remove_server
SELECT hub.remove_server(%(name)s);

-- name: hold_server
SELECT hub.hold_server(%(name)s, %(holder)s, %(seconds)s, %(is_new)s);

-- name: remove_unheld
-- System: servers of ended sessions, with their credentials.
WITH gone AS (
    DELETE FROM hub.server s
     WHERE s.origin = 'session'
       AND NOT EXISTS (SELECT 1 FROM hub.hold h
                        WHERE h.tenant_id = s.tenant_id AND h.server = s.name AND h.until > now())
    RETURNING s.tenant_id, s.name),
sealed AS (
    DELETE FROM kernel.secret k USING gone
     WHERE k.tenant_id = gone.tenant_id AND k.purpose = 'upstream' AND k.name = 'hub/' || gone.name)
SELECT tenant_id, name FROM gone;

-- name: keep_tool
SELECT hub.keep_tool(%(server)s, %(name)s, %(exposed)s, %(approved)s, %(offered)s, %(is_gone)s);

-- name: set_secret
-- Values come as parameters, not from EXCLUDED: callers may write a ciphertext but not read one.
INSERT INTO kernel.secret (tenant_id, purpose, name, key_id, nonce, ciphertext)
VALUES (kernel.tenant(), 'upstream', %(name)s, %(key_id)s, %(nonce)s, %(ciphertext)s)
ON CONFLICT (tenant_id, purpose, name) DO UPDATE
   SET key_id = %(key_id)s, nonce = %(nonce)s, ciphertext = %(ciphertext)s, updated_at = now();

-- name: house_secret
INSERT INTO kernel.secret (tenant_id, purpose, name, key_id, nonce, ciphertext)
VALUES (%(tenant_id)s, 'upstream', %(name)s, %(key_id)s, %(nonce)s, %(ciphertext)s)
ON CONFLICT (tenant_id, purpose, name) DO UPDATE
   SET key_id = EXCLUDED.key_id, nonce = EXCLUDED.nonce, ciphertext = EXCLUDED.ciphertext, updated_at = now();

-- name: remove_secret
DELETE FROM kernel.secret WHERE tenant_id = kernel.tenant() AND purpose = 'upstream' AND name = %(name)s;

-- name: secret
-- System: never shown to callers.
SELECT key_id, nonce, ciphertext FROM kernel.secret
 WHERE tenant_id = %(tenant_id)s AND purpose = 'upstream' AND name = %(name)s;

-- name: place
-- System: on connect.
SELECT place, origin FROM hub.server WHERE tenant_id = %(tenant_id)s AND name = %(name)s;

-- name: hold_names
-- Serializes name assignment within a tenant.
SELECT pg_advisory_xact_lock(hashtextextended(%(tenant_id)s::text || 'hub', 1));

-- name: every_tool
SELECT server, name, exposed, approved, offered, is_gone FROM hub.tool WHERE tenant_id = %(tenant_id)s;

-- name: note_tool
INSERT INTO hub.tool (tenant_id, server, name, exposed, approved, offered, is_gone)
VALUES (%(tenant_id)s, %(server)s, %(name)s, %(exposed)s, %(approved)s, %(offered)s, %(is_gone)s)
ON CONFLICT (tenant_id, server, name) DO UPDATE
   SET exposed = EXCLUDED.exposed, approved = EXCLUDED.approved, offered = EXCLUDED.offered,
       is_gone = EXCLUDED.is_gone, seen_at = now();
