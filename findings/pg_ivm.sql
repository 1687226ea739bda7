-- pg_ivm: views that are kept as their tables change, with fingerprints of the table and of their own, an index of their own, and
-- the pairs of a table. `fails` is true when a view is not what its query returns.
CREATE EXTENSION simhash_dedup;
CREATE EXTENSION pg_ivm;
CREATE TABLE doc (id int PRIMARY KEY, body text, fp bigint GENERATED ALWAYS AS (simhash64(body)) STORED);
INSERT INTO doc SELECT i, 'The street lamp at number ' || i || ' in ' || md5(i::text) || ' is dark' FROM generate_series(1, 2000) i;
SELECT pgivm.create_immv('stored', 'SELECT id, fp FROM doc');
SELECT pgivm.create_immv('made', 'SELECT id, simhash64(body) AS fp FROM doc');
SELECT pgivm.create_immv('near', 'SELECT id FROM doc WHERE fp <~> 42 <= 24');
SELECT pgivm.create_immv('pairs', 'SELECT a.id AS a, b.id AS b FROM doc a JOIN doc b ON a.fp <~> b.fp <= 3 AND a.id < b.id');
CREATE INDEX made_fp ON made USING simhash (fp);
INSERT INTO doc VALUES (9001, 'The street lamp at number 77 in town is dark'), (9002, 'The street lamp at number 77 in town is dark!');
INSERT INTO doc SELECT id + 10000, body || '.' FROM doc WHERE id <= 100;
UPDATE doc SET body = body || ' again' WHERE id <= 50;
DELETE FROM doc WHERE id BETWEEN 90 AND 150;
SELECT count(*) AS pairs FROM pairs;
SELECT EXISTS (SELECT id, fp FROM doc EXCEPT SELECT id, fp FROM stored) OR EXISTS (SELECT id, fp FROM stored EXCEPT SELECT id, fp FROM doc)
    OR EXISTS (SELECT id, fp FROM doc EXCEPT SELECT id, fp FROM made) OR EXISTS (SELECT id, fp FROM made EXCEPT SELECT id, fp FROM doc)
    OR (SELECT array_agg(id ORDER BY id) FROM near)
        IS DISTINCT FROM (SELECT array_agg(id ORDER BY id) FROM doc WHERE bit_count((fp # 42)::bit(64)) <= 24)
    OR (SELECT array_agg((a, b) ORDER BY a, b) FROM pairs) IS DISTINCT FROM (SELECT array_agg((a.id, b.id) ORDER BY a.id, b.id)
        FROM doc a JOIN doc b ON bit_count((a.fp # b.fp)::bit(64)) <= 3 AND a.id < b.id)
    OR EXISTS (SELECT FROM simhash_index_verify('made_fp', true)) AS fails;
