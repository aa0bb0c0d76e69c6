-- name: set_secret
-- Values come as parameters, not from EXCLUDED: callers may write a ciphertext but not read one.
INSERT INTO kernel.secret (tenant_id, purpose, name, key_id, nonce, ciphertext)
VALUES (kernel.tenant(), %(purpose)s, %(name)s, %(key_id)s, %(nonce)s, %(ciphertext)s)
ON CONFLICT (tenant_id, purpose, name) DO UPDATE
   SET key_id = %(key_id)s, nonce = %(nonce)s, ciphertext = %(ciphertext)s, updated_at = now();

-- name: secret
SELECT purpose, name, key_id, updated_at FROM kernel.secret
 WHERE tenant_id = kernel.tenant() AND purpose = %(purpose)s AND name = %(name)s;

-- name: secrets
SELECT purpose, name, key_id, updated_at, purpose || ':' || name AS place FROM kernel.secret
 WHERE tenant_id = kernel.tenant() AND (%(purpose)s::text IS NULL OR purpose = %(purpose)s)
   AND purpose || ':' || name > %(after)s
 ORDER BY place LIMIT %(limit)s;

-- name: remove_secret
DELETE FROM kernel.secret WHERE tenant_id = kernel.tenant() AND purpose = %(purpose)s AND name = %(name)s;

-- name: old_secrets
-- A page of secrets sealed under an old key, of all tenants.
SELECT tenant_id, purpose, name, key_id, nonce, ciphertext FROM kernel.secret
 WHERE purpose = %(purpose)s AND key_id <> %(current)s
 ORDER BY tenant_id, name LIMIT %(limit)s FOR UPDATE;

-- name: reseal
UPDATE kernel.secret SET key_id = %(key_id)s, nonce = %(nonce)s, ciphertext = %(ciphertext)s
 WHERE tenant_id = %(tenant_id)s AND purpose = %(purpose)s AND name = %(name)s;
