-- name: source_to_crawl
SELECT id AS source_id, protocol, config, enabled FROM kernel.source
 WHERE tenant_id = %(tenant_id)s AND id = %(source_id)s;

-- name: open_crawl
-- Begins a crawl that was not requested by a user (schedule, watcher); a running one continues.
INSERT INTO lake.crawl AS c (tenant_id, source_id, state) VALUES (%(tenant_id)s, %(source_id)s, 'listing')
ON CONFLICT (tenant_id, source_id) DO UPDATE
   SET state = 'listing', started_at = CASE WHEN c.state = 'waiting' THEN c.started_at ELSE now() END,
       listed_at = NULL, ended_at = NULL, seen = 0, added = 0, changed = 0, gone = 0, failed = 0, read = 0,
       passed = '{}', problem = ''
 WHERE c.state <> 'stopped' OR %(again)s
RETURNING id;

-- name: crawl_state
SELECT state FROM lake.crawl WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s FOR NO KEY UPDATE;

-- name: known_files
SELECT f.key, f.etag, f.status, f.size_bytes, f.modified_at, f.posix_mode, f.posix_uid, f.posix_gid, c.rights
  FROM kernel.file f
  LEFT JOIN lake.captured c ON c.tenant_id = f.tenant_id AND c.source_id = f.source_id AND c.key = f.key
 WHERE f.tenant_id = %(tenant_id)s AND f.source_id = %(source_id)s AND f.key = ANY (%(keys)s);

-- name: keys_after
SELECT key FROM kernel.file
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key > %(after)s ORDER BY key LIMIT %(limit)s;

-- name: put_todo
INSERT INTO lake.todo (tenant_id, source_id, key, shard, seen)
SELECT %(tenant_id)s, %(source_id)s, seen->>'key', shard, seen
  FROM unnest(%(shards)s::smallint[], %(seen)s::jsonb[]) AS t (shard, seen) ORDER BY seen->>'key'
ON CONFLICT (tenant_id, source_id, key) DO UPDATE SET seen = EXCLUDED.seen, shard = EXCLUDED.shard;

-- name: next_todo
SELECT key, seen FROM lake.todo
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND shard = %(shard)s AND key > %(after)s
 ORDER BY key LIMIT %(limit)s;

-- name: still_todo
SELECT key FROM lake.todo
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = ANY (%(keys)s);

-- name: done_todo
-- Only files read as listed: a file that changed since then is queued again.
DELETE FROM lake.todo
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = ANY (%(keys)s) AND seen = ANY (%(seen)s::jsonb[])
RETURNING key;

-- name: drop_todo
DELETE FROM lake.todo WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s;

-- name: drop_todo_keys
DELETE FROM lake.todo WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = ANY (%(keys)s);

-- name: remove_files
DELETE FROM kernel.file WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = ANY (%(keys)s);

-- name: count_listed
UPDATE lake.crawl SET seen = seen + %(seen)s, added = added + %(added)s, changed = changed + %(changed)s,
       gone = gone + %(gone)s
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s;

-- name: count_read
UPDATE lake.crawl SET read = read + %(read)s, failed = failed + %(failed)s
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s;

-- name: analyze_grown
SELECT lake.analyze_grown();

-- name: end_listing
UPDATE lake.crawl SET state = 'reading', listed_at = now(), passed = %(passed)s
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND state = 'listing';

-- name: end_crawl
-- Done when listing is complete and the queue is empty. The last worker to finish sees this.
WITH over AS (
    UPDATE lake.crawl c SET state = 'done', ended_at = now(),
           ended_n = (SELECT n FROM kernel.tenant_clock k WHERE k.tenant_id = c.tenant_id)
     WHERE c.tenant_id = %(tenant_id)s AND c.source_id = %(source_id)s AND c.state = 'reading'
       AND NOT EXISTS (SELECT 1 FROM lake.todo t WHERE t.tenant_id = c.tenant_id AND t.source_id = c.source_id)
    RETURNING 1)
UPDATE kernel.source SET last_indexed_at = now()
 WHERE tenant_id = %(tenant_id)s AND id = %(source_id)s AND EXISTS (SELECT 1 FROM over);

-- name: fail_crawl
UPDATE lake.crawl SET state = 'failed', ended_at = now(), problem = %(problem)s
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND state IN ('waiting', 'listing', 'reading');

-- name: begin_crawl
SELECT lake.begin_crawl(%(source_id)s);

-- name: stop_crawl
SELECT lake.stop_crawl(%(source_id)s);

-- name: halt_crawl
-- First step of a removal. Readers check it before they store results.
UPDATE lake.crawl SET state = 'stopped', ended_at = now()
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND state IN ('waiting', 'listing', 'reading');

-- name: is_stopped
SELECT EXISTS (SELECT 1 FROM lake.crawl
                WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND state = 'stopped');

-- name: crawl
SELECT source_id, state, started_at, listed_at, ended_at, seen, added, changed, gone, failed, read, passed, problem
  FROM lake.crawl_of(%(source_id)s);

-- name: config
SELECT config FROM kernel.source WHERE tenant_id = kernel.tenant() AND id = %(source_id)s;

-- name: set_config
UPDATE kernel.source SET config = %(config)s WHERE tenant_id = kernel.tenant() AND id = %(source_id)s;

-- name: set_hybrid
SELECT lake.set_hybrid(%(source_id)s, %(on)s);

-- name: set_preference
SELECT lake.set_preference(%(hybrid)s);

-- name: capture_posix
-- One file per element: its key, and the principals who may read it in the source.
SELECT kernel.regrant_file(%(tenant_id)s, %(source_id)s, p->>'key', ARRAY (
           SELECT kernel.intern_in(%(tenant_id)s, g->>0, CASE WHEN g->>0 = 'role' THEN '' ELSE %(source_id)s END, g->>1)
             FROM jsonb_array_elements(p->'grants') AS t (g)), true)
  FROM unnest(%(files)s::jsonb[]) AS t (p);

-- name: note_captured
INSERT INTO lake.captured (tenant_id, source_id, key, rights)
SELECT f.tenant_id, f.source_id, f.key, p->>'rights'
  FROM unnest(%(files)s::jsonb[]) AS t (p)
  JOIN kernel.file f ON f.tenant_id = %(tenant_id)s AND f.source_id = %(source_id)s AND f.key = p->>'key'
ON CONFLICT (tenant_id, source_id, key) DO UPDATE SET rights = EXCLUDED.rights;

-- name: every_source
SELECT s.tenant_id, s.id AS source_id, s.config, s.enabled FROM kernel.source s
  JOIN kernel.tenant t ON t.id = s.tenant_id AND t.status = 'active'
 ORDER BY 1, 2;

-- name: begin_again
-- Queued by a watcher or a schedule. A listing in progress may have missed the change, so the source
-- is listed again afterwards: the job is queued at most once.
INSERT INTO lake.crawl AS c (tenant_id, source_id)
SELECT tenant_id, id FROM kernel.source WHERE tenant_id = %(tenant_id)s AND id = %(source_id)s
ON CONFLICT (tenant_id, source_id) DO UPDATE SET state = CASE WHEN c.state = 'stopped' THEN 'waiting' ELSE c.state END;

-- name: note_again
-- A few changed files of a completely listed source: read without listing it all again.
-- No row otherwise, and the whole source is listed.
UPDATE lake.crawl SET state = 'reading', ended_at = NULL, added = added + %(added)s, changed = changed + %(changed)s,
       gone = gone + %(gone)s, seen = seen + %(added)s - %(gone)s
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND state IN ('done', 'reading') AND listed_at IS NOT NULL;
