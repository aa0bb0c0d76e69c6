-- name: audit
SELECT a.id, a.at, u.name AS user, a.tool, a.interface, a.arguments, a.sources, a.keys, a.row_count, a.status, a.code,
       a.client_ip, a.request_id, a.duration_us
  FROM kernel.audit a
  LEFT JOIN kernel.user_account u ON u.tenant_id = a.tenant_id AND u.id = a.user_id
 WHERE (%(tools)s::text[] IS NULL OR a.tool = ANY(%(tools)s)
        OR (%(short_names)s::text[] IS NOT NULL AND split_part(a.tool, '.', 2) = ANY(%(short_names)s)))
   AND (%(user)s::text IS NULL OR u.name = %(user)s)
   AND (%(status)s::text IS NULL OR a.status = %(status)s)
   AND (%(since)s::timestamptz IS NULL OR a.at >= %(since)s)
   AND (%(until)s::timestamptz IS NULL OR a.at < %(until)s)
   AND (%(before_at)s::timestamptz IS NULL OR (a.at, a.id) < (%(before_at)s, %(before_id)s))
 ORDER BY a.at DESC, a.id DESC LIMIT %(limit)s;
