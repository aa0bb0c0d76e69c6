-- name: keep_upload
SELECT lake.keep_upload(%(source_id)s, %(key)s, %(body)s);

-- name: drop_upload
SELECT lake.drop_upload(%(source_id)s, %(key)s);

-- name: uploads_after
SELECT key, sha256, octet_length(body) AS size_bytes, at FROM lake.upload
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key > %(after)s ORDER BY key LIMIT %(limit)s;

-- name: upload
-- A file over the limit is not read at all.
SELECT octet_length(body) AS size_bytes, CASE WHEN octet_length(body) <= %(most)s THEN body END AS body FROM lake.upload
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = %(key)s;
