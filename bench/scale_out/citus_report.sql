-- Medians of what citus.sh has measured, and ratios to one table; pairs, moved and searches hold its files.
\pset format aligned
\pset tuples_only off
\pset footer off
WITH m AS (
	SELECT workers, set, radius, way, percentile_disc(0.5) WITHIN GROUP (ORDER BY ms) AS ms FROM pairs GROUP BY 1, 2, 3, 4
)
SELECT set, radius, workers, max(ms) FILTER (WHERE way = 'one') AS one_table, max(ms) FILTER (WHERE way = 'at_coordinator') AS at_coordinator,
	max(ms) FILTER (WHERE way = 'fill') AS fill, max(ms) FILTER (WHERE way = 'groups') AS groups, max(ms) FILTER (WHERE way = 'join') AS "join",
	max(ms) FILTER (WHERE way = 'one_clusters') AS one_clusters, max(ms) FILTER (WHERE way = 'clusters') AS clusters, stored, moved, pairs
FROM m JOIN moved USING (workers, set, radius) GROUP BY set, radius, workers, stored, moved, pairs ORDER BY set DESC, radius, workers;
WITH m AS (
	SELECT search, shards, source, settings, percentile_disc(0.5) WITHIN GROUP (ORDER BY us) AS us
	FROM searches GROUP BY 1, 2, 3, 4
)
SELECT m.search, m.source, m.shards, m.settings, m.us, round((m.us / one.us)::numeric, 1) AS ratio
FROM m JOIN m AS one ON one.source = 'whole' AND (one.search, one.shards, one.settings) = (m.search, m.shards, m.settings)
ORDER BY 1, 2, 3, 4;
