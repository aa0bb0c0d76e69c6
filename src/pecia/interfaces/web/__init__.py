"""The console: pages built from `web/`, served as files. They use the same API as any client."""
