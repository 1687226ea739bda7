-- within and across mean the same in every function that compares rows. The oracle is a join by `=`, for which 1.0 is 1.00, -0 is 0
-- and NaN is NaN, while NULL is equal to nothing. All rows have one fingerprint and one text, so nothing else tells them apart.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
RESET client_min_messages;
CREATE SCHEMA within_across;
SET search_path = within_across, public;
CREATE TABLE compared (id int PRIMARY KEY, n numeric, f float8, body text DEFAULT 'The street lamp is dark', fp bigint DEFAULT 42);
INSERT INTO compared (id, n, f)
SELECT row_number() OVER (ORDER BY n.place, f.place), n.n, f.f
FROM (VALUES (1, 1.0), (2, 1.00), (3, 2), (4, NULL)) AS n (place, n),
	(VALUES (1, '0'::float8), (2, '-0'), (3, 'NaN'), (4, NULL)) AS f (place, f);
CREATE VIEW pair AS SELECT a.id AS a, b.id AS b, (a.n = b.n AND a.f = b.f) IS TRUE AS equal FROM compared AS a, compared AS b;
CREATE VIEW equal AS SELECT a, b FROM pair WHERE equal AND a < b;
CREATE VIEW other AS SELECT a, b FROM pair WHERE NOT equal AND a < b;
SELECT (SELECT count(*) FROM equal) AS equal, (SELECT count(*) FROM other) AS other;

-- What a function found, as pairs, against what is wanted.
CREATE TABLE found (function text, columns text, a int, b int);

INSERT INTO found SELECT 'simhash_pairs', 'within', a, b FROM simhash_pairs('compared', 'id', 'fp', within => '{n,f}');
INSERT INTO found SELECT 'simhash_pairs', 'across', a, b FROM simhash_pairs('compared', 'id', 'fp', across => '{n,f}');
INSERT INTO found SELECT 'simhash_pairs, texts', 'within', a, b
	FROM simhash_pairs('compared', 'id', 'fp', within => '{n,f}', text => 'body');
INSERT INTO found SELECT 'simhash_pairs, texts', 'across', a, b
	FROM simhash_pairs('compared', 'id', 'fp', across => '{n,f}', text => 'body');
INSERT INTO found SELECT 'simhash_pairs, integer keys', 'within', a, b
	FROM simhash_pairs('compared', key_type => NULL::int, columns => 'fp', key => 'id', within => '{n,f}');
INSERT INTO found SELECT 'simhash_pairs, integer keys', 'across', a, b
	FROM simhash_pairs('compared', key_type => NULL::int, columns => 'fp', key => 'id', across => '{n,f}');
-- Of a table and itself: each pair twice, and a row with itself.
INSERT INTO found SELECT 'simhash_pairs_between', 'within', a, b
FROM simhash_pairs_between('compared', 'id', 'fp', 'compared', 'id', 'fp', within => '{n,f}') WHERE a < b;
INSERT INTO found SELECT 'simhash_pairs_between', 'across', a, b
FROM simhash_pairs_between('compared', 'id', 'fp', 'compared', 'id', 'fp', across => '{n,f}') WHERE a < b;
SELECT columns, count(*), count(*) FILTER (WHERE p.a IS NULL) AS wrong
FROM (SELECT 'within' AS columns, a, b FROM simhash_pairs_between('compared', 'id', 'fp', 'compared', 'id', 'fp', within => '{n,f}')
	UNION ALL SELECT 'across', a, b FROM simhash_pairs_between('compared', 'id', 'fp', 'compared', 'id', 'fp', across => '{n,f}')) AS b
LEFT JOIN pair AS p ON (p.a, p.b, p.equal) = (b.a, b.b, columns = 'within') GROUP BY 1 ORDER BY 1;
SELECT equal, count(*) FROM pair GROUP BY 1 ORDER BY 1 DESC;
-- Groups of equal rows are their pairs.
INSERT INTO found SELECT 'simhash_clusters, ' || method, 'within', a.key, b.key
FROM unnest('{components,star,leader}'::text[]) AS method,
	simhash_clusters('compared', 'id', 'fp', method => method, within => '{n,f}') AS a
JOIN simhash_clusters('compared', 'id', 'fp', method => 'star', within => '{n,f}') AS b USING (cluster_id) WHERE a.key < b.key;
SELECT simhash_keep_clusters('compared', 'id', 'fp', within => '{n,f}');
INSERT INTO found SELECT 'simhash_keep_clusters', 'within', a.key, b.key
FROM compared_cluster AS a JOIN compared_cluster AS b USING (cluster_id) WHERE a.key < b.key;
-- Written row by row, by the trigger.
UPDATE compared SET fp = NULL;
UPDATE compared SET fp = 42;
INSERT INTO found SELECT 'simhash_catalog.maintain_clusters', 'within', a.key, b.key
FROM compared_cluster AS a JOIN compared_cluster AS b USING (cluster_id) WHERE a.key < b.key;
SELECT simhash_drop_clusters('compared_cluster');
INSERT INTO found SELECT 'simhash_record_pairs', 'within', a, b
	FROM simhash_record_pairs('compared', 'id', 0.9, '{body}', within => '{n,f}');
