-- Rules of a file system that no set of principals says: read by the group of the file and entered by that of a
-- folder, or closed to a group and open to others. Such a rule is a principal of its own, and whoever meets it stands
-- for it. Its value is a list of steps, one for each folder on the way and one for the file:
-- [owner, group, open to the owner, open to the group, open to others].

-- As the kernel does: of owner, group and others the first that fits decides. A caller without a number is of the others.
CREATE FUNCTION kernel.meets_posix_rule(rule jsonb, uids text[], gids text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT EXISTS (
        SELECT 1 FROM unnest(CASE WHEN uids = '{}' THEN '{NULL}'::text[] ELSE uids END) AS me (uid)
         WHERE NOT EXISTS (
             SELECT 1 FROM jsonb_array_elements(rule) AS s (step)
              WHERE NOT CASE WHEN me.uid = s.step->>0 THEN (s.step->2)::boolean
                             WHEN s.step->>1 = ANY (gids) THEN (s.step->3)::boolean
                             ELSE (s.step->4)::boolean END))
$$;

CREATE OR REPLACE FUNCTION kernel.principals_of(in_tenant uuid, in_user uuid, in_claims integer[], in_admin boolean)
RETURNS integer[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    WITH held (p) AS (
        SELECT principal_id FROM kernel.user_account WHERE tenant_id = in_tenant AND id = in_user
        UNION ALL
        SELECT principal_id FROM kernel.user_principal WHERE tenant_id = in_tenant AND user_id = in_user
        UNION ALL
        SELECT g.principal_id FROM kernel.group_member m
          JOIN kernel.user_group g ON g.tenant_id = m.tenant_id AND g.id = m.group_id
         WHERE m.tenant_id = in_tenant AND m.user_id = in_user
        UNION ALL
        SELECT unnest(in_claims)
        UNION ALL
        SELECT id FROM kernel.principal
         WHERE tenant_id = in_tenant AND kind = 'role' AND scope = ''
           AND (value = 'anyone' OR (value = 'everyone' AND in_user IS NOT NULL)
                OR (value = 'admin' AND in_admin))
    )
    SELECT COALESCE(array_agg(DISTINCT p ORDER BY p), '{}') FROM (
        SELECT p FROM held
        UNION ALL
        SELECT r.id FROM kernel.principal r
         WHERE in_user IS NOT NULL AND r.tenant_id = in_tenant AND r.kind = 'posixrule'
           AND kernel.meets_posix_rule(r.value::jsonb,
               ARRAY (SELECT n.value FROM kernel.principal n WHERE n.tenant_id = in_tenant
                         AND n.id IN (SELECT p FROM held) AND n.kind = 'posixuid' AND n.scope = r.scope),
               ARRAY (SELECT n.value FROM kernel.principal n WHERE n.tenant_id = in_tenant
                         AND n.id IN (SELECT p FROM held) AND n.kind = 'posixgid' AND n.scope = r.scope))
    ) AS every (p)
$$;
REVOKE ALL ON FUNCTION kernel.meets_posix_rule FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kernel.meets_posix_rule TO pecia_system;
