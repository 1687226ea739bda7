-- checked_by: a function of the user's that decides about candidate pairs, in pairs, clusters and the radius report.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA checked_test;
SET search_path = checked_test, public;

-- Families of rows that differ in a number, a photo, a date or a place; some equal ones, some without a text.
CREATE TABLE advert (
	id int PRIMARY KEY, body text, posted date, photo bigint, place float8[], tenant int,
	fp bigint GENERATED ALWAYS AS (simhash64(body, preset => 'shingles')) STORED
);
INSERT INTO advert (id, body, posted, photo, place, tenant)
SELECT i, format('Bicycle of kind %s with seven gears, %s inch, new tyres and lights, to be picked up at the station of town %s%s',
		md5((i / 8)::text), 20 + i % 3, i / 8, left('!!', i % 4)),
	date '2026-01-01' + (i * 37) % 200, hashint8extended(i / 2, 1) # (i % 2), ARRAY[i % 5, i % 7], i % 2
FROM generate_series(1, 400) i;
-- Texts are longer than a page; equal rows; a row without a text has no fingerprint, so a view gives it one.
INSERT INTO advert (id, body, posted, photo, place, tenant)
SELECT 1000 + i, repeat('a lamp of number ' || i % 2 || ' is dark. ', 400), '2026-05-01', i, '{1,1}', i % 2 FROM generate_series(1, 12) i;
CREATE VIEW offer AS SELECT id, CASE WHEN id % 11 > 0 THEN body END AS body, 'row ' || id AS name, posted, fp FROM advert;
ANALYZE advert;

CREATE FUNCTION same_numbers(a text, b text) RETURNS boolean IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT n[1] FROM regexp_matches(a, '\d+', 'g') AS n) = ARRAY(SELECT n[1] FROM regexp_matches(b, '\d+', 'g') AS n);
CREATE FUNCTION photos_alike(a advert, b advert) RETURNS boolean IMMUTABLE PARALLEL SAFE RETURN a.photo <~> b.photo <= 1;
CREATE FUNCTION posted_near(a advert, b advert) RETURNS boolean IMMUTABLE PARALLEL SAFE RETURN abs(a.posted - b.posted) <= 30;
CREATE FUNCTION places_near(a advert, b advert) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN sqrt((a.place[1] - b.place[1]) ^ 2 + (a.place[2] - b.place[2]) ^ 2) <= 2;
END $$;
-- A person's decisions.
CREATE TABLE decision (a int, b int, same boolean NOT NULL, PRIMARY KEY (a, b), CHECK (a < b));
INSERT INTO decision SELECT a, b, true FROM (VALUES (1, 399), (17, 160)) v (a, b);
INSERT INTO decision SELECT a, b, false FROM simhash_pairs('advert', 'id', 'fp', 8) WHERE (a + b) % 3 = 0 AND b < 1000;
CREATE FUNCTION undecided(x advert, y advert) RETURNS boolean STABLE PARALLEL SAFE
RETURN NOT EXISTS (SELECT FROM decision d WHERE d.a = x.id AND d.b = y.id);
-- It says NULL for some; the row with the smaller key has to come first.
CREATE FUNCTION in_order(a advert, b advert) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF a.id >= b.id THEN
		RAISE EXCEPTION 'rows % and % come in the wrong order', a.id, b.id;
	END IF;
	RETURN CASE (a.id + b.id) % 3 WHEN 0 THEN true WHEN 1 THEN NULL ELSE false END;
END $$;