INSERT INTO found SELECT 'simhash_record_pairs of two relations', 'within', a, b
FROM simhash_record_pairs('compared', 'id', 0.9, '{body}', 'compared', 'id', '{body}', within => '{n,f}') WHERE a < b;
-- Keys are text there, and in its order.
INSERT INTO found SELECT 'simhash_record_sample', 'within', least(a::int, b::int), greatest(a::int, b::int)
FROM simhash_record_sample('compared', 'id', '{body}', within => '{n,f}');
SELECT simhash_keep_records('compared', 'id', 0.9, '{body}', within => '{n,f}');
SELECT simhash_refresh_records('compared_records') IS NOT NULL AS refreshed;
INSERT INTO found SELECT 'simhash_keep_records', 'within', a.key, b.key
FROM compared_records AS a JOIN compared_records AS b USING (cluster_id) WHERE a.key < b.key;
INSERT INTO found SELECT 'simhash_record_search', 'within', c.id, s.key::int
FROM compared AS c, simhash_record_search('compared_records', to_jsonb(c), 100) AS s WHERE c.id < s.key::int;
SELECT simhash_drop_records('compared_records');

SELECT function, columns, count(*) AS pairs,
	(SELECT count(*) FROM (SELECT x.a, x.b FROM found AS x WHERE (x.function, x.columns) = (f.function, f.columns)
		EXCEPT ALL SELECT w.a, w.b FROM pair AS w WHERE w.a < w.b AND w.equal = (f.columns = 'within')) AS wrong) AS wrong
FROM found AS f GROUP BY 1, 2 ORDER BY 1, 2 DESC;
-- A row that one column says is nobody's is in no pair: explaining one is an error.
SELECT sum(pairs) AS pairs_within FROM simhash_radius_report('compared', 'id', 'fp', within => '{n,f}');
SELECT sum(pairs) AS pairs_across FROM simhash_radius_report('compared', 'id', 'fp', across => '{n,f}');
SELECT max(pairs) AS pairs_within FROM simhash_record_report('compared', 'id', '{body}', within => '{n,f}');
SELECT column_name, shared FROM simhash_record_explain('compared', 'id', '{1}', '{2}', '{body}', within => '{n,f}');
SELECT column_name, shared FROM simhash_record_explain('compared', 'id', '{1}', '{4}', '{body}', within => '{n,f}');

-- The trigger: a row is flagged if an equal one is there, by the smallest key.
CREATE TABLE flagged (LIKE compared, duplicate_of int);
CREATE INDEX ON flagged USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT ON flagged FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'key=id', 'duplicate_of=duplicate_of', 'within=n,f');
INSERT INTO flagged (id, n, f, body, fp) SELECT id, n, f, body, fp FROM compared ORDER BY id;
SELECT count(duplicate_of) AS flagged,
	count(*) FILTER (WHERE duplicate_of IS DISTINCT FROM (SELECT min(e.a) FROM equal AS e WHERE e.b = id)) AS wrong FROM flagged;
-- Across: if another row is there. With marks, an original that is another row.
CREATE TABLE marked (LIKE compared INCLUDING INDEXES, another boolean, duplicate_of int);
CREATE INDEX ON marked USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON marked FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'key=id', 'flag=another', 'across=n,f');
INSERT INTO marked (id, n, f, body, fp) SELECT id, n, f, body, fp FROM compared ORDER BY id;
SELECT count(*) FILTER (WHERE another) AS flagged,
	count(*) FILTER (WHERE another <> EXISTS (SELECT FROM other AS o WHERE o.b = id)) AS wrong FROM marked;
TRUNCATE marked;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON marked FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'key=id', 'duplicate_of=duplicate_of', 'across=n,f');
INSERT INTO marked (id, n, f, body, fp) SELECT id, n, f, body, fp FROM compared ORDER BY id;
CREATE VIEW wrong AS
	SELECT count(duplicate_of) AS marked,
		count(*) FILTER (WHERE NOT EXISTS (SELECT FROM other AS p JOIN marked AS o ON o.id IN (p.a, p.b) AND o.duplicate_of IS NULL
			WHERE (least(m.id, o.id), greatest(m.id, o.id)) = (p.a, p.b) AND o.id = m.duplicate_of)
			AND duplicate_of IS NOT NULL) AS wrong,
		count(*) FILTER (WHERE duplicate_of IS NULL AND EXISTS (SELECT FROM other AS p JOIN marked AS o ON o.id = p.a AND o.duplicate_of IS NULL
			WHERE p.b = m.id)) AS missing
	FROM marked AS m;
TABLE wrong;
-- A row that an UPDATE makes equal to its original is judged again; another UPDATE leaves the marks alone.
UPDATE marked SET body = 'x', duplicate_of = NULL WHERE id = 5;
SELECT id, duplicate_of FROM marked WHERE id IN (1, 2, 3, 5);
UPDATE marked SET n = 1, f = 0 WHERE id IN (3, 5);
SELECT id, duplicate_of FROM marked WHERE id IN (1, 2, 3, 5);
UPDATE marked SET n = 7 WHERE id = 2;
SELECT id, duplicate_of FROM marked WHERE id = 2;
-- The groups of simhash_duplicates are those of simhash_clusters.
SELECT count(*), count(*) FILTER (WHERE d.key IS NULL OR c.key IS NULL OR d.stays <> (c.key = c.representative)) AS wrong
FROM simhash_duplicates('compared', 'body', across => 'n, f') AS d
FULL JOIN simhash_clusters('compared', 'body', method => 'leader', across => 'n,f') AS c ON c.key::text = d.key;
SET client_min_messages = warning;
DROP SCHEMA within_across CASCADE;
