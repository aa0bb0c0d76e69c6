-- Statements about files with their texts. A caller's tenant comes with the transaction; the system
-- says which one it means, and only it is heard.

-- name: known_texts
-- What is stored at these places, so that a text that did not change is not cut again. OFFSET 0 keeps
-- each a look-up: without statistics the planner takes the tables for empty and reads all of them.
SELECT a.place, encode(r.sha256, 'hex') AS sha256
  FROM unnest(%(sources)s::text[], %(keys)s::text[]) WITH ORDINALITY AS a (source_id, key, place)
  CROSS JOIN LATERAL (SELECT f.revision_id, f.tenant_id FROM kernel.file f
                       WHERE f.tenant_id = COALESCE(kernel.tenant(), %(tenant_id)s) AND f.source_id = a.source_id
                         AND f.key = a.key OFFSET 0) AS f
  CROSS JOIN LATERAL (SELECT r.sha256 FROM kernel.revision r
                       WHERE r.tenant_id = f.tenant_id AND r.id = f.revision_id OFFSET 0) AS r;

-- name: put_files
SELECT file_id, revision_id, changed FROM kernel.put_files(%(tenant_id)s, %(files)s, %(chunks)s) ORDER BY place;

-- name: remove_file
DELETE FROM kernel.file
 WHERE tenant_id = COALESCE(kernel.tenant(), %(tenant_id)s) AND source_id = %(source_id)s AND key = %(key)s;

-- name: move_file
UPDATE kernel.file SET key = %(to)s
 WHERE tenant_id = COALESCE(kernel.tenant(), %(tenant_id)s) AND source_id = %(source_id)s AND key = %(key)s;

-- name: purge_files
SELECT kernel.purge_files(%(tenant_id)s, %(source_id)s, %(key)s);

-- name: text
SELECT f.id AS file_id, f.source_id, f.key, f.title, f.language, f.content_type, f.status, f.reason,
       r.id AS revision_id, r.id IS NOT DISTINCT FROM f.revision_id AS is_current, r.text, r.units,
       encode(r.sha256, 'hex') AS sha256, r.extractor, r.created_at
  FROM kernel.file f
  LEFT JOIN kernel.revision r ON r.tenant_id = f.tenant_id AND r.file_id = f.id
   AND r.id = COALESCE(%(revision_id)s, f.revision_id)
 WHERE f.tenant_id = COALESCE(kernel.tenant(), %(tenant_id)s) AND f.source_id = %(source_id)s AND f.key = %(key)s;

-- name: trim_revisions
-- Old texts, never the one that is read now.
DELETE FROM kernel.revision r USING kernel.file f
 WHERE f.tenant_id = r.tenant_id AND f.id = r.file_id AND r.id IS DISTINCT FROM f.revision_id
   AND r.created_at < now() - make_interval(days => %(days)s);
