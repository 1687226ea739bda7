-- Every object of the extension has a comment, of one line: \d+, \df+ and their like show it.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE TEMP VIEW objects AS
SELECT d.classid::regclass AS catalog, pg_describe_object(d.classid, d.objid, d.objsubid) AS object,
	obj_description(d.objid, d.classid::regclass::name) AS comment
FROM pg_depend AS d
WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'simhash_dedup')
	AND d.deptype = 'e'
	-- What the server makes for another object, types of rows and of arrays, is listed as well from PostgreSQL 17 on.
	AND NOT EXISTS (SELECT FROM pg_depend AS i WHERE (i.classid, i.objid, i.objsubid, i.deptype) = (d.classid, d.objid, d.objsubid, 'i'));
-- Each kind is among them.
SELECT DISTINCT catalog::text COLLATE "C" AS catalog FROM objects ORDER BY 1;
SELECT object FROM objects WHERE comment IS NULL OR comment !~ '\S' ORDER BY object;
SELECT object, comment FROM objects WHERE comment ~ '\n|\.$|^\s|\s$' ORDER BY object;
SELECT obj_description(oid, 'pg_extension') IS NOT NULL AS extension FROM pg_extension WHERE extname = 'simhash_dedup';
