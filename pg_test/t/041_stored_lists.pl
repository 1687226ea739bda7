# Large stored lists: words, stop words, frequencies. Creating and loading them can be cancelled and takes memory in
# proportion to the words, loading raises an ERROR when memory is short; look-ups take no longer than in a small list.
use strict;
use warnings;
use SimhashTest;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = new_node('stored_lists');
# The compiler's library would be loaded, and ends the process when memory is short.
$node->append_conf('postgresql.conf', "jit = off\nmax_parallel_workers_per_gather = 0\n");
$node->restart;

# All words begin with the same letter, and none is in the texts below but a few.
my $words = 300_000;
$node->safe_psql('postgres', <<"SQL");
SET client_min_messages = warning;
CREATE TABLE corpus AS SELECT 'word' || i AS body FROM generate_series(1, $words) AS i;
SELECT simhash_create_config('small', preset => 's2');
SELECT simhash_create_config('words1', preset => 's2', words => (SELECT array_agg('wordy' || i)
	FROM generate_series(1, $words) AS i) || '{wordy one, word seven}');
SELECT simhash_create_config('stop1', preset => 's2', stop_words => (SELECT array_agg('wordy' || i)
	FROM generate_series(1, $words) AS i) || '{word}');
SELECT simhash_create_config('idf1', preset => 's2', idf_relation => 'corpus', idf_column => 'body');
-- The same lists and other options: a session has them once.
SELECT simhash_create_config(list || 2, '{"tf": "raw"}', base => list || 1) FROM unnest('{words, stop, idf}'::text[]) AS list;
CREATE TABLE text AS SELECT string_agg(CASE WHEN i % 9 = 0 THEN 'wordy one' WHEN i % 9 = 1 THEN 'word seven' ELSE 'word' || i END, ' ') AS t
FROM generate_series(1, 3000) AS i;
SQL
my %small = (
	words => q{simhash64(t, '{"dictionary": ["wordy one", "word seven"]}', 's2')},
	stop => q{simhash64(t, '{"stop_words": ["@en", "@zh", "word"]}', 's2')},
	idf => qq{simhash64(t, jsonb_build_object('idf', jsonb_build_object('documents', $words, 'terms',
		(SELECT jsonb_object_agg('word' || i, 1) FROM generate_series(1, 3000) AS i))), 's2')});

for my $list (sort keys %small)
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	# What is loaded at the first call is there.
	my $pid = $session->query_safe("SELECT simhash64_named_text('词典', 'small'); SELECT pg_backend_pid()");
	$pid = (split /\n/, $pid)[-1];
	my $status = sub { -r "/proc/$pid/status" ? (slurp_file("/proc/$pid/status") =~ /^$_[0]:\s+(\d+) kB/m)[0] : 0 };

	my ($cancelled, $slowest) = (0, 0);
	for my $timeout (5, 15, 30)
	{
		my $start = time;
		my ($code, $out, $err) = $node->psql('postgres', "SET statement_timeout = $timeout;\nSELECT simhash64_named_text('a', '${list}1')");
		my $late = time - $start - $timeout / 1000;
		$slowest = $late if $late > $slowest;
		$cancelled++ if $err =~ /canceling statement due to statement timeout/;
	}
	is($cancelled, 3, "$list: loading is cancelled");
	cmp_ok($slowest, '<', 2, "$list: at once");

	my $right = $node->safe_psql('postgres', "SELECT $small{$list} FROM text");
	my $call = sub { "SELECT simhash64_named_text(t, '$list$_[0]') FROM text" };
	SKIP:
	{
		skip 'no prlimit or no /proc', 2 unless limits_memory();
		my ($errors, $others, $megabytes) = short_of_memory($session, $pid, $call->(1), $right);
		is($others, '', "$list: out of memory $errors times, right with $megabytes MB more");
		cmp_ok($errors, '>', 0, "$list: memory was short");
	}
	my $before = $status->('RssAnon');
	my $start = time;
	is($session->query_safe($call->(2)), $right, "$list: as a small list");
	note sprintf('%s: loaded and used in %.2f s', $list, time - $start);
	cmp_ok($status->('RssAnon') - $before, '<', 40_000, "$list: loaded into little memory (kB)");
	$start = time;
	is($session->query_safe($call->(2)), $right, "$list: used again");
	cmp_ok(time - $start, '<', 1, "$list: at once");
	is($session->query_safe('SELECT pg_backend_pid()'), $pid, "$list: the backend is still the same");
	$session->quit;
}

