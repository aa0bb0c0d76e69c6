-- Taking stock is the kernel's now; the lake has its list looked at as well.

CREATE OR REPLACE FUNCTION lake.take_stock() RETURNS integer
LANGUAGE sql SET search_path = kernel, pg_temp AS
$$ SELECT kernel.take_stock('{lake.todo}') $$;
