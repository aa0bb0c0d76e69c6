"""Connectors: folders, repositories, buckets, sites."""
