SELECT way, round(max(value) FILTER (WHERE what = 'build, s')::numeric, 1) AS "build, s",
	round(max(value) FILTER (WHERE what = 'index, MB')::numeric, 1) AS "index, MB",
	round((percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FILTER (WHERE what = 'question, ms'))::numeric, 2) AS "question, ms",
	round((percentile_cont(0.95) WITHIN GROUP (ORDER BY value) FILTER (WHERE what = 'question, ms'))::numeric, 2) AS "95 of 100, ms",
	round(max(value) FILTER (WHERE what = 'recall')::numeric, 3) AS "found"
FROM measured WHERE what !~ '^corpus' GROUP BY way ORDER BY "question, ms";
SELECT way, round(max(value) FILTER (WHERE what = 'corpus, s')::numeric, 1) AS "processor, s",
	max(value) FILTER (WHERE what = 'corpus, marked') AS marked,
	round(max(value) FILTER (WHERE what = 'corpus, MB')::numeric, 1) AS "index or process, MB",
	round(max(value) FILTER (WHERE what = 'corpus, recall')::numeric, 4) AS "found of those in the sample"
FROM measured WHERE what ~ '^corpus' GROUP BY way ORDER BY "processor, s";
