-- The medians of what measure.sql has measured, and what they are next to a peer of the same run.
\pset footer off
\echo
\echo One row of a text of which n copies are stored: milliseconds, and the ratio to a row like no other with the same trigger.
SELECT way, what, n, round(m::numeric, 3) AS ms, round((m / peer)::numeric, 1) AS ratio FROM (
	SELECT way, what, n, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS m FROM measured WHERE part = 'copies' GROUP BY 1, 2, 3) c
JOIN (SELECT way, split_part(what, ' ', 1) AS change, n, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS peer
	FROM measured WHERE part = 'copies' AND what LIKE '%stranger' GROUP BY 1, 2, 3) p USING (way, n)
WHERE split_part(what, ' ', 1) = change ORDER BY change DESC, way, what, n;
\echo
\echo A cluster of n rows that splits and is united again: milliseconds.
SELECT part, way, what, n, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 2) AS ms
FROM measured WHERE part LIKE 'splits%' GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;
\echo
\echo 100,000 rows loaded into n: milliseconds, the ratio to COPY without a trigger, and how many times faster than COPY row by row.
SELECT part, n, what, way, round(m::numeric) AS ms, round((m / plain)::numeric, 2) AS ratio, round((by_row / m)::numeric, 2) AS faster FROM (
	SELECT part, n, what, way, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS m FROM measured WHERE part LIKE 'loads%' GROUP BY 1, 2, 3, 4) l
JOIN (SELECT part, n, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE way = 'none') AS plain,
		percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE way = 'clusters') AS by_row
	FROM measured WHERE what = 'COPY' GROUP BY 1, 2) p USING (part, n)
ORDER BY 1, 2, 3, 4;
