-- Leases: taking one, and proving in a write that one still holds it.
--
-- A lease that has run out is free to be taken, not lost: it is lost when somebody takes it, which
-- moves the fence, or when it is given back. Who writes under a lease holds its row FOR KEY SHARE,
-- who takes it waits FOR UPDATE: the last write of a holder is over before the next one begins.

-- The fence, or NULL while another holds it.
CREATE FUNCTION kernel.take_lease(in_tenant uuid, in_name text, in_holder text, in_lasts interval) RETURNS bigint
LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
DECLARE
    taken bigint;
BEGIN
    INSERT INTO kernel.lease (tenant_id, name, holder, fence, expires_at)
    VALUES (in_tenant, in_name, '', 0, '-infinity') ON CONFLICT DO NOTHING;
    PERFORM 1 FROM kernel.lease
      WHERE tenant_id = in_tenant AND name = in_name AND expires_at <= clock_timestamp() FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    UPDATE kernel.lease
       SET holder = in_holder, fence = fence + 1, expires_at = clock_timestamp() + in_lasts
     WHERE tenant_id = in_tenant AND name = in_name
    RETURNING fence INTO taken;
    RETURN taken;
END
$$;

-- For callers' transactions too, which may ask about their own tenant only.
CREATE FUNCTION kernel.holds_lease(in_tenant uuid, in_name text, in_fence bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    PERFORM 1 FROM kernel.lease
      WHERE tenant_id = in_tenant AND name = in_name AND fence = in_fence AND expires_at > '-infinity'
        AND (in_tenant = kernel.tenant()
             OR (kernel.tenant() IS NULL AND pg_has_role(session_user, 'pecia_system', 'MEMBER')))
        FOR KEY SHARE;
    RETURN FOUND;
END
$$;

ALTER FUNCTION kernel.take_lease OWNER TO pecia_system;
ALTER FUNCTION kernel.holds_lease OWNER TO pecia_system;
REVOKE ALL ON FUNCTION kernel.take_lease FROM PUBLIC;
REVOKE ALL ON FUNCTION kernel.holds_lease FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kernel.holds_lease TO pecia_app;
