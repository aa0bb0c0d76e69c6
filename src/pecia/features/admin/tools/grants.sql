-- name: set_role
INSERT INTO kernel.source_role (tenant_id, source_id, principal_id, role)
VALUES (kernel.tenant(), %(source_id)s, %(principal)s, %(role)s)
ON CONFLICT (tenant_id, source_id, principal_id) DO UPDATE SET role = EXCLUDED.role;

-- name: remove_role
DELETE FROM kernel.source_role
 WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s AND principal_id = %(principal)s;

-- name: set_folder_grant
INSERT INTO kernel.folder_grant (tenant_id, source_id, prefix, principal_id, role)
VALUES (kernel.tenant(), %(source_id)s, %(prefix)s, %(principal)s, %(role)s)
ON CONFLICT (tenant_id, source_id, principal_id, prefix) DO UPDATE SET role = EXCLUDED.role;

-- name: remove_folder_grant
-- Folder grants of sites were once stored without the leading slash; those can be removed too.
DELETE FROM kernel.folder_grant
 WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s AND principal_id = %(principal)s
   AND prefix IN (%(prefix)s, ltrim(%(prefix)s, '/'));

-- name: has_folder
-- As far as the caller sees the source's files.
SELECT EXISTS (SELECT FROM kernel.file
                WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s
                  AND key >= %(prefix)s AND key < %(prefix)s || chr(1114111));

-- name: grant_file
SELECT kernel.grant_file(%(source_id)s, %(key)s, %(granted)s);

-- name: grants
SELECT g.role, g.folder, kernel.principal_name(g.principal_id) AS principal
  FROM (SELECT principal_id, role, NULL AS folder FROM kernel.source_role
         WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s
        UNION ALL
        SELECT principal_id, role, prefix FROM kernel.folder_grant
         WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s) AS g
 ORDER BY g.folder NULLS FIRST, principal;

-- name: access
SELECT * FROM kernel.why(%(user)s, %(source_id)s, %(key)s);
