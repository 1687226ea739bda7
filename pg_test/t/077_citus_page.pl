# Citus: the statements of docs/scale-out.md, with those that stand in comments for Citus, print what the page says.
use strict;
use warnings;
use SimhashTest;
use SimhashCitus;
use SimhashDocs;
use File::Basename qw(dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

need_citus();
my @nodes = new_citus(3);
my $page = slurp_file(dirname($ENV{PG_TEST_DATA}) . '/docs/scale-out.md');
my $distributed = ($page =~ s{^-- On Citus: (SELECT .*);$}{$1 \\g /dev/null}mg) + ($page =~ s/^-- On Citus: (?=SET )//mg);
is($distributed, 4, 'statements for Citus');
my $copy = PostgreSQL::Test::Utils::tempdir . '/scale-out.md';
open my $file, '>', $copy or die $!;
print $file $page;
close $file or die $!;
run_page($nodes[0], 'postgres', $copy, 'scale-out.md on Citus');
is(answer($nodes[0], q{SELECT string_agg(table_name::text, ' ' ORDER BY table_name::text) FROM citus_tables}),
	'doc keyed notice ticket',
	'all tables of the page are distributed');
stop_citus(@nodes);
done_testing();
