-- name: begin_live
-- System. Idempotent: concurrent callers get the same row.
INSERT INTO wiki.live (tenant_id, source_id, key, house_id, base, digest)
VALUES (%(tenant_id)s, %(source_id)s, %(key)s, %(house_id)s, %(base)s, %(digest)s)
ON CONFLICT (tenant_id, source_id, key) DO NOTHING;

-- name: live
-- System: the document, locked until the transaction ends.
SELECT id, house_id, base, digest, head, filed, gone_at IS NOT NULL AS is_gone FROM wiki.live
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = %(key)s FOR UPDATE;

-- name: live_changes
SELECT seq, writer, change FROM wiki.live_change
 WHERE tenant_id = %(tenant_id)s AND live_id = %(id)s ORDER BY seq;

-- name: live_news
-- System: updates of documents, each after a sequence number. The base only where later rows are gone.
SELECT it.place, l.key, l.head, l.filed,
       EXISTS (SELECT 1 FROM wiki.live_copy c WHERE c.tenant_id = l.tenant_id AND c.live_id = l.id) AS has_copies,
       CASE WHEN l.head > it.seq THEN l.owners END AS owners, l.last_writer,
       (SELECT u.name FROM kernel.user_account u
         WHERE u.tenant_id = l.tenant_id AND l.head > it.seq
           AND l.last_writer IN ('agent-' || u.id, 'principal-' || u.id)) AS last_writer_name,
       CASE WHEN l.filed > it.seq THEN l.base END AS base,
       ARRAY(SELECT c.change FROM wiki.live_change c
              WHERE c.tenant_id = l.tenant_id AND c.live_id = l.id AND c.seq > it.seq ORDER BY c.seq) AS changes
  FROM unnest(%(tenants)s::uuid[], %(ids)s::uuid[], %(seqs)s::bigint[]) WITH ORDINALITY AS it (tenant_id, id, seq, place)
  JOIN wiki.live l ON l.tenant_id = it.tenant_id AND l.id = it.id AND l.gone_at IS NULL;

-- name: add_changes
SELECT wiki.add_live_changes(%(tenant_id)s, %(id)s, %(changes)s, %(writers)s, %(owners)s);

-- name: base_live
SELECT wiki.base_live(%(tenant_id)s, %(id)s, %(changes)s, %(writers)s, %(base)s, %(digest)s);

-- name: file_live
SELECT wiki.file_live(%(tenant_id)s, %(id)s, %(head)s, %(base)s, %(digest)s);

-- name: live_copies
SELECT name, inode, base, digest, head, swapped_at FROM wiki.live_copy
 WHERE tenant_id = %(tenant_id)s AND live_id = %(id)s ORDER BY swapped_at, name;

-- name: intend_live
INSERT INTO wiki.live_copy (tenant_id, live_id, name, inode, base, digest, head)
VALUES (%(tenant_id)s, %(id)s, %(name)s, %(inode)s, %(base)s, %(digest)s, %(head)s);

-- name: settle_live
SELECT wiki.settle_live(%(tenant_id)s, %(id)s, %(name)s, %(at)s);

-- name: see_live_copy
UPDATE wiki.live_copy SET base = %(base)s, digest = %(digest)s
 WHERE tenant_id = %(tenant_id)s AND live_id = %(id)s AND name = %(name)s;

-- name: drop_live_copy
SELECT wiki.drop_live_copy(%(tenant_id)s, %(id)s, %(name)s);

-- name: live_ids
SELECT id FROM wiki.live WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s;

-- name: end_live
DELETE FROM wiki.live WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = %(key)s;

-- name: hide_live
-- System: its file is gone.
UPDATE wiki.live SET gone_at = now() WHERE tenant_id = %(tenant_id)s AND id = %(id)s;

-- name: revive_live
-- System: its file is there again.
UPDATE wiki.live SET gone_at = NULL WHERE tenant_id = %(tenant_id)s AND id = %(id)s;

-- name: live_keys
-- System: those of these documents that are live.
SELECT key FROM wiki.live
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = ANY (%(keys)s::text[]);

-- name: move_live
UPDATE wiki.live SET key = %(to)s WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = %(key)s;

-- name: unfiled
-- System: documents of a space whose files are behind, were recently replaced, or are gone, for more than a moment.
SELECT l.key FROM wiki.live l
 WHERE l.tenant_id = %(tenant_id)s AND l.source_id = %(source_id)s
   AND (l.head > l.filed OR l.gone_at IS NOT NULL
        OR EXISTS (SELECT 1 FROM wiki.live_copy c WHERE c.tenant_id = l.tenant_id AND c.live_id = l.id))
   AND l.changed_at <= now() - make_interval(secs => %(seconds)s)
 ORDER BY l.key;

-- name: unfiled_spaces
-- System: spaces of all tenants with files that are behind for more than a moment. Also of those that are
-- switched off: what was acknowledged before is written, and a space can be removed only then. Files that are gone
-- may come back.
SELECT DISTINCT s.tenant_id, s.id AS source_id, s.config ->> 'folder' AS folder
  FROM wiki.live l JOIN kernel.source s ON s.tenant_id = l.tenant_id AND s.id = l.source_id
 WHERE (l.head > l.filed OR l.gone_at IS NOT NULL
        OR EXISTS (SELECT 1 FROM wiki.live_copy c WHERE c.tenant_id = l.tenant_id AND c.live_id = l.id))
   AND l.changed_at < now() - make_interval(secs => %(seconds)s);

-- name: forget_live
-- System: documents unused for so long lose their merge history; so do those whose files did not come back.
DELETE FROM wiki.live l
 WHERE l.tenant_id IS NOT NULL
   AND (l.gone_at < now() - make_interval(secs => %(gone_s)s)
        OR l.head = l.filed AND l.changed_at < now() - make_interval(days => %(days)s)
           AND NOT EXISTS (SELECT 1 FROM wiki.live_copy c WHERE c.tenant_id = l.tenant_id AND c.live_id = l.id));

-- name: my_live
SELECT id, house_id, base, digest, head, filed, is_gone FROM wiki.my_live(%(source_id)s, %(key)s);

-- name: my_live_keys
SELECT key FROM wiki.my_live_keys(%(source_id)s, %(keys)s) AS key;

-- name: my_live_changes
SELECT seq, writer, change FROM wiki.my_live_changes(%(id)s);

-- name: my_live_copies
SELECT name, inode, base, digest, head, swapped_at FROM wiki.my_live_copies(%(id)s);

-- name: settle_my_live
SELECT wiki.settle_my_live(%(id)s, %(name)s, %(at)s);

-- name: see_my_live_copy
SELECT wiki.see_my_live_copy(%(id)s, %(name)s, %(base)s, %(digest)s);

-- name: drop_my_live_copy
SELECT wiki.drop_my_live_copy(%(id)s, %(name)s);

-- name: base_my_live
SELECT wiki.base_my_live(%(id)s, %(changes)s, %(writers)s, %(base)s, %(digest)s);

-- name: end_my_live
SELECT wiki.end_my_live(%(source_id)s, %(key)s);

-- name: move_my_live
SELECT wiki.move_my_live(%(source_id)s, %(key)s, %(to)s);

-- name: rights
-- The caller's rights on a document.
SELECT EXISTS (SELECT 1 FROM kernel.file
                WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s AND key = %(key)s) AS may_read,
       kernel.may_write(%(source_id)s, %(key)s) AS may_write;
