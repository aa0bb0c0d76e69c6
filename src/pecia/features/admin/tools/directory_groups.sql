-- name: users_called
-- Users by name, or by an alias in a directory.
SELECT DISTINCT ON (m.said) m.said, u.name FROM unnest(%(members)s::text[]) AS m (said)
  JOIN kernel.user_account u ON u.tenant_id = kernel.tenant()
   AND (u.name = m.said
        OR EXISTS (SELECT 1 FROM kernel.user_principal up
                     JOIN kernel.principal p ON p.tenant_id = up.tenant_id AND p.id = up.principal_id
                    WHERE up.tenant_id = u.tenant_id AND up.user_id = u.id
                      AND p.kind IN ('email', 'upn', 'name') AND p.value = lower(m.said)))
 ORDER BY m.said, u.name <> m.said, u.name;
