-- make demo: fingerprints in batches; each batch reports `progress done total seconds`.
DO $$
DECLARE
	batch CONSTANT int := 1000;
	total CONSTANT int := (SELECT max(id) FROM package);
	started CONSTANT timestamptz := clock_timestamp();
BEGIN
	FOR low IN 1 .. total BY batch LOOP
		UPDATE package SET fp = simhash64(coalesce(body, subject))
			WHERE id BETWEEN low AND low + batch - 1;
		COMMIT;
		RAISE NOTICE 'progress % % %', least(low + batch - 1, total), total,
			round(extract(epoch FROM clock_timestamp() - started)::numeric, 1);
	END LOOP;
END $$;
