-- name: my_principals
SELECT kind || ':' || scope || ':' || value AS principal FROM kernel.principal
 WHERE id = ANY ((SELECT kernel.me())::integer[]) ORDER BY 1;

-- name: users
SELECT u.name, u.role, u.status,
       ARRAY(SELECT p.kind || ':' || p.scope || ':' || p.value FROM kernel.user_principal up
               JOIN kernel.principal p ON p.tenant_id = up.tenant_id AND p.id = up.principal_id
              WHERE up.tenant_id = u.tenant_id AND up.user_id = u.id ORDER BY 1) AS principals
  FROM kernel.user_account u WHERE u.name > %(after)s ORDER BY u.name LIMIT %(limit)s;

-- name: user
SELECT u.name, u.role, u.status,
       ARRAY(SELECT p.kind || ':' || p.scope || ':' || p.value FROM kernel.user_principal up
               JOIN kernel.principal p ON p.tenant_id = up.tenant_id AND p.id = up.principal_id
              WHERE up.tenant_id = u.tenant_id AND up.user_id = u.id ORDER BY 1) AS principals
  FROM kernel.user_account u WHERE u.name = %(name)s;

-- name: add_user
INSERT INTO kernel.user_account (tenant_id, name, role) VALUES (kernel.tenant(), %(name)s, %(role)s);

-- name: other_administrators
SELECT count(*) FROM kernel.user_account
 WHERE tenant_id = kernel.tenant() AND role = 'admin' AND status = 'active' AND name <> %(name)s;

-- name: set_user
UPDATE kernel.user_account SET role = COALESCE(%(role)s, role), status = COALESCE(%(status)s, status)
 WHERE tenant_id = kernel.tenant() AND name = %(name)s;

-- name: know_as
INSERT INTO kernel.user_principal (tenant_id, user_id, principal_id)
SELECT u.tenant_id, u.id, kernel.intern(%(kind)s, %(scope)s, %(value)s)
  FROM kernel.user_account u WHERE u.tenant_id = kernel.tenant() AND u.name = %(name)s;

-- name: forget_as
DELETE FROM kernel.user_principal up USING kernel.user_account u, kernel.principal p
 WHERE u.tenant_id = kernel.tenant() AND u.name = %(name)s AND up.tenant_id = u.tenant_id AND up.user_id = u.id
   AND p.tenant_id = up.tenant_id AND p.id = up.principal_id
   AND p.kind = %(kind)s AND p.scope = %(scope)s AND p.value = %(value)s;

-- name: groups
SELECT g.name, CASE WHEN kernel.is_admin() OR g.principal_id = ANY ((SELECT kernel.me())::integer[])
                    THEN ARRAY(SELECT u.name FROM kernel.group_member m
                                 JOIN kernel.user_account u ON u.tenant_id = m.tenant_id AND u.id = m.user_id
                                WHERE m.tenant_id = g.tenant_id AND m.group_id = g.id ORDER BY 1) END AS members
  FROM kernel.user_group g WHERE g.name > %(after)s ORDER BY g.name LIMIT %(limit)s;

-- name: group
SELECT g.name, CASE WHEN kernel.is_admin() OR g.principal_id = ANY ((SELECT kernel.me())::integer[])
                    THEN ARRAY(SELECT u.name FROM kernel.group_member m
                                 JOIN kernel.user_account u ON u.tenant_id = m.tenant_id AND u.id = m.user_id
                                WHERE m.tenant_id = g.tenant_id AND m.group_id = g.id ORDER BY 1) END AS members
  FROM kernel.user_group g WHERE g.name = %(name)s;

-- name: add_group
INSERT INTO kernel.user_group (tenant_id, name) VALUES (kernel.tenant(), %(name)s);

-- name: remove_group
DELETE FROM kernel.user_group WHERE tenant_id = kernel.tenant() AND name = %(name)s;

-- name: add_member
INSERT INTO kernel.group_member (tenant_id, group_id, user_id)
SELECT g.tenant_id, g.id, u.id FROM kernel.user_group g
  JOIN kernel.user_account u ON u.tenant_id = g.tenant_id AND u.name = %(user)s
 WHERE g.tenant_id = kernel.tenant() AND g.name = %(group)s
ON CONFLICT DO NOTHING;

-- name: remove_member
DELETE FROM kernel.group_member m USING kernel.user_group g, kernel.user_account u
 WHERE g.tenant_id = kernel.tenant() AND g.name = %(group)s AND u.tenant_id = g.tenant_id AND u.name = %(user)s
   AND m.tenant_id = g.tenant_id AND m.group_id = g.id AND m.user_id = u.id;
