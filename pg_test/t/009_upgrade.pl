# A database that uses all of the extension goes to a new cluster by pg_upgrade, and by the dumps of the old and of the new
# pg_dump: answers, plans, rights to write and constraints are what they were. OLD_SERVER names the installation
# of the old cluster, of the same or an earlier major; without it both clusters are of the same installation.
use strict;
use warnings;
use SimhashEverything;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Checksums must agree, and initdb's default changed in 18.
my @init = (extra => [ '--data-checksums', '--encoding=UTF8', '--locale=C.UTF-8' ]);
my $old = PostgreSQL::Test::Cluster->new('old', $ENV{OLD_SERVER} ? (install_path => $ENV{OLD_SERVER}) : ());
my $new = PostgreSQL::Test::Cluster->new('new');
for my $node ($old, $new)
{
	$node->init(@init);
	$node->append_conf('postgresql.conf', "autovacuum = off\nshared_buffers = 32MB\njit = off");
}
$old->start;
$old->safe_psql('postgres', 'CREATE DATABASE app');
$old->safe_psql('app', 'CREATE EXTENSION simhash_dedup');
use_everything($old, 'app');

my $before = answers($old, 'app');
like($before, qr/Index Scan using hash_fp|Bitmap Index Scan on hash_fp/, 'the index answers');
like($before, qr/^hash_fp\|0$/m, 'verification finds nothing');
my %dump = map { $_->name => $_->basedir . '/app.dump' } $old, $new;
command_ok([ $_->config_data('--bindir') . '/pg_dump', '-Fc', '-f', $dump{ $_->name }, '-d', $old->connstr('app') ],
	'pg_dump of the ' . $_->name . ' server') for $old, $new;
$old->stop;

chdir $new->basedir or die $!;
$new->command_ok(
	[
		'pg_upgrade', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $old->config_data('--bindir'), '-B', $new->config_data('--bindir'),
		'-s', $new->host, '-p', $old->port, '-P', $new->port
	],
	'pg_upgrade');
$new->start;
is(answers($new, 'app'), $before, 'pg_upgrade: the answers are what they were');
goes_on($new, 'app', 'pg_upgrade');

for my $by ('old', 'new')
{
	my $database = "by_$by";
	$new->safe_psql('postgres', "CREATE DATABASE $database");
	$new->command_ok([ 'pg_restore', '--exit-on-error', '-d', $new->connstr($database), $dump{$by} ], "restored from the $by pg_dump");
	$new->safe_psql($database, 'ANALYZE');
	is(answers($new, $database), $before, "$by pg_dump: the answers are what they were");
	goes_on($new, $database, "$by pg_dump");
}
$new->stop;
done_testing();
