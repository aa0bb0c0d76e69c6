-- name: keep_verifier
-- A role's SCRAM verifier, kept in the session for `make_roles`.
SELECT set_config('pecia.' || %(name)s::text, %(verifier)s, false);

-- name: make_roles
-- The three logins. A terse log names the error and not the row, which may hold what people wrote.
-- Migrations run as the owner, and hand SECURITY DEFINER functions to the system.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['pecia_owner', 'pecia_app', 'pecia_system'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I', role);
        END IF;
        EXECUTE format(
            'ALTER ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS '
            'PASSWORD %L', role, current_setting('pecia.' || role)
        );
        EXECUTE format('ALTER ROLE %I SET log_error_verbosity = terse', role);
    END LOOP;
END
$$;
GRANT pecia_system TO pecia_owner;

-- name: make_database
-- Cannot be repeated, nor be in a transaction: the caller takes "exists already" for done.
CREATE DATABASE pecia OWNER pecia_owner;

-- name: furnish_database
-- What a database holds before its first migration. A newer wheel brings a newer vector.
DO $$
BEGIN
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO pecia_app, pecia_system', current_database());
END
$$;
GRANT USAGE ON SCHEMA public TO pecia_app, pecia_system;
CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
ALTER EXTENSION vector UPDATE;
