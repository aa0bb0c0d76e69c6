-- What the database believes of its tables is brought up while sources are filled. By itself it looks
-- once a minute; until then it plans with the empty tables in mind that it met at first, reads all of them
-- for every row it wants, and who saves a file right after a first crawl waits for it.

GRANT MAINTAIN ON kernel.file, kernel.revision, kernel.chunk, kernel.tick, kernel.change, lake.todo TO pecia_system;

-- Analyses those of them that have doubled since somebody last looked; how many these were. The size on
-- disk is asked for: unlike the counts of the statistics it is never late. Who is at it already is not waited for.
CREATE FUNCTION lake.take_stock() RETURNS integer
LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
DECLARE
    outgrown regclass;
    taken integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('lake.take_stock')) THEN
        RETURN 0;
    END IF;
    FOR outgrown IN
        SELECT c.oid FROM pg_class c
         WHERE c.oid = ANY ('{kernel.file, kernel.revision, kernel.chunk, kernel.tick, kernel.change, lake.todo}'::regclass[])
           AND pg_relation_size(c.oid) >= current_setting('block_size')::bigint * 2 * greatest(c.relpages, 4)
    LOOP
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s', outgrown);
        taken := taken + 1;
    END LOOP;
    RETURN taken;
END
$$;
REVOKE ALL ON FUNCTION lake.take_stock FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.take_stock TO pecia_system;
