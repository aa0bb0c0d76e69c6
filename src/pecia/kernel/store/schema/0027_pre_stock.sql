-- What the database believes of its tables is brought up while they are filled. By itself it looks once a
-- minute; until then it plans with the empty tables in mind that it met at first, and reads all of them for
-- every row it wants. The lake was the first to need this, and not the only one to bring many files at once.

GRANT MAINTAIN ON kernel.file, kernel.revision, kernel.chunk, kernel.tick, kernel.change TO pecia_system;

-- Analyses those tables of the corpus, and of the others named, that have doubled since somebody last looked;
-- how many these were. The size on disk is asked for: unlike the counts of the statistics it is never late.
-- Who is at it already is not waited for.
CREATE FUNCTION kernel.take_stock(others regclass[] DEFAULT '{}') RETURNS integer
LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
DECLARE
    outgrown regclass;
    taken integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('kernel.take_stock')) THEN
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
REVOKE ALL ON FUNCTION kernel.take_stock FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kernel.take_stock TO pecia_system;
