# A package puts another library in the place of the one that a session has loaded. That session's workers load the new one, and
# say so; they never read what they share as something else. Here the other version is the same file with another version in the
# keys of shared memory.
use strict;
use warnings;
use SimhashCopiedServer;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use File::Basename qw(dirname);
use POSIX ();
use Test::More;

my %server = copy_server(PostgreSQL::Test::Utils::tempdir());
my $library = "$server{pkglibdir}/simhash_dedup.so";

# The hash of a version as src/index/parallel_build.rs makes it, as the bytes of a number of 64 bits above its lowest 16.
sub key_bytes
{
	my ($version) = @_;
	my $hash = 0x811c9dc5;
	$hash = (($hash ^ $_) * 0x01000193) & 0xffffffff for unpack 'C*', $version;
	return pack('V', $hash) . "\0\0";
}

# As dpkg does: a new file takes the name, and sessions keep the one that they have.
sub install_library
{
	my ($content) = @_;
	open my $fh, '>:raw', "$library.new" or die $!;
	print $fh $content;
	close $fh;
	chmod 0755, "$library.new";
	rename "$library.new", $library or die $!;
	return;
}

my $present = slurp_file($library);
my ($version) = slurp_file("$server{sharedir}/extension/simhash_dedup.control") =~ /default_version = '([^']+)'/;
my ($ours, $theirs) = (key_bytes($version), key_bytes('another'));
my $changed = (my $other = $present) =~ s/\Q$ours\E/$theirs/g;
# Where no compiler is known to do otherwise, a library without the keys is a test that has to be mended, not one to pass over.
my $machine = (POSIX::uname())[4];
die "the library has no keys of shared memory in the form that this test looks for" if !$changed && $machine eq 'x86_64';
plan skip_all => "compilers for $machine keep the keys in another form" unless $changed;

my $node = PostgreSQL::Test::Cluster->new('replaced', install_path => dirname($server{bindir}));
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
shared_buffers = 32MB
max_parallel_maintenance_workers = 2
min_parallel_table_scan_size = 0
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION simhash_dedup;
CREATE TABLE t AS SELECT id, hashint8extended(id % 9000, 1) AS fp FROM generate_series(1, 10000) id;
ALTER TABLE t ADD PRIMARY KEY (id), SET (parallel_workers = 2);
ANALYZE t;
SQL

my $build = 'CREATE INDEX t_fp ON t USING simhash (fp); DROP INDEX t_fp;';

# What a session prints, and its errors.
sub says
{
	my ($session, $sql) = @_;
	my $out = $session->query($sql);
	my $errors = $session->{stderr};
	$session->{stderr} = '';
	return $out . $errors;
}

my $older = $node->background_psql('postgres', on_error_stop => 0);
is(says($older, $build), '', 'a build, with workers of the same library');

install_library($other);
my $replaced = qr/ERROR:  the library simhash_dedup was replaced while this session was open\nHINT:  Reconnect and try again\./;
like(says($older, $build), $replaced, 'a build: the workers are of another version');
is(says($older, 'SET max_parallel_maintenance_workers = 0;'), '', 'without workers');
is(says($older, $build), '', '... the older session builds');

my $newer = $node->background_psql('postgres', on_error_stop => 0);
is(says($newer, $build), '', 'a new session builds, with workers of its own library');
$_->quit for $older, $newer;
$node->stop;
done_testing();
