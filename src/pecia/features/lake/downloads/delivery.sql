-- name: ask
INSERT INTO lake.delivery (id, tenant_id, source_id, key) VALUES (%(id)s, %(tenant_id)s, %(source_id)s, %(key)s);

-- name: begin
-- The requester may have given up; a worker that died may have stored a part.
WITH again AS (DELETE FROM lake.delivery_part WHERE tenant_id = %(tenant_id)s AND delivery_id = %(id)s)
SELECT tenant_id, source_id, key FROM lake.delivery
 WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND state = 'waiting';

-- name: put_part
INSERT INTO lake.delivery_part (delivery_id, tenant_id, n, body)
SELECT id, tenant_id, %(n)s, %(body)s FROM lake.delivery WHERE tenant_id = %(tenant_id)s AND id = %(id)s;

-- name: end
UPDATE lake.delivery SET state = %(state)s, code = %(code)s, problem = %(problem)s
 WHERE tenant_id = %(tenant_id)s AND id = %(id)s;

-- name: state
SELECT state, code, problem FROM lake.delivery WHERE tenant_id = %(tenant_id)s AND id = %(id)s;

-- name: part
SELECT body FROM lake.delivery_part WHERE tenant_id = %(tenant_id)s AND delivery_id = %(id)s AND n = %(n)s;

-- name: forget
DELETE FROM lake.delivery WHERE tenant_id = %(tenant_id)s AND id = %(id)s;

-- name: forget_old
DELETE FROM lake.delivery
 WHERE tenant_id = %(tenant_id)s AND asked_at < now() - make_interval(secs => %(wait_s)s);
