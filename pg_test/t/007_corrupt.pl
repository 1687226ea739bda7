# Damaged index pages: a clean error with SQLSTATE XX002 (or XX001 from the server's own page check)
# and the hint to REINDEX, or an answer; never a crash, never an endless loop. REINDEX repairs.
# One more error is fair: 0A000 for another version of the format.
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

# Changes the downlinks of every internal page: strings of a key and a child.
sub change_links
{
	my ($pages, $change) = @_;
	for (@$pages[ 1 .. $#$pages ])
	{
		my ($level, $lower) = ((level_and_space($_))[0], (lower_and_upper($_))[0]);
		next if $level == 0;
		my @links = unpack "(a$downlink)*", substr($_, $header, $lower - $header);
		substr($_, $header, $lower - $header) = join '', $change->(@links);
	}
	return;
}

# Changes the row addresses of every leaf: bits 16 to 47 of a posting's second part are the block,
# bits 48 to 58 the offset.
sub move_rows
{
	my ($pages, $change) = @_;
	for (@$pages[ 1 .. $#$pages ])
	{
		my ($level, $lower, $upper) = ((level_and_space($_))[0], lower_and_upper($_));
		my $count = ($lower - $header) / 4;
		next if $level != 0 || !$count;
		my $size = posting_size($upper, $count);
		for my $i (1 .. $count)
		{
			my $at = $at{scope} - $size * $i + 2;
			my ($block, $bits) = unpack 'LS', substr($_, $at, 6);
			my ($new_block, $new_offset) = $change->($block, $bits & 0x7FF);
			substr($_, $at, 6) = pack 'LS', $new_block, ($bits & 0xF800) | $new_offset;
		}
	}
	return;
}

# Changes the last posting of some leaf to which one was appended. The change is shown the page, the bounds of its
# free space, and the size of a posting's second part.
sub change_last_posting
{
	my ($pages, $change) = @_;
	for (@$pages[ 1 .. $#$pages ])
	{
		my ($level, $space) = level_and_space($_);
		my ($lower, $upper, $sorted) = (lower_and_upper($_), unpack("x$at{sorted}S", $_));
		my $count = ($lower - $header) / 4;
		next if $level != 0 || $space > 3 || $count <= $sorted;
		my $size = posting_size($upper, $count);
		return $change->(\$_, $lower, $upper, $size) if $upper - $lower >= 4 + $size;
	}
	die 'no leaf with appended postings';
}

sub some_block { my $pages = shift; return 1 + int(rand(@$pages - 1)); }

# Each damage: a name; what must notice it ('XX...': an error of that kind from any command, 'verified':
# simhash_index_verify, 'links', 'right links', 'rows', 'format N', 'no format N': all that meet them, as in %commands below,
# '': nothing must); what it does to the file's pages (a reference to an array of strings).
my @damages = (
	[ 'magic of the metapage', 'XX002', sub { flip_byte($_[0], 0, $header + int(rand 4)) } ],
	[ 'newer format', 'format 99', sub { substr($_[0][0], $at{version}, 4) = pack('L', 99) } ],
	[ 'format of the first version', 'format 1', sub { substr($_[0][0], $at{version}, 4) = pack('L', 1) } ],
	# One bit of version 2 flipped, and numbers that no release has.
	(map { my $version = $_; [ "version $version", "no format $version", sub { substr($_[0][0], $at{version}, 4) = pack('L', $version) } ] }
		(0, 130, 2097154, 0x80000002)),
	(map { my $block = $_; (
		[ "root of each key space at block $block", 'links', sub { substr($_[0][0], $at{roots}, 20) = pack('L5', ($block) x 5) } ],
		[ "downlinks to block $block", 'links', sub {
			change_links($_[0], sub { substr($_, $at{child}, 4) = pack('L', $block) for @_; return @_; });
		} ],
		# The rightmost page of a level has no link: leaf and root of the space without fingerprints among them.
		[ "right links to block $block", 'right links', sub {
			for my $page (@{ $_[0] }[ 1 .. $#{ $_[0] } ])
			{
				substr($page, $at{special}, 4) = pack('L', $block) if unpack("x$at{special}L", $page) != 0xFFFFFFFF;
			}
		} ],
		[ "rows in block $block of the table", 'rows', sub { move_rows($_[0], sub { return ($block, $_[1]) }) } ]) }
	  # Within the file's first segment, in another one, the highest.
	  5000, 1_000_000, 0xFFFFFFFE),
	[ 'rows at offset 0', 'rows', sub { move_rows($_[0], sub { return ($_[0], 0) }) } ],
	[ 'zeroed metapage', 'XX00', sub { $_[0][0] = "\0" x $page_size } ],
	[ 'every page zeroed but the metapage', 'XX00', sub { $_ = "\0" x $page_size for @{ $_[0] }[ 1 .. $#{ $_[0] } ] } ],
	[ 'every page a copy of the metapage', 'XX00', sub { $_ = $_[0][0] for @{ $_[0] }[ 1 .. $#{ $_[0] } ] } ],
	[ 'random bytes in every page but its header', 'XX00', sub {
		for my $page (@{ $_[0] }[ 1 .. $#{ $_[0] } ])
		{
			substr($page, $header) = join '', map { chr int rand 256 } 1 .. $page_size - $header;
		}
	} ],
	[ 'shortened file', 'XX00', sub { splice @{ $_[0] }, 2 + int(rand(@{ $_[0] } / 2)) } ],
	[ 'two pages swapped', '', sub {
		my ($a, $b) = (some_block($_[0]), some_block($_[0]));
		@{ $_[0] }[ $a, $b ] = @{ $_[0] }[ $b, $a ];
	} ],
	[ 'pages in reverse order', 'verified', sub { @{ $_[0] }[ 1 .. $#{ $_[0] } ] = reverse @{ $_[0] }[ 1 .. $#{ $_[0] } ] } ],
	# Leaves that look sound, with one posting less or more: its row is still filed in the other key spaces.
	[ 'a posting less', 'row \(N,N\) is missing in N of N key spaces', sub {
		change_last_posting($_[0], sub {
			my ($page, $lower, $upper, $size) = @_;
			substr($$page, $at{lower}, 4) = pack 'SS', $lower - 4, $upper + $size;
		});
	} ],
	[ 'a posting twice', 'row \(N,N\) is filed more than once in key space N', sub {
		change_last_posting($_[0], sub {
			my ($page, $lower, $upper, $size) = @_;
			substr($$page, $lower, 4) = substr($$page, $lower - 4, 4);
			substr($$page, $upper - $size, $size) = substr($$page, $upper, $size);
			substr($$page, $at{lower}, 4) = pack 'SS', $lower + 4, $upper - $size;
		});
	} ],
	# A search by descent comes to a page that begins above what it looks for.
	[ 'downlinks in reverse order', 'descent XX002 REINDEX .* begins above', sub { change_links($_[0], sub { reverse @_ }) } ],
	[ 'downlinks to the page behind', 'descent XX002 REINDEX .* begins above', sub {
		change_links($_[0], sub {
			my @children = map { substr($_, $at{child}, 4) } @_;
			substr($_[$_], $at{child}, 4) = $children[ $_ + 1 ] for 0 .. $#_ - 1;
			return @_;
		})
	} ],
	# Here it comes too far to the left and moves right.
	[ 'downlinks but the first in reverse order', 'verified', sub { change_links($_[0], sub { $_[0], reverse @_[ 1 .. $#_ ] }) } ],
	[ 'rows where a page of a table has none', 'rows', sub { move_rows($_[0], sub { return ($_[0], 1500) }) } ],
	[ 'pd_lower of a page', '', sub { substr($_[0][ some_block($_[0]) ], $at{lower}, 2) = pack('S', $header + int(rand 3000)) } ],
	[ 'pd_lower of all pages', 'verified', sub { substr($_, $at{lower}, 2) = pack('S', $header + int(rand 3000)) for @{ $_[0] } } ],
	[ 'pd_upper of all pages', '', sub { substr($_, $at{lower} + 2, 2) = pack('S', 4000 + int(rand 4000)) for @{ $_[0] } } ],
	(map { [ "metapage byte, $_", '', sub { flip_byte($_[0], 0, $header + 8 + int(rand 120)) } ] } 1 .. 8),
	(map { [ "byte of the special area of every page, $_", '', sub {
		my $pages = shift;
		flip_byte($pages, $_, $page_size - 1 - int(rand 48)) for 1 .. $#$pages;
	} ] } 1 .. 6),
	(map { [ "a byte in every page, $_", 'verified', sub {
		my $pages = shift;
		flip_byte($pages, $_, $header + int(rand($page_size - $header))) for 1 .. $#$pages;
	} ] } 1 .. 10));

# Some of them again, for an index with scopes: what is in its pages, more than what leads to them.
push @damages, map { [ "$_->[0], with scopes", @$_[ 1, 2 ], 'tenant as_numbered, ' ] }
  grep { $_->[0] =~ /^(a byte|byte of the special area|random bytes|pd_|a posting|downlinks|rows at offset 0|format of)/ } @damages;

# For some kinds of damage, what each command says.
my $reindex = 'XX002 REINDEX index "t\\d+_fp" is damaged:';
my %links = map { $_ => "$reindex a pointer to block \\d+, beyond its end" } qw(descent walk search nearest bitmap insert);
my $no_row = "$reindex no row can be at \\(\\d+,\\d+\\)";
my %commands = (
	links => { %links, faults => 'a link leads beyond the end of the index', faults_in_pages => 'a link leads beyond the end of the index' },
	'right links' => { walk => $links{walk}, faults => 'a link leads beyond the end of the index' },
	rows => {
		(map { $_ => $no_row } qw(descent walk search nearest bitmap null)),
		vacuum => 'XX002 .*no row can be at', faults => 'no row can be at', faults_in_pages => 'no row can be at'
	});
my @all = qw(descent walk search nearest bitmap null insert verify stats);
for my $damaged (0, 130, 2097154, 0x80000002)
{
	my %all = map { $_ => ($reindex =~ s/:$//r) . " at block 0: no release has format $damaged\$" } @all;
	$commands{"no format $damaged"} = { %all, vacuum => "XX002 .*no release has format $damaged" };
}
for my $other (1, 99)
{
	my %all = map { $_ => "0A000 REINDEX index \"t\\d+_fp\" has format $other, this library reads $format\$" }
	  @all;
	$commands{"format $other"} = { %all, vacuum => "0A000 .*has format $other, this library reads $format\$" };
}

my $node = new_node('corrupt', damaged => 1);
create_try($node);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE source AS SELECT i AS id, CASE WHEN i % 40 = 0 THEN NULL ELSE skewed_fp() END AS fp, any_tenant() AS tenant
	FROM generate_series(1, 6000) i;
-- How many searches within a tenant give other rows than reading every row does. An error is none.
CREATE FUNCTION wrong_answers(tab regclass) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	c record;
	want text;
	got text;
	wrong int := 0;
BEGIN
	FOR c IN SELECT fp, tenant FROM source WHERE fp IS NOT NULL AND tenant IS NOT NULL LIMIT 30 LOOP
		PERFORM read_by('table');
		EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %s WHERE tenant = $1 AND bit_count((fp # $2)::bit(64)) <= 6', tab)
			INTO want USING c.tenant, c.fp;
		PERFORM read_by('index');
		BEGIN
			EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %s WHERE tenant = $1 AND fp <~> $2 <= 6', tab)
				INTO got USING c.tenant, c.fp;
			wrong := wrong + (got IS DISTINCT FROM want)::int;
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END LOOP;
	RETURN wrong;
END $$;
SQL
# The check of an exclusion constraint searches too.
my %apart = (rows => sub { move_rows($_[0], sub { return (5000, $_[1]) }) },
	links => sub { substr($_[0][0], $at{roots}, 20) = pack('L5', (5000) x 5) });
for my $kind (sort keys %apart)
{
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE apart_$kind (id int, fp bigint, EXCLUDE USING simhash (fp WITH ~=));
INSERT INTO apart_$kind SELECT i, hashint8extended(i, 1) FROM generate_series(1, 1000) i;
SQL
}
sub path_of { return $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$_[0]')"); }
my %apart_paths = map { $_ => path_of("apart_${_}_fp_excl") } keys %apart;
my @paths;
for my $i (0 .. $#damages)
{
	my $scopes = $damages[$i][3] // '';
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t$i AS TABLE source LIMIT 3000;
CREATE INDEX t${i}_fp ON t$i USING simhash (${scopes}fp);
INSERT INTO t$i SELECT * FROM source OFFSET 3000;
SQL
	push @paths, path_of("t${i}_fp");
}
$node->stop;

damage_file($paths[$_], $damages[$_][2]) for 0 .. $#damages;
damage_file($apart_paths{$_}, $apart{$_}) for keys %apart;
$node->start;

for my $i (0 .. $#damages)
{
	my ($name, $expected, undef, $scopes) = @{ $damages[$i] };
	# The order within all scopes is left to a sort.
	my $pinned = $scopes ? 'WHERE tenant = 1' : '';
	my $within = $scopes ? <<"SQL" : '';
SELECT 'scope ' || try(format('SELECT id FROM t$i WHERE tenant = %s AND fp <~> %s <= %s', tenant, fp, k))
	FROM (SELECT tenant, fp FROM source WHERE fp IS NOT NULL AND tenant IS NOT NULL LIMIT 6) s, generate_series(0, 9, 3) k;
SELECT 'wrong answers ' || wrong_answers('t$i');
SQL
	my ($status, $out, $err) = $node->psql('postgres', <<"SQL", timeout => 100);
\\set ON_ERROR_STOP 0
SET statement_timeout = '15s';
SET enable_bitmapscan = off;
SET simhash_dedup.directory_cache = 0;
SELECT 'descent ' || try(format('SELECT id FROM t$i WHERE fp <~> %s <= %s', fp, k)) FROM (SELECT fp FROM source
	WHERE fp IS NOT NULL LIMIT 6) s, generate_series(0, 9, 3) k;
SELECT 'walk ' || try('SELECT id FROM t$i WHERE fp <~> 0 <= 64');
RESET simhash_dedup.directory_cache;
SELECT 'search ' || try(format('SELECT id FROM t$i WHERE fp <~> %s <= %s', fp, k)) FROM (SELECT fp FROM source
	WHERE fp IS NOT NULL LIMIT 6) s, generate_series(0, 9, 3) k;
SELECT 'nearest ' || try(format('SELECT id FROM t$i $pinned ORDER BY fp <~> %s LIMIT %s', fp, n)) FROM (SELECT fp FROM source
	WHERE fp IS NOT NULL LIMIT 3) s, unnest('{5,10000}'::int[]) n;
SELECT 'null ' || try('SELECT id FROM t$i WHERE fp IS NULL');
$within
SET enable_indexscan = off;
SET enable_bitmapscan = on;
SELECT 'bitmap ' || try(format('SELECT id FROM t$i WHERE fp <~> %s <= %s', fp, k)) FROM (SELECT fp FROM source
	WHERE fp IS NOT NULL LIMIT 3) s, generate_series(0, 9, 3) k;
SELECT 'faults ' || count(*) FROM simhash_index_verify('t${i}_fp', true) HAVING count(*) > 0;
SELECT DISTINCT 'faults: ' || regexp_replace(fault, '[0-9]+', 'N', 'g') FROM simhash_index_verify('t${i}_fp', true);
SELECT DISTINCT 'faults_in_pages: ' || regexp_replace(fault, '[0-9]+', 'N', 'g') FROM simhash_index_verify('t${i}_fp');
SELECT 'verify ' || try('SELECT * FROM simhash_index_verify(''t${i}_fp'', true)');
SELECT 'stats ' || try('SELECT * FROM simhash_index_stats(''t${i}_fp'')') WHERE to_regproc('simhash_index_stats') IS NOT NULL;
SELECT 'insert ' || try('INSERT INTO t$i SELECT id + 100000, fp, tenant FROM source LIMIT 400');
DELETE FROM t$i WHERE id % 3 = 0;
VACUUM (INDEX_CLEANUP ON) t$i;
\\echo vacuum :SQLSTATE :LAST_ERROR_MESSAGE
SQL
	my %seen;
	$seen{$_}++ for split /\n/, $out;
	my @odd = grep { !/^\w+ $fair_end/ } keys %seen;
	@odd = grep { !/^(faults|wrong answers)/ } @odd;
	is("@odd", '', "$name: an answer, or SQLSTATE XX001 or XX002") or diag "$out$err";
	my @no_hint = grep { /^\w+ XX002 / && !/^\w+ XX002 REINDEX/ && !/^vacuum/ } keys %seen;
	is("@no_hint", '', "$name: the error says REINDEX");
	if (my $wanted = $commands{$expected})
	{
		like($out, qr/^$_:? .*$wanted->{$_}/m, "$name: $_") for sort keys %$wanted;
	}
	elsif ($expected eq 'verified')
	{
		like($out, qr/^(?:faults \d|verify XX00)/m, "$name: verification reports it");
	}
	elsif ($expected)
	{
		like($out, qr/$expected/, "$name: noticed");
	}
	like($out, qr/^(?:wrong answers 0$|faults \d|verify XX00)/m, "$name: no row is lost unless verification says so") if $scopes;
	unlike($out, qr/[{\[]/, "$name: rows and keys are shown as the server shows them");
	is($node->psql('postgres', 'SELECT 1'), 0, "$name: the server lives") or last;
}

# An index of another format is in nobody's way: neither in plans that do not need it nor in dumps; it can be dropped.
{
	my ($i) = grep { $damages[$_][1] eq 'format 1' } 0 .. $#damages;
	is($node->safe_psql('postgres', "SELECT count(*) FROM t$i WHERE id = 1"), 1, 'other format: a query that has no use for the index');
	unlike($node->safe_psql('postgres', "EXPLAIN SELECT * FROM t$i WHERE id = 1"), qr/_fp/, 'and its plan');
	command_like([ 'pg_dump', '-h', $node->host, '-p', $node->port, '-t', "t$i", 'postgres' ],
		qr/^CREATE INDEX t${i}_fp ON public\.t$i USING simhash \(fp\);$/m, 'other format: a dump');
	is($node->safe_psql('postgres', "BEGIN; DROP INDEX t${i}_fp; SELECT count(*) FROM t$i WHERE fp <~> 1 <= 0; ROLLBACK"), 0,
		'other format: the index is dropped');
}

for my $kind (sort keys %apart)
{
	my $message = $kind eq 'rows' ? $no_row : $links{insert};
	my $try = "SELECT 'exclude ' || try('INSERT INTO apart_$kind SELECT 0, hashint8extended(7, 1)')";
	like($node->safe_psql('postgres', $try), qr/^exclude ${\($message =~ s{"t\\d\+_fp"}{"apart_${kind}_fp_excl"}r)}/,
		"the check of an exclusion constraint: $kind");
}

for my $i (0 .. $#damages)
{
	$node->safe_psql('postgres', "REINDEX INDEX t${i}_fp");
	is_sound($node, "t$i", "t${i}_fp", "$damages[$i][0]: after REINDEX", 1);
}
# Before PostgreSQL 16 a process knows one block that it is reading. The ERROR for a block that no file has must not
# read another, to convert the index's name: then the next reader of that block would wait for ever. So the name is shown
# unconverted. (Whether a conversion reads a page depends on what the session has looked up before.)
$node->safe_psql('postgres', "CREATE DATABASE latin1 ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
{
	$node->safe_psql('latin1', <<'SQL');
CREATE EXTENSION simhash_dedup;
CREATE TABLE t (fp bigint);
DO $$ BEGIN EXECUTE format('CREATE INDEX %I ON t USING simhash (fp)', 'name' || chr(233)); END $$;
INSERT INTO t SELECT hashint8extended(i, 1) FROM generate_series(1, 1000) i;
SQL
	my $path = $node->data_dir . '/' . $node->safe_psql('latin1',
		q{SELECT pg_relation_filepath(indexrelid) FROM pg_index WHERE indrelid = 't'::regclass});
	$node->stop;
	damage_file($path, $apart{links});
	$node->start;
	# The client takes the database's encoding: the session has looked for no conversion.
	my ($status, $out, $err) = $node->psql('latin1', <<'SQL', on_error_stop => 0, timeout => 100);
SET statement_timeout = '15s'; SET enable_seqscan = off; SET simhash_dedup.directory_cache = 0;
SELECT * FROM t WHERE fp <~> 0 <= 3;
SELECT * FROM t WHERE fp <~> 0 <= 3;
SQL
	my $damaged = qr/ERROR:  index "name\\xe9" is damaged: a pointer to block 5000, beyond its end\n.*\n?/;
	like($err, qr/^.*$damaged.*$damaged$/, 'a name that is not in UTF-8: both searches report the damage');
}

# A metapage that is damaged while VACUUM is in the index: its end does not ignore that. The server has room for 128
# pages, so it has to read the metapage again.
$node->append_conf('postgresql.conf', "shared_buffers = 1MB\n");
$node->restart;
create_gate($node);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE held (id int, fp bigint);
INSERT INTO held VALUES (1, 1);
INSERT INTO held SELECT i, hashint8extended(i, 1) FROM generate_series(2, 1000) i;
ALTER TABLE held ADD CONSTRAINT held_fp EXCLUDE USING simhash (at_gate(fp) WITH ~=);
DELETE FROM held WHERE id > 900;
CREATE TABLE filler (line text);
SQL
my $held = hold_vacuum($node, 'held', 'INSERT INTO held VALUES (0, 0) ON CONFLICT DO NOTHING', 'a damaged metapage');
$node->safe_psql('postgres', 'CHECKPOINT');
damage_file(path_of('held_fp'), sub { substr($_[0][0], $at{version}, 4) = pack 'L', 99 });
$node->safe_psql('postgres', "INSERT INTO filler SELECT repeat('x', 1900) FROM generate_series(1, 8000)");
my $other_format = qr/index "held_fp" has format 99,/;
my ($status, $out, $err) = $node->psql('postgres', "SELECT * FROM simhash_index_stats('held_fp')");
like($err, $other_format, 'the server reads the damaged metapage');
my ($check, $end) = open_gate($held);
like($end, $other_format, 'VACUUM reports it at its end');
$node->safe_psql('postgres', 'REINDEX INDEX held_fp; VACUUM (INDEX_CLEANUP ON) held');

my $log = slurp_file($node->logfile);
unlike($log, qr/was terminated by signal|PANIC/, 'no process died');
like($log, qr/\bXX002\b/, 'the log shows the SQLSTATE of damage');
$node->stop;
done_testing();
