# Random transactions that change a table whose clusters a trigger keeps: 052 and 053. See KeptClusters.
#
# What is drawn depends on rand() alone, so a seed repeats it. A transaction is a list of lines for psql.
package KeptOperations;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(transaction fingerprints_of);

# ---- fingerprints -------------------------------------------------------------------------------------------------

# Fingerprints whose groups within 3 bits often unite and fall apart, by name.
my %fingerprints = (
	# A path in steps of 3 bits: each place that one row holds is a bridge.
	path => sub { return (1 << 3 * int(rand 20)) - 1 },
	# Of 16 bits: with a hundred rows each one has about one neighbour.
	sparse => sub { return int(rand 65536) << 20 },
	# Near a few bases, of which some are near each other.
	bases => sub {
		my $fp = (0, 0x3F, 0xFC0, -1, 0x5555 << 32)[ rand 5 ];
		use integer;
		$fp ^= 1 << (0, 1, 2, 6, 7, 20, 40, 63)[ rand 8 ] for 1 .. int(rand 5);
		return $fp;
	},
	# Many equal rows, a bridge between them, a stranger.
	hot => sub { return (0, 0, 0, 63, 63, 7, 1, 255)[ rand 8 ] },
	# For histories of few rows.
	few => sub { return (0, 1, 3, 7, 15, 63, 255, 2047, -1, 0, 7, 63)[ rand 12 ] });

# A function that draws one of $kind; 'mixed' draws from all.
sub fingerprints_of
{
	my ($kind) = @_;
	return $fingerprints{$kind} if $kind ne 'mixed';
	my @all = map { $fingerprints{$_} } qw(path path sparse bases hot);
	return sub { return $all[ rand @all ]->() };
}

# ---- what a statement is made of ----------------------------------------------------------------------------------
#
# $d, what is drawn from: variant (see KeptClusters), keys (numbers 1 .. keys), session and sessions, fp (a function).

# $n different keys as SQL writes them. $own: such as only this session creates, where a key may not be created twice.
sub some_keys
{
	my ($d, $n, $own) = @_;
	my %taken;
	my $limit = $own && $d->{variant}{keys_of_sessions} ? int(($d->{keys} - 1 - $d->{session}) / $d->{sessions}) + 1 : $d->{keys};
	$n = $limit if $n > $limit;
	while (keys %taken < $n)
	{
		my $number = int(rand $limit);
		$number = $number * $d->{sessions} + $d->{session} if $limit < $d->{keys};
		$taken{ $d->{variant}{key}->($number + 1) } = 1;
	}
	# In no order of the hash's, which a seed does not repeat.
	my @keys = sort keys %taken;
	return map { splice @keys, rand @keys, 1 } 1 .. @keys;
}

sub one_key { my ($d, $own) = @_; return (some_keys($d, 1, $own))[0]; }

# One to $most keys after each other.
sub key_list { my ($d, $most, $own) = @_; return join ', ', some_keys($d, 1 + int(rand $most), $own); }

sub fingerprint { my ($d) = @_; return rand() < 0.05 ? 'NULL::bigint' : $d->{fp}->(); }

sub tenant
{
	my ($d) = @_;
	return rand() < 0.05 && !$d->{variant}{tenant_is_set} ? 'NULL::int' : 1 + int(rand 3);
}

# Rows (id, tenant, fp) to store.
sub rows
{
	my ($d, $most) = @_;
	return join ', ', map { "($_, " . tenant($d) . ', ' . fingerprint($d) . ')' } some_keys($d, 1 + int(rand $most), 1);
}

# Stores what is not there.
sub insert
{
	my ($d, $most) = @_;
	my $rows = rows($d, $most);
	return "INSERT INTO doc (id, tenant, fp) VALUES $rows ON CONFLICT DO NOTHING" if $d->{variant}{upsert} && rand() < 0.7;
	return "INSERT INTO doc (id, tenant, fp) SELECT * FROM (VALUES $rows) v (id, tenant, fp) WHERE NOT EXISTS (SELECT FROM doc d
		WHERE d.id = v.id)";
}

