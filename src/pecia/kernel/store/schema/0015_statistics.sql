-- Planner statistics while tables are filled. Autovacuum looks once a minute; until then the planner takes the
-- tables for empty and reads all of them for every row.

GRANT MAINTAIN ON kernel.file, kernel.revision, kernel.chunk, kernel.tick, kernel.change TO pecia_system;

-- Runs ANALYZE on the tables of the corpus, and the others named, that have doubled since the last one; returns how
-- many. It compares the size on disk, which is never late. A table that another session analyzes is skipped.
CREATE FUNCTION kernel.analyze_grown(others regclass[] DEFAULT '{}') RETURNS integer
LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
DECLARE
    outgrown regclass;
    taken integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('kernel.analyze_grown')) THEN
        RETURN 0;
    END IF;
    FOR outgrown IN
        SELECT c.oid FROM pg_class c
         WHERE c.oid = ANY ('{kernel.file, kernel.revision, kernel.chunk, kernel.tick, kernel.change}'::regclass[] || others)
           AND pg_relation_size(c.oid) >= current_setting('block_size')::bigint * 2 * greatest(c.relpages, 4)
    LOOP
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s', outgrown);
        taken := taken + 1;
    END LOOP;
    RETURN taken;
END
$$;
REVOKE ALL ON FUNCTION kernel.analyze_grown FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kernel.analyze_grown TO pecia_system;
