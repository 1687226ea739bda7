-- simhash_passages, simhash_containment, simhash_shared_passages: parts of texts in others.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA passages_test;
SET search_path = passages_test, public;

-- Hashes that never change: they stand in indexes.
SELECT simhash_passages('The street lamps in Mill Lane have been dark for two weeks, and nobody has come to mend them.');
SELECT simhash_passages('磨坊巷的路灯已经两个星期不亮了，没有人来修理它们，晚上走路非常危险。', 8, 16);
SELECT simhash_passages(''), simhash_passages('. , -'), simhash_passages(NULL), simhash_passages('a', NULL),
	simhash_passages('ab') = simhash_passages(' A-b', 2, 2) AS short;
SELECT simhash_passages(repeat('a ', 10000)) = simhash_passages(repeat('a', 40)) AS one;

-- They are sorted as bigint, and each comes once.
SELECT hashes = ARRAY(SELECT DISTINCT unnest(hashes) ORDER BY 1) AS sorted, 0 > ANY (hashes) AND 0 < ANY (hashes) AS signs
FROM simhash_passages('The street lamps in Mill Lane have been dark', 5, 5) AS hashes;

-- A table of texts, some of which quote others.
CREATE TABLE doc (id int PRIMARY KEY, body text);
INSERT INTO doc SELECT i, (SELECT string_agg(md5(i || '.' || n), ' ') FROM generate_series(1, 30) n) FROM generate_series(1, 300) i;
INSERT INTO doc SELECT 1000 + id, md5('x' || id) || E'\n> ' || substr(body, 100, 10 + 10 * (id % 20)) || '! ' || repeat(md5('y' || id), 2)
FROM doc WHERE id <= 100;
CREATE INDEX doc_passages ON doc USING gin (simhash_passages(body));
-- Each quotation of 40 letters and more is found: the hashes that two texts share.
CREATE TABLE shared AS SELECT a.id AS a, b.id AS b FROM doc a
JOIN doc b ON a.id < b.id AND simhash_passages(a.body) && simhash_passages(b.body);
SELECT count(*) FILTER (WHERE shared.a IS NOT NULL) AS found, count(*) AS quoted
FROM doc q LEFT JOIN shared ON shared.b = q.id AND shared.a = q.id - 1000
WHERE q.id > 1000 AND length(replace(substr((SELECT body FROM doc WHERE id = q.id - 1000), 100, 10 + 10 * (q.id % 20)), ' ', '')) >= 40;
SELECT count(*) AS by_chance FROM shared WHERE b <> a + 1000;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM doc WHERE simhash_passages(body) && simhash_passages('a text');
RESET enable_seqscan;

-- How much of the smaller text is in the larger one.
SELECT simhash_containment('abcdef', 'xxabcdefxx', 3), simhash_containment('xxabcdefxx', 'abcdef', 3),
	simhash_containment('abcdef', 'abcxyz', 3),
	simhash_containment('abc', 'def', 3), simhash_containment('', 'abc', 3), simhash_containment('a', 'abc', 3),
	simhash_containment('abc', NULL);
SELECT min(simhash_containment(q.body, d.body)) > 0.3, max(simhash_containment(q.body, d.body)) < 1
FROM doc q JOIN doc d ON d.id = q.id - 1000 WHERE q.id % 20 = 19 AND q.id > 1000;
-- The same by the definition, whichever text stays the same over many calls.
SELECT count(*) AS differ FROM doc a, doc b, LATERAL (
	SELECT count(*) FILTER (WHERE x.g IS NOT NULL AND y.g IS NOT NULL)::float8 / least(count(x.g), count(y.g)) AS share
	FROM (SELECT DISTINCT substr(t, i, 7) AS g FROM replace(a.body, ' ', '') t, generate_series(1, length(t) - 6) i) x
	FULL JOIN (SELECT DISTINCT substr(t, i, 7) AS g FROM regexp_replace(b.body, '\W', '', 'g') t,
		generate_series(1, length(t) - 6) i) y USING (g)) s
WHERE a.id IN (3, 7) AND b.id BETWEEN 1001 AND 1010 AND simhash_containment(a.body, b.body, 7) <> s.share;

-- The passages themselves, by the places of characters.
SELECT p.*, substr(a, start_a, length_a) = passage AS in_a, substr(b, start_b, length_b) AS in_b
FROM (VALUES (E'He wrote: "The lamps in Mill Lane\nhave been dark for weeks." I agree.',
	'-- the lamps  in MILL Lane have been dark for weeks, says he. He wrote it.'),
	('磨坊巷的路灯已经两个星期不亮了。', '据说，“磨坊巷的路灯，已经两个星期不亮了！”')) AS t (a, b), simhash_shared_passages(a, b, 10) AS p;
SELECT count(*), sum(length_b) FROM doc a JOIN doc b ON b.id = a.id + 1000, simhash_shared_passages(a.body, b.body) AS p;
SELECT * FROM simhash_shared_passages('a', NULL);
SELECT * FROM simhash_shared_passages('', 'a', 1);
SELECT count(*) FROM simhash_shared_passages(repeat('ab', 100000), repeat('ba', 100000));

-- Errors.
SELECT simhash_passages('a', 0);
SELECT simhash_passages('a', 101, 200);
SELECT simhash_passages('a', 12, 11);
SELECT simhash_passages('a', 12, 10001);
SELECT simhash_containment('a', 'b', 0);
SELECT * FROM simhash_shared_passages('a', 'b', 0);
SET client_min_messages = error;
DROP SCHEMA passages_test CASCADE;
