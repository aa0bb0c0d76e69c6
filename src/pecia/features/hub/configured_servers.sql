-- Syncs the operator's file. System transactions only, never a caller's.

-- name: hold
-- Several processes of one install read the same file.
SELECT pg_advisory_xact_lock(hashtextextended(%(tenant_id)s::text || 'hub', 1));

-- name: servers
SELECT name, origin FROM hub.server WHERE tenant_id = %(tenant_id)s;

-- name: remove_server
DELETE FROM hub.server WHERE tenant_id = %(tenant_id)s AND name = %(name)s AND origin = 'file';

-- name: put_server
-- Once it exists, its tenant decides whether it is enabled.
INSERT INTO hub.server AS s (tenant_id, name, origin, place, options, enabled, readers)
SELECT %(tenant_id)s, %(name)s, 'file', %(place)s, %(options)s, %(enabled)s,
       ARRAY(SELECT kernel.principal_of(%(tenant_id)s, 'role', '', it) FROM unnest(%(to)s::text[]) AS it)
ON CONFLICT (tenant_id, name) DO UPDATE
   SET place = EXCLUDED.place, options = EXCLUDED.options, readers = EXCLUDED.readers,
       version = s.version + 1, changed_at = now()
 WHERE s.origin = 'file'
   AND (%(anew)s OR (s.place, s.options, s.readers) IS DISTINCT FROM (EXCLUDED.place, EXCLUDED.options, EXCLUDED.readers));
