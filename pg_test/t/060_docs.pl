# Every piece of SQL in these pages runs, and returns what the page says.
use strict;
use warnings;
use SimhashTest;
use SimhashDocs;
use File::Basename qw(dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @pages = qw(README.md docs/flagging.md docs/examples.md docs/operations.md docs/duplicates.md docs/methods.md);

my $root = dirname($ENV{PG_TEST_DATA});
# Pages name data as seen from the repository.
my $there = PostgreSQL::Test::Utils::tempdir;
mkdir "$there/pg_test" or die $!;
symlink $ENV{PG_TEST_DATA}, "$there/pg_test/data" or die $!;

my $node = new_node('docs');
for my $i (0 .. $#pages)
{
	$node->safe_psql('postgres', "CREATE DATABASE page$i");
	# The README creates the extension itself.
	$node->safe_psql("page$i", 'CREATE EXTENSION simhash_dedup') unless $pages[$i] eq 'README.md';
	chdir $there or die $!;
	run_page($node, "page$i", "$root/$pages[$i]", $pages[$i]);
}
$node->stop;
done_testing();
