-- name: purge_user
SELECT kernel.purge_user(%(user)s);
