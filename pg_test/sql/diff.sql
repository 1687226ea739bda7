-- simhash_diff: the words in which two texts differ, and which of them decide.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA diff_test;
SET search_path = diff_test, public;

-- One word, a few, none; white space and the ends of a text.
SELECT simhash_diff('The street lamp in front of number 12 has been dark for two weeks, please repair it.',
	'The street lamp in front of number 12 has been dark for three weeks, please repair it.');
SELECT context, simhash_diff('The street lamp has been dark for two weeks, it is not safe.',
	'A street lamp has been dark for three weeks, it is unsafe.', context)
FROM unnest('{0, 1, 2, 100, 2147483647}'::int[]) AS context;
SELECT simhash_diff('a b', 'a  b') AS space, simhash_diff('a b', 'A b') AS "case", simhash_diff('a b c', 'a c') AS gone,
	simhash_diff('a c', 'a b c') AS more,
	simhash_diff('', 'a') AS was_empty, simhash_diff('a', '') AS is_empty, simhash_diff('', '') AS empty,
	simhash_diff(' ', E'\n') = E'\n' AS blank;
SELECT simhash_diff(NULL, 'a'), simhash_diff('a', NULL), simhash_diff('a', 'b', NULL);

-- Words are compared in normal form, and shown as the second text has them; what decides has marks of its own.
SELECT simhash_diff('Große Straße 5, Café', 'GROSSE STRASSE 6, cafe'), simhash_diff('Invoice 4711: 1,500.00 EUR, approved',
	'invoice 4711: 15,000.0 eur, aproved');
-- What the normal form does not have.
SELECT simhash_diff('About 10⁶ rows', 'about 106 rows'), simhash_diff('½ h', '1⁄3 h');

-- Scripts without spaces, from right to left, marks that combine, flags and families.
SELECT simhash_diff('磨坊巷的路灯已经两个星期不亮了，没有人来修理它们。', '磨坊巷的路灯已经三个星期不亮了，没有人来修它们。');
SELECT simhash_diff('ไฟถนนดับมาสองสัปดาห์', 'ไฟถนนดับมาสามสัปดาห์'), simhash_diff('でんきがきえた', 'でんきがついた'),
	simhash_diff('가로등이 꺼졌다', '가로등이 켜졌다');
-- Majors differ in how wide they take emoji to be.
\pset format unaligned
SELECT simhash_diff('مصباح الشارع مطفأ', 'مصباح الشارع مكسور'), simhash_diff(E'cafe\u0301 noir', E'caf\u00e9 noir'),
	simhash_diff('🇩🇪🇫🇷🇮🇹', '🇩🇪🇫🇷🇪🇸'), simhash_diff('👩‍👩‍👧 👍🏽', '👩‍👩‍👦 👍🏻');
\pset format aligned
-- Marks in a text stay as they are.
SELECT simhash_diff('[-a-] {+b+} <script>', '[-a-] {+c+} <script>');

-- Without the marks each text comes back, white space aside.
CREATE TABLE doc AS SELECT i AS id, (SELECT string_agg(CASE WHEN (n * 31 + i * 7) % 13 = 0 THEN (i * n)::text
	ELSE chr(97 + n % 7) || (n % 9) END, CASE WHEN n % 5 = 0 THEN '，' ELSE ' ' END ORDER BY n)
	FROM generate_series(1, 60) n) AS body FROM generate_series(1, 40) i;
SELECT count(*) AS pairs, count(*) FILTER (WHERE regexp_replace(regexp_replace(d, '\{[+!].*?[+!]\}', '', 'g'), '\[[-!]|[-!]\]|\s', '',
	'g') = regexp_replace(a.body, '\s', '', 'g')) AS a,
	count(*) FILTER (WHERE regexp_replace(regexp_replace(d, '\[[-!].*?[-!]\]', '', 'g'), '\{[+!]|[+!]\}|\s', '',
		'g') = regexp_replace(b.body, '\s', '', 'g')) AS b,
	count(*) FILTER (WHERE d ~ '\[[-!]') AS changed,
	count(*) FILTER (WHERE d ~ '\[!|\{!' = simhash_same(a.body, b.body)) AS contrary
FROM doc a, doc b, simhash_diff(a.body, b.body, 1000) AS d;

-- A megabyte against a megabyte: by words where the texts are alike, as a whole where they are not.
CREATE TABLE long AS SELECT string_agg(substr(md5(n::text), 1, 5), ' ' ORDER BY n) AS a,
	string_agg(CASE WHEN n % 40 = 0 THEN 'new' ELSE substr(md5(n::text), 1, 5) END, ' ' ORDER BY n) AS b,
	string_agg(substr(md5(n || 'other'), 1, 5), ' ' ORDER BY n) AS c FROM generate_series(1, 175000) n;
SET statement_timeout = '20s';
SELECT length(a) > 1000000 AS long, (length(d) - length(replace(d, '[!', ''))) / 2 AS changes, left(d, 60) AS starts,
	d LIKE '%not compared%' AS coarse FROM long, simhash_diff(a, b, 1) AS d;
SELECT left(d, 30) AS starts, length(d) - length(a) - length(c) AS marks FROM long, simhash_diff(a, c) AS d;
SELECT n, length(simhash_diff(repeat(n, 1000000 / length(n)), repeat(reverse(n), 1000000 / length(n)))) > 0 AS answered
FROM unnest(ARRAY['ab', 'a b', '中文', '.,', 'a ', 'a b c ']) AS n;
RESET statement_timeout;

-- Errors.
SELECT simhash_diff('a', 'b', -1);
SELECT simhash_diff('a', 'b', -2147483648);
SET client_min_messages = error;
DROP SCHEMA diff_test CASCADE;
