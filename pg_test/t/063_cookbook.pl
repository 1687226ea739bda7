# docs/start.md runs from top to bottom, its shell too: writers, a dump, a standby, removal.
use strict;
use warnings;
use SimhashTest;
use SimhashDocs;
use File::Basename qw(dirname);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $page = dirname($ENV{PG_TEST_DATA}) . '/docs/start.md';
my $node = new_node('cookbook', init => [ allows_streaming => 1 ]);
$node->safe_psql('postgres', 'CREATE DATABASE app');
my $there = PostgreSQL::Test::Utils::tempdir;
# The page has a port of its own for the second server.
my $port = PostgreSQL::Test::Cluster::get_free_port();

sub shell
{
	my ($code) = @_;
	local @ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'app');
	my $out = '';
	my $timeout = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default // 180);
	my $ended = IPC::Run::run([ 'bash', '-ec', "cd '$there'; " . $code =~ s/\b5433\b/$port/gr ], '>&', \$out, $timeout);
	ok($ended, 'the shell ends well') or diag($out);
	return $out;
}

run_page($node, 'app', $page, 'start.md', \&shell);
$node->stop;
done_testing();

# A page that failed in the middle leaves its servers.
END
{
	my $status = $?;
	system("pg_ctl -D '$there/standby' -m immediate stop >/dev/null 2>&1") if defined $there && -e "$there/standby/postmaster.pid";
	$? = $status;
}
