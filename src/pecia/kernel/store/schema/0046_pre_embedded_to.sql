-- Whether the job that embeds has yet to apply commits of the caller's tenant. `in_node` names the job.
CREATE FUNCTION kernel.is_behind(in_node text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT COALESCE((SELECT n FROM kernel.index_node WHERE tenant_id = kernel.tenant() AND node = in_node), 0)
           < kernel.clock()
$$;
ALTER FUNCTION kernel.is_behind OWNER TO pecia_system;
REVOKE ALL ON FUNCTION kernel.is_behind FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kernel.is_behind TO pecia_app;
