-- make demo: the tables.
CREATE EXTENSION simhash_dedup;
CREATE TABLE package (
	id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	package text NOT NULL,
	section text,
	source text,
	maintainer text,
	subject text,
	body text,
	fp bigint
);
-- Here the fingerprint keeps itself up to date.
CREATE TABLE package_zh (
	id int PRIMARY KEY,
	lang text,
	package text NOT NULL,
	subject text,
	body text,
	fp bigint GENERATED ALWAYS AS (simhash64(body)) STORED
);
