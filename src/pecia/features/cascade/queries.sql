-- name: exists
-- Whether a tenant has a source at all.
SELECT EXISTS (
    SELECT FROM kernel.source WHERE tenant_id = %(tenant_id)s AND id = %(source_id)s
);

-- name: visible_revisions
-- Which files of a source the caller sees, and in which state.
SELECT key, revision_id FROM kernel.file WHERE source_id = %(source_id)s ORDER BY key;

-- name: visible_texts
-- The texts of those files, as far as they could be read.
SELECT f.key, r.text
  FROM kernel.file f
  JOIN kernel.revision r ON r.tenant_id = f.tenant_id AND r.id = f.revision_id
 WHERE f.source_id = %(source_id)s
 ORDER BY f.key;
