-- Keys of a domain, of a domain over a domain, of one that takes no NULL and of one with a CHECK: every function and trigger that
-- takes a key works with them as with keys of the type below.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA domain_keys;
SET search_path = domain_keys, public;
CREATE DOMAIN int_key AS int;
CREATE DOMAIN int_over AS int_key;
CREATE DOMAIN int_not_null AS int NOT NULL;
CREATE DOMAIN int_check AS int CHECK (VALUE < 100);
CREATE DOMAIN text_key AS text;
CREATE DOMAIN text_over AS text_key;
CREATE DOMAIN text_not_null AS text NOT NULL;
CREATE DOMAIN text_check AS text CHECK (VALUE <> '');
CREATE DOMAIN uuid_key AS uuid;
CREATE DOMAIN uuid_over AS uuid_key;
CREATE DOMAIN uuid_not_null AS uuid NOT NULL;
CREATE DOMAIN uuid_check AS uuid CHECK (VALUE <> '00000000-0000-0000-0000-000000000000');
CREATE DOMAIN tenant_name AS text NOT NULL;
RESET client_min_messages;

-- What each question has to give, with key 1 for the first key of the type and so on.
CREATE TABLE question (id int, wanted text, query text);
INSERT INTO question VALUES
	(1, '(1,3,1)', 'SELECT a, b, distance FROM simhash_pairs(''one'', key_type => K, columns => ''fp'', key => ''id'', radius => 1)'),
	(2, '(1,3,1)', 'SELECT a, b, distance FROM simhash_pairs(''one'', key_type => K, columns => ''fp'', key => ''id'', radius => 1, within => ''{tenant}'')'),
	(3, '(1,1,1) (2,2,1) (3,1,0)',
		'SELECT a, b, distance FROM simhash_pairs_between(''one'', key_type_a => K, columns_a => ''fp'', relation_b => ''two'', key_type_b => K, columns_b => ''fp'', key_a => ''id'', key_b => ''id'', radius => 1)'),
	(4, '(1,1,1) (2,2,1) (3,1,0)',
		'SELECT a, b, distance FROM simhash_pairs_between(''one'', key_type_a => K, columns_a => ''fp'', relation_b => ''two'', key_type_b => K, columns_b => ''fp'', key_a => ''id'', key_b => ''id'', radius => 1, within => ''{tenant}'')'),
	-- One side of the domain, the other of its type.
	(5, '(1,1,1) (2,2,1) (3,1,0)',
		'SELECT a, b, distance FROM simhash_pairs_between(''one'', key_type_a => K, columns_a => ''fp'', relation_b => ''plain'', key_type_b => B, columns_b => ''fp'', key_a => ''id'', key_b => ''id'', radius => 1, within => ''{tenant}'')'),
	(6, '(1,1,1) (1,3,0) (2,2,1)',
		'SELECT a, b, distance FROM simhash_pairs_between(''plain'', key_type_a => B, columns_a => ''fp'', relation_b => ''one'', key_type_b => K, columns_b => ''fp'', key_a => ''id'', key_b => ''id'', radius => 1, within => ''{tenant}'')'),
	(7, '(1,1,1) (2,2,1) (3,1,0)',
		'SELECT a, b, distance FROM simhash_pairs_between(''one'', key_type_a => B, columns_a => ''fp'', relation_b => ''plain'', key_type_b => B, columns_b => ''fp'', key_a => ''id'', key_b => ''id'', radius => 1, within => ''{tenant}'')'),
	(8, '(1,1,2,1) (1,3,2,1)', 'SELECT cluster_id, key, size, representative FROM simhash_clusters(''one'', key_type => K, columns => ''fp'', key => ''id'', radius => 1)'),
	(9, '(1,1,2,1) (1,3,2,1)',
		'SELECT cluster_id, key, size, representative FROM simhash_clusters(''one'', key_type => K, columns => ''fp'', key => ''id'', radius => 1, method => ''star'', text => ''body'', min_jaccard => 0.5, within => ''{tenant}'')'),
	(10, '(1,1,2,1) (1,3,2,1)',
		'SELECT cluster_id, key, size, representative FROM simhash_clusters(''one'', key_type => K, columns => ''fp'', key => ''id'', radius => 1, method => ''leader'', within => ''{tenant}'')'),
	(11, '(1)', 'SELECT sum(pairs) FROM simhash_radius_report(''one'', ''id'', ''fp'', ''body'', 1)'),
	(12, '(1,1) (3,1)', 'SELECT * FROM by_row'), (13, '(1,1) (3,1)', 'SELECT key, cluster_id FROM by_note'),
	(14, '(1,) (2,) (3,1)', 'SELECT id, copy FROM flagged'),
	(15, '(1,3)', 'SELECT a.id, b.id FROM scoped a JOIN scoped b ON a.owner = b.owner AND a.fp <~> b.fp <= 1 AND a.id < b.id');
