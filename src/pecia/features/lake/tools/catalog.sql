-- name: original
-- The revision of a file whose original can be opened: it lies elsewhere or was uploaded.
-- Sources written by a feature have none. A file that has no text has no revision.
SELECT f.revision_id
  FROM kernel.file f
  JOIN kernel.source s ON s.tenant_id = f.tenant_id AND s.id = f.source_id
 WHERE f.tenant_id = kernel.tenant() AND f.source_id = %(source_id)s AND f.key = %(key)s
   AND (s.config ? 'origin' OR s.config ? 'folder');
