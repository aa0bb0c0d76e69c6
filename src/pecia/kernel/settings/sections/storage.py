"""The kernel's settings for the database, retention, quotas and workers. Only words."""

from pathlib import Path

from pydantic import SecretStr

from pecia.kernel.settings.account import data_folder
from pecia.kernel.settings.model import SettingsSection, setting, setting_from
from pecia.kernel.settings.types import (
    AbsolutePath,
    NonEmptyStr,
    NonNegativeInt,
    PositiveInt,
    Seconds,
)

GIB = 1024**3


def _user_data() -> Path:
    return data_folder()


class DatabaseSettings(SettingsSection):
    """Which PostgreSQL, and how it is held."""

    home: AbsolutePath = setting_from(
        _user_data,
        description="The folder of the data. One server and one cluster per home.",
        shown_default="the user's data directory",
    )
    local_tenant: NonEmptyStr = setting("local", description="The tenant of local mode.")
    database_url: SecretStr | None = setting(
        None,
        description="The app login of your PostgreSQL. Unset: an embedded one in the home.",
        secret=True,
    )
    database_owner_url: SecretStr | None = setting(
        None,
        description="The login that owns the tables; needed for migrations only.",
        secret=True,
    )
    database_system_url: SecretStr | None = setting(
        None,
        description="The login of jobs and maintenance, which see every tenant.",
        secret=True,
    )
    pool_min_size: NonNegativeInt = setting(
        1, description="Idle connections kept open, per process."
    )
    pool_max_size: PositiveInt = setting(
        10, description="Connections to the database at most, per process."
    )
    system_pool_max_size: PositiveInt = setting(
        4, description="Connections of the system login at most, per process."
    )
    pool_timeout_s: Seconds = setting(
        10.0, description="How long a call waits for a free connection.", unit="s"
    )
    keeper_grace_s: Seconds = setting(
        10.0,
        description="How long the embedded PostgreSQL stays up after its last user left.",
        unit="s",
    )
    backup_dir: AbsolutePath | None = setting(
        None, description="Where backups are written. Unset: `backups` in the home."
    )


class RetentionSettings(SettingsSection):
    """How long what has been is kept."""

    retention_audit_days: PositiveInt = setting(
        365, description="How long audit rows are kept.", unit="days"
    )
    retention_jobs_days: PositiveInt = setting(
        14, description="How long finished jobs are kept.", unit="days"
    )
    retention_revisions_days: PositiveInt = setting(
        90,
        description="How long a replaced revision can still be cited and checked.",
        unit="days",
    )


class QuotaSettings(SettingsSection):
    """What a new tenant is given. Empty means without limit."""

    quota_files: NonNegativeInt | None = setting(1_000_000, description="Files a tenant may hold.")
    quota_bytes: NonNegativeInt | None = setting(
        100 * GIB, description="Text and uploads a tenant may hold.", unit="bytes"
    )
    quota_chunks: NonNegativeInt | None = setting(
        20_000_000, description="Chunks a tenant may have indexed."
    )
    quota_model_tokens_per_day: NonNegativeInt | None = setting(
        5_000_000, description="Model tokens a tenant may use in a day."
    )
    quota_upstreams: NonNegativeInt | None = setting(
        50, description="Upstream servers a tenant may connect."
    )


class WorkerSettings(SettingsSection):
    """Background work."""

    worker_concurrency: PositiveInt = setting(
        2, description="Jobs one worker process runs at a time."
    )
