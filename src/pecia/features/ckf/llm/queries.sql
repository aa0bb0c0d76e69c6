-- name: take_compile
SELECT ckf.take_compile(%(tenant_id)s, %(payer)s, %(day)s, %(per_user)s, %(total)s);