-- ---------------------------------------------------------------- pairs: all candidates that pass, and no others
CREATE TEMP TABLE candidate AS SELECT a, b, distance FROM simhash_pairs('advert', 'id', 'fp', 8);
CREATE FUNCTION faults_of_pairs(of text, which text) RETURNS TABLE(checked_by text, passing bigint, faults bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('WITH found AS (SELECT a, b, distance FROM %s), wanted AS (
		SELECT c.* FROM candidate c JOIN advert x ON x.id = c.a JOIN advert y ON y.id = c.b WHERE %s)
		SELECT %L, (SELECT count(*) FROM found), (SELECT count(*) FROM (
			(TABLE found EXCEPT ALL TABLE wanted) UNION ALL (TABLE wanted EXCEPT ALL TABLE found)) d)', of, which, which);
END $$;
CREATE TEMP TABLE checks (call text, which text);
INSERT INTO checks VALUES
	($$text => 'body', min_jaccard => 0.8$$, 'simhash_jaccard(x.body, y.body) >= 0.8'),
	($$text => 'body'$$, 'simhash_same(x.body, y.body)'),
	($$text => 'body', min_jaccard => 0.95$$, 'simhash_jaccard(x.body, y.body) >= 0.95'),
	($$text => 'body', checked_by => 'simhash_same'$$, 'simhash_same(x.body, y.body)'),
	($$text => 'body', checked_by => 'same_numbers'$$, 'same_numbers(x.body, y.body)'),
	($$checked_by => 'photos_alike'$$, 'photos_alike(x, y)'),
	($$checked_by => 'posted_near'$$, 'posted_near(x, y)'),
	($$checked_by => 'places_near'$$, 'places_near(x, y)'),
	($$checked_by => 'undecided'$$, 'undecided(x, y)'),
	($$text => 'body', checked_by => 'in_order'$$, 'in_order(x, y)');
SELECT f.* FROM checks, faults_of_pairs(format($$simhash_pairs('advert', 'id', 'fp', 8, %s)$$, call), which) f;
SELECT count(*) AS candidates FROM candidate;
-- In little memory, where values are read in smaller pieces; within tenants.
SET work_mem = '64kB';
SELECT f.* FROM checks, faults_of_pairs(format($$simhash_pairs('advert', 'id', 'fp', 8, %s)$$, call), which) f;
RESET work_mem;
SELECT f.passing, f.faults FROM checks,
	faults_of_pairs(format($$simhash_pairs('advert', 'id', 'fp', 8, '{tenant}', %s)$$, call), 'x.tenant = y.tenant AND ' || which) f;
-- Keys by reference: "row 100" comes before "row 99".
CREATE FUNCTION named_in_order(a offer, b offer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RETURN a.name < b.name COLLATE "C" AND abs(a.posted - b.posted) <= 30;
END $$;
SELECT count(*) AS pairs, (SELECT count(*) FROM candidate c JOIN advert x ON x.id = a JOIN advert y ON y.id = b
	WHERE posted_near(x, y)) AS wanted
FROM simhash_pairs('offer', key_type => NULL::text COLLATE "C", columns => 'fp', key => 'name', radius => 8, checked_by => 'named_in_order');
-- A row without a text passes with none by a function of texts.
CREATE FUNCTION always(a text, b text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
SELECT count(*) AS pairs, (SELECT count(*) FROM candidate WHERE a % 11 > 0 AND b % 11 > 0) AS wanted
FROM simhash_pairs('offer', 'id', 'fp', 8, text => 'body', checked_by => 'always');

-- Two relations: the row of the first comes first. Their rows may be of two types.
CREATE TABLE letter (number bigint PRIMARY KEY, content text, sent date, fp bigint);
INSERT INTO letter SELECT id + 5000, body, posted + 10, fp FROM advert WHERE id % 4 = 0;
CREATE FUNCTION sent_near(a letter, b advert) RETURNS boolean IMMUTABLE RETURN a.number > 5000 AND abs(a.sent - b.posted) <= 20;
CREATE TEMP TABLE across AS SELECT a, b, distance FROM simhash_pairs_between('letter', 'number', 'fp', 'advert', 'id', 'fp', 8);
SELECT count(*) AS passing, count(*) FILTER (WHERE w.a IS NULL) AS faults, (SELECT count(*) FROM across c JOIN letter x ON number = a
	JOIN advert y ON id = b WHERE sent_near(x, y)) AS wanted
FROM simhash_pairs_between('letter', 'number', 'fp', 'advert', 'id', 'fp', 8, checked_by => 'sent_near') f
LEFT JOIN (SELECT c.* FROM across c JOIN letter x ON number = a JOIN advert y ON id = b WHERE sent_near(x, y)) w USING (a, b, distance);
SELECT check_name, count(*) AS passing FROM (
	SELECT 'same_numbers' AS check_name, a::text, b FROM simhash_pairs_between('letter', 'number', 'fp', 'advert', 'id', 'fp', 8,
		text_a => 'content', text_b => 'body', checked_by => 'same_numbers')
	UNION ALL SELECT 'jaccard', a::text, b
	FROM simhash_pairs_between('letter', 'number', 'fp', 'advert', 'id', 'fp', 8, '{}', 'content', 'body', 0.9)
	UNION ALL SELECT 'keyed', a, b FROM simhash_pairs_between('offer', key_type_a => NULL::text, columns_a => 'fp', relation_b => 'advert', key_type_b => NULL::int, columns_b => 'fp', key_a => 'name', key_b => 'id', radius => 8, text_a => 'body', text_b => 'body', checked_by => 'simhash_same')
) f GROUP BY 1 ORDER BY 1;
SELECT (SELECT count(*) FROM across JOIN letter x ON number = a JOIN advert y ON id = b WHERE same_numbers(content, body)) AS same_numbers,
	(SELECT count(*) FROM across JOIN letter x ON number = a JOIN advert y ON id = b WHERE simhash_jaccard(content, body) >= 0.9) AS jaccard,
	(SELECT count(*) FROM offer x JOIN advert y ON x.fp <~> y.fp <= 8 WHERE simhash_same(x.body, y.body)) AS keyed;
-- One relation twice: rows beside themselves too.
SELECT count(*), count(*) FILTER (WHERE a = b) AS itself
FROM simhash_pairs_between('advert', 'id', 'fp', 'advert', 'id', 'fp', 8, checked_by => 'posted_near');

-- ---------------------------------------------------------------- clusters
CREATE FUNCTION faults_of_clusters(call text, which text) RETURNS TABLE(checked_by text, rows bigint, faults bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY
		EXECUTE format('WITH found AS (SELECT key, cluster_id FROM simhash_clusters(''advert'', ''id'', ''fp'', 8, ''components'', %s)),
			wanted AS (
		SELECT key, cluster_id FROM (SELECT array_agg(a) AS a, array_agg(b) AS b FROM candidate c
			JOIN advert x ON x.id = c.a JOIN advert y ON y.id = c.b WHERE %s) l, simhash_components(l.a, l.b))
		SELECT %L, (SELECT count(*) FROM found), (SELECT count(*) FROM (
			(TABLE found EXCEPT ALL TABLE wanted) UNION ALL (TABLE wanted EXCEPT ALL TABLE found)) d)', call, which, which);
END $$;
SELECT f.* FROM checks, faults_of_clusters(call, which) f;
-- Every member is a pair with the representative of a star, and of a leader's cluster.
SELECT method, call, count(*) > 0 AS some, count(*) FILTER (WHERE NOT passes) AS faults
FROM checks, (VALUES ('star'), ('leader')) m (method),
	LATERAL (SELECT c.key, EXISTS (SELECT FROM advert x, advert y
		WHERE (x.id, y.id) = (least(c.key, c.representative), greatest(c.key, c.representative))
			AND CASE call WHEN $$checked_by => 'posted_near'$$ THEN posted_near(x, y) WHEN $$text => 'body', checked_by => 'simhash_same'$$
			THEN simhash_same(x.body, y.body) END) AS passes
		FROM simhash_clusters('advert', 'id', 'fp', 8, method, CASE WHEN call LIKE 'text%' THEN 'body' END,
			checked_by => CASE call WHEN $$checked_by => 'posted_near'$$ THEN 'posted_near'::regproc ELSE 'simhash_same' END) c
		WHERE c.key <> c.representative) f
WHERE call IN ($$checked_by => 'posted_near'$$, $$text => 'body', checked_by => 'simhash_same'$$) GROUP BY 1, 2 ORDER BY 1, 2;
-- The method is star where nothing else is said. The similarity of texts is there if they are named.
SELECT count(*) AS rows, count(jaccard) AS similar,
	count(*) FILTER (WHERE jaccard IS DISTINCT FROM simhash_jaccard(x.body, y.body)) AS faults,
	(SELECT count(*) FROM simhash_clusters('advert', 'id', 'fp', 8, 'star', checked_by => 'posted_near')) AS star
FROM simhash_clusters('advert', 'id', 'fp', 8, text => 'body', checked_by => 'posted_near') JOIN advert x ON x.id = key
JOIN advert y ON y.id = representative;
SELECT count(jaccard) AS none FROM simhash_clusters('advert', 'id', 'fp', 8, checked_by => 'posted_near');
SELECT count(*) AS rows, min(cluster_id), max(cluster_id)
FROM simhash_clusters('offer', key_type => NULL::text, columns => 'fp', key => 'name', radius => 8, text => 'body', checked_by => 'simhash_same');

-- Decisions: judged pairs do not come back, and what was judged the same is added, in pairs and in groups.
CREATE VIEW link AS
	SELECT a, b FROM simhash_pairs('advert', 'id', 'fp', 8, checked_by => 'undecided')
	UNION ALL SELECT a, b FROM decision WHERE same;
CREATE VIEW grouped AS SELECT c.* FROM (SELECT array_agg(a) AS a, array_agg(b) AS b FROM link) l, simhash_components(l.a, l.b) c;
SELECT count(*) AS pairs, count(*) FILTER (WHERE EXISTS (SELECT FROM decision d WHERE (d.a, d.b) = (link.a, link.b)
	AND NOT same)) AS judged_different,
	count(*) FILTER (WHERE (a, b) IN ((1, 399), (17, 160))) AS judged_same FROM link;
SELECT count(*) AS united FROM grouped x JOIN grouped y USING (cluster_id) WHERE (x.key, y.key) IN ((1, 399), (17, 160));
SELECT 'judged again: ' || count(*) FROM simhash_pairs('advert', 'id', 'fp', 8, checked_by => 'undecided') JOIN decision USING (a, b);

-- ---------------------------------------------------------------- how often, and when it is called
CREATE SEQUENCE calls;
CREATE FUNCTION counted(a advert, b advert) RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT nextval(''calls'') > 0';
CREATE FUNCTION counted(a text, b text) RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT nextval(''calls'') > 0';
SELECT count(*) FROM simhash_pairs('advert', 'id', 'fp', 8, checked_by => 'counted(advert,advert)'::regprocedure);
SELECT last_value - (SELECT count(*) FROM candidate) AS calls_more FROM calls;
-- Equal texts once, each beside itself.
SELECT setval('calls', 1, false);
CREATE TABLE copies (id int PRIMARY KEY, fp bigint, body text);
INSERT INTO copies SELECT i, 7, 'text ' || i % 2 FROM generate_series(1, 1000) i;
SELECT count(*) AS pairs FROM simhash_pairs('copies', 'id', 'fp', 0, text => 'body', checked_by => 'counted(text,text)'::regprocedure);
SELECT last_value AS calls FROM calls;
-- Components leave out what others connect.
SELECT setval('calls', 1, false);
SELECT count(*) AS rows FROM simhash_clusters('advert', 'id', 'fp', 64, 'components', checked_by => 'counted(advert,advert)'::regprocedure);
SELECT last_value AS calls, (SELECT count(*) FROM advert) AS rows FROM calls;
-- A text that does not pass beside itself.
CREATE FUNCTION differ(a text, b text) RETURNS boolean IMMUTABLE RETURN a <> b;
SELECT count(*) AS pairs FROM simhash_pairs('copies', 'id', 'fp', 0, text => 'body', checked_by => 'differ');
SELECT count(*) AS rows, count(DISTINCT cluster_id) AS clusters
FROM simhash_clusters('copies', 'id', 'fp', 0, 'components', 'body', checked_by => 'differ');

-- A function may write, catch its own errors, and search itself.
CREATE TABLE logged (a int, b int);
CREATE FUNCTION logging(x advert, y advert) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO logged VALUES (x.id, y.id);
	RETURN 1 / (x.id % 2) > 0 AND EXISTS (SELECT FROM simhash_pairs('named', 'named', 'fp'));
EXCEPTION WHEN division_by_zero THEN
	RETURN false;
END $$;
CREATE TABLE named (named int PRIMARY KEY, fp bigint, r text);
INSERT INTO named VALUES (1, 0, 'a'), (2, 0, 'b'), (3, 0, 'a');
SELECT count(*) AS passing, (SELECT count(*) FROM candidate WHERE distance <= 2 AND a % 2 = 1) AS wanted
FROM simhash_pairs('advert', 'id', 'fp', 2, checked_by => 'logging');
SELECT count(*) AS passing, count(*) FILTER (WHERE a % 2 = 0) AS undone FROM logged;

-- Rows of partitions, of children and of a table with dropped columns are rows of the table that the call names.
CREATE TABLE parted (gone int, id int, fp bigint, body text) PARTITION BY HASH (id);
ALTER TABLE parted DROP COLUMN gone;
CREATE TABLE parted_0 (body text, fp bigint, more int DEFAULT 5, id int);
ALTER TABLE parted_0 DROP COLUMN more;
ALTER TABLE parted ATTACH PARTITION parted_0 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted (id, fp, body) SELECT id, fp, body FROM copies WHERE id <= 20;
CREATE FUNCTION bodies_equal(a parted, b parted) RETURNS boolean IMMUTABLE RETURN a.body = b.body AND a.id > 0 AND b.fp = 7;
SELECT count(*) FROM simhash_pairs('parted', 'id', 'fp', checked_by => 'bodies_equal');
SELECT count(*) FROM simhash_pairs('parted_0', 'id', 'fp', checked_by => 'bodies_equal');
CREATE TABLE child (extra int) INHERITS (copies);
INSERT INTO child SELECT 2000 + i, 7, 'text ' || i FROM generate_series(1, 2) i;
CREATE FUNCTION bodies_equal(a copies, b copies) RETURNS boolean IMMUTABLE RETURN a.body = b.body;
SELECT count(*) FROM simhash_pairs('copies', 'id', 'fp', checked_by => 'bodies_equal(copies,copies)'::regprocedure) WHERE b > 2000;
-- A column that has the name of its table hides nothing.
CREATE FUNCTION same_r(a named, b named) RETURNS boolean IMMUTABLE RETURN a.r = b.r;
SELECT * FROM simhash_pairs('named', 'named', 'fp', checked_by => 'same_r');

-- ---------------------------------------------------------------- the report: which share of the drawn pairs passes
SELECT r.distance, pairs, compared, round(passing::numeric, 4) AS passing, c.share AS wanted
FROM simhash_radius_report('advert', 'id', 'fp', 'body', 8, 1000, 'posted_near') r LEFT JOIN (
	SELECT distance, round(avg(posted_near(x, y)::int), 4) AS share FROM candidate c JOIN advert x ON x.id = a JOIN advert y ON y.id = b
	GROUP BY 1) c USING (distance)
WHERE pairs <= 200 ORDER BY 1;
SELECT count(passing) AS distances FROM simhash_radius_report('advert', 'id', 'fp', max_radius => 8, checked_by => 'in_order');
CREATE FUNCTION much_alike(a text, b text) RETURNS boolean IMMUTABLE RETURN simhash_jaccard(a, b) >= 0.88;
SELECT sum(passing * pairs)::int AS pairs, (SELECT count(*) FROM candidate JOIN advert x ON x.id = a JOIN advert y ON y.id = b
	WHERE distance IN (1, 2, 6) AND much_alike(x.body, y.body)) AS wanted
FROM simhash_radius_report('advert', 'id', 'fp', 'body', 7, 1000, checked_by => 'much_alike') WHERE distance IN (1, 2, 6);
-- Keys by reference are compared as their type does, not as texts.
SELECT count(passing) AS distances, sum(passing * pairs)::int AS pairs, (SELECT count(*) FROM candidate JOIN advert x ON x.id = a
	JOIN advert y ON y.id = b WHERE distance IN (1, 2) AND posted_near(x, y)) AS wanted
FROM simhash_radius_report('offer', 'name', 'fp', NULL, 2, 1000, checked_by => 'named_in_order') WHERE distance IN (1, 2);
SELECT count(passing) AS none FROM simhash_radius_report('advert', 'id', 'fp', 'body');

-- ---------------------------------------------------------------- rights, names, errors
CREATE ROLE checking_reader;
GRANT USAGE ON SCHEMA checked_test TO checking_reader;
GRANT SELECT (id, fp, body) ON advert TO checking_reader;
REVOKE EXECUTE ON FUNCTION same_numbers FROM public;
SET ROLE checking_reader;
SELECT count(*) > 0 AS may FROM simhash_pairs('advert', 'id', 'fp', text => 'body', checked_by => 'simhash_same');
SELECT count(*) FROM simhash_pairs('advert', 'id', 'fp', text => 'body', checked_by => 'same_numbers');
SELECT count(*) FROM simhash_radius_report('advert', 'id', 'fp', 'body', checked_by => 'same_numbers');
-- A row is all of its columns.
SELECT count(*) FROM simhash_pairs('advert', 'id', 'fp', checked_by => 'posted_near');
RESET ROLE;
-- The function's settings count while it runs, and it runs as the caller.
CREATE FUNCTION told(a text, b text) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN current_setting('search_path') = 'pg_catalog, pg_temp' AND current_user = 'checking_reader';
END $$;
SET ROLE checking_reader;
SELECT count(*) FROM simhash_pairs('copies', 'id', 'fp', text => 'body', checked_by => 'told');
RESET ROLE;
GRANT SELECT ON copies, child TO checking_reader;
SET ROLE checking_reader;
SELECT count(*) > 0 AS told, current_setting('search_path') FROM simhash_pairs('copies', 'id', 'fp', text => 'body', checked_by => 'told');
RESET ROLE;
REVOKE ALL ON copies, child, advert FROM checking_reader;
REVOKE ALL ON SCHEMA checked_test FROM checking_reader;
DROP ROLE checking_reader;
-- A view depends on the function, and means the same under every search_path.
CREATE VIEW numbered AS SELECT a, b FROM simhash_pairs('checked_test.advert', 'id', 'fp', text => 'body', checked_by => 'same_numbers');
DROP FUNCTION same_numbers;
SET search_path = public;
SELECT count(*) > 0 AS some FROM checked_test.numbered;
SET search_path = checked_test, public;
-- An error of it is the statement's.
CREATE FUNCTION failing(a text, b text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'no opinion' USING ERRCODE = 'raise_exception';
END $$;
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', text => 'r', checked_by => 'failing');
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', text => 'r', checked_by => 'no_such_function');
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', text => 'r', checked_by => 'counted');
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', text => 'r', checked_by => 4294967290::oid);
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', checked_by => 'always');
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', text => 'r', min_jaccard => 0.8, checked_by => 'always');
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', text => 'fp', checked_by => 'always');
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', text => 'r', checked_by => 'posted_near');
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', text => 'r', checked_by => 'simhash_jaccard');
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', text => 'r', checked_by => 'regexp_split_to_table(text,text)'::regprocedure);
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', text => 'r', checked_by => 'string_agg(text,text)'::regprocedure);
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', text => 'r', checked_by => 'date_part(text,date)'::regprocedure);
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', text => 'r', checked_by => 'textcat');
SELECT count(*) FROM simhash_pairs('named', 'named', 'fp', text => 'r', checked_by => 'int4lt');
SELECT count(*) FROM simhash_pairs_between('named', 'named', 'fp', 'named', 'named', 'fp', text_a => 'r', checked_by => 'always');
SELECT count(*) FROM simhash_clusters('named', 'named', 'fp', checked_by => 'always');
SELECT count(*) FROM simhash_clusters('named', 'named', 'fp', text => 'r', min_jaccard => 0.5, checked_by => 'always');
SELECT count(*) FROM simhash_radius_report('named', 'named', 'fp', checked_by => 'always');
-- Two rows with one key.
CREATE VIEW twice AS SELECT named AS id, fp, r FROM named UNION ALL SELECT 1, 0, 'b';
CREATE FUNCTION same_r(a twice, b twice) RETURNS boolean IMMUTABLE RETURN a.r = b.r;
SELECT count(*) FROM simhash_pairs('twice', 'id', 'fp', checked_by => 'same_r(twice,twice)'::regprocedure);
SELECT count(*) FROM simhash_pairs_between('twice', 'id', 'fp', 'named', 'named', 'fp', text_a => 'r', text_b => 'r');
-- A function of rows reads what the server generates after the trigger, too.
CREATE TABLE priced (id int PRIMARY KEY, fp bigint, shop text, shop_key text GENERATED ALWAYS AS (lower(shop)) STORED);
CREATE INDEX ON priced USING simhash (fp);
CREATE FUNCTION one_shop(a priced, b priced) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT a.shop_key = b.shop_key';
CREATE TRIGGER once BEFORE INSERT OR UPDATE ON priced FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject', 'checked_by=one_shop');
INSERT INTO priced VALUES (1, 0, 'A'), (2, 1, 'B');
INSERT INTO priced VALUES (3, 1, 'a');
-- The trigger notices that it is gone.
DROP FUNCTION one_shop;
INSERT INTO priced VALUES (3, 1, 'a');
-- Beside an index on the text it compares rows where no function of its name takes two texts.
CREATE TABLE ware (id int PRIMARY KEY, body text, seller int);
CREATE INDEX ON ware USING simhash (body);
CREATE FUNCTION other_seller(a ware, b ware) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT a.seller <> b.seller';
CREATE TRIGGER once BEFORE INSERT OR UPDATE ON ware FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('mode=reject', 'checked_by=other_seller');
INSERT INTO ware VALUES (1, 'A lamp of brass with a green shade', 1), (2, 'A lamp of brass with a green shade!', 1);
INSERT INTO ware VALUES (3, 'A lamp of brass with a green shade', 2);
UPDATE ware SET seller = 2 WHERE id = 2;
CREATE FUNCTION other_seller(a text, b text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT false';
ALTER TABLE ware ADD price int;
INSERT INTO ware VALUES (3, 'A lamp of brass with a green shade', 2);
SET client_min_messages = error;
DROP SCHEMA checked_test CASCADE;
