# Hostile and huge input: time grows with the length, memory with the number of different words, a
# cancel takes effect, and input beyond the limits is an error, never a crash.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('limits');
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = public, simhash_methods');

# What a query answers in a backend of its own, the processor time it takes there, and the backend's peak
# memory in MB.
sub measure
{
	my ($query) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 1);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	# jieba's dictionary is not what is measured.
	$session->query_safe(q{SELECT simhash64('词典')});
	my $start = processor_seconds($pid);
	my $answer = $session->query_safe($query);
	my $seconds = processor_seconds($pid) - $start;
	my ($peak) = slurp_file("/proc/$pid/status") =~ /VmHWM:\s*(\d+)/;
	my ($shared) = slurp_file("/proc/$pid/status") =~ /RssShmem:\s*(\d+)/;
	$session->quit;
	return ($answer, $seconds, ($peak - $shared) / 1024);
}

# The server holds a text of 100 MB a few times: stored, as an argument, normalised in pieces.
my %long = (
	'words' => q{repeat('the quick brown fox jumps ', %d / 26)},
	'Han' => q{repeat('数据库中的重复记录。', %d / 30)},
	'one letter' => q{repeat('x', %d)},
	'one Han character' => q{repeat('的', %d / 3)},
	'one combining mark' => q{repeat(U&'\0301', %d / 2)},
	'one ligature that grows' => q{repeat(U&'\FDFA', %d / 3)});
for my $what (sort keys %long)
{
	my $query = 'SELECT simhash64(' . $long{$what} . ')';
	my (undef, $small) = measure(sprintf($query, 5_000_000));
	my ($answer, $large, $memory) = measure(sprintf($query, 20_000_000));
	note sprintf('%s: %.2f s for 5 MB, %.2f s for 20 MB, peak %.0f MB', $what, $small, $large, $memory);
	cmp_ok($large, '<', 6 * $small + 0.2, "$what: four times the text takes about four times as long");
	cmp_ok($memory, '<', 400, "$what: memory is bounded");
}
for my $what ('words', 'one letter')
{
	my ($answer, $seconds, $memory) = measure(sprintf('SELECT simhash64(' . $long{$what} . ') IS NOT NULL', 100_000_000));
	note sprintf('%s: %.2f s for 100 MB, peak %.0f MB', $what, $seconds, $memory);
	is($answer, 't', "100 MB of $what have a fingerprint");
	cmp_ok($memory, '<', 700, "100 MB of $what: memory is bounded");
}

# Every other function of text, with 10 MB of one letter.
for my $call (
	q{simhash128(t)}, q{simhash64_margin(t, preset => 'words')}, q{simhash64(t, '{"features": ["ngrams", "pairs", "whole"]}')},
	q{simhash64(t, preset => 's2')}, q{simhash64(t, preset => 's3')}, q{simhash_jaccard(t, t)}, q{simhash_diff(t, 'y ' || t || 'z')},
	q{(SELECT sum(bits) FROM simhash_explain(t, 'y' || t))}, q{simhash_cosine(t, t)},
	q{(SELECT count(*) FROM simhash_features(ROW(t)))},
	q{(SELECT count(*) FROM simhash_features(t))},
	q{simhash64(t, '{"markup": "html"}')}, q{simhash64('a<title></' || t, '{"markup": "html"}')},
	q{simhash64('a<' || t, '{"markup": "html"}')})
{
	my ($answer, $seconds, $memory) = measure("SELECT $call IS NOT NULL FROM repeat('x', 10000000) AS t");
	is($answer, 't', "$call of 10 MB of one letter");
	note sprintf('%.2f s, peak %.0f MB', $seconds, $memory);
	cmp_ok($seconds, '<', 30, '... in time');
	cmp_ok($memory, '<', 500, '... in bounded memory');
}

# A text of which all n-grams differ.
for my $call ('simhash_features(t)', q{simhash_explain(t, 'x' || t)})
{
	my ($status, $out, $err) = $node->psql('postgres',
		"SELECT count(*) FROM (SELECT string_agg(chr(19968 + (hashint4(i) & 16383)), '') AS t FROM generate_series(1, 1100000) AS i) AS x, $call");
	like($err, qr/a text with more than 1000000 features cannot be shown/, "$call is bounded");
}

