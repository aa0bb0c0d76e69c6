-- Statements of the bench of the corpus store: large tenants made at once, and what they weigh.

-- name: make_tenant
SELECT kernel.create_tenant(%(name)s);

-- name: add_user
INSERT INTO kernel.user_account (tenant_id, name, role) VALUES (%(tenant)s, %(name)s, %(role)s) RETURNING id;

-- name: add_source
INSERT INTO kernel.source (tenant_id, id, protocol) VALUES (%(tenant)s, 's1', 'folder');

-- name: add_principals
INSERT INTO kernel.principal (tenant_id, kind, scope, value)
SELECT %(tenant)s, 'posixgid', 'nas', n::text FROM generate_series(1, %(classes)s) AS n
UNION ALL SELECT %(tenant)s, 'posixgid', 'share', n FROM unnest(ARRAY['1', '0.5', '0.1', '0.01', '0']) AS n;

-- name: add_classes
-- Each has a group of its own, and the groups of those who see a share of them. The first is for the
-- one who sees a single file.
INSERT INTO kernel.acl (tenant_id, source_id, granted, facts, principals)
SELECT p.tenant_id, 's1', p.id || ARRAY(
           SELECT s.id FROM kernel.principal s
            WHERE s.tenant_id = p.tenant_id AND s.kind = 'posixgid' AND s.scope = 'share'
              AND (p.value::integer > %(classes)s * (1 - s.value::numeric) OR (s.value = '0' AND p.value = '1'))), '', '{}'
  FROM kernel.principal p WHERE p.tenant_id = %(tenant)s AND p.kind = 'posixgid' AND p.scope = 'nas' ORDER BY p.id;

-- name: add_files
-- The first file has the first class to itself; the others take turns with the rest.
INSERT INTO kernel.file (tenant_id, source_id, key, acl_id, title, chunk_count, status)
SELECT %(tenant)s, 's1', to_char(n, 'FM"f/"0000000') || '.md', a.id, 'File ' || n, %(chunks)s, 'ok'
  FROM generate_series(0, %(files)s - 1) AS n
  JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS at FROM kernel.acl
         WHERE tenant_id = %(tenant)s AND NOT is_source) AS a
    ON a.at = CASE WHEN n = 0 OR %(classes)s = 1 THEN 0 ELSE 1 + n %% (%(classes)s - 1) END
 ORDER BY n;

-- name: add_revisions
INSERT INTO kernel.revision (tenant_id, file_id, sha256, text)
SELECT tenant_id, id, sha256(id::text::bytea), repeat(id || ' ' || %(text)s, %(chunks)s) FROM kernel.file
 WHERE tenant_id = %(tenant)s;

-- name: point_to_revisions
UPDATE kernel.file f SET revision_id = r.id FROM kernel.revision r
 WHERE f.tenant_id = %(tenant)s AND r.tenant_id = f.tenant_id AND r.file_id = f.id;

-- name: add_chunks
INSERT INTO kernel.chunk (tenant_id, file_id, seq, char_start, char_end, text, text_hash)
SELECT tenant_id, id, seq, 800 * seq, 800 * (seq + 1), id || ' ' || seq || ' ' || %(text)s,
       substr(sha256((id || ' ' || seq)::bytea), 1, 16)
  FROM kernel.file, generate_series(0, %(chunks)s - 1) AS seq WHERE tenant_id = %(tenant)s ORDER BY id, seq;

-- name: chunk_ids
SELECT c.id, c.file_id, f.acl_id FROM kernel.chunk c JOIN kernel.file f ON f.tenant_id = c.tenant_id AND f.id = c.file_id
 WHERE c.tenant_id = %(tenant)s ORDER BY c.id LIMIT %(most)s;

-- name: copy_vectors
COPY kernel.vector (tenant_id, chunk_id, file_id, model, text_hash, dims, embedding) FROM STDIN;

-- name: drop_index
DROP INDEX IF EXISTS kernel.vector_near_384;

-- name: build_index
SELECT kernel.index_vectors(384);

-- name: credential
-- One who sees this share.
INSERT INTO kernel.credential (tenant_id, kind, user_id, scopes, claims)
SELECT %(tenant)s, 'oidc', %(user)s, '{pecia.search,pecia.read}', ARRAY[id] FROM kernel.principal
 WHERE tenant_id = %(tenant)s AND kind = 'posixgid' AND scope = 'share' AND value = %(share)s
RETURNING id;

-- name: credential_of_groups
-- One who is in the last groups, so many: the first class is left to the one who sees a single file.
INSERT INTO kernel.credential (tenant_id, kind, user_id, scopes, claims)
SELECT %(tenant)s, 'oidc', %(user)s, '{pecia.search,pecia.read}',
       ARRAY(SELECT id FROM kernel.principal
              WHERE tenant_id = %(tenant)s AND kind = 'posixgid' AND scope = 'nas'
              ORDER BY value::integer DESC LIMIT %(most)s)
RETURNING id;

-- name: backends
SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid();

-- name: visible_classes
SELECT id FROM kernel.acl WHERE tenant_id = %(tenant)s AND principals && %(held)s::integer[];

-- name: held
SELECT claims FROM kernel.credential WHERE id = %(id)s;

-- name: grant_folder
INSERT INTO kernel.folder_grant (tenant_id, source_id, prefix, principal_id, role)
SELECT %(tenant)s, 's1', %(prefix)s, principal_id, 'reader' FROM kernel.user_account
 WHERE tenant_id = %(tenant)s AND id = %(user)s;

-- name: rename_half
UPDATE kernel.file SET key = 'g' || substr(key, 2) WHERE tenant_id = %(tenant)s AND id %% 2 = 0;

-- name: remove_source
DELETE FROM kernel.source WHERE tenant_id = %(tenant)s;

-- name: weight
SELECT COALESCE(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
 WHERE c.relnamespace = 'kernel'::regnamespace AND c.relkind = 'r'
   AND (c.relname IN ('file', 'chunk', 'revision', 'change', 'tick') OR c.relname LIKE 'vector%%');

-- name: take_bodies
UPDATE kernel.chunk c SET text = b.text FROM unnest(%(ids)s::bigint[], %(bodies)s::text[]) AS b (id, text)
 WHERE c.tenant_id = %(tenant)s AND c.id = b.id;

-- name: tick
-- So that the tenant has a clock, and an index something to follow.
UPDATE kernel.file SET title = title || '.' WHERE tenant_id = %(tenant)s AND key = 'f/0000000.md';

-- name: give_token
UPDATE kernel.credential SET kind = 'pat', hash = %(hash)s WHERE id = %(id)s RETURNING id;

-- name: remove_written
DELETE FROM kernel.file WHERE tenant_id = %(tenant)s AND key LIKE 'new/%%' RETURNING id;
