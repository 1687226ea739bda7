-- A page of HTML to look at before near-duplicates are deleted: docs/duplicates.md#the-review-page. psql runs it on a table, view or foreign table:
--
--   psql -X -q -f simhash_review.sql -v relation=petition > review.html
--
-- It reads with the caller's rights, in one read-only transaction, and makes no object. First it gathers all that the page
-- shows as JSON; then one statement makes that safe for HTML; only what is safe is printed. So a new value needs no care of
-- its own, as long as it comes from `page` and stands between tags, not in one. The page's one script is in this file too: it
-- reads what stands between tags, and the page says by a hash that no other may run.

\set ON_ERROR_STOP on
\set QUIET on
\set ECHO none
\set AUTOCOMMIT on
\timing off
\pset pager off
\pset format unaligned
\pset tuples_only on
\pset null ''

\if :{?relation} \else
DO $$ BEGIN
	RAISE EXCEPTION 'variable "relation" is missing' USING ERRCODE = 'invalid_parameter_value',
		HINT = 'Usage: psql -X -q -f simhash_review.sql -v relation=TABLE [-v key=COLUMN] [-v text=COLUMN] [-v fp=COLUMN] '
			'[-v radius=12] [-v checked_by=simhash_same] [-v jaccard=0.8] [-v within=COLUMNS] [-v across=COLUMNS] '
			'[-v columns=COLUMNS] [-v image=COLUMN] [-v first_by=ORDER] [-v marks=COLUMN] [-v method=leader] [-v seed=1] [-v max_pairs=1000000] '
			'[-v compared=20000] [-v examples=8] [-v clusters=25] [-v steps=on] [-v decisions=TABLE] > review.html';
END $$;
\endif
-- Without a similarity, simhash_same says which texts are the same, and the radius is that of texts.
\if :{?radius} \else \if :{?jaccard} \set radius 3 \else \set radius 12 \endif \endif
\if :{?checked_by} \set same off \elif :{?jaccard} \set same off \else \set same on \endif
\if :{?jaccard} \else \set jaccard 0.8 \endif
\if :{?method} \else \set method leader \endif
\if :{?seed} \else \set seed 1 \endif
\if :{?max_pairs} \else \set max_pairs 1000000 \endif
\if :{?compared} \else \set compared 20000 \endif
\if :{?examples} \else \set examples 8 \endif
\if :{?clusters} \else \set clusters 25 \endif
\if :{?within} \else \set within '' \endif
\if :{?across} \else \set across '' \endif
\if :{?columns} \else \set columns '' \endif
\if :{?image} \else \set image '' \endif
\if :{?marks} \else \set marks '' \endif
-- A table of decisions that the caller does not name is RELATION_decision. It is read if it is a plain table of the same owner:
-- reading a view runs its functions with the caller's rights.
\if :{?decisions} \set decisions_named on \else \set decisions '' \set decisions_named off \endif

-- Lists of columns are written as in an array, without its braces.
\set within_is 'CAST(concat(''{'', :''within'', ''}'') AS text[])'
\set across_is 'CAST(concat(''{'', :''across'', ''}'') AS text[])'
\set columns_is 'CAST(concat(''{'', :''columns'', ''}'') AS text[])'

-- Says on stderr, after how many seconds, what comes next.
\set stage 'SELECT round(CAST(extract(epoch FROM clock_timestamp() - now()) AS numeric), 1) AS seconds \\gset \\warn simhash_review: :seconds s: '

-- ---------------------------------------------------------------- what is asked

SET client_encoding = 'UTF8';
BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;
-- The relation is the caller's search_path's. All other names are the server's, or carry their schema: nobody's function or
-- operator runs in place of one.
SELECT (SELECT oid FROM pg_catalog.pg_class WHERE oid OPERATOR(pg_catalog.=) CAST(:'relation' AS pg_catalog.regclass)) AS relation_oid \gset
\if :{?relation_oid} \else \set relation_oid 0 \endif
-- The check is too: a name, or a name with the types of its arguments.
\if :{?checked_by}
SELECT CASE WHEN pg_catalog.strpos(:'checked_by', '(') OPERATOR(pg_catalog.>) 0 THEN CAST(CAST(:'checked_by' AS text) AS pg_catalog.regprocedure)
	ELSE CAST(CAST(:'checked_by' AS text) AS pg_catalog.regproc) END::pg_catalog.oid AS check_oid \gset
\endif
-- The table of decisions is looked up in the same way. There may be none.
\if :decisions_named
SELECT pg_catalog.to_regclass(:'decisions')::pg_catalog.oid AS decisions_oid \gset
\endif
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL standard_conforming_strings = on;
-- The planner takes what functions return for more than it is.
SET LOCAL jit = off;
-- Rows come in the same order each time, and so the same are drawn.
SET LOCAL synchronize_seqscans = off;

SELECT (SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'simhash_dedup') AS ext \gset
\if :{?ext} \else
DO $$ BEGIN
	RAISE EXCEPTION 'extension "simhash_dedup" is not in this database' USING ERRCODE = 'undefined_object',
		HINT = 'CREATE EXTENSION simhash_dedup;';
END $$;
\endif
\if :same
SELECT p.oid AS check_oid FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace
WHERE nspname = :'ext' AND proname = 'simhash_same' AND oidvectortypes(proargtypes) = 'text, text' \gset
\endif
\if :{?text} \else
SELECT CASE WHEN :relation_oid <> 0 THEN (SELECT * FROM simhash_catalog.named_columns(:relation_oid::regclass, NULL)) ELSE '' END AS text \gset
\endif
\if :{?fp} \else \set fp :text \endif
\if :{?key} \set key_named on \else
SELECT coalesce(min(attname), '') AS key, false AS key_named FROM pg_index i JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
WHERE indrelid = :relation_oid AND indisprimary AND indnkeyatts = 1 \gset
\endif
\if :{?first_by} \else \set first_by :key \endif
\if :decisions_named \else
SELECT format('%I.%I', nspname, left(c.relname, 50) || '_decision') AS decisions, d.oid AS decisions_oid
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_class d ON d.relnamespace = c.relnamespace AND d.relkind = 'r'
	AND d.relname = left(c.relname, 50) || '_decision' AND d.relowner = c.relowner WHERE c.oid = :relation_oid
