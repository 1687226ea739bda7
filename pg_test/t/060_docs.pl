# Every piece of SQL in these pages runs, and returns what the page says. Signatures are those of the functions.
use strict;
use warnings;
use SimhashTest;
use SimhashDocs;
use File::Basename qw(dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @pages = qw(README.md docs/flagging.md docs/examples.md docs/operations.md docs/duplicates.md docs/methods.md
	docs/records.md docs/scopes.md docs/recipes.md docs/radius.md docs/hashes.md docs/moving.md);

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

# Signatures, `name(argument type, ...)`, in all pages. A call has no types; a list of four names and more is no call either.
my @signatures;
for my $page (glob("$root/README.md $root/docs/*.md"))
{
	my $text = slurp_file($page);
	while ($text =~ /`(\w+)\((\w[\w\s,\[\]]*)\)`/g)
	{
		my ($function, @arguments) = ($1, split /,\s*/, $2);
		next unless @arguments >= 4 || grep { / / } @arguments;
		my $names = join ',', map { /^(\w+)/ } @arguments;
		my $types = join ',', map { / (.+)/ ? qq("$1") : 'NULL' } @arguments;
		push @signatures, "('$function', '{$names}', '{$types}')";
	}
}
cmp_ok(scalar @signatures, '>', 20, 'pages have signatures');
is($node->safe_psql('page0', sprintf(<<'END', join(', ', @signatures))), '', 'names and types in signatures');
SELECT function, names, types FROM (VALUES %s) AS signature (function, names, types)
WHERE EXISTS (SELECT FROM pg_proc WHERE proname = function) AND NOT EXISTS (
	SELECT FROM pg_proc AS p
	WHERE proname = function AND proargnames[:cardinality(names::text[])] = names::text[]
		AND NOT EXISTS (SELECT FROM unnest(types::text[]) WITH ORDINALITY AS t (type, i) WHERE type::regtype <> proargtypes[i - 1]))
END
$node->stop;
done_testing();
