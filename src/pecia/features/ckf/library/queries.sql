-- Published packages are files of the source `ckf`, below `tenant/` or `public/`. A source of that name
-- with another protocol has none. Everything is read under the caller's rights.

-- name: claim
SELECT ckf.claim(%(slug)s, %(visibility)s);

-- name: own
-- The key of the caller's own package of that slug.
SELECT f.key, r.text FROM kernel.file f
  JOIN kernel.revision r ON r.tenant_id = f.tenant_id AND r.id = f.revision_id
 WHERE f.tenant_id = kernel.tenant() AND f.source_id = 'ckf' AND f.key = ANY (%(keys)s)
   AND EXISTS (SELECT 1 FROM kernel.folder_grant g
                WHERE g.tenant_id = f.tenant_id AND g.source_id = f.source_id AND g.role = 'writer'
                  AND g.principal_id = ANY (kernel.me()) AND starts_with(f.key, g.prefix))
 ORDER BY f.key LIMIT 1;

-- name: post
-- The text of a post, or of the version so many publications back.
SELECT f.key, r.text FROM kernel.file f
  JOIN kernel.source s ON s.tenant_id = f.tenant_id AND s.id = f.source_id AND s.protocol = 'ckf'
  JOIN kernel.revision r ON r.tenant_id = f.tenant_id AND r.file_id = f.id
 WHERE f.tenant_id = kernel.tenant() AND f.source_id = 'ckf' AND f.key = ANY (%(keys)s)
 ORDER BY r.id DESC OFFSET %(ago)s LIMIT 1;

-- name: slugs
SELECT DISTINCT split_part(f.key, '/', 2) AS slug FROM kernel.file f
  JOIN kernel.source s ON s.tenant_id = f.tenant_id AND s.id = f.source_id AND s.protocol = 'ckf'
 WHERE f.tenant_id = kernel.tenant() AND f.source_id = 'ckf'
   AND ((f.key >= 'public/' AND f.key < 'public0') OR (f.key >= 'tenant/' AND f.key < 'tenant0'))
 ORDER BY slug;

-- name: clock
-- The commit that the index must have reached to hold every post.
SELECT kernel.clock();

-- name: posts_at
-- Posts in a language at these keys.
SELECT f.key, r.text FROM kernel.file f
  JOIN kernel.source s ON s.tenant_id = f.tenant_id AND s.id = f.source_id AND s.protocol = 'ckf'
  JOIN kernel.revision r ON r.tenant_id = f.tenant_id AND r.id = f.revision_id
 WHERE f.tenant_id = kernel.tenant() AND f.source_id = 'ckf' AND split_part(f.language, '-', 1) = %(lang)s
   AND f.key = ANY (%(keys)s) AND (starts_with(f.key, 'public/') OR starts_with(f.key, 'tenant/'));

-- name: posts_with
-- The same by a full scan, for when no index is available: posts in a language that hold one of these terms, which are in lower case and without accents. The
-- term may match inside a word here: the ranking compares whole words.
SELECT f.key, r.text FROM kernel.file f
  JOIN kernel.source s ON s.tenant_id = f.tenant_id AND s.id = f.source_id AND s.protocol = 'ckf'
  JOIN kernel.revision r ON r.tenant_id = f.tenant_id AND r.id = f.revision_id,
       LATERAL (SELECT regexp_replace(normalize(lower(r.text), NFKD), '[\u0300-\u036f]', '', 'g') AS plain OFFSET 0) AS p
 WHERE f.tenant_id = kernel.tenant() AND f.source_id = 'ckf' AND split_part(f.language, '-', 1) = %(lang)s
   AND ((f.key >= 'public/' AND f.key < 'public0') OR (f.key >= 'tenant/' AND f.key < 'tenant0'))
   AND EXISTS (SELECT 1 FROM unnest(%(terms)s::text[]) AS term WHERE position(term IN p.plain) > 0);
