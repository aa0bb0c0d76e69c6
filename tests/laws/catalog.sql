-- What the catalog must say about our schemas. Each statement returns complaints, and none is good.
-- Ours are the schemas of pecia_owner and pecia_system.

-- name: tables
-- Tenants' tables are guarded and go with their tenant; the others say why they need not be, and app may at most
-- read them.
WITH RECURSIVE cascaded (oid) AS (
    SELECT 'kernel.tenant'::regclass::oid
    UNION
    SELECT f.conrelid FROM pg_constraint f JOIN cascaded c ON c.oid = f.confrelid
     WHERE f.contype = 'f' AND f.confdeltype = 'c'
), ours AS (
    SELECT c.oid, c.oid::regclass::text AS name, c.relrowsecurity AND c.relforcerowsecurity AS guarded,
           COALESCE(obj_description(c.oid), '') AS comment,
           c.oid = to_regclass('kernel.tenant') OR EXISTS (
               SELECT 1 FROM pg_attribute a
                WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped) AS tenanted,
           ARRAY(SELECT privilege FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
                  WHERE has_table_privilege('pecia_app', c.oid, privilege)
                     OR (privilege <> 'DELETE' AND has_any_column_privilege('pecia_app', c.oid, privilege))) AS may,
           ARRAY(SELECT privilege FROM unnest(ARRAY['TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN']) AS privilege
                  WHERE has_table_privilege('pecia_app', c.oid, privilege)) AS may_also
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p') AND n.nspowner IN ('pecia_owner'::regrole, 'pecia_system'::regrole)
)
SELECT name, 'has no row-level security that is forced' FROM ours WHERE tenanted AND NOT guarded
UNION ALL
SELECT name, 'keeps the rows of a deleted tenant: no foreign keys with ON DELETE CASCADE lead to kernel.tenant' FROM ours
 WHERE tenanted AND oid NOT IN (SELECT oid FROM cascaded)
UNION ALL
SELECT name, 'has no policy system_all for pecia_system' FROM ours WHERE tenanted AND NOT EXISTS (
    SELECT 1 FROM pg_policy p WHERE p.polrelid = ours.oid AND p.polname = 'system_all'
       AND p.polroles = ARRAY['pecia_system'::regrole::oid] AND p.polcmd = '*')
UNION ALL
SELECT name, format('lets pecia_app %s without a policy for it', privilege) FROM ours, unnest(may) AS privilege
 WHERE tenanted AND NOT EXISTS (
    SELECT 1 FROM pg_policy p WHERE p.polrelid = ours.oid AND p.polroles = ARRAY['pecia_app'::regrole::oid]
       AND p.polcmd = CASE privilege WHEN 'SELECT' THEN 'r' WHEN 'INSERT' THEN 'a' WHEN 'UPDATE' THEN 'w' ELSE 'd' END)
UNION ALL
SELECT name, 'gives pecia_app nothing and has no comment "system-only: …" that says why' FROM ours
 WHERE tenanted AND may = '{}' AND comment NOT LIKE 'system-only: _%'
UNION ALL
SELECT name, 'is said to be system-only and gives pecia_app a privilege' FROM ours
 WHERE may <> '{}' AND comment LIKE 'system-only: %'
UNION ALL
SELECT name, 'has no tenant_id and no comment "untenanted: …" that says why' FROM ours
 WHERE NOT tenanted AND comment NOT LIKE 'untenanted: _%'
UNION ALL
SELECT name, 'has no tenant_id and lets pecia_app write' FROM ours WHERE NOT tenanted AND NOT may <@ ARRAY['SELECT']
UNION ALL
SELECT name, format('lets pecia_app %s', privilege) FROM ours, unnest(may_also) AS privilege;

-- name: policies
-- A policy names one role. Those for app look at the tenant.
SELECT polrelid::regclass || '.' || polname, 'is for everybody' FROM pg_policy WHERE 0 = ANY (polroles)
UNION ALL
SELECT polrelid::regclass || '.' || polname, 'is not permissive, which the others here take it to be' FROM pg_policy
 WHERE NOT polpermissive
