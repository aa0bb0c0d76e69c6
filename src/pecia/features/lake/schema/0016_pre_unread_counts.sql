-- One meaning of "unread", wherever it is counted or listed: a file that has something in it and could not be
-- read. One that is empty has been read; it is listed where it is asked for by its status.

CREATE OR REPLACE FUNCTION lake.reasons_of(in_source text, in_most integer)
RETURNS TABLE (status text, reason text, files bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT f.status, f.reason, count(*) FROM kernel.file f
     WHERE f.tenant_id = kernel.tenant() AND f.source_id = in_source AND f.status NOT IN ('ok', 'waiting')
       AND f.status <> 'empty' AND kernel.owns(in_source)
     GROUP BY f.status, f.reason ORDER BY count(*) DESC, f.status, f.reason LIMIT in_most
$$;

CREATE OR REPLACE FUNCTION lake.unread_of(in_source text, in_status text, in_after text, in_most integer)
RETURNS TABLE (key text, status text, reason text, size_bytes bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT f.key, f.status, f.reason, f.size_bytes FROM kernel.file f
     WHERE f.tenant_id = kernel.tenant() AND f.source_id = in_source AND f.status NOT IN ('ok', 'waiting')
       AND f.key > in_after COLLATE "C" AND f.status = COALESCE(in_status, f.status)
       AND (in_status = 'empty' OR f.status <> 'empty') AND kernel.owns(in_source)
     ORDER BY f.key LIMIT in_most
$$;
