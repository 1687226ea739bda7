-- The texts of a corpus come one by one through the trigger: which have an earlier one with a Jaccard similarity of at least 0.8?
-- `corpus` is a CSV file on the client, `truth` the one that corpus.py made. Fills measured; run.sh adds the processor time.
SET client_min_messages = error;
CREATE TABLE corpus (
	id           int PRIMARY KEY,
	body         text,
	fp           bigint GENERATED ALWAYS AS (simhash64(body, preset => 'shingles')) STORED,
	is_duplicate boolean
);
CREATE INDEX corpus_fp ON corpus USING simhash (fp);
CREATE TRIGGER corpus_duplicates BEFORE INSERT ON corpus FOR EACH ROW EXECUTE FUNCTION
	simhash_flag_duplicate('fingerprint=fp', 'radius=10', 'flag=is_duplicate', 'text=body', 'min_jaccard=0.8');
SET log_statement_stats = on;
SET client_min_messages = log;
\copy corpus (id, body) FROM pstdin CSV
