-- Why an original could not be fetched, as a stable code. Empty where a worker of before said it in words alone.

ALTER TABLE lake.delivery ADD COLUMN code text NOT NULL DEFAULT '';