# Texts of which all words differ, 10 MB and as many words as are compared.
for my $letters (3400000, 520000)
{
	for my $call ('simhash_diff(a, b)', 'simhash_same(a, b)', '(SELECT count(*) FROM simhash_why(a, b))')
	{
		my ($answer, $seconds, $memory) = measure(<<"SQL");
SELECT $call IS NOT NULL FROM (SELECT string_agg(chr(19968 + (hashint4(i) & 16383)), '') AS a,
	string_agg(chr(19968 + (hashint4(-i) & 16383)), '') AS b FROM generate_series(1, $letters) AS i) AS x
SQL
		is($answer, 't', "$call of $letters Chinese characters");
		note sprintf('%.2f s, peak %.0f MB', $seconds, $memory);
		cmp_ok($seconds, '<', 30, '... in time');
		cmp_ok($memory, '<', 400, '... in bounded memory');
	}
}

# A cancel in the middle of each: what the call goes on to do is measured with what it did before.
$node->safe_psql('postgres', q{CREATE TABLE long AS SELECT repeat('数据库中的重复记录 of a long text, ', 3000000) AS t});
for my $call (
	'simhash64(t)', 'simhash128(t)', 'simhash64(ROW(t))', q{simhash64(t, preset => 's3')},
	q{simhash64(ROW(t, t), '{"f1": {"title": "f2"}}', 'words')},
	'simhash_jaccard(t, t)', 'simhash_cosine(t, t)', q{simhash_diff(t || ' y', 'x ' || t)},
	q{(SELECT count(*) FROM simhash_explain(t, 'x' || t, preset => 'words'))}, q{simhash64(repeat('a^1 ', 25000000), preset => 's1')},
	q{simhash64(ROW(convert_to(repeat('x', 100000000), 'UTF8')))},
	q{simhash64(repeat('<p a="&amp;">', 40000000), '{"markup": "html"}')})
{
	my ($message, $seconds) = measure(<<"SQL");
SET test.message = 'not cancelled';
SET statement_timeout = '100ms';
DO \$\$ BEGIN PERFORM $call FROM long; EXCEPTION WHEN query_canceled THEN PERFORM set_config('test.message', SQLERRM, false); END \$\$;
SELECT current_setting('test.message');
SQL
	is($message, 'canceling statement due to statement timeout', "$call is cancelled");
	cmp_ok($seconds, '<', 3, '... at once');
}
my ($status, $out, $err) = $node->psql('postgres',
	"SET statement_timeout = '100ms';\nSELECT count(*) FROM generate_series(1, 100000), simhash_probes(1, -1, 3)");
like($err, qr/canceling statement due to statement timeout/, 'simhash_probes is cancelled');

# Odd Unicode: all code points, in pieces that also cut combining sequences.
is($node->safe_psql('postgres', <<'SQL'), 't', 'every code point');
SELECT bool_and(simhash64(t, o, p) IS NOT DISTINCT FROM simhash64(t, o, p)) FROM (
	SELECT string_agg(chr(i), CASE WHEN i / 500 % 2 = 0 THEN '' ELSE ' ' END) AS t
	FROM generate_series(1, 1114111) AS i WHERE i NOT BETWEEN 55296 AND 57343 GROUP BY i / 500) AS s,
	(VALUES ('{}'::jsonb, 'words'), ('{"features": ["words", "pairs", "ngrams", "whole"]}', 's3')) AS v (o, p)
SQL

# Rows as wide as tables get.
my $columns = join(', ', map { "c$_ " . ($_ % 3 ? 'text' : 'int') } 1 .. 1600);
$node->safe_psql('postgres', "CREATE TABLE wide ($columns)");
$node->safe_psql('postgres', 'INSERT INTO wide (c1, c2, c3, c1600) SELECT i, i, i, i FROM generate_series(1, 500) AS i');
is($node->safe_psql('postgres', q{SELECT count(DISTINCT simhash64(w, '{"*": 1}')) FROM wide AS w}), 500, 'rows of 1,600 columns');
is($node->safe_psql('postgres',
	q{SELECT count(*) FROM wide AS w
		WHERE simhash64(w, '{"c1": 1, "c1600": 2}') = simhash64(ROW(c1, c1600), '{"$columns": ["c1", "c1600"], "c1": 1, "c1600": 2}')}),
	500, 'two of 1,600 columns');
my $many = join(', ', map { "\"c$_\": $_" } 1 .. 1600);
is($node->safe_psql('postgres', "SELECT count(simhash64(w, '{$many}')) FROM wide AS w"), 500, '1,600 weights');

# Composites in composites, arrays of them, domains over them.
$node->safe_psql('postgres', 'CREATE TYPE n0 AS (a text, b int)');
$node->safe_psql('postgres', "CREATE TYPE n$_ AS (x n" . ($_ - 1) . ', y n0[])') for 1 .. 60;
my $deep = q{ROW('leaf', 1)::n0};
$deep = "ROW($deep, ARRAY[ROW('other', 2)::n0])::n$_" for 1 .. 60;
my $other = $deep =~ s/'leaf'/'stem'/r;
is($node->safe_psql('postgres', qq{SELECT simhash64(ROW($deep), '{"*": 1}') <> simhash64(ROW($other), '{"*": 1}') AND simhash64($deep, '{"*": 1}') IS NOT NULL}), 't',
	'60 composites in each other, of which the innermost counts');
