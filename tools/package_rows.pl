#!/usr/bin/perl
# Makes rows of package lists. Arguments: file of stanzas as `apt-cache dumpavail` prints them, and
# file of English long descriptions (may be missing). Output: COPY text format, one package a row:
# package, section, source, maintainer, subject, body.
use strict;
use warnings;

my ($packages, $translations) = @ARGV;

# Calls $use with a hash of each stanza's fields; lines of a field are joined by newlines.
sub each_stanza
{
	my ($file, $use) = @_;
	local $/ = '';
	open my $fh, '<', $file or die "$file: $!\n";
	while (my $stanza = <$fh>)
	{
		my %field;
		my $name;
		for my $line (split /\n/, $stanza)
		{
			if ($line =~ /^([\w-]+):\s*(.*)/) { $name = $1; $field{$name} = $2; }
			elsif (defined $name) { $field{$name} .= "\n$line"; }
		}
		$use->(\%field);
	}
	close $fh;
	return;
}

# The long text: lines joined, the dot that stands for an empty line dropped.
sub body
{
	my $text = shift;
	$text =~ s/^ \.$//mg;
	$text =~ s/\s+/ /g;
	$text =~ s/^ | $//g;
	return $text;
}

sub copy_field
{
	my $text = shift // '';
	$text =~ s/\\/\\\\/g;
	$text =~ s/\s+/ /g;
	return $text eq '' ? '\N' : $text;
}

my %long;
if (defined $translations && -e $translations)
{
	each_stanza($translations, sub {
		my $f = shift;
		my ($subject, $rest) = split /\n/, $f->{'Description-en'} // '', 2;
		$long{ $f->{'Description-md5'} // '' } = body($rest) if defined $rest;
	});
}

my %seen;
each_stanza($packages, sub {
	my $f = shift;
	return if !defined $f->{Package} || $seen{ $f->{Package} }++;
	my ($subject, $rest) = split /\n/, $f->{Description} // $f->{'Description-en'} // '', 2;
	my $body = $long{ $f->{'Description-md5'} // '' } // (defined $rest ? body($rest) : undef);
	(my $source = $f->{Source} // $f->{Package}) =~ s/ .*//;
	(my $maintainer = $f->{Maintainer} // '') =~ s/ <.*//;
	print join("\t", map { copy_field($_) } $f->{Package}, $f->{Section}, $source, $maintainer, $subject, $body), "\n";
});
