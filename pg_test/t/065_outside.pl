# The files of the extension in a folder outside of the server, where extension_control_path and dynamic_library_path of
# PostgreSQL 18 name it, as in an image of CloudNativePG: the server's own folders have nothing of it. It is created, updated,
# preloaded and loaded by workers, its script for psql prints a page, and a cluster goes to another one by pg_upgrade. OLD_SERVER
# names the installation of the old cluster, of 18 or later, which has a folder of its own: then only pg_upgrade is tried.
use strict;
use warnings;
use SimhashCopiedServer;
use SimhashEverything;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use File::Basename qw(dirname);
use File::Copy qw(copy);
use File::Path qw(make_path);
use IPC::Run;
use Test::More;

my $major = `pg_config --version` =~ /PostgreSQL (\d+)/ ? $1 : die 'pg_config names no version';
plan skip_all => 'skipped: extension_control_path is in PostgreSQL 18 and later' if $major < 18;

# A copy of the server of a pg_config, without the files of the extension: they are in a folder of their own, `outside`.
sub server_and_outside
{
	my ($pg_config) = @_;
	my %server = copy_server(PostgreSQL::Test::Utils::tempdir(), $pg_config);
	$server{outside} = PostgreSQL::Test::Utils::tempdir();
	$server{extension} = "$server{outside}/share/extension";
	make_path("$server{outside}/lib", $server{extension});
	for (glob("$server{pkglibdir}/simhash_dedup*"), glob("$server{sharedir}/extension/simhash_*"))
	{
		copy($_, /\.so$/ ? "$server{outside}/lib" : $server{extension}) or die "$_: $!";
		unlink or die "$_: $!";
	}
	is_deeply([ glob("$server{pkglibdir}/simhash* $server{sharedir}/extension/simhash*") ], [], 'the server has no file of the extension');
	return %server;
}

my %new_server = server_and_outside('pg_config');
my %server = $ENV{OLD_SERVER} ? server_and_outside("$ENV{OLD_SERVER}/bin/pg_config") : %new_server;

# Checksums and locale must agree.
sub node
{
	my ($name, $at) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, install_path => dirname($at->{bindir}));
	$node->init(extra => [ '--data-checksums', '--encoding=UTF8', '--locale=C.UTF-8' ]);
	$node->append_conf('postgresql.conf', <<"CONF");
autovacuum = off
shared_buffers = 32MB
jit = off
max_parallel_maintenance_workers = 2
log_min_messages = debug1
min_parallel_table_scan_size = 0
extension_control_path = '\$system:$at->{outside}/share'
dynamic_library_path = '\$libdir:$at->{outside}/lib'
CONF
	return $node;
}

# A build and pairs with processes of their own, which load the library by themselves.
sub loaded_by_workers
{
	my ($node) = @_;
	$node->safe_psql('app', <<'SQL');
CREATE TABLE many AS SELECT id, hashint8extended(id % 9000, 1) AS fp FROM generate_series(1, 10000) id;
ALTER TABLE many ADD PRIMARY KEY (id), SET (parallel_workers = 2);
ANALYZE many;
SQL
	my $mark = -s $node->logfile;
	$node->safe_psql('app', 'CREATE INDEX many_fp ON many USING simhash (fp)');
	like(slurp_file($node->logfile, $mark), qr/starting background worker process "parallel worker/, 'a build with workers');
	is($node->safe_psql('app', "SELECT count(*) FROM simhash_index_verify('many_fp', true)"), 0, '... is sound');
	is($node->safe_psql('app', "SELECT count(*) FROM simhash_pairs('many', 'id', 'fp', 3)"), 1000, 'pairs with a worker');
	return;
}

sub prints_a_page
{
	my ($node, $at) = @_;
	my $page = '';
	IPC::Run::run([ "$at->{bindir}/psql", '-X', '-q', '-h', $node->host, '-p', $node->port, '-d', 'app',
			'-f', "$at->{extension}/simhash_review.sql",
			map { ('-v', $_) } 'relation=petition', 'key=id', 'fp=fp', 'text=body', 'radius=8' ], '>', \$page);
	like($page, qr/^<!DOCTYPE html>.*<\/html>\s*\z/s, 'simhash_review.sql beside the other SQL files prints its page');
	return;
}

sub preloaded
{
	my ($node) = @_;
	my @settings = ('session_preload_libraries', 'shared_preload_libraries');
	for my $preload (@settings)
	{
		$node->append_conf('postgresql.conf', "$preload = 'simhash_dedup'");
		$node->restart;
		is($node->safe_psql('app', 'SHOW simhash_dedup.directory_cache'), '64MB', "$preload finds it by its name");
	}
	$node->adjust_conf('postgresql.conf', $_, undef) for @settings;
	$node->restart;
	return;
}

# To a next version, which adds a function.
sub updated
{
	my ($node, $at, $before) = @_;
	my $control = slurp_file("$at->{extension}/simhash_dedup.control");
	my ($version) = $control =~ /default_version = '([^']+)'/;
	append_to_file("$at->{extension}/simhash_dedup--$version--9.9.sql", <<'SQL');
CREATE FUNCTION hamming_again(bigint, bigint) RETURNS int LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_hamming';
SQL
	open my $file, '>', "$at->{extension}/simhash_dedup.control" or die $!;
	print $file $control =~ s/default_version = '[^']+'/default_version = '9.9'/r;
	close $file;
	$node->safe_psql('app', 'ALTER EXTENSION simhash_dedup UPDATE');
	is($node->safe_psql('app', 'SELECT hamming_again(1, 2)'), 2, 'ALTER EXTENSION UPDATE finds its script and the library');
	is(answers($node, 'app'), $before, '... and answers are what they were');
	return;
}

my $old = node('old', \%server);
$old->start;
$old->safe_psql('postgres', 'CREATE DATABASE app');
$old->safe_psql('app', 'CREATE EXTENSION simhash_dedup');
is($old->safe_psql('app', "SELECT DISTINCT probin FROM pg_proc WHERE probin LIKE '%simhash%'"), 'simhash_dedup',
	'functions name the library without a folder');
use_everything($old, 'app');
unless ($ENV{OLD_SERVER})
{
	loaded_by_workers($old);
	prints_a_page($old, \%server);
	preloaded($old);
}
my $before = answers($old, 'app');
updated($old, \%server, $before) unless $ENV{OLD_SERVER};
$old->stop;

my $new = node('new', \%new_server);
chdir $new->basedir or die $!;
$new->command_ok(
	[
		'pg_upgrade', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $server{bindir}, '-B', $new_server{bindir},
		'-s', $new->host, '-p', $old->port, '-P', $new->port
	],
	'pg_upgrade');
$new->start;
is(answers($new, 'app'), $before, 'pg_upgrade: the answers are what they were');
goes_on($new, 'app', 'pg_upgrade');

# What a server says that was not told where the library is.
$new->append_conf('postgresql.conf', "dynamic_library_path = '\$libdir'");
$new->reload;
my ($status, $out, $err) = $new->psql('app', 'SELECT hamming(1, 2)');
like($err, qr/could not access file "simhash_dedup": No such file or directory/, 'without the path: the message of errors.md');
$new->stop;
done_testing();
