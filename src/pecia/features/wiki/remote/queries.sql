-- name: space
-- The space of a name, as far as the caller sees it.
SELECT id AS source_id, config ->> 'folder' AS folder FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND protocol = 'wiki' AND coalesce(config ->> 'name', substr(id, 6)) = %(name)s;

-- name: may_administer
SELECT kernel.may_administer();

-- name: set_remote
SELECT wiki.set_my_remote(%(source_id)s, %(url)s, %(branch)s, %(subfolder)s, %(mode)s, %(every_s)s, %(authors)s::text[],
                          %(confined)s);

-- name: drop_remote
SELECT wiki.drop_my_remote(%(source_id)s);

-- name: my_remote
SELECT url, branch, subfolder, mode, every_s, authors, confined, tip, problem, failures, skipped, pulled, pushed, tried_at,
       synced_at, due_at
  FROM wiki.my_remote(%(source_id)s);

-- name: allow_deletions
SELECT wiki.allow_my_deletions(%(source_id)s);

-- name: my_conflicts
SELECT key, base, remote, remote_id, renamed_to, commit_id, author, subject, found_at
  FROM wiki.my_conflicts(%(source_id)s, %(key)s, %(after)s, %(limit)s);

-- name: resolve_conflict
SELECT wiki.resolve_my_conflict(%(source_id)s, %(key)s, %(remote_id)s);

-- name: begin_run
-- System: the remote of a space that is served, and the number of a new run. An older run commits nothing more.
UPDATE wiki.remote r SET run = r.run + 1, tried_at = now(),
       due_at = now() + make_interval(secs => r.every_s)
  FROM kernel.source s
 WHERE r.tenant_id = %(tenant_id)s AND r.source_id = %(source_id)s AND s.tenant_id = r.tenant_id AND s.id = r.source_id
   AND s.enabled
RETURNING r.run, r.url, r.branch, r.subfolder, r.mode, r.authors, r.confined, r.allow_deletions, r.tip,
          s.config ->> 'folder' AS folder, coalesce((s.config ->> 'confined')::boolean, false) AS is_folder_confined;

-- name: hold_run
-- System: locks the remote for this transaction, if the run is still the latest.
SELECT 1 FROM wiki.remote WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND run = %(run)s FOR UPDATE;

-- name: end_run
UPDATE wiki.remote SET tip = %(tip)s, problem = NULL, failures = 0, skipped = %(skipped)s, synced_at = now(),
       pulled = pulled + %(pulled)s, pushed = pushed + %(pushed)s, allow_deletions = false
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND run = %(run)s;

-- name: fail_run
-- Tried again later and later, and at least every hour.
UPDATE wiki.remote SET problem = %(problem)s, failures = failures + 1,
       due_at = now() + make_interval(secs => LEAST(greatest(every_s, 3600), every_s * power(2, LEAST(failures, 10))))
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND run = %(run)s;

-- name: due
-- System: remotes of all tenants whose time has come. A tenant that is suspended or being deleted gets no new job.
SELECT r.tenant_id, r.source_id, s.config ->> 'folder' AS folder,
       coalesce((s.config ->> 'confined')::boolean, false) AS is_confined
  FROM wiki.remote r JOIN kernel.source s ON s.tenant_id = r.tenant_id AND s.id = r.source_id
  JOIN kernel.tenant t ON t.id = r.tenant_id
 WHERE r.due_at <= now() AND s.enabled AND t.status = 'active' ORDER BY r.due_at LIMIT 100;

-- name: postpone
UPDATE wiki.remote SET due_at = now() + make_interval(secs => every_s)
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s;

-- name: bases
SELECT key, base_id FROM wiki.remote_file
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s
   AND (%(keys)s::text[] IS NULL OR key = ANY (%(keys)s::text[]));

-- name: base_times
SELECT key, at FROM wiki.remote_file
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = ANY (%(keys)s::text[]);

-- name: put_bases
INSERT INTO wiki.remote_file (tenant_id, source_id, key, base_id)
SELECT %(tenant_id)s, %(source_id)s, it.key, it.base_id FROM unnest(%(keys)s::text[], %(ids)s::text[]) AS it (key, base_id)
ON CONFLICT (tenant_id, source_id, key) DO UPDATE SET base_id = EXCLUDED.base_id, at = now();

-- name: drop_bases
DELETE FROM wiki.remote_file
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = ANY (%(keys)s::text[]);

-- name: held
SELECT key, remote_id, renamed_to FROM wiki.remote_conflict
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s;

-- name: put_conflict
INSERT INTO wiki.remote_conflict (tenant_id, source_id, key, base, remote, remote_id, renamed_to, commit_id, author, subject)
VALUES (%(tenant_id)s, %(source_id)s, %(key)s, %(base)s, %(remote)s, %(remote_id)s, %(renamed_to)s, %(commit_id)s, %(author)s,
        %(subject)s)
ON CONFLICT (tenant_id, source_id, key) DO UPDATE
   SET base = EXCLUDED.base, remote = EXCLUDED.remote, remote_id = EXCLUDED.remote_id, renamed_to = EXCLUDED.renamed_to,
       commit_id = EXCLUDED.commit_id, author = EXCLUDED.author, subject = EXCLUDED.subject, found_at = now()
 WHERE remote_conflict.remote_id IS DISTINCT FROM EXCLUDED.remote_id;

-- name: drop_conflicts
DELETE FROM wiki.remote_conflict
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = ANY (%(keys)s::text[]);

-- name: pushes
SELECT commit_id, parent_id FROM wiki.remote_push
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s ORDER BY at;

-- name: put_push
INSERT INTO wiki.remote_push (tenant_id, source_id, commit_id, parent_id)
VALUES (%(tenant_id)s, %(source_id)s, %(commit_id)s, %(parent_id)s) ON CONFLICT DO NOTHING;

-- name: drop_push
DELETE FROM wiki.remote_push
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND commit_id = %(commit_id)s;

-- name: forget_pushes
-- A push that did not arrive within a day never will.
DELETE FROM wiki.remote_push
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND at < now() - interval '1 day';

-- name: unflushed
SELECT key FROM wiki.live WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND head > filed AND gone_at IS NULL;

-- name: users
SELECT id, name FROM kernel.user_account WHERE tenant_id = %(tenant_id)s;