UNION ALL SELECT '', NULL WHERE :relation_oid = 0 \gset
\endif
\if :{?decisions_oid} \else \set decisions_oid 0 \endif
SELECT coalesce((SELECT format('%I.%I', nspname, relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE c.oid = :relation_oid), '') AS rel,
	coalesce((SELECT format_type(atttypid, NULL) FROM pg_attribute
		WHERE attrelid = :relation_oid AND attname = :'key' AND attnum > 0 AND NOT attisdropped), 'text') AS key_type,
	-- No text contains it: it stands for tags until the text is safe.
	replace(gen_random_uuid()::text, '-', '') AS tag,
	CASE getdatabaseencoding() WHEN 'UTF8' THEN '[\x7f\u0080-\u009f]' ELSE '[\x7f]' END AS invisible,
	CASE getdatabaseencoding() WHEN 'UTF8' THEN '[\u202a-\u202e\u2066-\u2069]' ELSE '[\x7f]' END AS turning,
	9223372036854775807 AS largest,
	-- Hashes of more than 64 bits are arrays.
	coalesce((SELECT typcategory = 'A' FROM pg_attribute a JOIN pg_type y ON y.oid = atttypid
		WHERE attrelid = :relation_oid AND attname = :'fp' AND attnum > 0 AND NOT attisdropped), false) AS in_parts,
	-- A text is one of which fingerprints are made.
	coalesce((SELECT typcategory = 'S' FROM pg_attribute a JOIN pg_type y ON y.oid = atttypid
		WHERE attrelid = :relation_oid AND attname = :'fp' AND attnum > 0 AND NOT attisdropped), false) AS of_text
\gset
\if :of_text
\set fp_is ':"ext".simhash64(t.:"fp")'
\else
\set fp_is 't.:"fp"'
\endif
\if :in_parts
\set bits 4096
\set hamming hamming_parts
\else
\set bits 64
\set hamming hamming
\endif

-- The first variable that is not as it has to be.
WITH number (name, value, low, high) AS (
	VALUES ('radius', :'radius', 0, :bits::numeric), ('jaccard', :'jaccard', 0, 1), ('seed', :'seed', -:largest, :largest), ('max_pairs', :'max_pairs', 0, :largest),
		('compared', :'compared', 0, 1000000), ('examples', :'examples', 0, 10000), ('clusters', :'clusters', 0, 10000)
), named AS (
	SELECT * FROM (VALUES ('key', ARRAY[:'key']), ('fp', array_remove(ARRAY[:'fp'], :'text')), ('text', ARRAY[:'text']), ('within', :within_is),
		('across', :across_is), ('columns', :columns_is), ('image', array_remove(ARRAY[:'image'], '')), ('marks', array_remove(ARRAY[:'marks'], ''))) AS v (name, columns), unnest(columns) AS c
	LEFT JOIN pg_attribute ON attrelid = :relation_oid AND attname = c AND attnum > 0 AND NOT attisdropped
)
SELECT (SELECT regexp_replace(fault, concat(:'turning', '|', :'invisible'), '?', 'g') FROM (
	SELECT 1, format('relation: there is none with OID %s', :'relation') WHERE :relation_oid = 0
	UNION ALL SELECT 1, format('key: %s has no primary key of one column: name a column that tells rows apart', :'rel')
		|| (SELECT CASE WHEN relkind IN ('r', 'p') THEN format('; ALTER TABLE %s ADD id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY adds one', :'rel')
			ELSE '' END FROM pg_class WHERE oid = :relation_oid)
	WHERE :'key' = '' AND NOT :'key_named' AND :relation_oid <> 0
	UNION ALL SELECT 2, format('%s: %L is not a number from %s to %s', name, value, low, high) FROM number
	WHERE CASE WHEN value ~ '^[-+]?\d{1,19}$' OR name = 'jaccard' AND value ~ '^\d*\.?\d{1,9}$' THEN value::numeric NOT BETWEEN low AND high ELSE true END
	UNION ALL SELECT 3, format('%s: %s has no column "%s"', name, :'rel', c)
		|| CASE WHEN name = 'text' AND c ~ ',' THEN format('; a view makes one of several: SELECT *, concat_ws('' '', %s) AS whole FROM %s', c, :'rel') ELSE '' END
	FROM named WHERE attnum IS NULL
	UNION ALL SELECT 4, format('%s: the name %s has a character that cannot be seen: read a view with other names', name, c)
	FROM (SELECT name, c FROM named UNION ALL VALUES ('relation', :'rel'), ('decisions', :'decisions')) AS v WHERE c ~ concat(:'turning', '|', :'invisible', '|[\x01-\x1f]')
	UNION ALL SELECT 5, format('key: rows cannot be looked up by column %I of type %s', c, format_type(atttypid, NULL))
	FROM named JOIN pg_type y ON y.oid = atttypid WHERE name = 'key' AND typcategory = 'A'
	) AS f (place, fault) ORDER BY place LIMIT 1) AS fault \gset
\if :{?fault}
\set SHOW_CONTEXT never
SELECT set_config('simhash_review.fault', :'fault', true) AS ignored \gset
DO $$ BEGIN
	RAISE EXCEPTION 'variable %', current_setting('simhash_review.fault') USING ERRCODE = 'invalid_parameter_value';
END $$;
\endif
:stage counting rows
SELECT count(*) AS rows, count(:fp_is) AS fingerprints FROM :rel t \gset
SELECT coalesce(string_agg(format('t.%I', c), ', ') FILTER (WHERE c = ANY (:within_is)), 'CAST(NULL AS text)') AS within_of,
	coalesce(string_agg(format('t.%I', c), ', ') FILTER (WHERE c = ANY (:across_is)), 'CAST(NULL AS text)') AS across_of,
	simhash_catalog.ordering(:relation_oid::regclass, :'first_by') AS ordering
FROM unnest(:within_is || :across_is) AS c \gset
-- In which order rows of a cluster stay: those that a trigger has marked come last. Beside a row stands the value of the first column.
SELECT concat('r.' || quote_ident(NULLIF(:'marks', '')) || ' IS NOT NULL, ', :'ordering', format(', r.%I', :'key')) AS best_first,
	replace((regexp_match(:'ordering', '^r\."((?:[^"]|"")*)"'))[1], '""', '"') AS keep \gset
\set record 'CAST(NULL AS jsonb)'
SELECT :columns_is <> '{}' AS with_columns, :'image' <> '' AS with_image \gset
\if :with_columns
\set record 'to_jsonb(t.*)'
\endif
\if :with_image
\set record 'to_jsonb(t.*)'
\endif
-- What decides: a similarity, or a function of two texts or two rows.
\if :{?check_oid}
SELECT format('%I.%I(x.judged, y.judged)', nspname, proname) AS call, :check_oid::regprocedure AS check_name,
	oidvectortypes(proargtypes) = 'text, text' AS of_texts
FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE p.oid = :check_oid \gset
\set least 'CAST(NULL AS numeric)'
\set checked 'CAST(:check_oid AS regproc)'
\set alike 'coalesce(:call, false)'
\if :of_texts
\set judged 't.:"text"'
\else
\set judged 't.*:::rel'
\endif
\else
\set check_name ''
\set least 'CAST(:''jaccard'' AS numeric)'
\set checked 'CAST(NULL AS regproc)'
\set alike 'jaccard >= CAST(:least AS float8)'
\set judged NULL
\endif

-- A key as a string of JSON, which E'' reads too. What cannot be seen stands there as an escape.
\set json '(SELECT string_agg(CASE WHEN c ~ :''invisible'' OR c ~ :''turning'' THEN ''\\u'' || lpad(to_hex(ascii(c)), 4, ''0'') ELSE c END, '''' ORDER BY n) FROM regexp_split_to_table(to_json(key)::text, '''') WITH ORDINALITY AS s (c, n))'
\set literal 'CASE WHEN strpos(replace(json, ''\\"'', ''''), ''\\'') > 0 THEN concat(''E'''''', replace(substr(json, 2, length(json) - 2), '''''''', ''''''''''''), '''''''') ELSE quote_literal(key) END'

-- In what the texts of x and y differ.
\set differs '(SELECT coalesce(string_agg(DISTINCT kind, '', '' ORDER BY kind), ''nothing'') FROM :"ext".simhash_why(left(x.body, 20000), left(y.body, 20000)))'

-- Pairs that are judged, in both directions.
SELECT coalesce((SELECT format('SELECT a::text, b::text FROM %1$I.%2$I UNION ALL SELECT b::text, a::text FROM %1$I.%2$I', nspname, relname)
	FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
	WHERE c.oid = :decisions_oid AND has_table_privilege(c.oid, 'SELECT') AND (SELECT count(*) FROM pg_attribute
		WHERE attrelid = c.oid AND NOT attisdropped AND (attname IN ('a', 'b') OR attname = 'same' AND atttypid = 'boolean'::regtype)) = 3),
	'SELECT NULL::text, NULL::text WHERE false') AS judged_pairs \gset

-- ---------------------------------------------------------------- pairs

:stage estimating pairs
SELECT setseed(:'seed'::bigint % 1000 / 1000.0) AS ignored \gset
SELECT jsonb_agg(jsonb_build_object('distance', distance, 'pairs', pairs, 'low', pairs_low, 'high', pairs_high)) AS report,
	sum(pairs) FILTER (WHERE distance <= :'radius'::int) AS estimate,
	sum(pairs) FILTER (WHERE distance <= :'radius'::int) <= :'max_pairs'::bigint AS all_pairs
FROM :"ext".simhash_radius_report(:relation_oid::regclass, :'key', :'fp', :'text', least(:'radius'::int + 3, :bits),
	checked_by => :checked, within => :'within', across => :'across') \gset

-- Of more pairs than max_pairs, those among rows that are drawn. Those of texts are all that are near, before any check.
SELECT :'all_pairs' AND NOT :'of_text' AS by_function \gset
\if :by_function
\set pairs_found ':"ext".simhash_pairs(:relation_oid::regclass, key_type => CAST(NULL AS :key_type), columns => :''fp'', radius => :''radius'', within => :''within'', across => :''across'', key => :''key'')'
\else
\set pairs_found pair_drawn
\endif
:stage finding pairs
WITH row_drawn AS MATERIALIZED (
	SELECT row_number() OVER (ORDER BY t.:"key") AS number, (t.:"key")::text AS key, :fp_is AS fp,
		dense_rank() OVER (ORDER BY :within_of) AS tenant, CASE WHEN num_nulls(:across_of) = 0 THEN dense_rank() OVER (ORDER BY :across_of) END AS side
	FROM :rel t
	WHERE :fp_is IS NOT NULL AND (:within_is = '{}' OR num_nulls(:within_of) = 0) AND (hashtextextended((t.:"key")::text, :'seed') & :largest)
		<= sqrt(:'max_pairs' / greatest(:estimate, 1)::float8) * :largest
), pair_drawn AS (
\if :in_parts
	SELECT x.key AS a, y.key AS b, :"ext".hamming_parts(x.fp, y.fp) AS distance
	FROM row_drawn x JOIN row_drawn y ON y.number > x.number AND y.tenant = x.tenant AND :"ext".hamming_parts_within(x.fp, y.fp, :'radius')
\else
	SELECT x.key AS a, y.key AS b, distance
	FROM (SELECT array_agg(number) AS keys, array_agg(fp) AS fps FROM row_drawn GROUP BY tenant) d, :"ext".simhash_group_pairs(keys, fps, :'radius') p
		JOIN row_drawn x ON x.number = p.a JOIN row_drawn y ON y.number = p.b
\endif
	WHERE (x.side = y.side) IS NOT TRUE
), pair AS MATERIALIZED (
	SELECT a::text AS a, b::text AS b, distance FROM :pairs_found
), numbered AS (
	SELECT *, hashtextextended(concat(a, ' ', b), :'seed') & :largest AS lot FROM pair
), drawn AS MATERIALIZED (
	SELECT * FROM numbered WHERE lot <= :'compared' / greatest((SELECT count(*) FROM pair), 1)::float8 * :largest
)
SELECT (SELECT count(*) FROM pair) AS pairs,
	(SELECT coalesce(jsonb_agg(jsonb_build_object('distance', distance, 'pairs', n)), '[]')
		FROM (SELECT distance, count(*) AS n FROM pair GROUP BY distance) d) AS by_distance,
	(SELECT coalesce(jsonb_agg(to_jsonb(drawn)), '[]') FROM drawn) AS drawn
\gset

:stage comparing texts
-- A statement of its own, since the planner would take the drawn pairs for billions. It joins by hash: they may be many.
SAVEPOINT planned;
SET LOCAL enable_nestloop = off;
SET LOCAL enable_mergejoin = off;
WITH drawn AS MATERIALIZED (
	SELECT * FROM jsonb_to_recordset(:'drawn') AS d (a text, b text, distance int, lot bigint)
), body AS MATERIALIZED (
	SELECT w.key, t.:"text" AS body, :judged AS judged FROM :rel t
	JOIN (SELECT a AS key FROM drawn UNION SELECT b FROM drawn) w ON w.key = (t.:"key")::text
), compared AS MATERIALIZED (
	SELECT d.*, jaccard, :alike AS alike
	FROM drawn d JOIN body x ON x.key = d.a JOIN body y ON y.key = d.b, :"ext".simhash_jaccard(x.body, y.body) AS jaccard
	WHERE jaccard IS NOT NULL
), decided (a, b) AS (
	:judged_pairs
), border AS (
	-- Pairs near the least similarity. If a function decides, those whose similarity says the opposite.
	SELECT kind, a, b, row_number() OVER (PARTITION BY kind ORDER BY opposite, lot, a, b) AS place
	FROM (SELECT *, CASE WHEN :least IS NOT NULL THEN 0 WHEN alike THEN jaccard ELSE -jaccard END AS opposite,
			CASE WHEN alike AND coalesce(jaccard < :least::float8 + 0.05, true) THEN 'over'
			WHEN NOT alike AND coalesce(jaccard >= :least::float8 - 0.05, true) THEN 'under'
			WHEN alike AND distance = :'radius'::int THEN 'bit' END AS kind FROM compared) c
	WHERE kind IS NOT NULL AND NOT EXISTS (SELECT FROM decided d WHERE d.a = c.a AND d.b = c.b)
), varied AS (
	-- Sorts of difference take turns, among the first of them.
	SELECT c.kind, a, b, row_number() OVER (PARTITION BY c.kind ORDER BY nth, place) AS place
	FROM (SELECT f.*, row_number() OVER (PARTITION BY f.kind, :differs ORDER BY place) AS nth
		FROM border f JOIN body x ON x.key = a JOIN body y ON y.key = b WHERE place <= 12 * :'examples'::int) c
)
SELECT (SELECT count(*) FROM compared) AS texts_compared,
	(SELECT count(*) FROM compared c WHERE EXISTS (SELECT FROM decided d WHERE d.a = c.a AND d.b = c.b)) AS judged_already,
	(SELECT coalesce(jsonb_agg(jsonb_build_object('distance', distance, 'bin', bin, 'alike', alike, 'pairs', n)), '[]')
		FROM (SELECT distance, floor(jaccard * 100 + 1e-9)::int AS bin, alike, count(*) AS n
			FROM compared GROUP BY 1, 2, 3) d) AS by_jaccard,
	(SELECT coalesce(jsonb_agg(to_jsonb(varied)), '[]') FROM varied WHERE place <= :'examples') AS border
\gset
ROLLBACK TO planned;

-- ---------------------------------------------------------------- clusters

:stage finding clusters
-- What the page shows, its DELETE and its export begin with. A link leads from the row after which a cluster is named. Pairs that are
-- judged the same are links too; one that is judged different is none, and parts a row from the one that stays.
SELECT format(E'found AS MATERIALIZED (\n    SELECT c.key, c.representative\n    '
	'FROM %1$I.simhash_clusters(%3$L, key_type => NULL::%2$s, columns => %5$L, key => %4$L, radius => %6$s, method => %7$L, text => %8$L, %9$s) c\n), judged (a, b, same) AS (%%s\n), link (a, b) AS (\n    '
	'SELECT f.representative, f.key FROM found f\n    WHERE NOT EXISTS (SELECT FROM judged j WHERE NOT j.same AND j.a = f.representative AND j.b = f.key)\n    '
	'UNION ALL SELECT a, b FROM judged WHERE same\n), numbered AS (\n    '
	'SELECT key, row_number() OVER (ORDER BY key) AS number FROM (SELECT a FROM link UNION SELECT b FROM link) k (key)\n), part AS (\n    '
	'SELECT n.key, p.cluster_id AS cluster FROM (SELECT array_agg(x.number) AS a, array_agg(y.number) AS b\n        '
	'FROM link JOIN numbered x ON x.key = link.a JOIN numbered y ON y.key = link.b) l, %1$I.simhash_components(l.a, l.b) p\n        '
	'JOIN numbered n ON n.number = p.key\n), placed AS (\n    '
	'SELECT p.*, first_value(p.key) OVER w AS stays, row_number() OVER w AS place\n    '
	'FROM part p JOIN %3$s r ON r.%4$I = p.key WINDOW w AS (PARTITION BY p.cluster ORDER BY %10$s)\n), member AS (\n    '
	'SELECT p.*, count(*) OVER (PARTITION BY cluster) AS size FROM placed p\n    '
	'WHERE NOT EXISTS (SELECT FROM judged j WHERE NOT j.same AND j.a = p.stays AND j.b = p.key)\n)',
	:'ext', :'key_type', :'rel', :'key', :'fp', :'radius'::int, :'method', :'text',
	concat_ws(', ', 'min_jaccard => ' || coalesce((:least)::text, 'NULL'), 'checked_by => ' || quote_literal(NULLIF(:'check_name', '')) || '::regprocedure',
		'within => ' || quote_literal(NULLIF(:'within', '')), 'across => ' || quote_literal(NULLIF(:'across', ''))), :'best_first') AS groups,
	format(E'\n    SELECT a::%1$s, b::%1$s, same FROM %2$s UNION ALL SELECT b::%1$s, a::%1$s, same FROM %2$s', :'key_type',
		coalesce((SELECT format('%I.%I', nspname, relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE c.oid = :decisions_oid),
			:'decisions')) AS judged_of,
	CASE WHEN :decisions_oid = 0 THEN format(E'CREATE TABLE IF NOT EXISTS %s (a %s, b %2$s, same boolean NOT NULL, PRIMARY KEY (a, b));\n',
		:'decisions', :'key_type') END AS create_is \gset
\if :{?create_is} \else \set create_is '' \endif
SELECT format(:'groups', :'judged_of') AS groups_printed,
	format(:'groups', CASE WHEN :'judged_pairs' LIKE 'SELECT NULL%' THEN format(E'\n    SELECT NULL::%1$s, NULL::%1$s, false WHERE false', :'key_type')
		ELSE :'judged_of' END) AS groups_now \gset
-- Clusters whose rows are all judged the same, each with another, come last.
WITH :groups_now, judged_part AS (
	SELECT n.key, p.cluster_id AS part FROM (SELECT array_agg(x.number) AS a, array_agg(y.number) AS b
		FROM judged j JOIN numbered x ON x.key = j.a JOIN numbered y ON y.key = j.b WHERE same) l, :"ext".simhash_components(l.a, l.b) p
		JOIN numbered n ON n.number = p.key
), ranked AS MATERIALIZED (
	SELECT cluster, size, key::text AS key, stays::text AS kept, row_number() OVER (PARTITION BY cluster ORDER BY place) AS place,
		row_number() OVER (PARTITION BY cluster ORDER BY key) AS in_order, part
	FROM member LEFT JOIN judged_part USING (key) WHERE size > 1
), largest AS (
	SELECT cluster, row_number() OVER (ORDER BY count(part) = count(*) AND count(DISTINCT part) = 1, count(*) DESC, cluster) AS grp,
		min(in_order) FILTER (WHERE place = 1) AS kept_is
	FROM ranked GROUP BY cluster ORDER BY grp LIMIT :'clusters'
)
SELECT count(*) FILTER (WHERE place = 1) AS groups, count(*) AS members,
	(SELECT coalesce(jsonb_agg(jsonb_build_object('kind', 'member', 'grp', grp, 'place', place, 'size', size, 'a', kept, 'b', key,
		'turned', in_order < kept_is)), '[]')
		FROM ranked JOIN largest USING (cluster) WHERE place <= 6) AS shown,
	(SELECT coalesce(jsonb_agg(jsonb_build_object('grp', grp, 'keys', keys)), '[]') FROM (
		SELECT grp, string_agg(:literal, ', ' ORDER BY place) AS keys
		FROM (SELECT *, :json AS json FROM ranked JOIN largest USING (cluster) WHERE place <= 20) r GROUP BY grp) k) AS keys
FROM ranked \gset

-- Four times the work: for few pairs, or when asked.
\if :{?steps} \else
SELECT :pairs <= 100000 AS steps \gset
\endif
:stage one step more and less
SELECT coalesce(jsonb_agg(jsonb_build_object('radius', r, 'jaccard', j, 'groups', groups, 'members', members)), '[]') AS step_rows
FROM (VALUES (:'radius'::int - 1, :least), (:'radius'::int + 1, :least),
		(:'radius'::int, :least - 0.05), (:'radius'::int, :least + 0.05)) AS step (r, j),
	LATERAL (SELECT count(DISTINCT cluster_id::text) AS groups, count(*) AS members
		FROM :"ext".simhash_clusters(:relation_oid::regclass, key_type => CAST(NULL AS :key_type), columns => :'fp', key => :'key',
			radius => r, method => :'method', text => :'text', min_jaccard => j, within => :'within', checked_by => :checked,
			across => :'across')) c
WHERE :'steps'::boolean AND r BETWEEN 0 AND :bits AND coalesce(j BETWEEN 0 AND 1, r <> :'radius'::int) \gset

-- ---------------------------------------------------------------- differing words of all pairs that are shown

-- Texts may have the marks of simhash_diff themselves: their brackets are other characters while they are compared. What is cut
-- off may have the end of a mark, which is set again.
:stage comparing words
WITH asked AS MATERIALIZED (
	SELECT *, row_number() OVER () AS nr FROM jsonb_to_recordset(:'border'::jsonb || :'shown'::jsonb)
		AS x (kind text, grp int, place int, size bigint, a text, b text, turned boolean)
), numbered AS (
	-- A row of a pair has a link to where the row stands in its cluster, and that to the first of its pairs.
	SELECT *, (SELECT min(nr) FROM asked m WHERE m.kind = 'member' AND n.kind <> 'member' AND m.b = n.a) AS link_a,
		(SELECT min(nr) FROM asked m WHERE (m.kind = 'member') <> (n.kind = 'member') AND (m.b = n.b OR m.kind <> 'member' AND m.a = n.b)) AS link_b
	FROM asked n
), body AS MATERIALIZED (
	SELECT w.key, t.:"text" AS body, :fp_is AS fp, left((t.:"keep")::text, 100) AS keep, :record AS record FROM :rel t
	JOIN (SELECT a AS key FROM asked UNION SELECT b FROM asked) w ON w.key = (t.:"key")::text
), literal AS (
	SELECT key, json, :literal AS sql FROM (SELECT key, :json AS json FROM body) k
), marked AS (
	SELECT s.*, :differs AS differs, CASE WHEN turned THEN format('(%s, %s, ', v.sql, u.sql) ELSE format('(%s, %s, ', u.sql, v.sql) END AS sql,
		CASE WHEN turned THEN format('[%s,%s]', v.json, u.json) ELSE format('[%s,%s]', u.json, v.json) END AS json,
		:"ext".:hamming(x.fp, y.fp) AS distance, :"ext".simhash_jaccard(x.body, y.body) AS jaccard, y.keep,
		(SELECT jsonb_agg(jsonb_build_array(c, left(x.record->>c, 300), left(y.record->>c, 300),
			CASE WHEN a <> b THEN (x.record->>c) IS DISTINCT FROM (y.record->>c) END) ORDER BY n) FROM unnest(:columns_is) WITH ORDINALITY AS s (c, n)) AS sides,
		(SELECT jsonb_agg(address ORDER BY n) FROM (VALUES (1, CASE WHEN a <> b THEN x.record->>:'image' END), (2, y.record->>:'image')) AS i (n, address)
			WHERE address ~* '^(https?://|data:image/)' AND address !~ '[\x01-\x20"<>]' AND address !~ :'invisible' AND address !~ :'turning'
				AND length(address) <= 100000) AS pictures,
		CASE WHEN a = b THEN hidden_b ELSE :"ext".simhash_diff(hidden_a, hidden_b, 4) END AS words
	FROM numbered s JOIN body x ON x.key = a JOIN body y ON y.key = b JOIN literal u ON u.key = a JOIN literal v ON v.key = b,
		translate(left(x.body, 20000), E'[]{}\x01\x02\x03\x04', E'\x01\x02\x03\x04') AS hidden_a,
		translate(left(y.body, 20000), E'[]{}\x01\x02\x03\x04', E'\x01\x02\x03\x04') AS hidden_b
), short AS (
	SELECT m.*, CASE WHEN length(words) <= 800 THEN words WHEN part ~ '\[-[^]]*$' THEN part || '-] ...'
		WHEN part ~ '\[![^]]*$' THEN part || '!] ...' WHEN part ~ '\{\+[^}]*$' THEN part || '+} ...'
		WHEN part ~ '\{![^}]*$' THEN part || '!} ...' ELSE part || ' ...' END AS part
	FROM marked m, rtrim(left(words, 800), '[{') AS part
)
SELECT coalesce(jsonb_agg(jsonb_build_object('kind', kind, 'grp', grp, 'place', place, 'size', size, 'a', left(a, 100), 'b', left(b, 100),
	'distance', distance, 'jaccard', jaccard, 'keep', keep, 'sql', sql, 'json', json, 'nr', nr, 'link_a', link_a, 'link_b', link_b, 'differs', differs, 'sides', sides,
	'pictures', pictures,
	'words', translate(
		replace(replace(replace(replace(replace(replace(replace(replace(part,
			'[-', :'tag' || '1'), '-]', :'tag' || '2'), '{+', :'tag' || '3'), '+}', :'tag' || '4'),
			'[!', :'tag' || '5'), '!]', :'tag' || '6'), '{!', :'tag' || '7'), '!}', :'tag' || '8'),
		E'\x01\x02\x03\x04', '[]{}'))), '[]') AS shown
FROM short \gset

-- ---------------------------------------------------------------- safe for HTML

SELECT jsonb_build_object('relation', :'rel', 'key', :'key', 'fp', CASE WHEN :'of_text' THEN 'made of ' ELSE '' END || :'fp', 'text', :'text', 'keep', :'keep',
	'stays', concat(:'first_by', ' of those without ' || NULLIF(:'marks', '')),
	'radius', :'radius'::int, 'counts', CASE WHEN :least IS NULL THEN format('%s returns true', :'check_name')
		ELSE format('their texts have a similarity of %s or more', :least) END, 'shown', :'shown'::jsonb, 'keys', :'keys'::jsonb,
	'insert', :'create_is' || format('INSERT INTO %s (a, b, same) VALUES', :'decisions'), 'select', format('SELECT * FROM %s WHERE %I IN', :'rel', :'key'),
	'delete', format(E'BEGIN;\n%sLOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE;\nWITH %s\n'
		'DELETE FROM %2$s WHERE %4$I IN (SELECT key FROM member WHERE place > 1);\n-- COMMIT; or ROLLBACK;', :'create_is', :'rel', :'groups_printed', :'key'),
	'export', format(E'%sCOPY (WITH %s\nSELECT cluster, size, key, place = 1 AS stays FROM member WHERE size > 1 ORDER BY size DESC, cluster, place) '
		'TO STDOUT CSV HEADER;', :'create_is', :'groups_printed'))::text AS page \gset

-- Texts are changed as they stand in JSON, in which a backslash begins an escape. Characters that cannot be seen, or that turn
-- what follows around, are shown as such.
SELECT replace(replace(replace(replace(replace(replace(replace(replace(
	regexp_replace(regexp_replace(regexp_replace(
		replace(replace(replace(replace(:'page', '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '\\', '&#92;'),
		'\\(b|f|u00[01][0-9a-f])', '&#xFFFD;', 'g'), :'invisible', '&#xFFFD;', 'g'), :'turning', '<i>bidi</i>', 'g'),
	:'tag' || '1', '<del>'), :'tag' || '2', '</del>'), :'tag' || '3', '<ins>'), :'tag' || '4', '</ins>'),
	:'tag' || '5', '<del><strong>'), :'tag' || '6', '</strong></del>'), :'tag' || '7', '<ins><strong>'), :'tag' || '8', '</strong></ins>')
	AS page \gset

-- ---------------------------------------------------------------- the page's script

SELECT $$'use strict';
const all = (what, where = document) => [...where.querySelectorAll(what)], byId = id => document.getElementById(id);
const part = (what, where) => where.querySelector(what).textContent, pairs = all('.pair');
all('.script').forEach(e => { e.hidden = false; });

// What is decided. A pair that stands twice on the page is decided once.
const choice = pair => pair.querySelector('input:checked').value;
const decide = () => {
  const said = [...new Map(pairs.filter(choice).map(p => [part('.sql', p), p])).values()], as = byId('as').value;
  const csv = p => JSON.parse(part('.json', p)).map(key => '"' + key.replaceAll('"', '""') + '"').join() + ',' + choice(p) + '\n';
  const text = !said.length ? '' : as === 'csv' ? 'a,b,same\n' + said.map(csv).join('') : byId('insert').textContent + '\n    '
    + said.map(p => part('.sql', p) + choice(p) + ')').join(',\n    ') + '\nON CONFLICT (a, b) DO UPDATE SET same = EXCLUDED.same;\n';
  all('.decided').forEach(e => { e.textContent = said.length; });
  byId('decisions').value = text;
  byId('save').href = 'data:text/plain;charset=utf-8,' + encodeURIComponent(text);
  byId('save').download = 'decisions.' + as;
};
pairs.forEach((pair, place) => {
  pair.append(byId('choice').content.cloneNode(true));
  all('input', pair).forEach(e => {
    e.name = 'pair' + place;
    e.onchange = () => {
      pairs.filter(p => part('.sql', p) === part('.sql', pair))
        .forEach(p => all('input', p).forEach(i => { i.checked = i.value === e.value; }));
      decide();
    };
  });
});

// Order and filter.
const units = all('.unit'), kinds = new Set(all('.differs').flatMap(e => e.textContent.split(', ')));
[...kinds].sort().forEach(kind => byId('differs').add(new Option(kind)));
const arrange = () => {
  const [by, sign] = byId('order').value.split(' '), words = byId('filter').value.toLowerCase(), kind = byId('differs').value;
  all('.list').forEach(list => list.append(...all('.row', list).sort((x, y) => sign * (x.dataset[by] - y.dataset[by]))));
  units.forEach(unit => {
    unit.hidden = !all('p, pre', unit).some(e => e.textContent.toLowerCase().includes(words))
      || kind && !all('.differs', unit).some(e => e.textContent.split(', ').includes(kind));
  });
};
['filter', 'order', 'differs'].forEach(id => { byId(id).oninput = arrange; });

// What would count of the compared pairs with other thresholds: [bits, hundredths of similarity, pairs].
const cells = JSON.parse(part('#cells', document)), compared = +byId('compared').textContent.replaceAll(',', '');
const count = () => {
  const bits = +byId('bits').value, least = +byId('least').value;
  const found = cells.reduce((sum, [distance, hundredths, n]) => sum + (distance <= bits && hundredths >= least ? n : 0), 0);
  byId('bits-is').value = bits;
  byId('least-is').value = (least / 100).toFixed(2);
  byId('would').textContent = found.toLocaleString('en') + ' pairs, ' + (100 * found / Math.max(compared, 1)).toFixed(1) + ' %, would count';
};
byId('bits').oninput = byId('least').oninput = count;
count();

byId('as').onchange = decide;
byId('copy').onclick = () => { byId('decisions').select(); document.execCommand('copy'); };
decide();
$$ AS script \gset

-- ---------------------------------------------------------------- the page

SELECT format('script-src ''sha256-%s''', encode(sha256(convert_to(:'script', 'UTF8')), 'base64'))
	|| CASE WHEN :'image' <> '' THEN '; img-src https: http: data:' ELSE '' END AS allowed \gset

