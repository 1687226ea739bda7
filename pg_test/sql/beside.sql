-- Other roles may put functions and operators beside the extension's, or beside those of a key's type, that fit a
-- column's type better. The SQL that the extension writes calls none of them.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA beside;
SET search_path = beside, public;

-- A user-defined type, with its operators in a schema to which other roles add some.
CREATE TYPE code;
CREATE FUNCTION code_in(cstring) RETURNS code LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION code_out(code) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE FUNCTION code_recv(internal) RETURNS code LANGUAGE internal IMMUTABLE STRICT AS 'int4recv';
CREATE TYPE code (INPUT = code_in, OUTPUT = code_out, RECEIVE = code_recv, LIKE = int4);
CREATE FUNCTION equals(code, code) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE FUNCTION less(code, code) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4lt';
CREATE FUNCTION compared(code, code) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'btint4cmp';
CREATE OPERATOR = (LEFTARG = code, RIGHTARG = code, FUNCTION = equals, COMMUTATOR = =);
CREATE OPERATOR < (LEFTARG = code, RIGHTARG = code, FUNCTION = less);
CREATE OPERATOR CLASS code_ops DEFAULT FOR TYPE code USING btree AS OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 compared(code, code);
CREATE DOMAIN number AS code;
CREATE DOMAIN fingerprint AS bigint;

-- These fit better. By them nothing is near, and all keys are equal.
CREATE FUNCTION trap_far(fingerprint, bigint) RETURNS int LANGUAGE sql AS 'SELECT 64';
CREATE OPERATOR public.<~> (LEFTARG = fingerprint, RIGHTARG = bigint, FUNCTION = trap_far);
CREATE FUNCTION trap_same(number, number) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR = (LEFTARG = number, RIGHTARG = number, FUNCTION = trap_same);
CREATE FUNCTION trap_same(number, code) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR = (LEFTARG = number, RIGHTARG = code, FUNCTION = trap_same);

CREATE TABLE row (id number, fp fingerprint, body text);
CREATE INDEX ON row USING simhash (fp);
CREATE TABLE cluster (key number PRIMARY KEY, cluster_id number NOT NULL);
CREATE TRIGGER assign AFTER INSERT ON row
	FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=beside.cluster', 'key=id', 'fingerprint=fp');
INSERT INTO row VALUES ('1', 0, 'a lamp'), ('2', 0, 'a lamp'), ('3', -1, 'a road'), ('4', -1, 'a road'), ('5', x'FFFF'::bigint, 'a bridge');
SELECT * FROM cluster ORDER BY key;
INSERT INTO row VALUES ('0', -1, 'a road'), ('6', 0, NULL);
SELECT * FROM cluster ORDER BY key;

CREATE TABLE flagged (id number PRIMARY KEY, fp fingerprint, dup number);
CREATE INDEX ON flagged USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT ON flagged
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'key=id');
INSERT INTO flagged VALUES ('1', 0), ('2', 1), ('3', -1);
SELECT * FROM flagged ORDER BY id;

SELECT * FROM simhash_pairs('row', key_type => NULL::number, columns => 'fp', key => 'id') ORDER BY a, b;
-- From here on, by them, no key equals another.
CREATE OR REPLACE FUNCTION trap_same(number, number) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OR REPLACE FUNCTION trap_same(number, code) RETURNS boolean LANGUAGE sql AS 'SELECT false';
SELECT * FROM simhash_clusters('row', key_type => NULL::number, columns => 'fp', key => 'id', text => 'body') ORDER BY key;
SELECT * FROM simhash_clusters('row', key_type => NULL::code, columns => 'fp', key => 'id', text => 'body') ORDER BY key;
INSERT INTO row VALUES ('7', x'FFFF'::bigint, 'a bridge'), ('8', x'FF00FF00FF'::bigint, 'a sign');
SELECT * FROM cluster ORDER BY key;
INSERT INTO flagged VALUES ('1', 0) ON CONFLICT (id) DO UPDATE SET dup = excluded.dup;
SELECT * FROM flagged ORDER BY id;

DROP OPERATOR public.<~> (fingerprint, bigint);
DROP SCHEMA beside CASCADE;
