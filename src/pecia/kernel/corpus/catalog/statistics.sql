-- name: analyze_grown
SELECT kernel.analyze_grown();
