# What users' tables, files and programs hold must mean the same in every later version (docs/upgrades.md): the pages of an
# index, the fingerprints of each preset, the keys of simhash_route, the hashes of passages, the
# binary form of hamming_ball, a dump with configurations, triggers and kept clusters, and the declarations of C symbols, which
# old scripts use with a new library. The folder pg_test/data/promised has each of them as 0.1.0 writes it. With
# SIMHASH_PROMISED, a folder that the postgres user can write, the test writes there what this version gives.
use strict;
use warnings;
use SimhashTest;
use SimhashPages;
use IO::Compress::Gzip qw(gzip $GzipError);
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $promised = "$ENV{PG_TEST_DATA}/promised";
my $temp = PostgreSQL::Test::Utils::tempdir();
my $node = new_node('promised', damaged => 1);
my $database = 'postgres';
my $sql = sub { return $node->safe_psql($database, @_) };

sub keep
{
	my ($name, $content) = @_;
	return unless $ENV{SIMHASH_PROMISED};
	open my $file, '>:raw', "$ENV{SIMHASH_PROMISED}/$name" or die "$name: $!";
	print $file $content;
	close $file;
	return;
}

# Calls and what they gave: each gives it again. The whole file is kept as it would be now.
sub same_values
{
	my ($name, $least) = @_;
	$sql->(<<"END");
CREATE TABLE $name (line int GENERATED ALWAYS AS IDENTITY, call text NOT NULL, value text, found text);
COPY $name (call, value) FROM '$promised/$name.csv' CSV HEADER;
DO \$\$
DECLARE
	of record;
BEGIN
	FOR of IN SELECT line, call FROM $name LOOP
		EXECUTE format('UPDATE $name SET found = (SELECT (%s)::text) WHERE line = \$1', of.call) USING of.line;
	END LOOP;
END \$\$;
COPY (SELECT call, found AS value FROM $name ORDER BY line) TO '$temp/$name.csv' CSV HEADER;
END
	keep("$name.csv", slurp_file("$temp/$name.csv"));
	cmp_ok($sql->("SELECT count(DISTINCT value) FROM $name"), '>=', $least, "$name: there are so many");
	is($sql->("SELECT call, value, found FROM $name WHERE found IS DISTINCT FROM value"), '', "$name: all as promised");
	return;
}

