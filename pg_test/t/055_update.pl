# ALTER EXTENSION UPDATE from every version that can be installed to the present one: data of every kind answer as before, take
# writes, and go through a dump; and the extension consists of what CREATE EXTENSION makes, to the last property. That the
# comparison sees what an update script forgets is shown with a pretended next version, each of whose changes is left out once.
#
# The scripts of that version are in a copy of the server: the installed one is left alone.
use strict;
use warnings;
use SimhashCopiedServer;
use SimhashEverything;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use File::Basename qw(dirname);
use Test::More;

my $members = slurp_file(dirname($INC{'SimhashEverything.pm'}) . '/members.sql');

my %server = copy_server(PostgreSQL::Test::Utils::tempdir());
my $extension = "$server{sharedir}/extension";
my $node = PostgreSQL::Test::Cluster->new('update', install_path => dirname($server{bindir}));
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nshared_buffers = 32MB\njit = off\nfsync = off");
$node->start;
my $sql = sub { $node->safe_psql(@_) };
is($node->config_data('--sharedir') . '/extension', $extension, 'the copy of the server reads the copy of the folder');
$sql->('postgres', 'CREATE ROLE keeper');
my $present = $sql->('postgres', "SELECT default_version FROM pg_available_extensions WHERE name = 'simhash_dedup'");

my $databases = 0;

# A new database with the extension, of the default version or another, created by the superuser or in another role.
sub database_with
{
	my ($version, $role) = @_;
	my $database = 'base_' . $databases++;
	$sql->('postgres', "CREATE DATABASE $database OWNER keeper");
	$sql->($database, ($role ? "SET ROLE $role; " : '') . 'CREATE EXTENSION simhash_dedup' . ($version ? " VERSION '$version'" : ''));
	return $database;
}

# The lines about the extension in two databases that the other lacks.
sub difference
{
	my ($one, $other) = @_;
	my ($left, $right) = map { +{ map { ($_ => 1) } split /\n/, $sql->($_, $members) } } $one, $other;
	return join "\n", (map { "- $_" } grep { !$right->{$_} } sort keys %$left), (map { "+ $_" } grep { !$left->{$_} } sort keys %$right);
}

# Everything about an update from one version to the default.
sub updates_from
{
	my ($version) = @_;
	my $what = "from $version to $present";
	# By the owner of the database, who is no superuser: the extension is trusted.
	my $database = database_with($version, 'keeper');
	use_everything($node, $database);
	my $before = answers($node, $database);
	like($before, qr/^hash_fp\|0$/m, "$version: the index is sound");
	$sql->($database, 'SET ROLE keeper; ALTER EXTENSION simhash_dedup UPDATE');
	is($sql->($database, "SELECT extversion FROM pg_extension WHERE extname = 'simhash_dedup'"), $present,
		"$what: the version is the default");
	is(difference($database, database_with()), '', "$what: the extension is what CREATE EXTENSION makes");
	is(answers($node, $database), $before, "$what: the answers are what they were");

	my $file = $node->basedir . "/$database.dump";
	my $restored = "${database}_restored";
	$node->command_ok([ 'pg_dump', '-Fc', '-f', $file, '-d', $node->connstr($database) ], "$what: pg_dump");
	$sql->('postgres', "CREATE DATABASE $restored");
	$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr($restored), $file ], "$what: pg_restore");
	$sql->($restored, 'ANALYZE');
	is(answers($node, $restored), $before, "$what, restored: the answers are what they were");
	is(difference($restored, $database), '', "$what, restored: the extension is the same");
	goes_on($node, $database, $what);
	return;
}

my @versions = split /\n/, $sql->('postgres',
	"SELECT version FROM pg_available_extension_versions WHERE name = 'simhash_dedup' ORDER BY 1");
ok((grep { $_ eq $present } @versions), 'the default version is there');
is($sql->('postgres', "SELECT source FROM pg_extension_update_paths('simhash_dedup') WHERE target = '$present' AND path IS NULL"),
	'', 'each version can be updated to it');
updates_from($_) for @versions;

