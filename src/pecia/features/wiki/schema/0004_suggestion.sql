-- Suggestions: changes of documents that somebody proposed and nobody has made yet, in pieces that are accepted or
-- rejected one by one, with a thread each. A row has the text that it was made from, so that its pieces can be found
-- again in whatever the document says by then.

CREATE TABLE wiki.suggestion (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    source_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 2000),
    user_id uuid,
    writer text NOT NULL,
    client_name text,
    client_version text,
    summary text,
    base bytea,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    former_keys text[] COLLATE "C" NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, source_id) REFERENCES kernel.source (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('wiki.suggestion');
COMMENT ON TABLE wiki.suggestion IS 'system-only: whoever may see a document reaches its suggestions by wiki.my_suggestions; pecia_app has no privilege here';
COMMENT ON COLUMN wiki.suggestion.base IS 'the document that the change was made from, UTF-8; NULL where there was none';
COMMENT ON COLUMN wiki.suggestion.former_keys IS 'where the document was before it was renamed: what was written there is for who sees that place';
CREATE INDEX suggestion_of_document ON wiki.suggestion (tenant_id, source_id, key, made_at);

CREATE TABLE wiki.suggestion_piece (
    tenant_id uuid NOT NULL,
    suggestion_id uuid NOT NULL,
    number integer NOT NULL CHECK (number > 0),
    start_char integer NOT NULL CHECK (start_char >= 0),
    end_char integer NOT NULL CHECK (end_char >= start_char),
    new bytea NOT NULL,
    status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'accepted', 'rejected')),
    decided_by text,
    decided_at timestamptz,
    PRIMARY KEY (tenant_id, suggestion_id, number),
    FOREIGN KEY (tenant_id, suggestion_id) REFERENCES wiki.suggestion (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('wiki.suggestion_piece');
COMMENT ON TABLE wiki.suggestion_piece IS 'system-only: read by wiki.my_suggestion_pieces; pecia_app has no privilege here';
COMMENT ON COLUMN wiki.suggestion_piece.start_char IS 'characters of the base from here to `end_char` are replaced by `new`';

CREATE TABLE wiki.suggestion_comment (
    tenant_id uuid NOT NULL,
    suggestion_id uuid NOT NULL,
    number integer NOT NULL CHECK (number > 0),
    writer text NOT NULL,
    client_name text,
    client_version text,
    words bytea NOT NULL,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, suggestion_id, number),
    FOREIGN KEY (tenant_id, suggestion_id) REFERENCES wiki.suggestion (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('wiki.suggestion_comment');
COMMENT ON TABLE wiki.suggestion_comment IS 'system-only: read by wiki.my_suggestion_comments; pecia_app has no privilege here';

-- Whether the caller sees what was written at a path, by grants on the folders above it: the file itself may be gone,
-- or have another path by now (ADR 480).
CREATE FUNCTION wiki.sees_path(in_source text, in_key text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM kernel.source s
                    WHERE s.tenant_id = kernel.tenant() AND s.id = in_source AND s.enabled
                      AND (kernel.sees_all_files(s.id, s.trim_mode, s.protocol)
                           OR EXISTS (SELECT 1 FROM kernel.folder_grant g
                                       WHERE g.tenant_id = s.tenant_id AND g.source_id = s.id
                                         AND g.principal_id = ANY (kernel.me())
                                         AND (g.role = 'writer' OR s.trim_mode = 'per_file')
                                         AND kernel.covers(g.prefix, in_key))))
$$;

-- Whoever sees the document sees what is suggested for it, and saw it wherever it was before. Where there is none (not
-- yet, or not any more), whoever may write it, and the author.
CREATE FUNCTION wiki.sees_suggestion(in_source text, in_key text, in_author uuid, in_former text[]) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    SELECT (kernel.may_write(in_source, in_key)
            OR EXISTS (SELECT 1 FROM kernel.file f
                         JOIN kernel.acl a ON a.tenant_id = f.tenant_id AND a.id = f.acl_id
                        WHERE f.tenant_id = kernel.tenant() AND f.source_id = in_source AND f.key = in_key
                          AND a.principals && kernel.me())
            OR (in_author = kernel.user_id()
                AND NOT EXISTS (SELECT 1 FROM kernel.file f
                                 WHERE f.tenant_id = kernel.tenant() AND f.source_id = in_source AND f.key = in_key)))
       AND NOT EXISTS (SELECT 1 FROM unnest(in_former) AS former WHERE NOT wiki.sees_path(in_source, former))
$$;

-- A document that is not there can be suggested by those who may write it, and by those who would see it: a stranger
-- to the folder must not learn which names in it are taken.
CREATE FUNCTION wiki.may_suggest(in_source text, in_key text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    SELECT kernel.is_member() AND kernel.has_scope('pecia.write') AND kernel.user_id() IS NOT NULL
       AND (wiki.sees_suggestion(in_source, in_key, NULL, '{}')
            OR EXISTS (SELECT 1 FROM kernel.source s
                        WHERE s.tenant_id = kernel.tenant() AND s.id = in_source AND s.enabled
                          AND (s.trim_mode = 'open' OR (s.trim_mode = 'source_only'
                                                        AND kernel.holds_role(in_source, ARRAY['reader'])))))
$$;

CREATE FUNCTION wiki.add_my_suggestion(
    in_source text, in_key text, in_writer text, in_client text[], in_summary text, in_base bytea,
    in_starts integer[], in_ends integer[], in_news bytea[], in_most integer)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
DECLARE
    made uuid;
BEGIN
    IF NOT wiki.may_suggest(in_source, in_key) THEN
        RAISE EXCEPTION 'your role does not allow a suggestion here' USING ERRCODE = 'PE403';
    END IF;
    IF in_most <= (SELECT count(*) FROM wiki.suggestion s
                    WHERE s.tenant_id = kernel.tenant() AND s.source_id = in_source AND s.key = in_key
                      AND EXISTS (SELECT 1 FROM wiki.suggestion_piece p
                                   WHERE p.tenant_id = s.tenant_id AND p.suggestion_id = s.id AND p.status = 'open')) THEN
        RETURN NULL;
    END IF;
    INSERT INTO wiki.suggestion (tenant_id, source_id, key, user_id, writer, client_name, client_version, summary, base)
    VALUES (kernel.tenant(), in_source, in_key, kernel.user_id(), in_writer, in_client[1], in_client[2], in_summary,
            in_base)
    RETURNING id INTO made;
    INSERT INTO wiki.suggestion_piece (tenant_id, suggestion_id, number, start_char, end_char, new)
    SELECT kernel.tenant(), made, it.number, it.start_char, it.end_char, it.new
      FROM unnest(in_starts, in_ends, in_news) WITH ORDINALITY AS it (start_char, end_char, new, number);
    RETURN made;
END
$$;

CREATE FUNCTION wiki.is_open_suggestion(in_id uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM wiki.suggestion_piece
                    WHERE tenant_id = kernel.tenant() AND suggestion_id = in_id AND status = 'open')
$$;

-- Newest first. `in_key` NULL is the whole space, `in_open` NULL open and closed ones, `in_after` the last row of the
-- page before.
CREATE FUNCTION wiki.my_suggestions(in_source text, in_key text, in_open boolean, in_after uuid, in_limit integer)
RETURNS SETOF wiki.suggestion LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    SELECT s.* FROM wiki.suggestion s
     WHERE s.tenant_id = kernel.tenant() AND s.source_id = in_source AND (in_key IS NULL OR s.key = in_key)
       AND (in_open IS NULL OR in_open = wiki.is_open_suggestion(s.id))
       AND (in_after IS NULL OR (s.made_at, s.id) < (SELECT l.made_at, l.id FROM wiki.suggestion l
                                                     WHERE l.tenant_id = kernel.tenant() AND l.id = in_after))
       AND wiki.sees_suggestion(s.source_id, s.key, s.user_id, s.former_keys)
     ORDER BY s.made_at DESC, s.id DESC LIMIT in_limit
$$;

CREATE FUNCTION wiki.my_suggestion(in_source text, in_id uuid)
RETURNS SETOF wiki.suggestion LANGUAGE sql STABLE SECURITY DEFINER ROWS 1 SET search_path = wiki, pg_temp AS $$
    SELECT s.* FROM wiki.suggestion s
     WHERE s.tenant_id = kernel.tenant() AND s.source_id = in_source AND s.id = in_id
       AND wiki.sees_suggestion(s.source_id, s.key, s.user_id, s.former_keys)
$$;

CREATE FUNCTION wiki.my_suggestion_pieces(in_ids uuid[])
RETURNS SETOF wiki.suggestion_piece LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    SELECT p.* FROM wiki.suggestion_piece p JOIN wiki.suggestion s ON s.tenant_id = p.tenant_id AND s.id = p.suggestion_id
     WHERE p.tenant_id = kernel.tenant() AND p.suggestion_id = ANY (in_ids)
       AND wiki.sees_suggestion(s.source_id, s.key, s.user_id, s.former_keys)
     ORDER BY p.suggestion_id, p.number
$$;

CREATE FUNCTION wiki.my_suggestion_comments(in_ids uuid[])
RETURNS SETOF wiki.suggestion_comment LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    SELECT c.* FROM wiki.suggestion_comment c
      JOIN wiki.suggestion s ON s.tenant_id = c.tenant_id AND s.id = c.suggestion_id
     WHERE c.tenant_id = kernel.tenant() AND c.suggestion_id = ANY (in_ids)
       AND wiki.sees_suggestion(s.source_id, s.key, s.user_id, s.former_keys)
     ORDER BY c.suggestion_id, c.number
$$;

-- How many suggestions for a document are open; 0 to whoever may not see it.
CREATE FUNCTION wiki.count_my_suggestions(in_source text, in_key text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    SELECT count(*) FROM wiki.suggestion s
     WHERE s.tenant_id = kernel.tenant() AND s.source_id = in_source AND s.key = in_key
       AND wiki.is_open_suggestion(s.id) AND wiki.sees_suggestion(s.source_id, s.key, s.user_id, s.former_keys)
$$;

-- The number of the new comment; NULL where there is no such suggestion, or the thread is full.
CREATE FUNCTION wiki.comment_my_suggestion(
    in_source text, in_id uuid, in_writer text, in_client text[], in_words bytea, in_most integer)
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
DECLARE
    about wiki.suggestion;
    last integer;
BEGIN
    SELECT * INTO about FROM wiki.suggestion
     WHERE tenant_id = kernel.tenant() AND source_id = in_source AND id = in_id FOR UPDATE;
    IF NOT FOUND OR NOT wiki.sees_suggestion(about.source_id, about.key, about.user_id, about.former_keys) THEN
        RETURN NULL;
    END IF;
    IF NOT wiki.may_suggest(about.source_id, about.key) AND about.user_id IS DISTINCT FROM kernel.user_id() THEN
        RAISE EXCEPTION 'your role does not allow a comment here' USING ERRCODE = 'PE403';
    END IF;
    SELECT COALESCE(max(number), 0) INTO last FROM wiki.suggestion_comment
     WHERE tenant_id = kernel.tenant() AND suggestion_id = in_id;
    IF last >= in_most THEN
        RETURN NULL;
    END IF;
    INSERT INTO wiki.suggestion_comment (tenant_id, suggestion_id, number, writer, client_name, client_version, words)
    VALUES (kernel.tenant(), in_id, last + 1, in_writer, in_client[1], in_client[2], in_words);
    RETURN last + 1;
END
$$;

-- The pieces that were open and are decided now. Whoever may write the document decides; an author may take back.
CREATE FUNCTION wiki.decide_my_suggestion(
    in_source text, in_id uuid, in_numbers integer[], in_status text, in_writer text)
RETURNS SETOF integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
DECLARE
    about wiki.suggestion;
BEGIN
    SELECT * INTO about FROM wiki.suggestion
     WHERE tenant_id = kernel.tenant() AND source_id = in_source AND id = in_id FOR UPDATE;
    IF NOT FOUND OR NOT wiki.sees_suggestion(about.source_id, about.key, about.user_id, about.former_keys) THEN
        RETURN;
    END IF;
    IF NOT kernel.may_write(about.source_id, about.key)
       AND NOT (in_status = 'rejected' AND about.user_id = kernel.user_id() AND kernel.has_scope('pecia.write')) THEN
        RAISE EXCEPTION 'whoever may write the document decides on suggestions' USING ERRCODE = 'PE403';
    END IF;
    RETURN QUERY UPDATE wiki.suggestion_piece SET status = in_status, decided_by = in_writer, decided_at = clock_timestamp()
     WHERE tenant_id = kernel.tenant() AND suggestion_id = in_id AND number = ANY (in_numbers) AND status = 'open'
    RETURNING number;
END
$$;

-- Suggestions go with a document that is renamed.
CREATE FUNCTION wiki.move_suggestions() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
BEGIN
    UPDATE wiki.suggestion SET key = NEW.key, former_keys = array_remove(former_keys, OLD.key) || OLD.key
     WHERE tenant_id = OLD.tenant_id AND source_id = OLD.source_id AND key = OLD.key;
    RETURN NULL;
END
$$;
CREATE TRIGGER suggestions_moved AFTER UPDATE OF key ON kernel.file
    FOR EACH ROW WHEN (OLD.key IS DISTINCT FROM NEW.key) EXECUTE FUNCTION wiki.move_suggestions();

ALTER FUNCTION wiki.sees_path OWNER TO pecia_system;
ALTER FUNCTION wiki.sees_suggestion OWNER TO pecia_system;
ALTER FUNCTION wiki.may_suggest OWNER TO pecia_system;
ALTER FUNCTION wiki.add_my_suggestion OWNER TO pecia_system;
ALTER FUNCTION wiki.is_open_suggestion OWNER TO pecia_system;
ALTER FUNCTION wiki.my_suggestions OWNER TO pecia_system;
ALTER FUNCTION wiki.my_suggestion OWNER TO pecia_system;
ALTER FUNCTION wiki.my_suggestion_pieces OWNER TO pecia_system;
ALTER FUNCTION wiki.my_suggestion_comments OWNER TO pecia_system;
ALTER FUNCTION wiki.count_my_suggestions OWNER TO pecia_system;
ALTER FUNCTION wiki.comment_my_suggestion OWNER TO pecia_system;
ALTER FUNCTION wiki.decide_my_suggestion OWNER TO pecia_system;
ALTER FUNCTION wiki.move_suggestions OWNER TO pecia_system;
REVOKE ALL ON FUNCTION wiki.sees_path, wiki.sees_suggestion, wiki.may_suggest, wiki.add_my_suggestion, wiki.is_open_suggestion,
    wiki.my_suggestions, wiki.my_suggestion, wiki.my_suggestion_pieces, wiki.my_suggestion_comments,
    wiki.count_my_suggestions, wiki.comment_my_suggestion, wiki.decide_my_suggestion, wiki.move_suggestions FROM PUBLIC;
GRANT EXECUTE ON FUNCTION wiki.sees_suggestion, wiki.is_open_suggestion TO pecia_system;
GRANT EXECUTE ON FUNCTION wiki.sees_path, wiki.may_suggest, wiki.add_my_suggestion, wiki.my_suggestions, wiki.my_suggestion,
    wiki.my_suggestion_pieces, wiki.my_suggestion_comments, wiki.count_my_suggestions, wiki.comment_my_suggestion,
    wiki.decide_my_suggestion TO pecia_app, pecia_system;
