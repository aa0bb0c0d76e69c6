-- name: governs
SELECT kernel.may_govern(%(source_id)s);

-- name: owns
SELECT kernel.owns(%(source_id)s);
