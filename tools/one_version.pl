#!/usr/bin/env perl
# Version and description stand in several files, since each is read by somebody else: cargo, the server, PGXN, users. They agree.
# Called by test.sh. With the name of a tag (v0.1.0), by the release: the tag is of this version, and what a release fixes is fixed.
use strict;
use warnings;
use FindBin;
use JSON::PP;

chdir "$FindBin::Bin/.." or die $!;
my ($tag) = @ARGV;
my $wrong = 0;

sub text { my ($path) = @_; local $/; open my $in, '<', $path or die "$path: $!"; return scalar <$in> }

sub wrong { print "@_\n"; $wrong++; return }

# What an expression finds in a file, all of it, is what is wanted.
sub same
{
	my ($path, $expression, $wanted) = @_;
	my @found = text($path) =~ /$expression/g or wrong("$path: nothing instead of \"$wanted\"");
	for my $found (@found) { wrong("$path: \"$found\" instead of \"$wanted\"") if $found ne $wanted }
	return;
}

my ($version) = text('Cargo.toml') =~ /^version = "(.*)"$/m;
my ($description) = text('Cargo.toml') =~ /^description = "(.*)"$/m;
my $script = "sql/simhash_dedup--$version.sql";

same($_, qr/^version = "(.*)"$/m, $version) for glob 'crates/*/Cargo.toml';
same('simhash_dedup.control', qr/^default_version = '(.*)'$/m, $version);
# In a server it goes without saying that it is for PostgreSQL.
same('simhash_dedup.control', qr/^comment = '(.*)'$/m, lcfirst $description =~ s/ in PostgreSQL//r);
same($script, qr/^-- simhash_dedup (\S+):/m, $version);
same('README.md', qr/simhash[_-]dedup[_-](\d+\.\d+\.\d+)/, $version);
same('packaging/Dockerfile.cnpg', qr/(?:^ARG VERSION=|simhash-dedup:)(\d+\.\d+\.\d+)/m, $version);
same('packaging/Dockerfile.cnpg', qr/image\.description="(.*)"/, $description);
same('docs/upgrades.md', qr/simhash-dedup:(\d+\.\d+\.\d+)-/, $version);
same('docs/upgrades.md', qr/^ extversion\n-+\n (\S+)$/m, $version);

my ($newest, $date) = text('CHANGELOG.md') =~ /^## (\S+) \((.*)\)$/m;
wrong("CHANGELOG.md: its first heading is no version $version with a date or (unreleased)") if ($newest // '') ne $version;

my $meta = decode_json(text('META.json'));
my $provided = $meta->{provides}{simhash_dedup};
for my $part ($meta, $provided)
{
	wrong("META.json: version $part->{version} instead of $version") if $part->{version} ne $version;
	wrong("META.json: abstract \"$part->{abstract}\" instead of \"$description\"") if $part->{abstract} ne $description;
}
wrong("META.json: file $provided->{file} instead of $script") if $provided->{file} ne $script;
wrong("META.json: docfile $provided->{docfile} is missing") unless -e $provided->{docfile};

if (defined $tag)
{
	wrong("the tag is $tag, the version $version") if $tag ne "v$version";
	wrong("CHANGELOG.md: $version has no date") unless ($date // '') =~ /^\d{4}-\d\d-\d\d$/;
	wrong("sql/released.txt: $script is missing") unless text('sql/released.txt') =~ /  \Q$script\E$/m;
	wrong("README.md: says that a version is not released") if text('README.md') =~ /not released/;
	wrong("META.json: release_status is $meta->{release_status}") unless $meta->{release_status} eq 'stable';
}
print "version $version, $wrong differences\n";
exit($wrong ? 1 : 0);
