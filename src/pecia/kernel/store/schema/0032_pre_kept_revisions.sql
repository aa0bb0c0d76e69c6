-- Most sources can be read again, so earlier texts of their files go after a while. What people told this
-- server is nowhere else: a source that keeps its revisions loses them with its files alone.
ALTER TABLE kernel.source ADD COLUMN keeps_revisions boolean NOT NULL DEFAULT false;
