#!/usr/bin/env perl
# Plain English in pages, comments and messages: short sentences, and none of the phrases of prose.txt.
# A semicolon ends a sentence here, and what stands in parentheses is not counted. Files are read as bytes, which is fast.
# Called by test.sh, or by hand with files: prose.pl docs/search.md. A finding is `file:line: what: what to write instead`.
# What is code is not looked at: fenced blocks, words between backquotes, targets of links.
use strict;
use warnings;
use File::Find;
use FindBin;

# Words of a sentence: in what users read, and in what is for those who know the code.
my ($OF_PAGES, $OF_CODE) = (30, 40);
chdir "$FindBin::Bin/.." or die $!;
my @phrases = phrases("$FindBin::Bin/prose.txt");
my @files = @ARGV ? @ARGV : files();
my $found = 0;
for my $file (@files)
{
	my @lines = do { open my $in, '<', $file or die "$file: $!"; <$in> };
	chomp @lines;
	my $paragraphs = $file =~ /\.md$/ ? markdown(\@lines) : $file =~ /\.sql$/ ? sql(\@lines) : rust(\@lines);
	judge($file, $_) for @$paragraphs;
}
printf "%d files, %d findings\n", scalar @files, $found;
exit($found ? 1 : 0);

# What is checked when no file is named: pages, and the code with its comments and messages, but not that of tests.
sub files
{
	my @all = grep { -e } qw(README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md .github/PULL_REQUEST_TEMPLATE.md packaging/README.md);
	my $wanted = sub {
		return if m{/(?:tests|target)(?:/|$)};
		push @all, $_ if /\.(?:rs|md)$/ && !m{/bench/.*\.rs$} && !m{/(?:tables|moved_.*)\.md$};
		push @all, $_ if m{^sql/.*\.sql$};
	};
	find({ no_chdir => 1, wanted => $wanted }, grep { -e } qw(docs src crates sql bench pg_test/t pg_test/data));
	return sort @all;
}

