"""Places that files come from: folders, repositories, buckets, sites."""
