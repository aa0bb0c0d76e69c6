-- name: exists
-- Whether a tenant has a source at all.
SELECT EXISTS (
    SELECT FROM kernel.source WHERE tenant_id = %(tenant_id)s AND id = %(source_id)s
);

-- name: visible_revisions
-- The files of a source visible to the caller, with their revisions.
SELECT key, revision_id FROM kernel.file WHERE source_id = %(source_id)s ORDER BY key;

-- name: visible_texts
-- The extracted texts of those files.
SELECT f.key, r.text
  FROM kernel.file f
  JOIN kernel.revision r ON r.tenant_id = f.tenant_id AND r.id = f.revision_id
 WHERE f.source_id = %(source_id)s
 ORDER BY f.key;
