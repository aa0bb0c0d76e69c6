-- name: owns
SELECT kernel.owns(%(source_id)s);
