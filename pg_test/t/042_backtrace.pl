# An error has the same text in any environment: no variable that Rust reads puts a backtrace, or a path of the
# build machine, into what the client sees.
use strict;
use warnings;
use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

delete @ENV{qw(RUST_BACKTRACE RUST_LIB_BACKTRACE)};
my $node = new_node('backtrace');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE doc (id int PRIMARY KEY, body text, fp bigint);
INSERT INTO doc SELECT i, 'body ' || i, hashint8extended(i, 0) FROM generate_series(1, 30000) i;
CREATE TABLE flagged (id int PRIMARY KEY, fp bigint, flag boolean);
CREATE TRIGGER flagged BEFORE INSERT ON flagged FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=flag');
CREATE VIEW failing AS SELECT id, 1 / (id - 7)::bigint AS fp FROM doc;
CREATE ROLE guest;
GRANT INSERT ON flagged TO guest;
SQL

# Errors that the extension raises, and errors of the server below its functions: with their SQLSTATE.
my @errors = (
	[ '22023', q{SELECT simhash64('text', '{"nothing": 1}')} ],
	[ '42703', q{SELECT simhash64(d, '{"nothing": 1}') FROM doc AS d} ],
	[ '22P02', q{SELECT '(1'::hamming_ball} ],
	[ '42809', q{SELECT * FROM simhash_index_stats('doc')} ],
	[ '42703', q{SELECT * FROM simhash_pairs('doc', 'id', 'nothing')} ],
	[ '22012', q{SELECT * FROM simhash_pairs('failing', 'id', 'fp')} ],
	[ '57014', q{SET statement_timeout = '50ms'; SELECT count(*) FROM simhash_pairs('doc', 'id', 'fp', 40)} ],
	[ '53400', q{SET work_mem = '64kB'; SET temp_file_limit = '64kB'; SELECT count(*) FROM simhash_pairs('doc', 'id', 'fp')} ],
	[ '22012', q{CREATE INDEX ON doc USING simhash ((fp / (id - 7)))} ],
	[ '42501', q{SET ROLE guest; INSERT INTO flagged VALUES (1, 1)} ],
	[ '0A000', q{SELECT simhash_methods.simhash64_margin('text')} ]);

# What psql shows of each error, whole.
sub reports
{
	my @reports;
	for my $error (@errors)
	{
		my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$error->[1]");
		$err =~ s/\bpid \d+|\.\d+\b//g;
		push @reports, $err;
	}
	return @reports;
}

my @plain = reports();
for my $i (0 .. $#errors)
{
	like($plain[$i], qr/ERROR:  $errors[$i][0]: /, "error $errors[$i][0]: $errors[$i][1]");
	unlike($plain[$i], qr{[ (]/|backtrace}, '... shows no path');
}
for my $variable ('RUST_BACKTRACE=1', 'RUST_BACKTRACE=full', 'RUST_LIB_BACKTRACE=1')
{
	my ($name, $value) = split /=/, $variable;
	local $ENV{$name} = $value;
	$node->restart;
	my @reports = reports();
	is($reports[$_], $plain[$_], "$variable: the same report of $errors[$_][1]") for 0 .. $#errors;
}
$node->stop;
done_testing();
