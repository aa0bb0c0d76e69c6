-- name: take_stock
SELECT kernel.take_stock();