-- Makes the tables anew with keys of this type and asks each question. Returns which answers are wrong.
CREATE FUNCTION asked(key_type text, base text) RETURNS text LANGUAGE plpgsql SET client_min_messages = error AS $$
DECLARE
	keys text[] := CASE base WHEN 'uuid' THEN (SELECT array_agg(md5(k::text)::uuid::text ORDER BY md5(k::text)) FROM generate_series(1, 3) k)
		ELSE '{1,2,3}' END;
	q question;
	answer text;
	wrong text;
BEGIN
	DROP TABLE IF EXISTS one, two, plain, kept, by_row, by_note, by_note_note, flagged, scoped CASCADE;
	EXECUTE format('CREATE TABLE one (id %s PRIMARY KEY, tenant tenant_name, fp bigint, body text);
		CREATE TABLE two (LIKE one); CREATE TABLE plain (id %s, tenant text, fp bigint);
		CREATE TABLE kept (LIKE one INCLUDING ALL);
		CREATE TABLE by_row (key %1$s PRIMARY KEY, cluster_id %1$s);
		CREATE TABLE flagged (id %1$s PRIMARY KEY, tenant tenant_name, fp bigint, copy %2$s);
		CREATE INDEX ON flagged USING simhash (tenant, fp);
		CREATE TABLE scoped (id int, owner %1$s, fp bigint); CREATE INDEX ON scoped USING simhash (owner, fp)', key_type, base);
	CREATE TRIGGER rows AFTER INSERT OR UPDATE OR DELETE ON kept FOR EACH ROW
		EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=by_row', 'key=id', 'fingerprint=fp', 'radius=1', 'within=tenant');
	PERFORM simhash_keep_clusters('kept', 'id', 'fp', 1, '{tenant}', 'by_note', 'manual');
	PERFORM simhash_refresh_clusters('by_note');
	CREATE TRIGGER copies BEFORE INSERT OR UPDATE ON flagged FOR EACH ROW
		EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=1', 'duplicate_of=copy', 'within=tenant', 'key=id');
	EXECUTE format('INSERT INTO one VALUES (%1$L, ''x'', 0, ''one two three four''), (%2$L, ''y'', 61440, ''five six seven eight''),
		(%3$L, ''x'', 1, ''one two three four'');
		INSERT INTO two VALUES (%1$L, ''x'', 1), (%2$L, ''y'', 61441);
		INSERT INTO plain SELECT id, tenant, fp FROM two;
		INSERT INTO kept SELECT * FROM one; UPDATE kept SET fp = 0 WHERE id = %3$L; DELETE FROM kept WHERE id = %2$L;
		INSERT INTO flagged SELECT id, tenant, fp FROM one ORDER BY id;
		INSERT INTO scoped VALUES (1, %1$L, 0), (2, %2$L, 0), (3, %1$L, 1)', VARIADIC keys);
	PERFORM simhash_refresh_clusters('by_note');
	FOR q IN TABLE question ORDER BY id LOOP
		BEGIN
			EXECUTE format('SELECT string_agg(r::text, '' '' ORDER BY r::text) FROM (%s) r',
				regexp_replace(replace(q.query, 'K,', format('%L::%s,', keys[1], key_type)), '\mB,', format('NULL::%s,', base), 'g')) INTO answer;
		EXCEPTION WHEN OTHERS THEN
			answer := sqlstate || ' ' || sqlerrm;
		END;
		FOR i IN 1 .. 3 LOOP
			answer := replace(answer, keys[i], i::text);
		END LOOP;
		IF answer IS DISTINCT FROM q.wanted THEN
			wrong := concat_ws('; ', wrong, format('question %s: %s', q.id, answer));
		END IF;
	END LOOP;
	RETURN coalesce(wrong, 'all right');
END $$;
SET client_min_messages = warning;
SELECT base || form AS key_type, asked(CASE form WHEN '' THEN base ELSE base || form END, base)
FROM unnest('{int,text,uuid}'::text[]) WITH ORDINALITY b (base, i),
	unnest('{"",_key,_over,_not_null,_check}'::text[]) WITH ORDINALITY f (form, j)
ORDER BY i, j;
-- The keys come back in the domain.
SELECT pg_typeof(a), pg_typeof(b)
FROM simhash_pairs_between('one', key_type_a => NULL::uuid_check, columns_a => 'fp', relation_b => 'two', key_type_b => NULL::uuid, columns_b => 'fp', key_a => 'id', key_b => 'id', radius => 1, within => '{tenant}') LIMIT 1;
DROP SCHEMA domain_keys CASCADE;
