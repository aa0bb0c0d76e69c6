-- name: space_of_folder
SELECT id AS source_id, coalesce(config ->> 'name', substr(id, 6)) AS name, config ->> 'folder' AS folder, enabled, trim_mode
  FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND protocol = 'wiki' AND config ->> 'folder' = %(folder)s
 ORDER BY id LIMIT 1;

-- name: nested_space
-- A space whose folder lies around this one, or inside it.
SELECT coalesce(config ->> 'name', substr(id, 6)) AS name, config ->> 'folder' AS folder
  FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND protocol = 'wiki'
   AND (starts_with(%(folder)s, (config ->> 'folder') || '/') OR starts_with(config ->> 'folder', %(folder)s || '/'))
 ORDER BY id LIMIT 1;

-- name: space
SELECT id AS source_id, coalesce(config ->> 'name', substr(id, 6)) AS name, config ->> 'folder' AS folder, enabled, trim_mode
  FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND protocol = 'wiki' AND coalesce(config ->> 'name', substr(id, 6)) = %(name)s;

-- name: spaces
SELECT id AS source_id, coalesce(config ->> 'name', substr(id, 6)) AS name, config ->> 'folder' AS folder, enabled, trim_mode
  FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND protocol = 'wiki' AND id > %(after)s ORDER BY id LIMIT %(limit)s;

-- name: is_taken
-- A renamed space keeps its id, so neither its id nor its name may belong to another source.
SELECT EXISTS (SELECT 1 FROM kernel.source WHERE tenant_id = kernel.tenant()
                AND (id = 'wiki:' || %(name)s OR (protocol = 'wiki' AND config ->> 'name' = %(name)s)));

-- name: rename_space
UPDATE kernel.source SET config = config || jsonb_build_object('name', %(new_name)s::text)
 WHERE tenant_id = kernel.tenant() AND id = %(source_id)s;

-- name: is_being_written
SELECT wiki.has_unfiled(%(source_id)s);

-- name: lock_spaces
-- Two processes that add spaces concurrently must not choose the same name.
SELECT pg_advisory_xact_lock(hashtextextended('space ' || kernel.tenant(), 0));

-- name: may_administer
SELECT kernel.may_administer();
