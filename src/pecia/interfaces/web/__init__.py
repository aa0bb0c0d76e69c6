"""The console: pages built from `web/`, served as files. They ask the API like anybody else."""