$node->safe_psql('postgres', <<'SQL');
CREATE DOMAIN pair AS n0 CHECK ((VALUE).b > 0);
CREATE DOMAIN pair_again AS pair;
CREATE TABLE of_domains (p pair, q pair_again, r pair[]);
INSERT INTO of_domains VALUES (('a', 1), ('b', 2), ARRAY[('c', 3)]::pair[]);
SQL
is($node->safe_psql('postgres',
	q{SELECT simhash64(p, w) = simhash64(p::n0, w) AND simhash64(q, w) = simhash64(q::n0, w) AND simhash64(o, w) IS NOT NULL
		FROM of_domains AS o, CAST('{"*": 1}' AS jsonb) AS w}),
	't', 'domains over composites');

# A nest that is too deep for the stack is an error.
($status, $out, $err) = $node->psql('postgres', <<'SQL');
DO $$ DECLARE v text := 'ROW(1)'; t text; BEGIN
	SET LOCAL max_stack_depth = '100kB';
	FOR i IN 1 .. 400 LOOP v := 'ROW(' || v || ')'; END LOOP;
	EXECUTE 'SELECT simhash64(' || v || ', ''{"*": 1}'')' INTO t;
END $$
SQL
like($err, qr/stack depth limit exceeded/, 'a nest that is too deep');

# Options as large as JSON gets.
is($node->safe_psql('postgres',
	q{SELECT simhash64('w7 and more', jsonb_build_object('dictionary', (SELECT jsonb_agg('w' || i)
		FROM generate_series(1, 100000) AS i)), 'words') IS NOT NULL}),
	't', 'a dictionary of 100,000 words in the options');
is($node->safe_psql('postgres',
	q{SELECT simhash64('w7 and more', jsonb_build_object('idf', jsonb_build_object('documents', 9, 'terms', (SELECT jsonb_object_agg('w' || i,
		1) FROM generate_series(1, 100000) AS i))), 'words') IS NOT NULL}),
	't', 'an idf table of 100,000 words in the options');
($status, $out, $err) = $node->psql('postgres',
	q{SELECT simhash64('w7 and more', jsonb_build_object('dictionary', (SELECT jsonb_agg('word' || i)
		FROM generate_series(1, 1500000) AS i)), 'words')});
like($err, qr/ERROR:  the JSON of the options is too long: \d+ bytes/, '... but not one of 1,500,000');
($status, $out, $err) = $node->psql('postgres',
	q{SELECT simhash64('a', (repeat('{"dictionary": [', 1) || repeat('[', 3000) || repeat(']', 3000) || ']}')::jsonb)});
like($err, qr/ERROR/, 'deeply nested JSON is an error');
is($node->safe_psql('postgres', 'SELECT 1'), 1, 'the server is still there');

# Values that are no text are written as text first. Too little memory for that is an error.
SKIP:
{
	skip 'the memory of a backend cannot be limited', 1 unless limits_memory();
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE huge AS SELECT ARRAY(SELECT generate_series(1, 500000)) AS numbers, ARRAY(SELECT ROW('text', i)::n0
	FROM generate_series(1, 50000) AS i) AS rows,
	convert_to(repeat('x', 10000000), 'UTF8') AS bytes, to_jsonb(repeat('x', 10000000)) AS document;
CREATE TABLE small AS SELECT ARRAY[1] AS numbers, ARRAY[ROW('a', 1)::n0] AS rows, 'x'::bytea AS bytes, '[1]'::jsonb AS document;
SQL
	for my $column ('numbers', 'rows', 'bytes', 'document')
	{
		my $query = qq{SELECT simhash64(ROW($column), '{"*": 1}') FROM huge};
		my $right = $node->safe_psql('postgres', $query);
		my $session = $node->background_psql('postgres', on_error_stop => 0);
		my $pid = $session->query_safe('SET jit = off; SELECT pg_backend_pid()');
		# What is loaded at the first call is there.
		$session->query_safe($query =~ s/huge/small/r);
		my ($errors, $others, $megabytes, $answer) = short_of_memory($session, $pid, $query, $right);
		is($others, '', "$column: out of memory $errors times, right with $megabytes MB more");
		is($answer, $right, "$column: right in the end");
		cmp_ok($errors, '>', 0, "$column: memory was short");
		is($session->query_safe('SELECT pg_backend_pid()'), $pid, "$column: the backend is still the same");
		$session->quit;
	}
}

$node->stop;
done_testing();
