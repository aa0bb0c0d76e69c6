"""The kernel's migrations: numbered .sql files, `pre` or `post` deployment. Never edited later."""
