-- name: count_others
SELECT count(*) FROM glossary.term WHERE name <> %(name)s;

-- name: define
-- Row-level security decides whether an existing term may be changed: no row, no right.
INSERT INTO glossary.term (tenant_id, name, meaning, author)
VALUES (kernel.tenant(), %(name)s, %(meaning)s, kernel.user_id())
ON CONFLICT (tenant_id, name) DO UPDATE SET meaning = excluded.meaning;

-- name: look_up
SELECT name, meaning, mentions FROM glossary.term WHERE name = %(name)s;

-- name: all_terms
SELECT name, meaning, mentions FROM glossary.term ORDER BY name LIMIT %(limit)s;

-- name: recount
-- Run by a worker, which sees every tenant: the tenant is said.
UPDATE glossary.term t
   SET mentions = (SELECT count(*) FROM glossary.term o
                    WHERE o.tenant_id = t.tenant_id AND o.name <> t.name
                      AND strpos(lower(o.meaning), lower(t.name)) > 0)
 WHERE t.tenant_id = %(tenant_id)s;

-- name: purge
UPDATE glossary.term SET author = '00000000-0000-0000-0000-000000000000'
 WHERE tenant_id = %(tenant_id)s AND author = %(user_id)s;