# What a next version might change, and the object whose line shows that it was forgotten.
my @changes = (
	[ 'function public.simhash_next(', q{CREATE FUNCTION simhash_next(a bigint) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN a # 1} ],
	[ 'function public.hamming(bigint,bigint): f,', q{ALTER FUNCTION hamming(bigint, bigint) COST 7} ],
	[ 'function public.hamming(bigint,bigint): comment', q{COMMENT ON FUNCTION hamming(bigint, bigint) IS 'next'} ],
	[ 'function simhash_methods.simhash_probes(',
		q{REVOKE EXECUTE ON FUNCTION simhash_methods.simhash_probes(bigint, bigint, int) FROM PUBLIC} ],
	[ 'function public.simhash64(pg_catalog.tsvector): f,', q{CREATE OR REPLACE FUNCTION simhash64(lexemes tsvector) RETURNS bigint
		LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'simhash_tokens64'} ],
	[ 'operator public.##(bigint,bigint)', q{CREATE OPERATOR ## (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hamming, COMMUTATOR = ##)} ],
	[ 'operator public.~=(bigint,bigint)', q{ALTER OPERATOR ~= (bigint, bigint) SET (JOIN = contjoinsel)} ],
	[ 'operator family public.simhash_next_ops USING hash', q{CREATE OPERATOR FAMILY simhash_next_ops USING hash} ],
	[ 'operator family public.simhash_ops USING simhash: operator',
		q{ALTER OPERATOR FAMILY simhash_ops USING simhash DROP OPERATOR 4 (bigint, int)} ],
	[ 'type public.simhash_next', q{CREATE TYPE simhash_next AS (a int)} ],
	[ 'table simhash_catalog.statement_end: column', q{ALTER TABLE simhash_catalog.statement_end ADD COLUMN next text DEFAULT 'a'} ],
	[ 'table simhash_catalog.statement_end: constraint', q{ALTER TABLE simhash_catalog.statement_end ADD CONSTRAINT next CHECK (1 > 0)} ],
	[ 'table simhash_catalog.statement_end: index', q{CREATE INDEX next_index ON simhash_catalog.statement_end ((1))} ],
	[ 'table simhash_catalog.next', q{CREATE TABLE simhash_catalog.next (a int)} ],
	[ 'extension simhash_dedup:',
		q{SELECT pg_catalog.pg_extension_config_dump('simhash_catalog.statement_end', '')} ],
	[ 'table simhash_catalog.statement_end:', q{GRANT INSERT ON simhash_catalog.statement_end TO PUBLIC} ],
	[ 'table simhash_catalog.statement_end: trigger', q{ALTER TABLE simhash_catalog.statement_end ENABLE TRIGGER answer_rows} ],
	[ 'view simhash_catalog.next_view', q{CREATE VIEW simhash_catalog.next_view AS SELECT 1 AS a} ],
	[ 'function simhash_methods.simhash_bits(',
		q{ALTER EXTENSION simhash_dedup DROP FUNCTION simhash_methods.simhash_bits(bigint, int);
			DROP FUNCTION simhash_methods.simhash_bits(bigint, int)} ]);

sub write_file
{
	my ($name, $text) = @_;
	unlink "$extension/$name";
	open my $file, '>', "$extension/$name" or die "$extension/$name: $!";
	print $file $text;
	close $file;
	return;
}

sub update_script { return join '', map { "$_->[1];\n" } @_; }

my $next = 'next';
my $full = slurp_file("$extension/simhash_dedup--$present.sql");
my $control = slurp_file("$extension/simhash_dedup.control");
$control =~ s/^(default_version = ).*/$1'$next'/m or die 'no default version';
write_file("simhash_dedup--$next.sql", $full . update_script(@changes));
my $fresh;
for my $forgotten (@changes)
{
	write_file("simhash_dedup--$present--$next.sql", update_script(grep { $_ != $forgotten } @changes));
	$fresh //= database_with($next);
	my $database = database_with($present);
	$sql->($database, "ALTER EXTENSION simhash_dedup UPDATE TO '$next'");
	like(difference($database, $fresh), qr/^[-+] \Q$forgotten->[0]\E/m, "seen when forgotten: $forgotten->[0]");
	$sql->('postgres', "DROP DATABASE $database");
}
write_file("simhash_dedup--$present--$next.sql", update_script(@changes));
write_file('simhash_dedup.control', $control);
my $from = $present;
$present = $next;
updates_from($from);
$node->stop;
done_testing();
