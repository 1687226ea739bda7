# One flipped byte in an index with scopes, thousands of times, each in a copy of a sound index. It is reported, by an
# error with SQLSTATE XX001 or XX002 or by simhash_index_verify; or it is harmless: verification finds nothing, and
# searches that read every key space give the oracle's rows. No process dies, no statement hangs, no row is lost in
# silence. (007_corrupt damages many bytes at once, in ways that must be noticed.)
use strict;
use warnings;
use SimhashTest;
use SimhashPages;
use SimhashSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{SIMHASH_TEST_SEED} // int(rand(1_000_000));
srand($seed);
note "SIMHASH_TEST_SEED=$seed";

my $node = new_node('flipped', damaged => 1, conf => "shared_buffers = 128MB\n");
create_try($node);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE source AS SELECT i AS id, CASE WHEN i % 40 = 0 THEN NULL ELSE skewed_fp() END AS fp, any_tenant() AS tenant
	FROM generate_series(1, 3000) i;
-- For each row with a tenant four searches within 3 bits, and the rows that they must give. Search b finds the row in
-- block b alone: it asks for a fingerprint that differs by a bit in each of the three others.
CREATE TABLE asked AS SELECT s.id, b, tenant, fp # mask AS q, NULL::text AS want FROM source s, generate_series(0, 3) b,
	LATERAL (SELECT bit_or(1::bigint << (16 * i + (s.id + 5 * i) % 16)) FROM generate_series(0, 3) i WHERE i <> b) x (mask)
	WHERE fp IS NOT NULL AND tenant IS NOT NULL;
