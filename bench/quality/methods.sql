-- Precision and recall of the pairs that share a cluster, by method, radius and check of the texts (docs/duplicates.md), of every fifth
-- package description of this machine's lists. Right is a pair within 16 bits with a Jaccard similarity of at least 0.8.
-- Milliseconds by the clock, one call.
--
--     psql -X -f bench/quality/methods.sql     in the root of the project and a database with the extension; tables are temporary
\set ON_ERROR_STOP 1
\set QUIET 1
\pset footer off
SET client_min_messages = warning;
CREATE TEMP TABLE package (package text, section text, source text, maintainer text, subject text, body text);
\copy package FROM PROGRAM 'bash -c ". tools/common.sh; . tools/packages.sh; package_lists >&2; package_rows"'
CREATE TEMP TABLE d AS SELECT id::int, body, simhash64(body, preset => 'shingles') AS fp FROM (SELECT row_number() OVER (ORDER BY package) AS id, body FROM package) AS p WHERE id % 5 = 0;
CREATE TEMP TABLE alike AS SELECT a, b FROM simhash_pairs('d', 'id', 'fp', 16, text => 'body', min_jaccard => 0.8);
CREATE TEMP TABLE result (method text, checked boolean, radius int, precision numeric, recall numeric, ms int);
SELECT format($q$DO $$ DECLARE began timestamptz := clock_timestamp(); ms int; BEGIN
	CREATE TEMP TABLE c ON COMMIT DROP AS SELECT cluster_id, key FROM simhash_clusters('d', 'id', 'fp', %1$s, %2$L%3$s);
	ms := 1000 * extract(epoch FROM clock_timestamp() - began);
	INSERT INTO result SELECT %2$L, %4$L, %1$s, count(alike.a)::numeric / NULLIF(count(*), 0), count(alike.a)::numeric / (SELECT count(*) FROM alike), ms
	FROM c AS x JOIN c AS y ON x.cluster_id = y.cluster_id AND x.key < y.key LEFT JOIN alike ON (a, b) = (x.key, y.key); END $$$q$,
	radius, method, CASE WHEN checked THEN ', text => ''body'', min_jaccard => 0.8' END, checked)
FROM unnest('{components,star,leader}'::text[]) AS method, unnest('{f,t}'::boolean[]) AS checked, unnest('{3,6,8}'::int[]) AS radius \gexec
SELECT (SELECT count(*) FROM d) AS texts, (SELECT count(*) FROM alike) AS right_pairs;
SELECT '| `' || method || '`' || CASE WHEN checked THEN ', `text`' ELSE '' END || ' | ' ||
	string_agg(to_char(precision, 'FM0.000') || ' / ' || to_char(recall, 'FM0.000'), ' | ' ORDER BY radius) || ' | ' || max(ms) FILTER (WHERE radius = 6) || ' |' AS "method, radius 3, 6, 8, ms at 6"
FROM result GROUP BY method, checked ORDER BY checked, method;
