-- What a memory said before stays readable as long as the memory is there.
UPDATE kernel.source SET keeps_revisions = true WHERE protocol = 'memory';

CREATE FUNCTION memory.keep_revisions() RETURNS trigger
LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
BEGIN
    NEW.keeps_revisions := true;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION memory.keep_revisions FROM PUBLIC;
CREATE TRIGGER revisions_kept BEFORE INSERT ON kernel.source
    FOR EACH ROW WHEN (NEW.protocol = 'memory') EXECUTE FUNCTION memory.keep_revisions();
