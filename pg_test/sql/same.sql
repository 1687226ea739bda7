-- simhash_same, simhash_why: whether a person would call two texts the same, and why.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA same_test;
SET search_path = same_test, public;
\pset format unaligned

-- What does not decide.
SELECT simhash_same(a, b), a, b FROM (VALUES
	('The street lamp is DARK.', 'the street lamp is dark'), ('crème brûlée', 'creme brulee'),
	('A typing error in membership', 'A typing error in membershp'),
	('the station', 'the the station'), ('Fish & chips', '<p>Fish &amp; chips</p>'), ('1,500.00 EUR', '€ 1500'),
	('请尽快更换三楼走廊的灯泡', '请近快更换三楼走廊的灯泡'), ('One. Two words. Three.', 'Two words. One. Three.')) AS p (a, b);
-- What decides.
SELECT simhash_same(a, b), a, b FROM (VALUES
	('The amount is 1,500.00 euros.', 'The amount is 15,000.0 euros.'), ('It reads -18.5 degrees.', 'It reads 185 degrees.'),
	('10⁶ cells', '106 cells'),
	('1½ cups', '112 cups'), ('libfoo 1.1.12', 'libfoo 11.1.2'), ('Final score: 11-1.', 'Final score: 1-11.'),
	('a C++ developer', 'a C# developer'),
	('Great service 👍', 'Great service 👎'), ('It is safe to drink.', 'It is not safe to drink.'), ('The left wrist', 'The right wrist'),
	('Journey, episode 1', 'Journey, episode 2'), ('Your permit is approved.', 'Your permit is rejected.'), ('申请：同意', '申请：不同意')) AS p (a, b);
SELECT simhash_same('', ''), simhash_same('', 'a'), simhash_same(' ', '.'), simhash_same('🎉 🎉', '🎉🎉'), simhash_same(NULL, 'a') IS NULL,
	simhash_same('a', NULL) IS NULL;

-- In spelling and layout alone.
SELECT simhash_same_strict(a, b), simhash_same(a, b), a, b FROM (VALUES
	('The street lamp is DARK.', 'the street  lamp is dark'), ('the colour of the hall', 'The color of the hall'),
	('three lamps', '3 lamps'), ('A typing error in membership', 'A typing error in membershp'),
	('Hello, the lamp is dark', 'the lamp is dark'), ('One lamp. Two halls.', 'Two halls. One lamp.'),
	('Final score: 11-1.', 'Final score: 1-11.'), ('', '')) AS p (a, b);
CREATE TABLE strict (id int PRIMARY KEY, t text, fp bigint);
INSERT INTO strict SELECT id, t, simhash64(t) FROM (VALUES (1, 'The street lamp in front of the library is dark since Monday'),
	(2, 'the street lamp in front of the library is dark since monday!'),
	(3, 'The street lamp in front of the libary is dark since Monday')) AS r (id, t);
SELECT check_name, a, b FROM unnest(ARRAY['simhash_same', 'simhash_same_strict']) AS check_name,
	simhash_pairs('strict', 'id', 'fp', 20, text => 't', checked_by => check_name::regproc) ORDER BY 1, 2, 3;
SELECT check_name, count(*) FROM unnest(ARRAY['simhash_same', 'simhash_same_strict']) AS check_name,
	simhash_clusters('strict', 'id', 'fp', 20, text => 't', checked_by => check_name::regproc) GROUP BY 1 ORDER BY 1;

-- Why.
SELECT * FROM simhash_why('Hello, the fee for membership is 40 euros, payable on Monday.',
	'The fee for membershp is 45 euros, payable on Tuesday.');
SELECT * FROM simhash_why('The lamp is safe.', 'The lamp is not safe.');
SELECT * FROM simhash_why('One lamp. Two lamps.', 'Two lamps. One lamp.');
SELECT count(*) FROM simhash_why('Same', 'same!');
SELECT count(*) FROM simhash_why(NULL, 'a');

-- A megabyte of repeated words; a megabyte with one number that differs.
SET statement_timeout = '60s';
SELECT n, simhash_same(repeat(n, 1000000 / length(n)), repeat(reverse(n), 1000000 / length(n))) IS NOT NULL AS answered
FROM unnest(ARRAY['ab', 'a b ', '中文', '1 2,', 'a. b ', '<b ']) AS n;
SELECT simhash_same(t || ' 1', t || ' 2') AS number, simhash_same(t, upper(t)) AS "case"
FROM (SELECT string_agg(md5(n::text), ' ') FROM generate_series(1, 30000) n) AS s (t);
RESET statement_timeout;
SET client_min_messages = error;
DROP SCHEMA same_test CASCADE;
