-- The nearest chunks, with rights decided once for each class instead of once for each vector: the
-- policy of kernel.vector looks at a file for every candidate, which took four fifths of the time.
-- What is found is a hint like that of the keyword index: every hit is read under the policies.

DROP FUNCTION kernel.nearest(text, integer, text, integer, bigint[], jsonb, integer);
DROP FUNCTION kernel.nearest_by_index(integer, jsonb);
DROP FUNCTION kernel.nearest_of_all(integer, jsonb);

-- The classes the caller may see, as the policy of kernel.acl says it.
CREATE FUNCTION kernel.seen_classes() RETURNS bigint[] LANGUAGE sql STABLE AS $$
    SELECT COALESCE(array_agg(id), '{}') FROM kernel.acl
     WHERE tenant_id = kernel.tenant() AND chunks > 0 AND principals && (SELECT kernel.me())
$$;

-- Two statements for one question. $1 the query, $2 the tenant, $3 the model, $4 how many, $5 the
-- classes that may be seen, $6 the filter.
CREATE FUNCTION kernel.nearest_by_index(in_dims integer, in_filter jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format(
        'WITH near AS MATERIALIZED ('
        ' SELECT v.chunk_id, v.embedding::public.halfvec(%1$s) OPERATOR(public.<=>) $1::public.halfvec(%1$s) AS distance'
        '   FROM kernel.vector v WHERE v.tenant_id = $2 AND v.model = $3 AND v.dims = %1$s'
        '    AND EXISTS (SELECT 1 FROM kernel.file f WHERE f.tenant_id = $2 AND f.id = v.file_id AND f.acl_id = ANY ($5)%2$s'
        '                OFFSET 0)'
        '  ORDER BY v.embedding::public.halfvec(%1$s) OPERATOR(public.<=>) $1::public.halfvec(%1$s) LIMIT $4)'
        ' SELECT chunk_id, 1 - distance FROM near ORDER BY distance, chunk_id', in_dims, kernel.file_condition(in_filter))
$$;

-- Vectors are looked up file by file: OFFSET 0 keeps it so where the planner knows nothing of the table
-- yet, as after a first crawl, and would read all of them for every file.
CREATE FUNCTION kernel.nearest_of_all(in_dims integer, in_filter jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format(
        'WITH mine AS MATERIALIZED ('
        ' SELECT f.id FROM kernel.file f WHERE f.tenant_id = $2 AND f.acl_id = ANY ($5)%2$s)'
        ' SELECT v.chunk_id, 1 - (v.embedding::public.halfvec(%1$s) OPERATOR(public.<=>) $1::public.halfvec(%1$s)) AS cosine'
        '   FROM mine CROSS JOIN LATERAL (SELECT x.chunk_id, x.embedding, x.model, x.dims FROM kernel.vector x'
        '                                  WHERE x.tenant_id = $2 AND x.file_id = mine.id OFFSET 0) AS v'
        '  WHERE v.model = $3 AND v.dims = %1$s'
        '  ORDER BY cosine DESC, v.chunk_id LIMIT $4', in_dims, kernel.file_condition(in_filter))
$$;

-- `in_reach` is how many candidates the index gathers at a time; 0 asks for the exact way.
CREATE FUNCTION kernel.nearest(in_query text, in_dims integer, in_model text, in_most integer, in_filter jsonb,
                               in_reach integer) RETURNS TABLE (chunk_id bigint, cosine double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF in_reach > 0 THEN
        PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true);
        PERFORM set_config('hnsw.ef_search', in_reach::text, true);
        RETURN QUERY EXECUTE kernel.nearest_by_index(in_dims, in_filter)
            USING in_query, kernel.tenant(), in_model, in_most, kernel.seen_classes(), in_filter;
    ELSE
        RETURN QUERY EXECUTE kernel.nearest_of_all(in_dims, in_filter)
            USING in_query, kernel.tenant(), in_model, in_most, kernel.seen_classes(), in_filter;
    END IF;
END
$$;

ALTER FUNCTION kernel.nearest OWNER TO pecia_system;
REVOKE ALL ON FUNCTION kernel.nearest FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kernel.nearest TO pecia_app;
