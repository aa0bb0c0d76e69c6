-- Files that could not be read are few, and asked for: how many there are, which, and why.
CREATE INDEX file_unread ON kernel.file (tenant_id, source_id, key) WHERE status NOT IN ('ok', 'waiting');
