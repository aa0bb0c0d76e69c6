-- name: may_write
SELECT kernel.may_write(%(source_id)s, %(key)s);

-- name: add
SELECT wiki.add_my_suggestion(%(source_id)s, %(key)s, %(writer)s, %(client)s::text[], %(summary)s, %(base)s,
                              %(starts)s::integer[], %(ends)s::integer[], %(news)s::bytea[], %(most)s);

-- name: list
SELECT id, key, user_id, writer, client_name, client_version, summary, base, made_at
  FROM wiki.my_suggestions(%(source_id)s, %(key)s, %(open)s, %(after)s, %(limit)s);

-- name: one
SELECT id, key, user_id, writer, client_name, client_version, summary, base, made_at
  FROM wiki.my_suggestion(%(source_id)s, %(id)s);

-- name: pieces
SELECT suggestion_id, number, start_char, end_char, new, status, decided_by, decided_at
  FROM wiki.my_suggestion_pieces(%(ids)s::uuid[]);

-- name: comments
SELECT suggestion_id, number, writer, client_name, client_version, words, made_at
  FROM wiki.my_suggestion_comments(%(ids)s::uuid[]);

-- name: count
SELECT wiki.count_my_suggestions(%(source_id)s, %(key)s);

-- name: comment
SELECT wiki.comment_my_suggestion(%(source_id)s, %(id)s, %(writer)s, %(client)s::text[], %(words)s, %(most)s);

-- name: decide
SELECT number FROM wiki.decide_my_suggestion(%(source_id)s, %(id)s, %(numbers)s::integer[], %(status)s, %(writer)s)
    AS number;