same_values('fingerprints', 30);
my (undef, undef, $error) = $node->psql('postgres', q{SELECT simhash64('a', preset => '?')});
my ($presets) = $error =~ /The presets are (.*)\./;
for my $preset (split /, /, $presets)
{
	my $calls = $sql->("SELECT string_agg(call, E'\\n') FROM fingerprints WHERE call LIKE '%preset => ''$preset''%'");
	like($calls, qr/^simhash64\('/m, "preset $preset: a text");
	like($calls, qr/^simhash64\(ROW/m, "preset $preset: a row");
}
# C symbols with the types that SQL declares for them: of this script, and of every one that is released. Symbols are added,
# and none ever gets other types.
my $symbols = q{SELECT DISTINCT p.prosrc || '(' || oidvectortypes(p.proargtypes) || ') ' || p.proretset::text || ' ' || coalesce(
	(SELECT string_agg(t::regtype::text, ', ' ORDER BY i) FROM unnest(p.proallargtypes, p.proargmodes) WITH ORDINALITY AS u (t, m, i)
		WHERE m IN ('o', 't')),
	p.prorettype::regtype::text) COLLATE "C" AS symbol
FROM pg_proc AS p WHERE p.probin LIKE '%simhash_dedup' ORDER BY symbol};
my @versions = split /\n/, $sql->("SELECT version FROM pg_available_extension_versions WHERE name = 'simhash_dedup'");
my %declared;
for my $version (@versions)
{
	$sql->('CREATE DATABASE symbols');
	$node->safe_psql('symbols', "CREATE EXTENSION simhash_dedup VERSION '$version'");
	$declared{$_} = 1 for split /\n/, $node->safe_psql('symbols', $symbols);
	$sql->('DROP DATABASE symbols');
}
cmp_ok(scalar keys %declared, '>', 70, 'there are C symbols');
keep('symbols.txt', join '', map { "$_\n" } sort keys %declared);
my %promised = map { $_ => 1 } split /\n/, slurp_file("$promised/symbols.txt");
is(join("\n", grep { !$promised{$_} } sort keys %declared), '', 'no C symbol is declared otherwise than promised');
is(join("\n", grep { !$declared{$_} } sort keys %promised), '', 'each promised symbol is there');

same_values('routes', 20);
same_values('passages', 4);

# A dump of what tables and triggers of the extension hold: a trigger that flags; clusters that are kept at once
# in tenants, and some with notes that no refresh has answered yet. Settings are left out, since majors know different ones.
sub database_of_everything
{
	$sql->("CREATE DATABASE dumped");
	$node->safe_psql('dumped', "CREATE EXTENSION simhash_dedup");
	$node->safe_psql('dumped', <<'SQL');
CREATE TABLE doc (id int PRIMARY KEY, tenant int, body text, fp bigint, duplicate_of int);
CREATE INDEX doc_fp ON doc USING simhash (tenant, fp) WITH (fillfactor = 80);
CREATE TRIGGER doc_duplicates BEFORE INSERT OR UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION
	simhash_flag_duplicate('fingerprint=fp', 'radius=8', 'duplicate_of=duplicate_of', 'within=tenant', 'text=body');
CREATE FUNCTION doc_fp() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN NEW.fp := simhash64(NEW.body, ''{"tf": "log", "dictionary": {"幸福路": "ns"}}'', ''s2''); RETURN NEW; END';
CREATE TRIGGER a_doc_fp BEFORE INSERT OR UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION doc_fp();
INSERT INTO doc SELECT i, i % 2, 'the street lamp of number ' || i % 9 || ' is dark since week ' || i / 9 FROM generate_series(1, 60) i;
CREATE TABLE hash (id text PRIMARY KEY, fp bigint, EXCLUDE USING simhash (fp WITH =));
INSERT INTO hash SELECT 'k' || i, (i % 7 * x'0f0f0f'::bigint) # (1::bigint << i) FROM generate_series(1, 40) i;
SELECT simhash_keep_clusters('doc', 'id', 'fp', 8, within => '{tenant}');
SELECT simhash_keep_clusters('hash', 'id', 'fp', 2, refresh => 'manual');
SELECT simhash_refresh_clusters('hash_cluster');
DELETE FROM hash WHERE id < 'k15';
INSERT INTO hash VALUES ('new', 5), ('newer', 7);
SQL
	my ($dump) = run_command([ $node->config_data('--bindir') . '/pg_dump', '--no-owner', '-d', $node->connstr('dumped') ]);
	return join '', map { "$_\n" } grep { !/^(?:--.*|SET .*|\\.*restrict .*|)$/ } split /\n/, $dump;
}
keep('dump.sql', database_of_everything()) if $ENV{SIMHASH_PROMISED};
$sql->('CREATE DATABASE restored');
$database = 'restored';
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), '-f', "$promised/dump.sql" ],
	'a dump of the first release is restored');
