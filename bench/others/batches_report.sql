-- Processor time in the median of the rounds.
SELECT way, round((max(value) FILTER (WHERE what = 'found 3'))::numeric, 4) AS "found within 3",
	round((max(value) FILTER (WHERE what = 'found 8'))::numeric, 4) AS "within 8",
	round((1e6 * percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FILTER (WHERE what = 'one 3'))::numeric, 1) AS "one within 3, µs",
	round((1e6 * percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FILTER (WHERE what = 'one 8'))::numeric, 1) AS "within 8, µs",
	round((1e6 * percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FILTER (WHERE what = '64 3'))::numeric, 0) AS "64 within 3, µs",
	round((1e6 * percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FILTER (WHERE what = '64 8'))::numeric, 0) AS "within 8, µs",
	round((max(value) FILTER (WHERE what = 'build'))::numeric, 2) AS "build, s",
	round((max(value) FILTER (WHERE what = 'index, MB'))::numeric, 1) AS "index, MB"
FROM batch_measured GROUP BY way ORDER BY "one within 3, µs";
