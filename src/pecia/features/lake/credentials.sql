-- name: set_credential
SELECT lake.set_credential(%(source_id)s, %(key_id)s, %(nonce)s, %(ciphertext)s);

-- name: drop_credential
SELECT lake.drop_credential(%(source_id)s);

-- name: credential
SELECT key_id, nonce, ciphertext FROM lake.credential
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s;

-- name: sealing_key
SELECT key_id, public FROM lake.sealing_key ORDER BY at DESC, key_id LIMIT 1;

-- name: publish_key
INSERT INTO lake.sealing_key (key_id, public) VALUES (%(key_id)s, %(public)s)
ON CONFLICT (key_id) DO NOTHING;

-- name: old_credentials
SELECT tenant_id, source_id, key_id, nonce, ciphertext FROM lake.credential WHERE key_id <> %(current)s
 ORDER BY tenant_id, source_id LIMIT %(limit)s FOR UPDATE;

-- name: reseal_credential
UPDATE lake.credential SET key_id = %(key_id)s, nonce = %(nonce)s, ciphertext = %(ciphertext)s
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s;
