# The Python of docs/clients.md runs, and prints what the page says. A line `pip install` begins a program, of all blocks up to the next
# such line, on an empty database. The program is skipped if the interpreter PYTHON lacks a package of that line, or has an older one.
use strict;
use warnings;
use SimhashTest;
use SimhashDocs;
use File::Basename qw(dirname);
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @pages = qw(clients.md);
my $docs = dirname($ENV{PG_TEST_DATA}) . '/docs';
my $python = $ENV{PYTHON} || 'python3';
# Ends the output of a block.
my $end = "\x1e";

# Writes a file of a page into the working directory, so that it can be imported.
my $prelude = <<'END';
def _write_file(path, text):
    import importlib, pathlib
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for package in path.parents[:-1] if len(path.parents) > 1 else []:
        (package / "__init__.py").touch()
    path.write_text(text)
    importlib.invalidate_caches()
END

# Prints those of the requirements that are not met: `name[extra]>=version`, of which the first two numbers count.
my $unmet = <<'END';
import importlib.metadata, re, sys
def numbers(version):
    return [int(number) for number in re.findall(r"\d+", version)[:2]]
for requirement in sys.argv[1:]:
    name, least = re.fullmatch(r"([\w-]+)(?:\[\w+\])?(?:>=([\d.]+))?", requirement).groups()
    try:
        if numbers(importlib.metadata.version(name)) >= numbers(least or "0"):
            continue
    except importlib.metadata.PackageNotFoundError:
        pass
    print(requirement)
END

# The programs of a page: lists of { packages, blocks }.
sub programs
{
	my ($page, $major) = @_;
	my @programs;
	for my $block (code_blocks("$docs/$page", 'sh|python', $major))
	{
		if ($block->{language} eq 'python')
		{
			push @{ $programs[-1]{blocks} }, $block;
		}
		elsif ($block->{code} =~ /^pip install (.+)/)
		{
			push @programs, { packages => $1, blocks => [] };
		}
	}
	return @programs;
}

# The blocks as one program. A block that begins with the name of a file is that file.
sub joined
{
	my $program = $prelude;
	for my $block (@_)
	{
		my ($file) = $block->{code} =~ m{^# ([\w/]+\.py)\n};
		$program .= $file ? "_write_file('$file', " . JSON::PP->new->ascii->allow_nonref->encode($block->{code}) . ")\n" : $block->{code};
		$program .= "\nprint('$end', end='', flush=True)\n";
	}
	return $program;
}

sub run_python
{
	my ($input, @arguments) = @_;
	my ($out, $err) = ('', '');
	my $timeout = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default // 180);
	my $succeeded = eval { IPC::Run::run([ $python, '-', @arguments ], '<', \$input, '>', \$out, '2>', \$err, $timeout) };
	return ($succeeded, $out, $err . ($@ // ''));
}

sub run_program
{
	my ($node, $page, @blocks) = @_;
	$node->safe_psql('postgres', 'DROP DATABASE IF EXISTS app');
	$node->safe_psql('postgres', 'CREATE DATABASE app');
	chdir PostgreSQL::Test::Utils::tempdir or die $!;
	local @ENV{qw(PGHOST PGPORT PYTHONUTF8)} = ($node->host, $node->port, 1);
	my ($ended, $out, $err) = run_python(joined(@blocks));
	my @outputs = split /$end/, $out, -1;
	for my $block (@blocks)
	{
		my $what = "$page: the block that ends at line $block->{line}";
		my $output = shift @outputs;
		# What comes after the last end, an unfinished block has printed.
		ok(scalar @outputs, "$what runs") or last;
		is(plain($output), plain($block->{expected}), "$what prints what follows") if defined $block->{expected};
	}
	ok($ended, "$page: the program ends well") or diag($err);
	return;
}

# `# done:` is shown by `make test`.
sub without
{
	my ($why) = @_;
	note "done: without $why";
	return $why;
}

my ($runs) = run_python('import sys; sys.exit(sys.version_info < (3, 10))');
unless ($runs)
{
	# After `plan skip_all`, `make test` would say nothing.
  SKIP: { skip without("Python 3.10 or newer, which $python is not for user " . getpwuid($>) . ': PYTHON names an interpreter'), 1; }
	done_testing();
	exit;
}

my $node = new_node('clients');
for my $page (@pages)
{
	my @programs = programs($page, $node->pg_version->major);
	cmp_ok(scalar @programs, '>', 0, "$page has Python");
	for my $program (@programs)
	{
		my ($ran, $unmet, $errors) = run_python($unmet, map { s/'//gr } split / /, $program->{packages});
		die $errors unless $ran;
	  SKIP:
		{
			skip without("a part of docs/$page, as $python has no " . join(' and ', split /\n/, $unmet) . ": pip install $program->{packages}"), 1
				if $unmet;
			run_program($node, $page, @{ $program->{blocks} });
		}
	}
}
$node->stop;
done_testing();