# Rows of a table of clusters that is not what simhash_clusters gives now. Rows alone in a cluster are not told.
sub not_true
{
	my ($clusters, $afresh) = @_;
	return $sql->(<<"END");
WITH kept AS (SELECT key::text, cluster_id::text FROM (SELECT *, count(*) OVER (PARTITION BY cluster_id) AS size
	FROM $clusters) c WHERE size > 1),
	afresh AS (SELECT key::text, cluster_id::text FROM $afresh)
SELECT key, cluster_id FROM (TABLE kept EXCEPT TABLE afresh) a UNION SELECT key, cluster_id
	FROM (TABLE afresh EXCEPT TABLE kept) b ORDER BY 1
END
}
my $of_doc = q{simhash_clusters('doc', 'id', 'fp', 8, within => '{tenant}')};
my $of_hash = q{simhash_clusters('hash', key_type => NULL::text, columns => 'fp', key => 'id', radius => 2)};
cmp_ok($sql->("SELECT count(*) FROM $_"), '>', 10, "restored: there are $_") for 'doc_cluster', 'hash_cluster', $of_doc, $of_hash;
is(not_true('doc_cluster', $of_doc), '', 'restored: clusters that are kept at once are true');
isnt(not_true('hash_cluster', $of_hash), '', 'restored: those with notes are not yet');
$sql->(q{SELECT simhash_refresh_clusters('hash_cluster')});
is(not_true('hash_cluster', $of_hash), '', 'restored: the notes are answered');
my ($like, $cluster) = split /\|/,
	$sql->('SELECT min(id), cluster_id FROM doc JOIN doc_cluster ON key = id WHERE tenant = 1 GROUP BY cluster_id HAVING count(*) > 2
		ORDER BY 1 LIMIT 1');
$sql->("INSERT INTO doc (id, tenant, body) SELECT 1000, tenant, body FROM doc WHERE id = $like; DELETE FROM doc WHERE id = $like");
like($sql->('SELECT duplicate_of FROM doc WHERE id = 1000'), qr/^\d+$/, 'restored: the trigger flags');
$sql->("INSERT INTO hash SELECT id || 'b', fp # 1 FROM hash WHERE id LIKE 'k2%'; DELETE FROM hash WHERE id LIKE 'k3%';
	SELECT simhash_refresh_clusters('hash_cluster')");
is(not_true('doc_cluster', $of_doc), '', 'restored, written to: clusters that are kept at once are true');
is(not_true('hash_cluster', $of_hash), '', 'restored, written to: those with notes too');
$database = 'postgres';

# Balls as clients send and receive them.
my $balls = '1|(0,0) 2|(-1,64) 3|(-9223372036854775808,3) 4|(9223372036854775807,15) 5|(42,-1) 6|';
$sql->(<<"END");
CREATE TABLE sent (id int, ball hamming_ball);
INSERT INTO sent SELECT split_part(b, '|', 1)::int, NULLIF(split_part(b, '|', 2), '')::hamming_ball
	FROM unnest(string_to_array('$balls', ' ')) AS b;
COPY sent TO '$temp/balls.bin' (FORMAT binary);
END
keep('balls.bin', slurp_file("$temp/balls.bin"));
ok(slurp_file("$temp/balls.bin") eq slurp_file("$promised/balls.bin"), 'balls are sent as promised');
$sql->("CREATE TABLE received (id int, ball hamming_ball); COPY received FROM '$promised/balls.bin' (FORMAT binary)");
is($sql->('SELECT * FROM received ORDER BY id') =~ s/\n/ /gr, $balls, 'balls are read as promised');

# A table whose rows have the same addresses on every server, and two indexes with leaves of every format, a level above
# them, rows that a build, an insert and VACUUM wrote, and rows without a fingerprint. Half of the scopes have hashes, and two
# thirds of the rows have keys in space 0, that are just near enough to each other for narrow leaves.
$sql->(<<'END');
CREATE TABLE t (id int, scope int, fp bigint);
CREATE TABLE near AS SELECT row_number() OVER (ORDER BY i) AS n, i AS scope
FROM generate_series(1, 500000) i WHERE (hashint4(i)::bigint & 4294967295) >> 22 = 350 ORDER BY i LIMIT 180;
CREATE FUNCTION add_rows(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, CASE WHEN i % 25 = 0 THEN NULL WHEN i % 2 = 0 THEN i % 3 ELSE (SELECT scope FROM near
		WHERE n = 1 + i / 2 % 180) END,
		CASE WHEN i % 40 = 7 THEN NULL ELSE (('x' || left(md5((i / 4)::text), 16))::bit(64)::bigint # (1::bigint << i % 64))
			& CASE WHEN i % 3 > 0 THEN x'003f0000ffffffff'::bigint ELSE -1 END END
	FROM generate_series(first, last) i
$$;
SELECT add_rows(1, 360);
CREATE INDEX plain ON t USING simhash (fp) WITH (fillfactor = 10);
CREATE INDEX scoped ON t USING simhash (scope, fp) WITH (fillfactor = 10);
SELECT add_rows(361, 400);
DELETE FROM t WHERE id IN (90, 92);
VACUUM (INDEX_CLEANUP on) t;
CHECKPOINT;
END
my %path = map { $_ => $node->data_dir . '/' . $sql->("SELECT pg_relation_filepath('$_')") } qw(plain scoped);
my %pages = map { $_ => [ pages_of($path{$_}) ] } keys %path;

# Without what differs from one build to the next: the position in the WAL and the build stamp.
sub without_stamps
{
	my @pages = @_;
	substr($_, 0, 8) = "\0" x 8 for @pages;
	substr($pages[0], $at{stamp}, 8) = "\0" x 8;
	substr($_, $at{page_stamp}, 4) = "\0" x 4 for @pages[ 1 .. $#pages ];
	return @pages;
}

for my $index (sort keys %pages)
{
	# A position in the WAL of another cluster would lie beyond its end.
	my $fresh = join '', map { my $page = $_; substr($page, 0, 8) = "\0" x 8; $page } @{ $pages{$index} };
	gzip(\$fresh => \my $packed, -Level => 9) or die $GzipError;
	keep("index_format_${format}_$index.gz", $packed);
}
my (%written, %formats);
for my $index (sort keys %pages)
{
	my $file = "$promised/index_format_${format}_$index.gz";
	gunzip($file => \my $bytes) or die "$file: $GunzipError";
	my @old = unpack "(a$page_size)*", $bytes;
	$written{$index} = \@old;
	my @now = without_stamps(@{ $pages{$index} });
	my @then = without_stamps(@old);
	is(scalar @now, scalar @then, "$index: pages");
	is(join(' ', grep { $now[$_] ne ($then[$_] // '') } 0 .. $#now), '', "$index: no page differs from what the first release writes");
	my @kinds = map { (level_and_space($_))[0] } @old[ 1 .. $#old ];
	my @leaves = map { $old[ $_ + 1 ] } grep { $kinds[$_] == 0 } 0 .. $#kinds;
	cmp_ok(scalar @leaves, '<', scalar @kinds, "$index: there is a level above the leaves");
	ok((grep { my ($count, $sorted) = count_and_sorted($_); $count > $sorted } @leaves), "$index: a leaf has rows that were appended");
	$formats{ leaf_format($_) } = 1 for grep { (count_and_sorted($_))[0] } @leaves;
}
is(join('; ', sort keys %formats), 'narrow, one scope; narrow, several scopes; wide, one scope; wide, several scopes',
	'leaves of every format');

# The written pages in place of those of this version.
$node->stop;
write_pages($path{$_}, @{ $written{$_} }) for keys %path;
$node->start;

# What the index of a kind lacks or has too much, asked for each row within each radius, against the table itself.
sub answers_right
{
	my ($what) = @_;
	for my $index (sort keys %path)
	{
		my $other = $index eq 'plain' ? 'scoped' : 'plain';
		my $in_scope = $index eq 'plain' ? '' : 'AND scope = q.scope';
		is($sql->("SELECT count(*) FROM simhash_index_verify('$index', true)"), 0, "$what: $index is sound");
		my $search = "SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM t WHERE fp <~> q.fp <= k $in_scope";
		my $ask =
			"SELECT q.id, k, ($search)
				FROM (SELECT * FROM t WHERE fp IS NOT NULL ORDER BY id LIMIT 400) q, unnest('{0,3,6,9}'::int[]) k ORDER BY 1, 2";
		my $hide = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = '$other'::regclass;";
		my $plan = $sql->("BEGIN; $hide SET LOCAL enable_seqscan = off; EXPLAIN $ask");
		like($plan, qr/using $index|on $index/, "$what: $index is searched");
		my $by_index = $sql->("BEGIN; $hide SET LOCAL enable_seqscan = off; $ask");
		my $by_table = $sql->("SET enable_indexscan = off; SET enable_bitmapscan = off; $ask");
		ok($by_index eq $by_table && length $by_index > 1000, "$what: $index finds what the table has");
	}
	return;
}
answers_right('pages of the first release');
$sql->("SELECT add_rows(401, 4000); DELETE FROM t WHERE id % 7 = 3; VACUUM (INDEX_CLEANUP on) t; SELECT add_rows(4001, 4500)");
answers_right('pages of the first release, written to');
$node->stop;
done_testing();