-- Pictures: their addresses were looked at above, and end no attribute.
\set thumbnails '(SELECT concat(''<p>'', string_agg(format(''<img loading="lazy" referrerpolicy="no-referrer" alt="" src="%s">'', address), '' '' ORDER BY n), ''</p>'') FROM jsonb_array_elements_text(pictures) WITH ORDINALITY AS i (address, n) HAVING count(*) > 0)'

-- Columns of two rows beside each other, or of the row that stays.
\set beside '(SELECT concat(''<div class="scroll"><table>'', string_agg(format(''<tr%s><th>%s</th><td>%s</td>%s</tr>'', CASE c->>3 WHEN ''true'' THEN '' class="other"'' END, c->>0, coalesce(c->>1, ''<i>NULL</i>''), CASE WHEN c->>3 IS NOT NULL THEN format(''<td>%s</td>'', coalesce(c->>2, ''<i>NULL</i>'')) END), '''' ORDER BY n), ''</table></div>'') FROM jsonb_array_elements(sides) WITH ORDINALITY AS s (c, n) HAVING count(*) > 0)'

SELECT replace($$<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; ALLOWED">
<title>Near-duplicates</title>
<style>
:root { color-scheme: light dark; --page: #fff; --text: #1d2430; --quiet: #5b6472; --line: #d8dde5; --box: #f5f7fa;
  --yes: #2a6fdb; --no: #b3bac5; --mark: #c2410c; --ins: #d7f2dd; --del: #fbdcdc; }
@media (prefers-color-scheme: dark) { :root { --page: #14181f; --text: #e4e8ee; --quiet: #9aa4b2; --line: #323a46; --box: #1d232c;
  --yes: #6ea4f5; --no: #566072; --mark: #fb923c; --ins: #1c4a2b; --del: #5a2424; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--page);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
h1, h2, h3, p, dd, pre { overflow-wrap: anywhere; } .quiet, figcaption { color: var(--quiet); font-size: .9rem; }
h1 + p { font-size: 1.3rem; margin: .25rem 0; }
dl { display: flex; flex-wrap: wrap; gap: .5rem; margin: 1rem 0; } dt { color: var(--quiet); font-size: .85rem; }
dl div { flex: 1 0 8.5rem; background: var(--box); border-radius: .5rem; padding: .5rem .75rem; }
dd { margin: 0; font-size: 1.2rem; white-space: nowrap; font-variant-numeric: tabular-nums; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr)); gap: 1.5rem; }
figure { margin: 0; } svg { width: 100%; height: auto; display: block; }
svg text { font-size: 11px; fill: var(--quiet); text-anchor: middle; }
svg .yes { fill: var(--yes); } svg .no { fill: var(--no); } svg line { stroke: var(--line); }
svg text.scale { text-anchor: end; }
svg line.limit { stroke: var(--mark); stroke-width: 2; stroke-dasharray: 4 3; } svg text.limit { fill: var(--mark); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem; }
th, td { padding: .25rem .9rem .25rem 0; text-align: right; border-bottom: 1px solid var(--line); }
th { font-weight: 600; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; } .scroll { overflow-x: auto; }
.row { background: var(--box); border-radius: .5rem; padding: .5rem .75rem; margin: .5rem 0; }
.kept { border-inline-start: 4px solid var(--yes); }
.row p { margin: 0; white-space: pre-line; } ins, del { border-radius: .2rem; padding: 0 .15em; }
ins { background: var(--ins); } del { background: var(--del); } strong { font-weight: 600; } ins strong, del strong { border: 1px solid var(--mark); }
i { font-size: .75em; border: 1px solid var(--mark); color: var(--mark); padding: 0 .2em; }
code, pre { font-family: ui-monospace, monospace; font-size: .85rem; unicode-bidi: isolate; user-select: all; }
pre { background: var(--box); border-radius: .5rem; padding: .75rem; white-space: pre-wrap; }
.row td, .row th { text-align: start; overflow-wrap: anywhere; } .row .other td { background: var(--del); } .row .other td + td { background: var(--ins); }
.row table { margin: .25rem 0; } .row td { padding-inline: .4rem; }
img { max-width: min(14rem, 45%); max-height: 10rem; vertical-align: top; }
label { display: inline-block; margin-inline-end: 1rem; } textarea { width: 100%; font: .85rem/1.4 ui-monospace, monospace; }
</style>
</head>
<body>
<template id="choice"><p><label><input type="radio" value="true"> same</label><label><input type="radio" value="false"> different</label><label><input type="radio" value="" checked=""> undecided</label></p></template>$$, 'ALLOWED', :'allowed');

SELECT format('<h1>Near-duplicates of <bdi>%s</bdi></h1>
<p id="headline"><strong>%s of %s rows, %s %%,</strong> would go if one of each cluster stays.</p>
<p class="quiet">Two rows are near-duplicates here if their fingerprints, <bdi>%s</bdi>, differ in at most %s bits and <bdi>%s</bdi>. '
	'Texts are those of <bdi>%s</bdi>. Read on %s.</p>',
	p->>'relation', to_char(:members - :groups, 'FM999,999,999,999,990'), to_char(:rows, 'FM999,999,999,999,990'),
	CASE WHEN :members - :groups BETWEEN 1 AND :rows / 2000.0 THEN 'less than 0.1'
		ELSE to_char(100.0 * (:members - :groups) / greatest(:rows, 1), 'FM990.0') END, p->>'fp', p->>'radius', p->>'counts', p->>'text', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'))
FROM (SELECT :'page'::jsonb) AS page (p);

SELECT '<dl>' || string_agg(format('<div><dt>%s</dt><dd id="%s">%s</dd></div>', label, id, to_char(n, 'FM999,999,999,999,990')),
	E'\n' ORDER BY place) || '</dl>'
FROM (VALUES (1, 'rows', 'rows', :rows), (2, 'with a fingerprint', 'fingerprints', :fingerprints),
	(3, 'pairs within the radius' || CASE WHEN :'all_pairs'::boolean THEN '' ELSE ', about' END, 'pairs',
		CASE WHEN :'all_pairs'::boolean THEN :pairs ELSE :estimate END),
	(4, 'pairs whose texts were compared', 'compared', :texts_compared), (5, 'clusters', 'clusters', :groups),
	(6, 'rows in clusters', 'members', :members),
	(7, 'rows go if one of each cluster stays', 'going', :members - :groups)) AS tile (place, label, id, n);

-- ---- rows

WITH page AS (SELECT :'page'::jsonb AS p), member AS (
	SELECT s.*, keys, CASE WHEN p->>'keep' <> p->>'key' THEN format(' <bdi>%s</bdi>', coalesce(keep, 'NULL')) END AS kept_by
	FROM page, jsonb_to_recordset(p->'shown')
			AS s (kind text, grp int, place int, size bigint, nr int, link_b int, b text, keep text, distance int, jaccard float8, differs text,
				words text, sql text, json text, sides jsonb, pictures jsonb),
		jsonb_to_recordset(p->'keys') AS k (grp int, keys text)
	WHERE kind = 'member' AND k.grp = s.grp
)
SELECT format('<h2>The largest clusters</h2><p class="quiet">Of each cluster the first row by <bdi>%s</bdi> would stay; '
	'it comes first. <del>It alone</del> has these words, <ins>only the other row</ins> those. '
	'<ins><strong>What has a frame</strong></ins> makes another text for simhash_same. Longer texts are shortened.</p>
<p class="script" hidden=""><label>show <input id="filter" type="search" placeholder="words or a key"></label><label>that differ in
<select id="differs"><option value="">anything</option></select></label><label>order <select id="order"><option value="place 1">as drawn</option>
<option value="distance 1">nearest first</option><option value="distance -1">furthest first</option><option value="jaccard -1">most alike first</option>
<option value="jaccard 1">least alike first</option></select></label><a href="#decisions"><span class="decided">0</span> decided</a></p>', (SELECT p->>'stays' FROM page))
	|| coalesce(string_agg(format('<div class="unit"><h3>%s rows</h3><pre>%s (%s)</pre>%s%s</div>', to_char(size, 'FM999,999,999,990'),
			(SELECT p->>'select' FROM page), keys, CASE WHEN size > 20 THEN '<p class="quiet">The first 20 keys.</p>' END, members),
		E'\n' ORDER BY grp), '<p>There are none.</p>')
FROM (SELECT grp, size, keys, string_agg(format('<div class="row %s" id="p%s"><p class="quiet"><bdi><code>%s</code></bdi>%s%s%s</p><p dir="auto">%s</p>%s%s</div>',
		CASE WHEN place = 1 THEN 'kept' ELSE 'pair' END, nr, b, kept_by, CASE WHEN place = 1 THEN ' stays'
			ELSE format(': %s bits, similarity %s, differs in <span class="differs">%s</span>', distance, trunc(jaccard::numeric, 2), differs) END,
		CASE WHEN link_b IS NOT NULL THEN format(' <a href="#p%s">a pair of it</a>', link_b) END, words, concat(:thumbnails, :beside),
		CASE WHEN place > 1 THEN format('<code hidden="" class="sql">%s</code><code hidden="" class="json">%s</code>', sql, json) END),
		E'\n' ORDER BY place) AS members
	FROM member GROUP BY grp, size, keys) m;

SELECT format('<h2>Pairs at the border</h2><p class="quiet">%s</p>',
	concat(CASE WHEN :least IS NOT NULL THEN format('Drawn at random, the same each time with one seed (%s). ', :'seed'::bigint) END,
		CASE WHEN :judged_already > 0 THEN format('Pairs that are judged already are left out: %s of those that were compared. ',
			to_char(:judged_already, 'FM999,999,999,990')) END))
	|| coalesce(string_agg(format('<div class="list"><h3>%s</h3>%s</div>', CASE
			WHEN :least IS NULL AND kind = 'under' THEN 'Do not count, the most alike of them'
			WHEN :least IS NULL THEN 'Count, the least alike of them'
			WHEN kind = 'under' THEN 'Not alike enough, by 0.05 or less'
			WHEN kind = 'over' THEN 'Alike enough, by less than 0.05' ELSE 'Alike enough, at the last bit' END, pairs), E'\n' ORDER BY kind DESC),
		'<p>There are none.</p>')
FROM (SELECT kind, string_agg(format('<div class="row pair unit" id="p%s" data-place="%s" data-distance="%s" data-jaccard="%s">'
		'<p class="quiet">%s and %s: %s bits, similarity %s, differ in <span class="differs">%s</span></p><p dir="auto">%s</p>%s'
		'<code hidden="" class="sql">%s</code><code hidden="" class="json">%s</code></div>',
		nr, place, distance, jaccard,
		format(CASE WHEN link_a IS NOT NULL THEN '<a href="#p%2$s">%1$s</a>' ELSE '%s' END, format('<bdi><code>%s</code></bdi>', a), link_a),
		format(CASE WHEN link_b IS NOT NULL THEN '<a href="#p%2$s">%1$s</a>' ELSE '%s' END, format('<bdi><code>%s</code></bdi>', b), link_b),
		distance, trunc(jaccard::numeric, 2), differs, words, concat(:thumbnails, :beside), sql, json), E'\n' ORDER BY place) AS pairs
	FROM (SELECT :'page'::jsonb) AS page (p), jsonb_to_recordset(p->'shown')
		AS s (kind text, place int, nr int, a text, b text, link_a int, link_b int, distance int, jaccard float8, differs text, words text, sql text, json text,
			sides jsonb, pictures jsonb)
	WHERE kind <> 'member' GROUP BY kind) k;

SELECT format('<div class="script" hidden=""><h2>What you have decided</h2><p class="quiet">Pairs that are marked as the same or as different, for the '
	'table of decisions. The page keeps nothing: copy or save them before you close it.</p>
<p><label><span class="decided">0</span> decisions as <select id="as"><option value="sql">SQL</option><option value="csv">CSV</option></select></label>
<button id="copy">Copy</button> <a id="save">Save</a></p>
<textarea id="decisions" rows="8" readonly="" aria-label="decisions"></textarea><pre hidden="" id="insert">%s</pre></div>
<h2>What would delete the others</h2><p class="quiet">Nothing has been changed. This keeps the first row by '
	'<bdi>%s</bdi> of each cluster.</p><pre>%s</pre>
<h2>All clusters as CSV</h2><p class="quiet">For psql: <code>psql -X -q -f export.sql &gt; clusters.csv</code></p><pre>%s</pre>', p->>'insert', p->>'stays', p->>'delete', p->>'export')
FROM (SELECT :'page'::jsonb) AS page (p);
-- ---- charts: a bar is a count of pairs, drawn by its logarithm, since equal rows are often many. Before it stands a blue one,
-- on the same scale: those that count. What comes from JSON here are numbers alone.

WITH share AS (
	SELECT distance, bin, sum(pairs) AS n, coalesce(sum(pairs) FILTER (WHERE alike), 0) / sum(pairs) AS alike
	FROM (SELECT distance, least(bin / 5, 19) AS bin, alike, pairs
		FROM jsonb_to_recordset(:'by_jaccard') AS c (distance int, bin int, alike boolean, pairs bigint)) c
	GROUP BY GROUPING SETS (distance, bin)
), found AS (
	SELECT distance, pairs, low, high FROM jsonb_to_recordset(:'report') AS r (distance int, pairs bigint, low bigint, high bigint)
	WHERE distance > :'radius'::int OR NOT :'all_pairs'::boolean
	UNION ALL
	SELECT d, coalesce(pairs, 0), NULL, NULL FROM generate_series(0, :'radius'::int) AS d
	LEFT JOIN jsonb_to_recordset(:'by_distance') AS e (distance int, pairs bigint) ON distance = d
	WHERE :'all_pairs'::boolean
), bar AS (
	SELECT 'distance' AS chart, f.distance AS place, pairs::numeric AS n, CASE WHEN low < high THEN low || ' to ' || high END AS bounds,
		alike, f.distance::text AS label, CASE WHEN f.distance % (1 + :'radius'::int / 20) = 0 THEN f.distance END::text AS tick
	FROM found f LEFT JOIN share s ON s.distance = f.distance
	UNION ALL
	SELECT 'similarity', b, coalesce(n, 0), NULL, alike,
		to_char(b / 20.0, 'FM0.00') || ' to ' || to_char((b + 1) / 20.0, 'FM0.00'), CASE WHEN b % 4 = 0 THEN to_char(b / 20.0, 'FM0.0') END
	FROM generate_series(0, 19) AS b LEFT JOIN share s ON bin = b
)
SELECT jsonb_agg(to_jsonb(bar)) AS bars FROM bar \gset

WITH bar AS (
	SELECT *, 360.0 / count(*) OVER c AS width, greatest(max(ln(1 + n)) OVER c, 1) / 130 AS unit
	FROM jsonb_to_recordset(:'bars')
		AS b (chart text, place int, n numeric, bounds text, alike numeric, label text, tick text)
	WINDOW c AS (PARTITION BY chart)
), drawn AS (
	SELECT *, round(35 + place * width, 1) AS x, round(width - 2, 1) AS w, round(ln(1 + n) / unit, 1) AS h,
		round(ln(1 + n * coalesce(alike, 0)) / unit, 1) AS blue,
		-- Distances stand below their bars, similarities at the edges of theirs.
		round(34 + (place + CASE chart WHEN 'distance' THEN 0.5 ELSE 0 END) * width, 1) AS tick_x
	FROM bar
), scale AS (
	SELECT chart, string_agg(format('<line x1="33" y1="%s" x2="395" y2="%1$s"/><text class="scale" x="30" y="%s">%s</text>',
		round(165.5 - ln(1 + 10.0 ^ e) / unit, 1), round(169 - ln(1 + 10.0 ^ e) / unit, 1),
		(10 ^ (e % 3))::int || (ARRAY['', 'k', 'M', 'G', 'T', 'P', 'E'])[1 + e / 3]), '' ORDER BY e) AS scale
	FROM (SELECT chart, max(unit) AS unit, max(n) AS n FROM bar GROUP BY chart) m, generate_series(0, floor(log(greatest(n, 1)))::int) AS e
	GROUP BY chart
), chart AS (
	SELECT chart, count(*) AS places,
		string_agg(format('<g><title>%s %s: %s pairs, of which %s count</title><rect class="no" x="%s" y="%s" width="%s" height="%s"/>',
				chart, label, round(n), coalesce(round(n * alike)::text, '?'), x, 165 - h, w, h)
			|| format('<rect class="yes" x="%s" y="%s" width="%s" height="%s"/></g>', x, 165 - blue, w, blue)
			|| CASE WHEN tick IS NULL THEN '' ELSE format('<text x="%s" y="180">%s</text>', tick_x, tick) END, E'\n' ORDER BY place) AS bars,
		string_agg(format('<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>', label, to_char(n, 'FM999,999,999,999,990'), bounds,
			round(100 * alike) || ' %'), E'\n' ORDER BY place) AS cells
	FROM drawn GROUP BY chart
), labelled AS (
	SELECT chart, scale, bars, cells, 'How far apart' AS title, 'bits that differ' AS axis, 'radius ' || :'radius' AS limit_is,
		34 + 360.0 / places * (:'radius'::int + 1) AS limit_x,
		'Pairs by distance, on a logarithmic scale. In blue, on the same scale, those that count. '
			|| CASE WHEN :'all_pairs'::boolean THEN 'Right of the line' ELSE 'All numbers are' END
			|| ' estimated from a sample of rows.' AS caption
	FROM chart JOIN scale USING (chart) WHERE chart = 'distance'
	UNION ALL
	SELECT chart, scale, bars, cells, 'How alike', 'similarity of the texts', 'at least ' || :least, 34 + 360 * :least,
		format('The %s pairs whose texts were compared%s, on a logarithmic scale.', to_char(:texts_compared, 'FM999,999,999,990'),
			CASE WHEN NOT :'all_pairs'::boolean THEN ', among rows drawn at random' END)
	FROM chart JOIN scale USING (chart) WHERE chart = 'similarity'
)
SELECT '<div class="charts">' || string_agg(format('<figure><h2>%s</h2>
<svg viewBox="0 0 400 200" role="img" aria-label="%s"><line x1="33" y1="165.5" x2="395" y2="165.5"/>
<text class="scale" x="30" y="14">pairs</text>%s
%s
%s
<text x="214" y="197">%s</text></svg>
<figcaption>%s</figcaption>
<details><summary>The numbers</summary><div class="scroll"><table>
<tr><th>%6$s</th><th>pairs</th><th>95 %% interval</th><th>count</th></tr>
%8$s</table></div></details></figure>', title, title || ': ' || axis, scale, bars,
	CASE WHEN limit_x IS NOT NULL THEN format('<line class="limit" x1="%1$s" y1="22" x2="%1$s" y2="165"/>'
		'<text class="limit" x="%2$s" y="14">%3$s</text>',
		round(limit_x, 1), round(least(greatest(limit_x, 65), 360), 1), limit_is) END, axis, caption, cells), E'\n' ORDER BY chart) || '</div>'
FROM labelled;

SELECT format('<div class="script" hidden=""><h2>Other thresholds</h2><p class="quiet">Of the %s pairs whose texts were compared%s.</p>
<p><label>at most <output id="bits-is"></output> bits <input id="bits" type="range" min="0" max="%s" value="%3$s"></label>
<label>similarity of at least <output id="least-is"></output> <input id="least" type="range" min="0" max="100" value="%s"></label>
<strong id="would"></strong></p><code hidden="" id="cells">%s</code></div>', to_char(:texts_compared, 'FM999,999,999,990'),
	CASE WHEN :least IS NULL THEN ', those that pass the check' END, :'radius'::int, coalesce(ceil(:least * 100), 0),
	(SELECT coalesce(jsonb_agg(jsonb_build_array(distance, bin, CASE WHEN :least IS NOT NULL OR alike THEN pairs ELSE 0 END) ORDER BY distance, bin), '[]')
		FROM jsonb_to_recordset(:'by_jaccard') AS c (distance int, bin int, alike boolean, pairs bigint)));

SELECT '<h2>What one step changes</h2>' || CASE WHEN :'steps'::boolean THEN '' ELSE '<p>Not computed: add -v steps=on.</p>' END
	|| '<div class="scroll"><table><tr><th>radius</th><th>similarity</th><th>clusters</th><th>rows that go</th><th></th></tr>'
	|| string_agg(format('<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>', radius, jaccard,
		to_char(groups, 'FM999,999,999,990'), to_char(members - groups, 'FM999,999,999,990'),
		coalesce(this, to_char(members - groups - (:members - :groups), 'FMSG999,999,999,990'))), E'\n' ORDER BY radius, jaccard DESC)
	|| '</table></div>'
FROM (SELECT *, NULL AS this FROM jsonb_to_recordset(:'step_rows') AS s (radius int, jaccard numeric, groups bigint, members bigint)
	UNION ALL SELECT :'radius', :least, :groups, :members, 'this page') s;

SELECT format('<script>%s</script>
</body>
</html>', :'script');
:stage done
ROLLBACK;
