#!/usr/bin/env perl
# Prints docs/llms.txt, for programs that read: what the extension is, its pages, and each function of docs/reference/functions.md with
# the first sentence about it. `llms.pl write` writes the file, `llms.pl` fails if it is not up to date, as test.sh calls it.
use strict;
use warnings;
use FindBin;

chdir "$FindBin::Bin/.." or die $!;
my $text = "# simhash_dedup\n\n> Finds near-duplicate rows inside PostgreSQL 15 to 19: an index on a text, the operators `~=` and `<~>`, a trigger.\n\n"
	. (slurp('README.md') =~ /^## Four statements\n.*?(^```sql\n.*?^```\n).*?(^```sql\n.*?^```\n).*?(^```sql\n.*?^```\n).*?(^```sql\n.*?^```\n).*?(^```sql\n.*?^```\n)/ms
		? join("\n", $1, $2, $3, $4, $5) : die "README.md has no four statements\n")
	. "\n## Pages\n\n";
for (slurp('docs/README.md') =~ /^\| (\[.*)$/gm)
{
	my ($links, $about) = /^(.*?) \| (.*?) \|$/ or next;
	$text .= "- $links: $about\n";
}
$text .= "\n## Functions\n\n";
for my $section (split /^(?=##+ )/m, slurp('docs/reference/functions.md'))
{
	my ($signatures, $rest) = $section =~ /^```signature\n(.*?)^```\n(.*)/ms or next;
	$signatures =~ s/\n[ \t]+/ /g;
	$text .= "- `$_`\n" for split /\n/, $signatures;
	my ($sentence) = $rest =~ /\A\s*([^|`\n][^|]*?[.:])(?:\s|\z)/s;
	$text .= '  ' . $sentence =~ s/\s+/ /gr =~ s/\]\([^)]*\)//gr =~ tr/[//dr . "\n" if defined $sentence;
	$text .= "  $1: $2\n" while $rest =~ /^\| (`\w+_\w+`) \| ([^|]+) \|$/gm;
}
if (@ARGV)
{
	open my $out, '>', 'docs/llms.txt' or die $!;
	print $out $text;
	exit 0;
}
exit 0 if slurp('docs/llms.txt') eq $text;
print "docs/llms.txt is not that of the reference: perl tools/llms.pl write\n";
exit 1;

sub slurp
{
	my ($path) = @_;
	local $/;
	open my $in, '<', $path or die "$path: $!\n";
	return <$in>;
}
