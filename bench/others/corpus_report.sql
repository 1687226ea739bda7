-- After corpus.sql, with the truth (id, yes) as CSV on its input.
CREATE TEMP TABLE truth (id int, yes boolean);
\copy truth FROM pstdin CSV
INSERT INTO measured
SELECT :'way', 'corpus, marked', count(*) FILTER (WHERE is_duplicate) FROM corpus
UNION ALL SELECT :'way', 'corpus, MB', pg_relation_size('corpus_fp') / 1e6
UNION ALL SELECT :'way', 'corpus, recall', (count(*) FILTER (WHERE is_duplicate))::float8 / count(*) FROM truth JOIN corpus USING (id) WHERE yes;