# What a session keeps of a list, 8 MB, beside what it has read it from.
my $keeper = $node->background_psql('postgres', on_error_stop => 0);
my $its_pid = (split /\n/, $keeper->query_safe("SELECT simhash64_named_text('词典', 'small'); SELECT pg_backend_pid()"))[-1];
SKIP:
{
	skip 'no /proc', 1 unless -r "/proc/$its_pid/status";
	my $kept = sub { (slurp_file("/proc/$its_pid/status") =~ /^RssAnon:\s+(\d+) kB/m)[0] };
	my $before = $kept->();
	$keeper->query_safe("SELECT simhash64_named_text('a', 'words1')");
	my $more = $kept->() - $before;
	note "kept: $more kB";
	cmp_ok($more, '<', 15_000, 'a session keeps little more than the words (kB)');
}
$keeper->quit;

# Created anew: what a backend takes at most, and what is left when it is cancelled.
my %made = (
	words => "preset => 's2', words => (SELECT array_agg('made' || i) FROM generate_series(1, $words) AS i)",
	based => "base => 'words1', words => '{another}'",
	counted => q{preset => 's2', idf_relation => 'corpus', idf_column => 'body'});
my %most = (words => 90_000, based => 58_000, counted => 120_000);
my $creates = sub { "SELECT length(simhash_create_config('made $_[0]', $made{$_[0]}))" };
for my $list (sort keys %made)
{
	my ($code, $out, $error) = $node->psql('postgres', "SET statement_timeout = 100;\n" . $creates->($list));
	like($error, qr/canceling statement due to statement timeout/, "$list: creating is cancelled");
	is($node->safe_psql('postgres', "SELECT count(*) FROM simhash_catalog.config WHERE name = 'made $list'"), 0,
		"$list: and nothing is there");
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = (split /\n/,
		$session->query_safe("SET client_min_messages = warning; SELECT simhash64_named_text('词典', 'small'); SELECT pg_backend_pid()"))[-1];
	SKIP:
	{
		skip 'no /proc', 1 unless -r "/proc/$pid/status";
		my $peak = sub { (slurp_file("/proc/$pid/status") =~ /^VmHWM:\s+(\d+) kB/m)[0] };
		my $before = $peak->();
		$session->query_safe($creates->($list));
		cmp_ok($peak->() - $before, '<', $most{$list}, "$list: created in little memory (kB)");
	}
	$session->quit;
	$node->safe_psql('postgres', "SELECT simhash_drop_config('made $list')");
}

# A table of several steps: each row is counted once, and NOTICEs say how far it is.
$node->safe_psql('postgres', q{CREATE TABLE tall WITH (fillfactor = 10) AS
	SELECT i, 'a' || i % 97 || ' b' || i % 101 || repeat(' fill', 150) AS body FROM generate_series(1, 4500) AS i});
my ($code, $out, $notices) = $node->psql('postgres',
	q{SELECT simhash_create_config('tall', preset => 's2', idf_relation => 'tall', idf_column => 'body')});
like(join(' ', $notices =~ /: (\d+) of \d+ pages of public\.tall/g), qr/^2000 4000 4[5-9]\d\d$/, 'progress by pages');
is($node->safe_psql('postgres', <<'SQL'), '4500|199|0', 'the counts of several steps');
SELECT documents, count(*), count(*) FILTER (WHERE t.about::bigint IS DISTINCT FROM n.n) FROM (
	SELECT c.documents, u.* FROM simhash_catalog.config AS f JOIN simhash_catalog.content AS c ON c.digest = f.frequencies,
		unnest(c.terms, c.about) AS u (term, about) WHERE f.name = 'tall') AS t
FULL JOIN (SELECT w, count(DISTINCT i) AS n FROM tall, regexp_split_to_table(body, ' ') AS w
	GROUP BY w) AS n ON n.w = t.term GROUP BY documents;
SQL

$node->stop;
done_testing();
