-- Files of a source by status. For owners only.

-- name: census
SELECT status, files, chunks, size_bytes AS size FROM lake.file_counts_of(%(source_id)s) ORDER BY status;

-- name: embedded
SELECT lake.embedded_of(%(source_id)s, %(model)s);

-- name: reasons
SELECT status, reason, files FROM lake.reasons_of(%(source_id)s, %(most)s);

-- name: condition
SELECT source_id, condition, unread, problem FROM lake.condition_of(%(sources)s, %(minutes)s, %(embedding)s);

-- name: index_lag
SELECT lake.index_lag(%(source_id)s, %(minutes)s, %(embedding)s);

-- name: worker_silence
SELECT lake.worker_silence();

-- name: unread
SELECT key, status, reason, size_bytes AS size
  FROM lake.unread_of(%(source_id)s, %(status)s, %(after)s, %(most)s);
