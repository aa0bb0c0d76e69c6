-- Deleting a tenant: every table with a tenant_id, found in the catalog, so that a new feature's tables are included.

-- These tables, the referring before the referred to.
CREATE FUNCTION kernel.tenant_tables() RETURNS SETOF regclass
LANGUAGE sql STABLE SET search_path = kernel, pg_temp AS $$
    WITH RECURSIVE referring AS (
        SELECT DISTINCT conrelid AS child, confrelid AS parent FROM pg_constraint
         WHERE contype = 'f' AND conrelid <> confrelid
    ), depths AS (
        SELECT c.oid, 0 AS depth
          FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
         WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname NOT LIKE 'pg\_%'
        UNION
        SELECT r.child, d.depth + 1 FROM depths d JOIN referring r ON r.parent = d.oid WHERE d.depth < 50
    )
    SELECT c.oid::regclass FROM depths d JOIN pg_class c ON c.oid = d.oid
     WHERE NOT c.relispartition
       AND EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped)
     GROUP BY c.oid ORDER BY max(d.depth) DESC, c.oid::regclass::text
$$;

-- How many rows of a tenant each of them has.
CREATE FUNCTION kernel.count_tenant_rows(in_tenant uuid) RETURNS TABLE (name text, row_count bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_temp AS $$
DECLARE
    counted regclass;
BEGIN
    FOR counted IN SELECT kernel.tenant_tables() LOOP
        name := counted::text;
        EXECUTE format('SELECT count(*) FROM %s WHERE tenant_id = $1', counted) INTO row_count USING in_tenant;
        RETURN NEXT;
    END LOOP;
END
$$;

-- At most so many rows of a tenant that is being deleted; returns how many. 0 also where rows of another table still
-- refer to these: a call that began before the deletion has added them, and the next pass deletes them first.
CREATE FUNCTION kernel.delete_tenant_rows(in_tenant uuid, in_table regclass, in_most integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
DECLARE
    deleted bigint;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM kernel.tenant WHERE id = in_tenant AND status = 'deleting') THEN
        RAISE EXCEPTION 'no tenant % that is being deleted', in_tenant USING ERRCODE = 'PE404';
    END IF;
    EXECUTE format('DELETE FROM %1$s WHERE tenant_id = $1'
                   ' AND ctid = ANY (ARRAY(SELECT ctid FROM %1$s WHERE tenant_id = $1 LIMIT $2))', in_table)
      USING in_tenant, in_most;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
EXCEPTION WHEN foreign_key_violation THEN
    RETURN 0;
END
$$;

REVOKE ALL ON FUNCTION kernel.tenant_tables, kernel.count_tenant_rows, kernel.delete_tenant_rows FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kernel.tenant_tables, kernel.count_tenant_rows, kernel.delete_tenant_rows TO pecia_system;
