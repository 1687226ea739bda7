SELECT way, round(max(value) FILTER (WHERE what = 'build, s')::numeric, 1) AS "build, s",
	round(max(value) FILTER (WHERE what = 'index, MB')::numeric, 1) AS "index, MB",
	round((percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FILTER (WHERE what = 'question, ms'))::numeric, 2) AS "question, ms",
	round((percentile_cont(0.95) WITHIN GROUP (ORDER BY value) FILTER (WHERE what = 'question, ms'))::numeric, 2) AS "95 of 100, ms",
	round(max(value) FILTER (WHERE what = 'recall')::numeric, 3) AS "found"
FROM measured GROUP BY way ORDER BY "question, ms";