# Deletes the rows that are to be stored: COPY and plain INSERT know no conflicts.
sub after_delete
{
	my ($d, $rows, $statement) = @_;
	my @keys = $rows =~ /\(('[^']*'(?:::uuid)?|\d+),/g;
	return ('DELETE FROM doc WHERE id IN (' . join(', ', @keys) . ')', $statement);
}

sub copy
{
	my ($d) = @_;
	my $rows = rows($d, 5);
	my $lines = join '', map { s/::\w+|NULL|['() ]//gr . '\n' } split /\), /, $rows;
	return after_delete($d, $rows, "COPY doc (id, tenant, fp) FROM PROGRAM \$\$printf '$lines'\$\$ (FORMAT csv)");
}

# Statements of a PL/pgSQL block, of which some are undone by an exception.
sub block
{
	my ($d) = @_;
	my $body = join "\n", map {
		my $statement = join '; ', simple($d);
		my $ends = rand() < 0.4 ? 'RAISE EXCEPTION division_by_zero;' : '';
		"\tBEGIN $statement; $ends EXCEPTION WHEN division_by_zero THEN NULL; END;"
	} 1 .. 1 + int(rand 3);
	return "DO \$do\$ BEGIN\n$body\nEND \$do\$";
}

# IN: a transaction that keeps its snapshot sees an entry that another one has deleted since beside its own new one.
my $of_cluster = 'id IN (SELECT key FROM cluster WHERE cluster_id IN (SELECT cluster_id FROM cluster WHERE key = %s))';

# ---- operations ---------------------------------------------------------------------------------------------------

# How often each is drawn, and what makes its statements.
my @operations = (
	[ 14, sub { insert($_[0], 1) } ],
	[ 10, sub { insert($_[0], 6) } ],
	[ 14, sub { 'UPDATE doc SET fp = ' . fingerprint($_[0]) . ' WHERE id = ' . one_key($_[0]) } ],
	[ 6, sub { 'UPDATE doc SET fp = ' . fingerprint($_[0]) . ' WHERE id IN (' . key_list($_[0], 5) . ')' } ],
	[ 6, sub { 'UPDATE doc SET fp = v.fp, tenant = v.tenant FROM (VALUES ' . rows($_[0], 4) . ') v (id, tenant, fp) WHERE doc.id = v.id' } ],
	[ 1, sub { 'UPDATE doc SET fp = fp # 7 WHERE tenant = ' . tenant($_[0]) } ],
	[ 1, sub { 'UPDATE doc SET fp = ' . fingerprint($_[0]) . ' WHERE ' . sprintf $of_cluster, one_key($_[0]) } ],
	[ 3, sub { 'UPDATE doc SET fp = NULL WHERE id IN (' . key_list($_[0], 3) . ')' } ],
	[ 6, sub {
		my $to = one_key($_[0], 1);
		"UPDATE doc SET id = $to WHERE id = " . one_key($_[0]) . " AND NOT EXISTS (SELECT FROM doc d WHERE d.id = $to)"
	} ],
	[ 3, sub {
		my $to = one_key($_[0], 1);
		"UPDATE doc SET id = $to, tenant = " . tenant($_[0]) . ', fp = ' . fingerprint($_[0])
			. ' WHERE id = ' . one_key($_[0]) . " AND NOT EXISTS (SELECT FROM doc d WHERE d.id = $to)"
	} ],
	[ 6, sub { 'UPDATE doc SET tenant = ' . tenant($_[0]) . ' WHERE id IN (' . key_list($_[0], 3) . ')' } ],
	[ 3, sub { 'UPDATE doc SET note = \'other\' WHERE id IN (' . key_list($_[0], 3) . ')' } ],
	[ 2, sub { 'UPDATE doc SET fp = fp, id = id WHERE id IN (' . key_list($_[0], 3) . ')' } ],
	[ 12, sub { 'DELETE FROM doc WHERE id = ' . one_key($_[0]) } ],
	[ 6, sub { 'DELETE FROM doc WHERE id IN (' . key_list($_[0], 6) . ')' } ],
	[ 2, sub { 'DELETE FROM doc WHERE ' . sprintf $of_cluster, one_key($_[0]) } ],
	[ 1, sub { 'DELETE FROM doc WHERE fp = ' . $_[0]{fp}->() } ],
	[ 0.3, sub { 'DELETE FROM doc WHERE tenant = ' . tenant($_[0]) } ],
	[ 6, sub { $_[0]{variant}{upsert} ? 'INSERT INTO doc (id, tenant, fp) VALUES ' . rows($_[0], 4)
		. ' ON CONFLICT (id) DO UPDATE SET fp = excluded.fp, tenant = excluded.tenant' : insert($_[0], 4) } ],
	[ 4, sub { 'MERGE INTO doc USING (VALUES ' . rows($_[0], 4)
		. ') v (id, tenant, fp) ON doc.id = v.id WHEN MATCHED AND v.fp IS NULL THEN DELETE'
		. ' WHEN MATCHED THEN UPDATE SET fp = v.fp WHEN NOT MATCHED THEN INSERT (id, tenant, fp) VALUES (v.id, v.tenant, v.fp)' } ],
	# Two rows exchange their fingerprints, and their keys where the primary key is deferrable. Or keys move on by one.
	[ 4, sub { my ($x, $y) = some_keys($_[0],
		2); "UPDATE doc SET fp = other.fp FROM doc other WHERE (doc.id, other.id) IN (($x, $y), ($y, $x))" } ],
	[ 4, sub { return insert($_[0], 2) unless $_[0]{variant}{moves_keys};
		my ($x, $y) = some_keys($_[0], 2); "UPDATE doc SET id = CASE WHEN id = $x THEN $y ELSE $x END WHERE id IN ($x, $y)" } ],
	[ 2, sub { return insert($_[0], 2) unless $_[0]{variant}{moves_keys};
		my $x = one_key($_[0]); "UPDATE doc SET id = $x + (id - $x + 1) % 4, fp = " . (rand() < 0.5 ? 'fp' : fingerprint($_[0]))
			. " WHERE id BETWEEN $x AND $x + 3" } ],
	[ 4, sub { my $rows = rows($_[0], 3); after_delete($_[0], $rows, "INSERT INTO doc (id, tenant, fp) VALUES $rows") } ],
	[ 3, sub { my $how = rand() < 0.5 ? 'fp' : 'fp # 7';
		'WITH gone AS (DELETE FROM doc WHERE id IN (' . key_list($_[0], 3, 1)
			. ") RETURNING id, tenant, fp) INSERT INTO doc (id, tenant, fp) SELECT id, tenant, $how FROM gone" } ],
	# One statement that writes the table twice.
	[ 3, sub { my ($x, $y) = some_keys($_[0], 2, 1); my $fp = fingerprint($_[0]);
		my $change = rand() < 0.5 ? "UPDATE doc SET fp = $fp WHERE id = $x" : "DELETE FROM doc WHERE id = $x";
		"WITH changed AS ($change) INSERT INTO doc (id, tenant, fp) SELECT $y, " . tenant($_[0]) . ', ' . fingerprint($_[0])
			. " WHERE NOT EXISTS (SELECT FROM doc d WHERE d.id = $y)" } ],
	[ 3, sub { my ($x, $y) = some_keys($_[0], 2, 1); my ($tenant, $fp) = (tenant($_[0]), fingerprint($_[0]));
		"WITH new AS (INSERT INTO doc (id, tenant, fp) SELECT $x, $tenant, $fp WHERE NOT EXISTS (SELECT FROM doc d WHERE d.id = $x) RETURNING id)
			DELETE FROM doc WHERE id = $y AND (SELECT count(*) FROM new) < 2" } ],
	[ 2, \&copy ],
	[ 4, \&block ]);
my $all_weights = 0;
$all_weights += $_->[0] for @operations;

# The statements of one operation.
sub operation
{
	my ($d) = @_;
	my $at = rand $all_weights;
	for my $operation (@operations)
	{
		$at -= $operation->[0];
		return $operation->[1]->($d) if $at < 0;
	}
}

# One that may stand in a block.
sub simple
{
	my ($d) = @_;
	while (1)
	{
		my @statements = operation($d);
		return @statements unless grep { /^(?:DO|COPY)/ } @statements;
	}
}

# ---- transactions -------------------------------------------------------------------------------------------------

# A transaction of up to $d->{most} operations: its lines, and how many operations it has.
sub transaction
{
	my ($d) = @_;
	if ($d->{truncates} && rand() < 0.01)
	{
		return { operations => 2, lines => [ 'BEGIN;', 'TRUNCATE doc;', (map { insert($d, $d->{keys} / 4) . ';' } 1 .. 2), 'COMMIT;' ] };
	}
	my $n = rand() < 0.6 ? 1 : 1 + int(rand $d->{most});
	my @lines;
	for (1 .. $n)
	{
		my @statements = map { "$_;" } operation($d);
		push @statements, map { "$_;" } operation($d) if rand() < 0.1;
		@statements = ('SAVEPOINT s;', @statements, rand() < 0.6 ? 'ROLLBACK TO s;' : 'RELEASE s;') if $n > 1 && rand() < 0.2;
		push @lines, @statements;
		push @lines, 'SET CONSTRAINTS ALL ' . (rand() < 0.7 ? 'IMMEDIATE;' : 'DEFERRED;') if $d->{variant}{deferrable} && rand() < 0.2;
	}
	return { operations => $n, lines => \@lines } if @lines == 1 && rand() < 0.5;
	my $level = (('READ COMMITTED') x 4, 'REPEATABLE READ', 'SERIALIZABLE')[ rand 6 ];
	# A snapshot that others overtake.
	unshift @lines, 'SELECT pg_sleep(0.002);' if $d->{sessions} > 1 && rand() < 0.2;
	my $name = "'of $d->{session}'";
	my @end = rand() < 0.88 ? 'COMMIT;' : rand() < 0.5 ? 'ROLLBACK;' : ("PREPARE TRANSACTION $name;", "COMMIT PREPARED $name;");
	return { operations => $n, lines => [ "BEGIN ISOLATION LEVEL $level;", @lines, @end ] };
}

1;