UPDATE asked a SET want = w.want FROM (
	SELECT a.id, b, count(*) || ' rows ' || sum(hashint8extended(s.id, 0)) AS want FROM asked a JOIN source s USING (tenant)
	WHERE bit_count((fp # q)::bit(64)) <= 3 GROUP BY a.id, b) w WHERE w.id = a.id AND w.b = a.b;

-- Raises an error, 'lost', unless so many tenths of these searches, and one for all rows, give what they must.
CREATE FUNCTION compare(tab text, tenths int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	lost text;
BEGIN
	PERFORM read_by('index');
	EXECUTE format('SELECT string_agg(a::text, '', '') FROM asked a WHERE id %% 10 < $1 AND want IS DISTINCT FROM
		(SELECT count(*) || '' rows '' || sum(hashint8extended(id, 0)) FROM %I t WHERE t.tenant = a.tenant AND fp <~> q <= 3)', tab)
		INTO lost USING tenths;
	IF lost IS NOT NULL THEN
		RAISE 'lost: % of %', left(lost, 200), tab;
	END IF;
	EXECUTE format('SELECT a::text FROM (SELECT count(fp), sum(id) FROM %1$I WHERE fp <~> 0 <= 64) a, (SELECT count(*), sum(id)
		FROM %1$I WHERE fp IS NULL) n
		WHERE (a, n) IS DISTINCT FROM (SELECT (count(fp), sum(id) FILTER (WHERE fp IS NOT NULL)), (count(*) - count(fp),
			sum(id) FILTER (WHERE fp IS NULL)) FROM source)', tab)
		INTO lost;
	IF lost IS NOT NULL THEN
		RAISE 'lost: of all rows of %: %', tab, lost;
	END IF;
END $$;

-- Raises an error as a search of a damaged page does when verification finds a fault.
CREATE FUNCTION verified(index text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	first text := (SELECT min(fault) FROM simhash_index_verify(index::regclass, true));
BEGIN
	IF first IS NOT NULL THEN
		RAISE '%', first USING ERRCODE = 'XX002', HINT = 'REINDEX';
	END IF;
END $$;
SQL

# As many bytes are damaged before the server starts again, each in an index of a table of its own. Those of half of
# its rows were built, the others inserted.
my @copies = map { "t$_" } 1 .. 80;
$node->safe_psql('postgres', <<"SQL") for @copies;
CREATE TABLE $_ AS TABLE source LIMIT 1500;
CREATE INDEX ${_}_fp ON $_ USING simhash (tenant as_numbered, fp);
INSERT INTO $_ SELECT * FROM source OFFSET 1500;
VACUUM ANALYZE $_;
SQL
my %path = map { $_ => $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('${_}_fp')") } @copies;
like($node->safe_psql('postgres',
	"BEGIN; SELECT read_by('index'); EXPLAIN (COSTS OFF) SELECT (SELECT count(*) FROM t1 t
		WHERE t.tenant = a.tenant AND fp <~> q <= 3) FROM asked a"),
	qr/Index Scan using t1_fp/, 'the searches are by the index');
$node->stop;
my %sound = map { $_ => [ pages_of($path{$_}) ] } @copies;

# A byte of an index. Every fourth is where the pages say what they are: in the special area or in the metapage.
sub some_byte
{
	my ($pages, $n) = @_;
	return (0, $header + int(rand 80)) if $n % 16 == 0;
	my $block = int(rand @$pages);
	return ($block, $at{special} + int(rand($page_size - $at{special}))) if $n % 4 == 0;
	# All but the LSN: with one that lies ahead the server writes no page, whatever is on it.
	return ($block, 8 + int(rand($page_size - 8)));
}

sub in_free_space
{
	my ($table, $block, $byte) = @_;
	my ($lower, $upper) = lower_and_upper($sound{$table}[$block]);
	return $byte >= $lower && $byte < $upper;
}

# Statements on a copy whose index is damaged at @byte: they print its name, the statement's kind and its end.
sub statements_on
{
	my ($table, $n, @byte) = @_;
	# What is in free space cannot change the answer to some questions only.
	my $tenths = in_free_space($table, @byte) ? 1 : 10;
	return <<"SQL";
SELECT '$table search ' || try(format('SELECT id FROM $table WHERE tenant = %s AND fp <~> %s <= %s', tenant, q, 3 + b * 3)) FROM asked
	WHERE id % 399 = $n % 399;
SELECT '$table nearest ' || try(format('SELECT id FROM $table WHERE tenant = %s ORDER BY fp <~> %s LIMIT 50', tenant, q)) FROM asked
	WHERE id % 399 = $n % 399 AND b = 1;
SELECT try('SELECT verified(''${table}_fp'')') AS verify \\gset
\\echo $table verify :verify
SELECT '$table compare ' || CASE :'verify' WHEN 'ok' THEN try('SELECT compare(''$table'', $tenths)') ELSE 'ok' END;
BEGIN;
SELECT '$table insert ' || try('INSERT INTO $table SELECT id, fp, tenant FROM source WHERE id % 60 = $n % 60');
ROLLBACK;
VACUUM (INDEX_CLEANUP ON) $table;
\\echo $table vacuum :SQLSTATE :LAST_ERROR_MESSAGE
SQL
}

my %count = map { $_ => 0 } qw(flips statement verify harmless free);
my ($died, $odd, $lost) = (0, 0, 0);

# Damages each copy, starts the server, looks at all, and puts the sound pages back.
sub flip_and_look
{
	my ($round) = @_;
	my %byte;
	for my $table (@copies)
	{
		my @pages = @{ $sound{$table} };
		$byte{$table} = [ some_byte(\@pages, ++$count{flips}) ];
		flip_byte(\@pages, @{ $byte{$table} });
		write_pages($path{$table}, @pages);
	}
	$node->start;
	my ($status, $out, $err) = $node->psql('postgres',
		join('', "\\set ON_ERROR_STOP 0\nSET statement_timeout = '20s';\n",
			map { statements_on($copies[$_], $count{flips} + $_, @{ $byte{ $copies[$_] } }) } 0 .. $#copies),
		timeout => 900);
	$died++ if $status == 2;
	for my $table (@copies)
	{
		my %end;
		push @{ $end{$1} }, $2 while $out =~ /^$table (\w+) (.*)$/mg;
		my $where = "round $round, byte $byte{$table}[1] of block $byte{$table}[0]";
		my $by_statement = grep { /^XX00|^0A000/ } map { @{ $end{$_} // [] } } qw(search nearest compare insert vacuum);
		my $by_verify = ($end{verify} // [''])->[0] ne 'ok';
		my @odd = grep { !/^$fair_end/ } map { @{ $end{$_} // ['no end'] } } qw(search nearest verify insert vacuum);
		my $compared = ($end{compare} // ['no end'])->[0];
		$odd += @odd;
		diag "$where: @odd" if @odd;
		if (!$by_verify && $compared =~ /lost/)
		{
			$lost++;
			diag "$where: $compared, and verification finds no fault";
		}
		diag "$where: an error, and verification finds no fault: " . join ' ', map { "$_: @{ $end{$_} }" } sort keys %end
			if $by_statement && !$by_verify;
		my $result = $by_statement ? 'statement' : $by_verify ? 'verify' : 'harmless';
		$count{$result}++;
		next if $result ne 'harmless';
		if (in_free_space($table, @{ $byte{$table} })) { $count{free}++ }
		else { note "$where: harmless, not in free space" }
	}
	$node->stop;
	write_pages($path{$_}, @{ $sound{$_} }) for @copies;
	diag $err if $status == 2;
	note "$count{flips} bytes flipped" if $round % 5 == 0;
	return;
}

until_over(2, \&flip_and_look, sub { $died || $count{flips} >= ($ENV{SIMHASH_FLIPS} // 0) });
is($died, 0, 'no process died');
is($odd, 0, 'all statements gave an answer, or SQLSTATE XX001 or XX002');
is($lost, 0, 'no row was lost without a fault that verification reports');
cmp_ok($count{$_}, '>', 0, "some flips: $_") for qw(statement verify harmless);

$node->start;
unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC/, 'the log shows no crash');
$node->stop;
done_so_far(sprintf '%d bytes of an index with scopes flipped, one at a time: %d reported by a search or a writer, %d by verification alone, %d harmless (%d of them in free space), %d rows lost in silence, %d crashes',
	@count{qw(flips statement verify harmless free)}, $lost, $died);
done_testing();
