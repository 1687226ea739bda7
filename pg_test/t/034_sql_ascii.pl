# A database of SQL_ASCII, whose names may be any bytes: two names that differ in bytes that are no UTF-8 are two names, in
# every role that a column, a table, a schema, a trigger or an index has. And names in databases of other encodings than UTF-8.
use strict;
use warnings;

use SimhashTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('ascii', bare => 1);
$node->safe_psql('postgres', "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
$node->safe_psql('ascii', 'CREATE EXTENSION simhash_dedup');

# Two names that a lossy conversion takes for one: <k> and <k2> stand for them in SQL, quoted as a name, ~k and ~k2 inside
# of a string.
sub named
{
	my $sql = shift;
	my %last = ('' => "\xe9", 2 => "\xe8");
	$sql =~ s/<([a-z])(2?)>/"$1$last{$2}"/g;
	$sql =~ s/~([a-z])(2?)/$1$last{$2}/g;
	return $sql;
}

sub run_named { return $node->safe_psql('ascii', named(shift)); }

# The rows of a query, or its error.
sub asked
{
	my ($status, $out, $err) = $node->psql('ascii', named(shift));
	return $status == 0 ? join(' ', split /\n/, $out) : $err;
}

# Columns that play no part.
run_named(q{CREATE TABLE plain (id int PRIMARY KEY, fp bigint, copy int, <c> text, <c2> text);
	CREATE TRIGGER t BEFORE INSERT OR UPDATE ON plain FOR EACH ROW
		EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=1', 'duplicate_of=copy')});
is(asked('INSERT INTO plain VALUES (1, 0), (2, 1), (3, 255) RETURNING id, copy'), '1| 2|1 3|', 'columns that play no part');

# Every name is such.
run_named(<<'SQL');
CREATE SCHEMA <s>;
CREATE SCHEMA <s2>;
CREATE TABLE <s>.<t> (<k> int PRIMARY KEY, <k2> int, <f> bigint, <f2> bigint, <w> int, <w2> int, <b> text, <b2> text, <d> int, <d2> int);
CREATE TABLE <s2>.<t> (LIKE <s>.<t>);
CREATE TABLE <s>.<t2> (LIKE <s>.<t>);
CREATE INDEX <i> ON <s>.<t> USING simhash (<w>, <f>);
CREATE INDEX <i2> ON <s>.<t> USING simhash (<w2>, <f2>);
CREATE TRIGGER <g> BEFORE INSERT OR UPDATE ON <s>.<t> FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
	'fingerprint=~f2', 'radius=1', 'duplicate_of=~d2', 'within=~w2', 'key=~k', 'text=~b2');
INSERT INTO <s>.<t> (<k>, <f2>, <w2>, <b2>) VALUES (1, 0, 7, 'one two three four'), (2, 1, 7, 'one two three four'),
	(3, 1, 8, 'one two three four'), (4, 0, 7, 'five six seven eight');
INSERT INTO <s2>.<t> (<k>, <f2>, <w2>, <b2>, <f>) SELECT <k>, <f2>, <w2>, <b2>, 255 FROM <s>.<t>;
INSERT INTO <s>.<t2> (<k>, <k2>, <f>) VALUES (7, 1, 0), (8, 5, 3), (6, 9, 64);
SQL
is(asked('SELECT <k>, <d>, <d2> FROM <s>.<t> ORDER BY 1'), '1|| 2||1 3|| 4||', 'flagged by columns of such names');
my %questions = (
	q{simhash_pairs('<s>.<t>', '~k', '~f2', 1)} => '1|2|1 1|3|1 1|4|0 2|3|0 2|4|1 3|4|1',
	q{simhash_pairs('<s>.<t>', '~k', '~f', 1)} => '',
	q{simhash_pairs('<s2>.<t>', '~k', '~f', 1)} => '1|2|0 1|3|0 1|4|0 2|3|0 2|4|0 3|4|0',
	q{simhash_pairs('<s>.<t2>', '~k2', '~f', 2)} => '1|5|2 1|9|1',
	q{simhash_pairs('<s>.<t>', '~k', '~f2', 1, '~w2')} => '1|2|1 1|4|0 2|4|1',
	q{simhash_pairs_between('<s>.<t>', '~k', '~f2', '<s2>.<t>', '~k', '~f2', 0, '~w2')} => '1|1|0 1|4|0 2|2|0 3|3|0 4|1|0 4|4|0',
	q{simhash_clusters('<s>.<t>', '~k', '~f2', 1, 'star', '~b2', 0.5, '~w2')} => '1|1|2|1|0|1 1|2|2|1|1|1',
	q{(SELECT sum(pairs) FROM simhash_radius_report('<s>.<t>', '~k', '~f2', '~b2', 1))} => '6');
for my $question (sort keys %questions)
{
	is(asked("SELECT * FROM $question x ORDER BY x"), $questions{$question}, $question);
}
# The planner and verification.
like(asked('SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT 1 FROM <s>.<t> WHERE <w2> = 7 AND <f2> <~> 0 <= 1'),
	qr/Index Scan using "?i\xe8/, 'the index of such columns');
is(asked('SELECT count(*) FROM simhash_index_verify(\'<s>.<i>\', true)'), '0', 'verification');

# Kept clusters, in two tables whose names differ in such a byte.
run_named(<<'SQL');
CREATE TABLE <s>.<c> (key int PRIMARY KEY, cluster_id int);
CREATE TABLE <s>.<c2> (key int PRIMARY KEY, cluster_id int);
CREATE TABLE <s>.<m> (<k> int PRIMARY KEY, <k2> int, <f> bigint, <f2> bigint, <w> int, <w2> int);
CREATE INDEX ON <s>.<m> USING simhash (<w2>, <f2>);
CREATE TRIGGER <r> AFTER INSERT OR UPDATE OR DELETE ON <s>.<m> FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters(
	'clusters="~c"', 'key=~k', 'fingerprint=~f2', 'radius=1', 'within=~w2');
CREATE TRIGGER <d> AFTER INSERT OR UPDATE OR DELETE ON <s>.<m> FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters(
	'clusters="~c2"', 'key=~k', 'fingerprint=~f2', 'radius=1', 'within=~w2');
INSERT INTO <s>.<m> (<k>, <f>, <f2>, <w>, <w2>) SELECT i, i * 1000, i % 2, i, 1 + i / 4 FROM generate_series(1, 6) i;
UPDATE <s>.<m> SET <w2> = 1 WHERE <k> = 6;
SQL
for my $table ('<s>.<c>', q{<s>.<c2>})
{
	is(asked("SELECT * FROM $table ORDER BY 1"), '1|1 2|1 3|1 4|4 5|4 6|1', "clusters kept in $table");
}

# What a trigger with weights fills in is shown, and computed again, with the names that it was given; in other encodings too.
for my $case ([ 'ascii', "\xe9" ], [ 'latin1', "\xe9" ], [ 'euc_jp', "\xa4\xa2" ])
{
	my ($db, $letter) = @$case;
	if ($db ne 'ascii')
	{
		$node->safe_psql('postgres', "CREATE DATABASE $db ENCODING '$db' LOCALE 'C' TEMPLATE template0");
		$node->safe_psql($db, 'CREATE EXTENSION simhash_dedup');
	}
	# The client takes the database's encoding.
	$node->safe_psql($db, <<"SQL");
CREATE TABLE weighed (id int, "b$letter" text, "f$letter" bigint, copy int);
CREATE TRIGGER g BEFORE INSERT ON weighed FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
	'fingerprint=f$letter', 'radius=3', 'duplicate_of=copy', 'key=id', 'weights={"b$letter": 1}', 'preset=shingles');
INSERT INTO weighed (id, "b$letter")
	VALUES (1, 'one two three four five'), (2, 'one two three four five'), (3, 'something else altogether');
SQL
	is($node->safe_psql($db, q{SELECT string_agg(copy::text, ' ') FROM weighed}), '1', "$db: filled and flagged");
	is($node->safe_psql($db, "SELECT simhash_made_by('weighed', 'f$letter')"),
		qq[public.simhash64(new.*, '{"b$letter": 1}'::jsonb, 'shingles'::text)], "$db: what made the fingerprints");
	is($node->safe_psql($db, "SELECT checked, differing FROM simhash_fingerprint_verify('weighed', 'f$letter', NULL)"), '3|0',
		"$db: computed again");
	is($node->safe_psql($db, "SELECT simhash_diff('a $letter b', 'a c b')"), "a [!$letter!]{!c!} b",
		"$db: the bytes of texts that differ") unless $db eq 'ascii';
}

# Bytes that are no character come back, and do not equal others.
is(run_named(q{SELECT simhash_diff('~c ~d x', '~c2 ~d x')}), named('c[!') . "\xe9!]{!\xe8!} d\xe9 x", 'the bytes of texts that differ');

# Texts in an encoding that nobody has stated: their bytes are letters, so that two words differ.
$node->safe_psql('ascii', <<"SQL");
CREATE TABLE order_note (id int PRIMARY KEY, body text);
CREATE INDEX ON order_note USING simhash (body);
CREATE TRIGGER once BEFORE INSERT ON order_note FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('mode=skip');
INSERT INTO order_note VALUES (1, E'\\xc7\\xe0\\xea\\xe0\\xe7 15: \\xef\\xf0\\xe8\\xed\\xff\\xf2'),
	(2, E'\\xd1\\xf7\\xb8\\xf2 15: \\xee\\xf2\\xea\\xeb\\xee\\xed\\xb8\\xed'), (3, E'\\xc7\\xe0\\xea\\xe0\\xe7  15: \\xef\\xf0\\xe8\\xed\\xff\\xf2');
SQL
is($node->safe_psql('ascii', 'SELECT id FROM order_note ORDER BY 1'), "1\n2", 'a text of other bytes is stored, a copy is not');
is($node->safe_psql('ascii', q{SELECT simhash_same(E'M\xfcller', E'M\xf6ller'), simhash_same(E'M\xfcller', E' M\xfcller')}), 'f|t',
	'names of other bytes differ');

# The normal form has characters that an encoding lacks: what is shown has those of the database, or a question mark.
for my $case ([ 'euc_kr', "\xe3\x85\x8b\xe3\x85\x8b" ], [ 'euc_jp', "\xef\xbf\xa55000" ], [ 'euc_cn', "\xef\xbf\xa55000" ])
{
	my ($db, $text) = @$case;
	$node->safe_psql('postgres', "CREATE DATABASE shown_$db ENCODING '$db' LOCALE 'C' TEMPLATE template0");
	$node->safe_psql("shown_$db", 'CREATE EXTENSION simhash_dedup');
	my $asked = "SET client_encoding = UTF8; SELECT string_agg(feature, ' ' ORDER BY feature) FROM simhash_features('$text'::text, preset => 'words')";
	like($node->safe_psql("shown_$db", $asked), qr/\Q$text\E|5000/, "$db: features of a text with characters that have another normal form");
	like($node->safe_psql("shown_$db", "SET client_encoding = UTF8; SELECT simhash_diff('$text a b', '$text a c', 9)"), qr/\Q$text\E a \[!b/,
		"$db: the text as the database has it");
}

# A name in a message has each byte that is no UTF-8 as \x..
like(asked(q{SELECT * FROM simhash_pairs('<s>.<t>', '~k', '~x2', 1)}), qr/ERROR:  column "x\\xe8" of relation "t\\xe9" does not exist/,
	'a column that is not there');
like(asked(q{SELECT * FROM simhash_clusters('<s>.<t>', '~k', '~f2', 1, '~b2')}), qr/unknown method "b\\xe8".*text => 'b\\xe8'/s,
	'a column in place of a method');

$node->stop;
done_testing();
