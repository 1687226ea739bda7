-- The medians of what writers.sh has measured, and the ratios of these medians to the constraint's and to radius 3 of the same load.
\pset footer off
\pset null '-'
CREATE VIEW median_of AS SELECT sync, load_no, load, way, round(median(rows_s)) AS rows_s, median(done) AS done,
	median(deadlocks) AS deadlocks, median(other_errors) AS errors, round(median(median_ms), 2) AS median_ms, round(median(p95_ms), 2) AS p95_ms,
	round(median(max_ms), 1) AS max_ms, round(median(copy_s), 1) AS copy_s, median(shared_kb_before) AS kb_before, median(shared_kb_peak) AS kb_peak,
	median(locks_peak) AS locks
FROM written GROUP BY 1, 2, 3, 4;
\echo
\echo Texts unlike each other are inserted beside :stored others of :tenants tenants, by way: without trigger, EXCLUDE, or the trigger at this radius.
\echo rows_s: committed rows a second, of all sessions. Ratios of them: to EXCLUDE, and to the trigger at radius 3, in the same load.
\echo done: committed transactions. deadlocks: transactions that failed with 40P01. errors: those that failed otherwise.
\echo Milliseconds a transaction: median, 95th percentile, maximum. In load 8 done and milliseconds are those of the one session.
SELECT m.sync, m.load_no AS no, m.load, m.way, m.rows_s, round(m.rows_s / nullif(c.rows_s, 0), 3) AS to_exclude,
	CASE WHEN m.way ~ 'radius \d\d|radius [^3]' THEN round(m.rows_s / nullif(r.rows_s, 0), 3) END AS to_radius_3,
	m.done, m.deadlocks, m.errors, m.median_ms, m.p95_ms, m.max_ms
FROM median_of m LEFT JOIN median_of c ON (c.sync, c.load_no, c.way) = (m.sync, m.load_no, 'constraint')
LEFT JOIN median_of r ON (r.sync, r.load_no, r.way) = (m.sync, m.load_no, 'radius 3')
WHERE m.kb_peak IS NULL ORDER BY m.sync DESC, m.load_no, substring(m.way FROM '\d+')::int NULLS FIRST, m.way DESC;
\echo
\echo A COPY in one transaction, alone and beside sessions that insert single rows. copy_s: seconds of the COPY, - where it was refused (the deadlock counts) or did not end in time.
\echo rows_s, done and milliseconds: transactions of these sessions (milliseconds: of those that ended after the COPY had begun).
\echo kb_before, kb_peak: dynamic shared memory of the server before the COPY, and the most that was seen. locks: the most in pg_locks.
SELECT m.sync, m.load_no AS no, m.load, m.way, m.copy_s, round(m.copy_s / c.copy_s, 2) AS to_exclude, m.rows_s, m.done, m.deadlocks, m.errors,
	m.median_ms, m.p95_ms, m.max_ms, m.kb_before, m.kb_peak, m.locks
FROM median_of m LEFT JOIN median_of c ON (c.sync, c.load_no, c.way) = (m.sync, m.load_no, 'constraint')
WHERE m.kb_peak IS NOT NULL ORDER BY m.load_no, substring(m.way FROM '\d+')::int NULLS FIRST, m.way DESC;
