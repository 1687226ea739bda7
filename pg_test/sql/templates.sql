-- Texts of one template: pairs that a number tells apart are left out as they are found, and clusters by leaders judge pairs of leaders alone.
-- The answers are those of judging each pair.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA templates;
SET search_path = templates, public;
CREATE TABLE ticket AS SELECT i AS id, i % 2 AS tenant, (i * 37) % 101 AS votes, form AS title,
	CASE i % 5 WHEN 0 THEN upper(text) WHEN 1 THEN replace(text, 'please', 'plese') WHEN 2 THEN text || '!' ELSE text END AS body
FROM generate_series(1, 240) AS i, LATERAL (SELECT (ARRAY['order %s was', 'order %s of 3 parcels was', 'order %s is', 'the order was'])[1 + i % 4] AS form) AS f,
	format('Dear team, ' || form || ' placed in May, and came broken; please send the blue lamp again to %s.', 4000 + i % 60, (ARRAY['Anna', 'Peter'])[1 + i / 7 % 2]) AS text;
ALTER TABLE ticket ADD PRIMARY KEY (id);
INSERT INTO ticket VALUES (1000, 1, 5, 'x', NULL), (1001, 1, 5, 'x', ''), (1002, 1, 5, 'x', 'order 4711 was'), (1003, 0, 5, 'x', 'order 4712 was');
-- simhash_why does not know of numbers; and what calls it is not known to judge as simhash_same.
CREATE FUNCTION judged(a text, b text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT NOT EXISTS (SELECT FROM public.simhash_why(a, b) WHERE decides)';
CREATE TABLE oracle AS SELECT a.id AS a, b.id AS b, a.tenant = b.tenant AS one_tenant, a.body <~> b.body AS distance, a.body ~= b.body AS by_operator
FROM ticket a JOIN ticket b ON a.id < b.id AND a.body <~> b.body <= 12 AND judged(a.body, b.body);
SELECT count(*) AS pairs, count(*) FILTER (WHERE NOT by_operator) AS wrong, count(*) FILTER (WHERE one_tenant) AS within FROM oracle;
SELECT count(*) AS near FROM simhash_pairs('ticket', 'id', 'body', checked_by => NULL, min_jaccard => 0);
SELECT count(*) AS wrong FROM (SELECT a, b FROM simhash_pairs('ticket', 'id', 'body')) AS p FULL JOIN oracle AS o USING (a, b) WHERE p.a IS NULL OR o.a IS NULL;
CREATE FUNCTION differences(method text, within text) RETURNS bigint LANGUAGE sql AS $$
	WITH own AS (SELECT cluster_id, key, size, representative FROM simhash_clusters('ticket', 'id', 'body', method => method, within => within)),
		other AS (SELECT cluster_id, key, size, representative FROM simhash_clusters('ticket', 'id', 'body', method => method, within => within, checked_by => 'judged'))
	SELECT count(*) FROM ((TABLE own EXCEPT TABLE other) UNION ALL (TABLE other EXCEPT TABLE own)) AS d $$;
SELECT method, within, differences(method, within) FROM unnest('{leader,star,components}'::text[]) AS method, (VALUES (NULL), ('tenant')) AS w (within) ORDER BY 1, 2;
-- The leaders in any order: each row joins the nearest earlier leader, or leads.
CREATE FUNCTION led(first_by text) RETURNS TABLE (key int, original int) LANGUAGE plpgsql AS $$
DECLARE
	ordered int[];
	leaders int[] := '{}';
	row_id int;
	found int;
BEGIN
	EXECUTE format('SELECT array_agg(id ORDER BY %s) FROM ticket', first_by) INTO ordered;
	FOREACH row_id IN ARRAY ordered LOOP
		SELECT l INTO found FROM unnest(leaders) WITH ORDINALITY AS l (l, place) JOIN oracle ON a = least(l, row_id) AND b = greatest(l, row_id)
		ORDER BY distance, place LIMIT 1;
		IF found IS NULL THEN
			leaders := leaders || row_id;
		END IF;
		RETURN QUERY SELECT row_id, coalesce(found, row_id);
	END LOOP;
END $$;
SELECT first_by, count(*) FILTER (WHERE l.original <> coalesce(d.original, l.key)) AS wrong, count(*) FILTER (WHERE l.key <> l.original) AS going
FROM (VALUES ('id'), ('votes DESC, id'), ('tenant, votes, id DESC')) AS f (first_by), LATERAL led(first_by) AS l
	LEFT JOIN LATERAL (SELECT d.key::int, d.original::int FROM simhash_duplicates('ticket', 'body', first_by => first_by) AS d) AS d ON d.key = l.key
GROUP BY 1 ORDER BY 1;
-- With little memory the numbers are not kept: they are asked for when a pair is judged.
SET work_mem = 64;
SELECT differences('leader', NULL);
DROP SCHEMA templates CASCADE;
