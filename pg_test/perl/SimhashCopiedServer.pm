# A copy of the server's programs, with links to all else. A server finds its files relative to its programs, so a test may
# change the files of extensions there, and the installed server is left alone.
package SimhashCopiedServer;

use strict;
use warnings;
use Exporter 'import';
use File::Basename qw(dirname);
use File::Path qw(make_path);
use PostgreSQL::Test::Utils;

our @EXPORT = qw(copy_server);

# Fills a folder with links to what is in another, but for some names.
sub link_all
{
	my ($from, $to, @but) = @_;
	for my $file (glob("$from/*"))
	{
		my $name = substr $file, length($from) + 1;
		next if grep { $name eq $_ } @but;
		symlink($file, "$to/$name") or die "$to/$name: $!";
	}
	return;
}

# Copies the server of a pg_config, by default that of PATH, below $to. Returns its folders (bindir, sharedir, libdir, pkglibdir);
# sharedir/extension and pkglibdir hold a link for each file.
sub copy_server
{
	my ($to, $pg_config) = @_;
	$pg_config //= 'pg_config';
	my %place = map { my $path = `$pg_config --$_`; chomp $path; ($_ => $path) } qw(bindir sharedir libdir pkglibdir);
	# What all paths begin with.
	my $common = $place{bindir};
	$common = dirname($common) while grep { index("$_/", $common eq '/' ? '/' : "$common/") != 0 } values %place;
	my %copy = map { ($_ => $to . substr($place{$_}, $common eq '/' ? 0 : length $common)) } keys %place;
	make_path($copy{bindir}, "$copy{sharedir}/extension", $copy{pkglibdir}, dirname($copy{libdir}));
	system_or_bail('cp', '-rL', "$place{bindir}/.", $copy{bindir});
	link_all($place{sharedir}, $copy{sharedir}, 'extension');
	link_all("$place{sharedir}/extension", "$copy{sharedir}/extension");
	link_all($place{pkglibdir}, $copy{pkglibdir});
	-e $copy{libdir} or symlink($place{libdir}, $copy{libdir}) or die "$copy{libdir}: $!";
	return %copy;
}

1;
