# Every piece of SQL in these pages runs, and returns what the page says. Signatures are those of the functions.
use strict;
use warnings;
use SimhashTest;
use SimhashDocs;
use File::Basename qw(dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = dirname($ENV{PG_TEST_DATA});
my @all = map { substr($_, length("$root/")) } glob("$root/README.md $root/docs/*.md $root/docs/*/*.md");
# A page without SQL has nothing to run. SQL has one name, so that no block is passed over.
my @pages = grep { slurp_file("$root/$_") =~ /^[ \t]*```sql\b/m } @all;
# 063_cookbook.pl runs this page with its shell.
@pages = grep { $_ ne 'docs/start.md' } @pages;
cmp_ok(scalar @pages, '>', 10, 'pages have SQL');
my @misnamed = grep { slurp_file("$root/$_") =~ /^[ \t]*(?:```|~~~)[ \t]*(?:SQL|psql|pgsql|plpgsql|postgres(?:ql)?)\b/m } @all;
is("@misnamed", '', 'SQL is marked sql');
my @unfinished = grep { slurp_file("$root/$_") =~ /^[A-Z]{6,}$/m } @all;
is("@unfinished", '', 'no word stands for what is still to be written');

# Pages name data as seen from the repository.
my $there = PostgreSQL::Test::Utils::tempdir;
mkdir "$there/pg_test" or die $!;
symlink $ENV{PG_TEST_DATA}, "$there/pg_test/data" or die $!;

my $node = new_node('docs');
for my $i (0 .. $#pages)
{
	$node->safe_psql('postgres', "CREATE DATABASE page$i");
	# The README and the cookbook create the extension themselves.
	$node->safe_psql("page$i", 'CREATE EXTENSION simhash_dedup') unless $pages[$i] =~ m{^(?:README|docs/cookbook/)};
	chdir $there or die $!;
	run_page($node, "page$i", "$root/$pages[$i]", $pages[$i]);
}

# Signatures, `name(argument type, ...)`, in all pages. A call has no types; a list of four names and more is no call either.
my @signatures;
for my $page (@all)
{
	my $text = slurp_file("$root/$page");
	while ($text =~ /`(?:simhash_methods\.)?(\w+)\((\w[\w\s,\[\]]*)\)`/g)
	{
		my ($function, @arguments) = ($1, split /,\s*/, $2);
		next unless @arguments >= 4 || grep { / / } @arguments;
		my $names = join ',', map { /^(\w+)/ } @arguments;
		my $types = join ',', map { / (.+)/ ? qq("$1") : 'NULL' } @arguments;
		push @signatures, "('$function', '{$names}', '{$types}')";
	}
}
cmp_ok(scalar @signatures, '>', 0, 'pages have signatures');
is($node->safe_psql('page0', sprintf(<<'END', join(', ', @signatures))), '', 'names and types in signatures');
SELECT function, names, types FROM (VALUES %s) AS signature (function, names, types)
WHERE EXISTS (SELECT FROM pg_proc WHERE proname = function) AND NOT EXISTS (
	SELECT FROM pg_proc AS p
	WHERE proname = function AND proargnames[:cardinality(names::text[])] = names::text[]
		AND NOT EXISTS (SELECT FROM unnest(types::text[]) WITH ORDINALITY AS t (type, i) WHERE type::regtype <> proargtypes[i - 1]))
END

# Links from page to page: there is such a page, and such a heading. Files that are no pages are not looked at.
sub without_code
{
	my ($text) = @_;
	$text =~ s/^[ \t]*```.*?^[ \t]*```$//gms;
	return $text;
}
my (%anchors, @dead);
for my $page (@all)
{
	my %times;
	# As Markdown sites make them: small letters, hyphens for blanks, a number for the second of a name.
	my @headings = without_code(slurp_file("$root/$page")) =~ /^#+ (.*)$/gm;
	for my $anchor (map { lc s/[^\w\- ]//gr =~ tr/ /-/r } @headings)
	{
		$anchors{$page}{ $times{$anchor} ? "$anchor-$times{$anchor}" : $anchor } = 1;
		$times{$anchor}++;
	}
}
for my $page (@all)
{
	my $text = without_code(slurp_file("$root/$page")) =~ s/`[^`\n]*`//gr;
	for my $link (grep { !/^\w+:/ } $text =~ /\]\(([^)\s]+)\)/g)
	{
		my ($path, $anchor) = split /#/, $link, 2;
		my $target = $path eq '' ? $page : dirname($page) . "/$path";
		1 while $target =~ s{^\./|[^/]+/\.\./}{};
		next unless $target =~ /^(?:README|docs\/.*)\.md$/;
		push @dead, "$page: $link" unless $anchors{$target} && (!defined $anchor || $anchors{$target}{$anchor});
	}
}
is(join("\n", @dead), '', 'links between pages');

# The expressions that the test hash_tools applies are those of the page: one row of its tables names the tool and has it.
my @rows = slurp_file("$root/docs/media.md") =~ /^(\|.*)$/gm;
my @unlisted;
for my $line (split /\n/, slurp_file("$ENV{PG_TEST_DATA}/hash_tool_expressions.csv"))
{
	my ($tool, $gives, $expression) = split /,/, $line, 3;
	next if $tool eq 'tool';
	$expression =~ s/^"(.*)"$/$1/;
	my ($package) = $tool =~ /^([^. ]+)/;
	push @unlisted, $tool unless grep { index($_, "`$expression`") >= 0 && /\Q$package\E/i } @rows;
}
is("@unlisted", '', 'expressions of tools');
$node->stop;
done_testing();
