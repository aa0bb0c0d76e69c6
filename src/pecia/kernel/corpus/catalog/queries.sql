-- name: sources
SELECT id AS source_id, protocol, trim_mode, enabled,
       CASE WHEN kernel.sees_all_files(id, trim_mode, protocol) THEN last_indexed_at END AS last_indexed_at
  FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND id > %(after)s ORDER BY id LIMIT %(limit)s;

-- name: source
SELECT id AS source_id, protocol, trim_mode, enabled,
       CASE WHEN kernel.sees_all_files(id, trim_mode, protocol) THEN last_indexed_at END AS last_indexed_at
  FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND id = %(source_id)s;

-- name: add_source
INSERT INTO kernel.source (tenant_id, id, protocol, trim_mode, config)
VALUES (kernel.tenant(), %(source_id)s, %(protocol)s, %(trim_mode)s, %(config)s);

-- name: set_source
UPDATE kernel.source SET trim_mode = COALESCE(%(trim_mode)s, trim_mode), enabled = COALESCE(%(enabled)s, enabled)
 WHERE tenant_id = kernel.tenant() AND id = %(source_id)s;

-- name: remove_source
DELETE FROM kernel.source WHERE tenant_id = kernel.tenant() AND id = %(source_id)s;

-- name: overlapping_sources
-- Sources whose folder lies around this one, or inside it.
SELECT f.id AS source_id, f.folder
  FROM (SELECT id, rtrim(coalesce(config ->> 'folder', config -> 'origin' ->> 'folder'), '/') AS folder
          FROM kernel.source WHERE tenant_id = kernel.tenant()) AS f
 WHERE f.id <> %(source_id)s
   AND (starts_with(%(folder)s || '/', f.folder || '/') OR starts_with(f.folder || '/', %(folder)s || '/'))
 ORDER BY f.id LIMIT 5;

-- name: files
-- A range on the key, never LIKE: under row-level security only a range keeps its index.
SELECT key, size_bytes, modified_at, etag, content_type FROM kernel.file
 WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s AND key > %(after)s
   AND key >= %(prefix)s AND (%(before)s::text IS NULL OR key < %(before)s)
 ORDER BY key LIMIT %(limit)s;

-- name: folder
-- Of each folder inside, its first file. The next entry is looked for behind the whole folder ('0' follows
-- '/'), so a page costs as many steps as it has entries, however many files there are.
WITH RECURSIVE entry AS (
    (SELECT key FROM kernel.file
      WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s AND key >= %(start)s
        AND (%(before)s::text IS NULL OR key < %(before)s)
      ORDER BY key LIMIT 1)
    UNION ALL
    SELECT (SELECT f.key FROM kernel.file f
             WHERE f.tenant_id = kernel.tenant() AND f.source_id = %(source_id)s AND f.key >= step.start
               AND (%(before)s::text IS NULL OR f.key < %(before)s)
             ORDER BY f.key LIMIT 1)
      FROM entry e, LATERAL (SELECT substr(e.key, length(%(prefix)s) + 1) AS name) AS inside,
           LATERAL (SELECT CASE WHEN strpos(inside.name, '/') > 0
                                THEN %(prefix)s || split_part(inside.name, '/', 1) || '0'
                                ELSE e.key || chr(1) END AS start) AS step
     WHERE e.key IS NOT NULL
)
SELECT f.key, f.size_bytes, f.modified_at, f.etag, f.content_type
  FROM (SELECT key FROM entry WHERE key IS NOT NULL LIMIT %(limit)s) AS page
  JOIN kernel.file f ON f.tenant_id = kernel.tenant() AND f.source_id = %(source_id)s AND f.key = page.key
 ORDER BY f.key;

-- name: file
SELECT source_id, key, size_bytes, modified_at, etag, content_type, storage_class, owner, posix_mode, posix_uid, posix_gid
  FROM kernel.file WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s AND key = %(key)s;
