-- Folders below which the administrators of a tenant may make spaces, which are read and written, as the operator gave them.

ALTER TABLE lake.reach DROP CONSTRAINT reach_kind_check;
ALTER TABLE lake.reach ADD CONSTRAINT reach_kind_check CHECK (kind IN ('folder', 'host', 'space-root'));
