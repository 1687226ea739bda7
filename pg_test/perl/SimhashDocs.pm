# The SQL of a Markdown page, and what the page says that it returns; 062_clients.pl reads Python in the same way.
#
# A fenced block marked sql is run. When a block marked text follows it at once, that is what psql must
# print (without row counts and command tags); otherwise the block must not fail. A block right after the line
# `<!-- not run: why -->` is skipped. A block, of either kind, right after a line `Up to PostgreSQL 16:` or
# `From PostgreSQL 17 on:` is for those servers only; a page that shows what some print must show what the
# others print as well. Blocks may be indented, as in a list.
package SimhashDocs;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(code_blocks run_page plain);

# Does the line above a block say that it is for other majors?
sub for_others
{
	my ($above, $major) = @_;
	return 1 if $above =~ /^Up to PostgreSQL (\d+):$/ && $major > $1;
	return 1 if $above =~ /^From PostgreSQL (\d+) on:$/ && $major < $1;
	return 0;
}

# What a server of the major runs of one language, or of several, `sh|python`: a list of { line, language, code, expected },
# expected undef when the page shows no output.
sub code_blocks
{
	my ($page, $languages, $major) = @_;
	my @blocks;
	# The fence that is open, what it holds so far, the block whose output may follow, the line above.
	my ($fence, $content, $asking, $above) = (undef, '', undef, '');
	my $indent = '';
	my $number = 0;
	for my $line (split /\n/, slurp_file($page))
	{
		$number++;
		if (defined $fence && $line !~ /^\s*```/)
		{
			$line =~ s/^$indent//;
			$content .= "$line\n";
		}
		elsif (defined $fence)
		{
			if ($fence =~ /^(?:$languages)$/)
			{
				$asking = { line => $number, language => $fence, code => $content };
				push @blocks, $asking;
			}
			$asking->{expected} = $content if $fence eq 'text' && $asking;
			$asking->{expected} //= "The page does not say what PostgreSQL $major prints." if $fence eq 'text of others' && $asking;
			($fence, $above) = (undef, '');
		}
		elsif ($line =~ /^(\s*)```(\w*)/)
		{
			$indent = $1;
			$fence = $above =~ /^\s*<!-- not run: .* -->$/ ? 'not run' : $2;
			$fence .= ' of others' if for_others($above, $major);
			$asking = undef if $fence !~ /^text/;
			$content = '';
		}
		elsif ($line ne '')
		{
			$above = $line;
			$asking = undef unless $line =~ /^(?:Up to PostgreSQL \d+|From PostgreSQL \d+ on):$/;
		}
	}
	return @blocks;
}

# Runs a page from top to bottom, its SQL in one session, and compares. With $shell, a function that runs text and returns what it
# prints, blocks marked sh are steps of the page too.
sub run_page
{
	my ($node, $database, $page, $name, $shell) = @_;
	my $session = $node->background_psql($database, on_error_stop => 0);
	$session->query("\\pset tuples_only off\n\\pset format aligned\n\\pset footer off\n\\set SHOW_CONTEXT never");
	my @blocks = code_blocks($page, $shell ? 'sql|sh' : 'sql', $node->pg_version->major);
	cmp_ok(scalar @blocks, '>', 0, "$name has SQL");
	for my $block (@blocks)
	{
		my $out = $block->{language} eq 'sh' ? $shell->($block->{code}) : $session->query($block->{code});
		my $errors = $session->{stderr};
		$session->{stderr} = '';
		my $what = "$name: the block that ends at line $block->{line}";
		if (defined $block->{expected})
		{
			is(plain("$out\n$errors"), plain($block->{expected}), $what);
		}
		else
		{
			unlike($errors, qr/ERROR:|FATAL:|PANIC:/, $what);
		}
	}
	$session->quit;
	return;
}

# Without what depends on the terminal: blanks at the ends of lines, empty lines, psql's own prefix.
sub plain
{
	my ($text) = @_;
	$text =~ s/^psql:<stdin>:\d+: //mg;
	# The server's own words for a function or operator that it does not find differ between majors.
	$text =~ s/^(?:DETAIL|HINT):  (?:(?:No|An?) (?:operator|function) (?:matches|of that name)|Could not choose|You might need to add explicit).*\n?//mg;
	$text =~ s/[ \t]+$//mg;
	$text =~ s/\n+/\n/g;
	$text =~ s/^\n+|\n+$//g;
	return $text;
}

1;
