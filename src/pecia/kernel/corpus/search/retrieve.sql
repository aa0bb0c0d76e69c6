-- name: files
-- Which of these files the caller may see, and what they are called, as the fields of a File. Their chunks are seen
-- with them.
SELECT id, key, title, chunk_count AS chunks FROM kernel.file
 WHERE tenant_id = (SELECT kernel.tenant()) AND id = ANY (%(ids)s::bigint[]);
