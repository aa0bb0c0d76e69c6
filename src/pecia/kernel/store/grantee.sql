-- Who a right is given to, by the name that people use.

-- name: user
SELECT principal_id FROM kernel.user_account WHERE tenant_id = kernel.tenant() AND name = %(name)s;

-- name: group
SELECT principal_id FROM kernel.user_group WHERE tenant_id = kernel.tenant() AND name = %(name)s;

-- name: other
SELECT kernel.intern(%(kind)s, %(scope)s, %(value)s);
