-- name: take
SELECT kernel.take_lease(%(tenant_id)s, %(name)s, %(holder)s, make_interval(secs => %(lasts_s)s));

-- name: holder
SELECT holder FROM kernel.lease WHERE tenant_id = %(tenant_id)s AND name = %(name)s;

-- name: renew
UPDATE kernel.lease SET expires_at = clock_timestamp() + make_interval(secs => %(lasts_s)s)
 WHERE tenant_id = %(tenant_id)s AND name = %(name)s AND fence = %(fence)s AND expires_at > '-infinity';

-- name: release
-- The row stays, and with it the fence: a number is never given twice.
UPDATE kernel.lease SET holder = '', expires_at = '-infinity'
 WHERE tenant_id = %(tenant_id)s AND name = %(name)s AND fence = %(fence)s;

-- name: check
SELECT kernel.holds_lease(%(tenant_id)s, %(name)s, %(fence)s);