# The list, as { expression, instead }. An expression that does not find its own example is a mistake in the list.
sub phrases
{
	my ($path) = @_;
	my @list;
	open my $in, '<', $path or die "$path: $!";
	while (<$in>)
	{
		chomp;
		next if /^(?:#|$)/;
		my ($expression, $instead, $example) = split /\t/;
		die "$path:$.: expression, what to write instead and example, with tabs between\n" unless defined $example;
		$expression =~ s/ /\\s/g;
		my $compiled = eval { qr/$expression/i } or die "$path:$.: $@";
		die "$path:$.: the expression does not find its example\n" unless $example =~ $compiled;
		push @list, { expression => $compiled, instead => $instead };
	}
	return @list;
}

# A paragraph is [ number of its first line, its lines ].
sub paragraphs
{
	my @paragraphs;
	my $open;
	return (\@paragraphs, sub {
		my ($number, $line, $continues) = @_;
		$open = undef unless $continues;
		return unless defined $line;
		push @paragraphs, $open = [ $number ] unless $open;
		push @$open, $line =~ s/^\s+//r;
	});
}

# Cells of tables, headings and items of lists are paragraphs of their own.
sub markdown
{
	my ($lines) = @_;
	my ($paragraphs, $add) = paragraphs();
	my $fenced = 0;
	for my $i (0 .. $#$lines)
	{
		my $line = $lines->[$i];
		if ($line =~ /^\s*```/) { $fenced = !$fenced; $add->() }
		elsif ($fenced || $line =~ /^\s*(?:$|<!--|    )/ && $line !~ /^\s*\S.*\S/) { $add->() }
		elsif ($line =~ /^\s*\|/) { $add->($i + 1, $_, 0) for split /\|/, $line =~ s/`[^`]*`/`x`/gr }
		elsif ($line =~ /^\s*(?:#|[*-] |\d+\. )/) { $add->($i + 1, $line =~ s/^\s*(?:#+|[*-]|\d+\.) +//r, 0) }
		else { $add->($i + 1, $line, 1) }
		$add->() if $line =~ /^\s*[|#]/;
	}
	return $paragraphs;
}

# Comments, whose code between ``` is left out, and strings of several words, which are messages.
sub rust
{
	my ($lines) = @_;
	my ($paragraphs, $add) = paragraphs();
	my ($fenced, $attribute) = (0, 0);
	for my $i (0 .. $#$lines)
	{
		my $line = $lines->[$i];
		last if $line =~ /^#\[cfg\(test\)\]/ && ($lines->[ $i + 1 ] // '') =~ /^mod \w+ \{/;
		if ($line =~ m{^\s*//[/!]?\s?(.*)})
		{
			my $text = $1;
			$fenced = !$fenced if $text =~ /^\s*```/;
			if ($fenced || $text =~ /^\s*(?:```.*|\|.*|    .*)?$/) { $add->() }
			elsif ($text =~ /^\s*(?:[*-] |\d+\. )(.*)/) { $add->($i + 1, $1, 0) }
			else { $add->($i + 1, $text, 1) }
			next;
		}
		$fenced = 0;
		$add->();
		$add->($i + 1, $1, 0) while $line =~ /"((?:[^"\\]|\\.)* (?:[^"\\]|\\.)* (?:[^"\\]|\\.)*)"/g;
		$add->($i + 1, $1, 0) if $line =~ m~[;,{)] // (.*)~;
		$add->();
	}
	return $paragraphs;
}

# Comments, and strings of several words: COMMENT and messages.
sub sql
{
	my ($lines) = @_;
	my ($paragraphs, $add) = paragraphs();
	for my $i (0 .. $#$lines)
	{
		my $line = $lines->[$i];
		if ($line =~ /^\s*--\s?(.*)/) { $1 =~ /^\s*$/ ? $add->() : $add->($i + 1, $1, 1); next }
		$add->();
		$add->($i + 1, $1, 0) while $line =~ /'((?:[^']|'')* (?:[^']|'')* (?:[^']|'')*)'/g;
		$add->();
	}
	return $paragraphs;
}

# Judges the sentences of a paragraph.
sub judge
{
	my ($file, $paragraph) = @_;
	my ($first, @lines) = @$paragraph;
	my $text = (join "\n", @lines) =~ s/\s+$//r;
	# As long as they are in lines, so that places stay: links are their text, code is one word.
	$text =~ s/(`[^`]*`)/'`x`' . ("\n" x ($1 =~ tr{\n}{}))/ge;
	$text =~ s/\]\([^)]*\)/]/g;
	$text =~ s/[\[\]*]//g;
	my $line = $first;
	my $most = $file =~ m{(?:^|/)(?:docs/|(?:README|SECURITY|CHANGELOG)\.md$)} && $file !~ m{(?:crates|src|bench|pg_test)/} ? $OF_PAGES : $OF_CODE;
	# A sentence ends with a mark and what closes it, before a capital letter, a number, a name, code or a quotation.
	my $next = qr/\s+(?:[A-Z\d`"(]|[a-z]+_)/;
	for my $sentence (split /(?<=[.!?])(?=$next)|(?<=[.!?][)"'])(?=$next)/, $text)
	{
		$line += $1 =~ tr/\n// if $sentence =~ s/^(\s+)//;
		my $words = words($sentence);
		report($file, $line, "a sentence of $words words", "at most $most") if $words > $most;
		for my $phrase (@phrases)
		{
			next unless $sentence =~ $phrase->{expression};
			my ($start, $end) = ($-[0], $+[0]);
			my $above = substr($sentence, 0, $start) =~ tr/\n//;
			my $what = substr($sentence, $start, $end - $start) =~ s/\s+/ /gr;
			report($file, $line + $above, "\"$what\"", $phrase->{instead});
		}
		$line += $sentence =~ tr/\n//;
	}
	return;
}

# The words of the longest part between semicolons, without what stands in parentheses.
sub words
{
	my ($sentence) = @_;
	my $longest = 0;
	for my $part (split /;/, $sentence =~ s/\([^()]*\)//gr)
	{
		my $count = () = $part =~ /(?<!\S)["'(]?[\w`\x80-\xff]\S*/g;
		$longest = $count if $count > $longest;
	}
	return $longest;
}

sub report
{
	my ($file, $line, $what, $instead) = @_;
	print "$file:$line: $what: $instead\n";
	$found++;
	return;
}
