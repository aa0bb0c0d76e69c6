-- Progress of long files.

-- name: put_underway
INSERT INTO lake.extraction_progress (tenant_id, source_id, key, pages_read, pages)
SELECT %(tenant_id)s, %(source_id)s, key, pages_read, pages
  FROM unnest(%(keys)s::text[], %(pages_read)s::integer[], %(pages)s::integer[]) AS t (key, pages_read, pages)
ON CONFLICT (tenant_id, source_id, key) DO UPDATE
   SET pages_read = EXCLUDED.pages_read, pages = EXCLUDED.pages, told_at = now();

-- name: drop_underway
DELETE FROM lake.extraction_progress WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = ANY (%(keys)s);

-- name: underway
SELECT key, pages_read, pages, told_at AS reported_at FROM lake.extraction_progress_of(%(source_id)s);
