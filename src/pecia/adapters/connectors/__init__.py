"""Connectors: folders, repositories, buckets, sites.

A new one is a file here with its `ConnectorKind`, and a row in `app/connectors.py`. In a package of
its own: `docs/plugins.md`.
"""
