-- Terms of a tenant. Every member sees them all; who defined one, or an administrator, may change it.

CREATE SCHEMA glossary;
GRANT USAGE ON SCHEMA glossary TO pecia_app, pecia_system;

CREATE TABLE glossary.term (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    meaning text NOT NULL CHECK (length(meaning) BETWEEN 1 AND 2000),
    author uuid NOT NULL,
    mentions integer NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, name)
);
CALL kernel.guard('glossary.term');

CREATE POLICY see ON glossary.term FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_member()));
CREATE POLICY add ON glossary.term FOR INSERT TO pecia_app
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_member())
                AND (SELECT kernel.has_scope('pecia.write')) AND author = (SELECT kernel.user_id()));
CREATE POLICY change ON glossary.term FOR UPDATE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant())
           AND (author = (SELECT kernel.user_id()) OR (SELECT kernel.may_administer())))
    WITH CHECK (tenant_id = (SELECT kernel.tenant()));
GRANT SELECT, INSERT, UPDATE (meaning) ON glossary.term TO pecia_app;
