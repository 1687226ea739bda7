# Several servers with postgres_fdw: what 012_fdw.pl and 073_fdw_pairs.pl share.
package SimhashForeign;

use strict;
use warnings;
use Exporter 'import';
use SimhashTest;

our @EXPORT = qw(add_servers add_tree shipped);

# Starts $count servers, and tells the one in front of them about each: as s0, s1, ... with the option `extensions`.
# $sql is run on each of them. Returns their nodes.
sub add_servers
{
	my ($head, $count, $sql) = @_;
	my @nodes;
	for my $i (0 .. $count - 1)
	{
		my $node = new_node("server$i");
		push @nodes, $node;
		$node->safe_psql('postgres', $sql);
		my ($host, $port) = ($node->host, $node->port);
		$head->safe_psql('postgres', <<"SQL");
CREATE SERVER s$i FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'simhash_dedup');
CREATE USER MAPPING FOR CURRENT_USER SERVER s$i;
SQL
	}
	return @nodes;
}

# A table whose partitions, by the column part, are the table $remote of each of $count servers: NAME_0, NAME_1, ...
sub add_tree
{
	my ($head, $count, $name, $columns, $remote, $options) = @_;
	$options = $options ? ", $options" : '';
	$head->safe_psql('postgres', "CREATE TABLE $name ($columns) PARTITION BY LIST (part)");
	$head->safe_psql('postgres',
		"CREATE FOREIGN TABLE ${name}_$_ PARTITION OF $name FOR VALUES IN ($_) SERVER s$_ OPTIONS (table_name '$remote'$options)")
	  for 0 .. $count - 1;
	return;
}

# Each Remote SQL of a plan of EXPLAIN (VERBOSE).
sub shipped
{
	my ($plan) = @_;
	return $plan =~ /Remote SQL: (.*)/g;
}

1;
