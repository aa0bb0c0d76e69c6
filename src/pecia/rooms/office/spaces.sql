-- name: space_of_folder
SELECT id AS source_id, config ->> 'folder' AS folder, enabled FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND protocol = 'wiki' AND config ->> 'folder' = %(folder)s
 ORDER BY id LIMIT 1;

-- name: spaces
SELECT id AS source_id, config ->> 'folder' AS folder, enabled FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND protocol = 'wiki' AND id > %(after)s ORDER BY id LIMIT %(limit)s;

-- name: is_taken
SELECT EXISTS (SELECT 1 FROM kernel.source WHERE tenant_id = kernel.tenant() AND id = %(source_id)s);

-- name: lock_spaces
-- Two processes that add spaces at once must not settle on one name.
SELECT pg_advisory_xact_lock(hashtextextended('space ' || kernel.tenant(), 0));
