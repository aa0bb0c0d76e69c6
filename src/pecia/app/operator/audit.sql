-- name: cluster_audit
SELECT id, at, tool, interface, arguments, status, code, client_ip, request_id
  FROM kernel.audit
 WHERE tenant_id IS NULL AND (%(status)s::text IS NULL OR status = %(status)s)
 ORDER BY at DESC, id LIMIT %(limit)s;