UNION ALL
SELECT polrelid::regclass || '.' || polname, 'does not ask for the tenant' FROM pg_policy
 WHERE 'pecia_app'::regrole = ANY (polroles)
   AND (pg_get_expr(polqual, polrelid) NOT LIKE '%kernel.tenant()%'
        OR pg_get_expr(polwithcheck, polrelid) NOT LIKE '%kernel.tenant()%')
UNION ALL
SELECT polrelid::regclass || '.' || polname, 'is for a role that is none of ours' FROM pg_policy
 WHERE NOT polroles <@ ARRAY['pecia_app'::regrole::oid, 'pecia_system'::regrole::oid];

-- name: views
-- A view reads with its owner's rights unless it says otherwise: then it must trim by itself.
SELECT c.oid::regclass::text, 'shows pecia_app rows without asking for the tenant behind a barrier'
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('v', 'm') AND n.nspowner IN ('pecia_owner'::regrole, 'pecia_system'::regrole)
   AND (has_table_privilege('pecia_app', c.oid, 'SELECT') OR has_any_column_privilege('pecia_app', c.oid, 'SELECT'))
   AND NOT COALESCE('security_invoker=true' = ANY (c.reloptions), false)
   AND NOT (COALESCE('security_barrier=true' = ANY (c.reloptions), false)
            AND pg_get_viewdef(c.oid) LIKE '%tenant_id = ( SELECT kernel.tenant()%')
UNION ALL
SELECT c.oid::regclass::text, 'lets pecia_app write through a view'
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('v', 'm') AND n.nspowner IN ('pecia_owner'::regrole, 'pecia_system'::regrole)
   AND (has_table_privilege('pecia_app', c.oid, 'INSERT, UPDATE, DELETE')
        OR has_any_column_privilege('pecia_app', c.oid, 'INSERT, UPDATE'));

-- name: functions
-- What runs with more rights than its caller is the system's, looks names up in one place, and is
-- open to nobody who was not named.
SELECT p.oid::regprocedure::text, complaint
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace,
       LATERAL (VALUES
           ('runs with the rights of ' || p.proowner::regrole, p.proowner <> 'pecia_system'::regrole),
           ('has no fixed search_path that ends in pg_temp',
            NOT EXISTS (SELECT 1 FROM unnest(p.proconfig) AS it WHERE it LIKE 'search_path=%pg_temp')),
           ('may be called by everybody',
            has_function_privilege('public', p.oid, 'EXECUTE') AND p.oid <> to_regprocedure('kernel.identity(integer)'))
       ) AS v (complaint, is_so)
 WHERE p.prosecdef AND n.nspowner IN ('pecia_owner'::regrole, 'pecia_system'::regrole) AND is_so;

-- name: roles
-- pecia_app is nobody: it owns nothing, is nothing else, bypasses nothing, makes nothing.
SELECT 'pecia_app', 'is more than a login' FROM pg_roles
 WHERE rolname = 'pecia_app' AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication)
UNION ALL
SELECT 'pecia_system', 'is more than a login' FROM pg_roles
 WHERE rolname = 'pecia_system' AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication)
UNION ALL
SELECT member::regrole::text, 'is a member of ' || roleid::regrole FROM pg_auth_members
 WHERE member IN ('pecia_app'::regrole, 'pecia_system'::regrole)
UNION ALL
SELECT 'pecia_app', 'owns ' || pg_describe_object(classid, objid, objsubid) FROM pg_shdepend
 WHERE refclassid = 'pg_authid'::regclass AND refobjid = 'pecia_app'::regrole AND deptype = 'o'
   AND dbid IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
UNION ALL
SELECT 'pecia_app', 'may create in the schema ' || nspname FROM pg_namespace
 WHERE has_schema_privilege('pecia_app', oid, 'CREATE') AND nspname NOT LIKE 'pg\_%'
UNION ALL
SELECT 'pecia_app', 'may create in the database' WHERE has_database_privilege('pecia_app', current_database(), 'CREATE, TEMPORARY');

-- name: readable
-- What pecia_app can read of tenants: the law must look at each.
SELECT c.oid::regclass::text
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspowner IN ('pecia_owner'::regrole, 'pecia_system'::regrole)
   AND (has_table_privilege('pecia_app', c.oid, 'SELECT') OR has_any_column_privilege('pecia_app', c.oid, 'SELECT'))
   AND COALESCE(obj_description(c.oid), '') NOT LIKE 'untenanted: %';
