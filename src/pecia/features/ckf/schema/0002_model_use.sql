-- Compiles per day that the server pays for, by user and in all; shared by all processes.

CREATE TABLE ckf.model_use (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    payer uuid NOT NULL,
    day date NOT NULL,
    used integer NOT NULL,
    PRIMARY KEY (tenant_id, payer, day)
);
CALL kernel.guard('ckf.model_use');
COMMENT ON TABLE ckf.model_use IS 'system-only: the count that a limit is held against; pecia_app has no privilege here';

-- The total of all tenants is a row of its own, so that deleting a tenant gives nothing back.
CREATE TABLE ckf.model_day (
    day date PRIMARY KEY,
    used integer NOT NULL
);
COMMENT ON TABLE ckf.model_day IS 'untenanted: one number a day; pecia_app has no privilege here';

GRANT SELECT, INSERT, UPDATE, DELETE ON ckf.model_use, ckf.model_day TO pecia_system;

-- Counts one compile and returns NULL, or counts nothing and names the limit that is reached. Concurrent calls wait
-- for the row of the day, so that two never take the last one.
CREATE FUNCTION ckf.take_compile(in_tenant uuid, in_payer uuid, in_day date, in_per_user integer, in_total integer)
RETURNS text LANGUAGE plpgsql SET search_path = ckf, pg_temp AS $$
DECLARE
    in_all integer;
    mine integer;
BEGIN
    INSERT INTO ckf.model_day (day, used) VALUES (in_day, 0) ON CONFLICT DO NOTHING;
    SELECT used INTO in_all FROM ckf.model_day WHERE day = in_day FOR UPDATE;
    SELECT used INTO mine FROM ckf.model_use WHERE tenant_id = in_tenant AND payer = in_payer AND day = in_day;
    IF COALESCE(mine, 0) >= in_per_user THEN
        RETURN 'user';
    END IF;
    IF in_all >= in_total THEN
        RETURN 'total';
    END IF;
    INSERT INTO ckf.model_use AS u (tenant_id, payer, day, used) VALUES (in_tenant, in_payer, in_day, 1)
    ON CONFLICT (tenant_id, payer, day) DO UPDATE SET used = u.used + 1;
    UPDATE ckf.model_day SET used = used + 1 WHERE day = in_day;
    -- Days gone by limit nobody. A clock that was set back may still need yesterday's.
    DELETE FROM ckf.model_use WHERE day < in_day - 2;
    DELETE FROM ckf.model_day WHERE day < in_day - 2;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION ckf.take_compile FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ckf.take_compile TO pecia_system;

-- What a user had compiled goes with them.
CREATE FUNCTION ckf.forget_use() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ckf, pg_temp AS $$
BEGIN
    DELETE FROM ckf.model_use WHERE tenant_id = OLD.tenant_id AND payer = OLD.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER model_use_forgotten AFTER DELETE ON kernel.user_account
    FOR EACH ROW EXECUTE FUNCTION ckf.forget_use();
ALTER FUNCTION ckf.forget_use OWNER TO pecia_system;
REVOKE ALL ON FUNCTION ckf.forget_use FROM PUBLIC;
