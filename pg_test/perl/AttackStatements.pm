# Statements by which the sessions of the attack (080) change a drawn table: rows, in transactions of every kind, and the
# table and its indexes. A transaction is a list of lines for psql.
package AttackStatements;

use strict;
use warnings;
use Exporter 'import';
use AttackTables;
use AttackQuestions;

our @EXPORT = qw(session_lines ends_fairly);

# $d, what is drawn from: t (see AttackTables), session, next_id (of this session's rows), named (how many
# things it has named).

# ---- rows ---------------------------------------------------------------------------------------------------------

sub insert
{
	my ($d) = @_;
	my $n = one_of(1, 1, 5, 20, 20, 200);
	my $from = $d->{next_id};
	$d->{next_id} += $n;
	return rows_of($d->{t}, $from, $from + $n - 1);
}

# Some of all rows, or of those near a fingerprint.
sub some
{
	my ($d) = @_;
	my $t = $d->{t};
	my $m = one_of(7, 17, 50, 50, 200);
	return "id % $m = " . int(rand $m) if chance(0.6);
	return "id BETWEEN $d->{session}000000 + 100 AND $d->{session}000000 + " . between(101, 300) if chance(0.3);
	return $t->{fp}->('') . ' <~> ' . "coalesce(drawn_fp('$t->{kind}', " . int(rand 3000) . '), 1) <= ' . one_of(0, 2, 3, 6, 12);
}

sub new_value { my ($d) = @_; return $d->{t}{value}->($d->{t}{kind}, 'id + ' . int(rand 1e6)); }

my @changes = (
	[ 10, \&insert ],
	[ 6, sub { my ($d) = @_; "UPDATE $d->{t}{name} SET $d->{t}{store} = " . new_value($d) . ' WHERE ' . some($d) } ],
	[ 2, sub { my ($d) = @_; "UPDATE $d->{t}{name} SET $d->{t}{store} = NULL WHERE " . some($d) } ],
	# The fingerprint and the scopes stay: a heap-only tuple where the page has room.
	[ 4, sub { my ($d) = @_; "UPDATE $d->{t}{name} SET note = 'changed' WHERE " . some($d) } ],
	[ 4, sub { my ($d) = @_; my $s = one_of(@{ $d->{t}{scopes} }) or return insert($d);
		"UPDATE $d->{t}{name} SET $s->{column} = " . (sprintf($s->{value}, 'drawn_scope(id + ' . int(rand 1e6) . ')') =~ s/\bi\b/id/r)
			. ' WHERE ' . some($d) } ],
	[ 5, sub { my ($d) = @_; "DELETE FROM $d->{t}{name} WHERE " . some($d) } ],
	[ 2, sub { my ($d) = @_; my $t = $d->{t};
		"MERGE INTO $t->{name} t USING (SELECT id FROM $t->{name} WHERE " . some($d)
			. ') s ON s.id = t.id WHEN MATCHED AND t.id % 2 = 0 THEN DELETE'
		  . " WHEN MATCHED THEN UPDATE SET $t->{store} = " . ($t->{value}->($t->{kind}, 't.id + ' . int(rand 1e6))) } ],
	[ 2, sub { my ($d) = @_; my $t = $d->{t}; my $from = $d->{next_id}; $d->{next_id} += 100;
		my $columns = join ', ', 'id', $t->{store}, map { $_->{column} } @{ $t->{scopes} };
		"INSERT INTO $t->{name} ($columns) SELECT $from + row_number() OVER (), " . ($columns =~ s/^id, //r)
		  . " FROM (SELECT * FROM $t->{name} WHERE " . some($d) . ' LIMIT 90) s'
		  . ($t->{exclude} eq 'at once' ? ' ON CONFLICT DO NOTHING' : '') } ],
	[ 2, sub { my ($d) = @_;
		my @lines = map {
			my $raises = chance(0.4) ? ' RAISE division_by_zero;' : '';
			'BEGIN ' . change($d) . ";$raises EXCEPTION WHEN division_by_zero THEN NULL; END;"
		} 1 .. 3;
		'DO $do$ BEGIN ' . join(' ', grep { !/DO \$do\$/ } @lines) . ' END $do$' } ]);

sub weighted
{
	my ($d, @list) = @_;
	my $all = 0;
	$all += $_->[0] for @list;
	my $at = rand $all;
	for (@list) { $at -= $_->[0]; return $_->[1]->($d) if $at < 0; }
}

sub change { my ($d) = @_; return weighted($d, @changes); }

sub transaction
{
	my ($d) = @_;
	my $n = one_of(1, 1, 2, 3, 5);
	return [ change($d) . ';' ] if $n == 1 && chance(0.5);
	my @lines = map {
		my $line = change($d) . ';';
		chance(0.2) ? ('SAVEPOINT s;', $line, one_of('ROLLBACK TO s;', 'RELEASE s;')) : $line
	} 1 .. $n;
	my $level = one_of('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
	# These see the transaction's own changes. Under READ COMMITTED the oracle would have a later snapshot.
	push @lines, look($d, 2) if $level ne 'READ COMMITTED' && chance(0.4);
	push @lines, 'SET CONSTRAINTS ALL IMMEDIATE;' if $d->{t}{exclude} eq 'deferred' && chance(0.4);
	my $end = rand();
	my @end = $end < 0.75 ? 'COMMIT;' : $end < 0.9 ? 'ROLLBACK;' : 'PREPARE TRANSACTION \'attack ' . $d->{session} . '_'
		. $d->{named}++ . "';";
	push @end, ($end[0] =~ s/.*?'(.*)'.*/one_of('COMMIT', 'ROLLBACK') . " PREPARED '$1';"/er) if $end >= 0.9 && chance(0.8);
	return [ "BEGIN ISOLATION LEVEL $level;", @lines, @end ];
}

sub look { my ($d, $n) = @_; return questions($d->{t}, $n, updates => 0); }

sub looks
{
	my ($d) = @_;
	return [ 'BEGIN ISOLATION LEVEL ' . one_of('REPEATABLE READ', 'REPEATABLE READ', 'SERIALIZABLE') . ';',
		questions($d->{t}, 4, updates => chance(0.3)), 'COMMIT;' ];
}

# ---- the table and its indexes ------------------------------------------------------------------------------------

sub any_index { my ($d) = @_; my $n = @{ $d->{t}{indexes} }; return $n ? int(rand $n) : undef; }

# An index by name, of a constraint where there is no other.
sub some_index { my ($d) = @_; my $i = any_index($d); return defined $i ? index_name($d->{t}, $i) : "$d->{t}{name}_sim_apart"; }

# A relation that has storage: the table, or a partition.
sub some_table
{
	my ($d) = @_;
	my ($t, $name) = ($d->{t}, $d->{t}{name});
	return $t->{partitions} =~ /^(?:HASH|LIST)/ ? "${name}_p" . int(rand 2) : $t->{partitions} ? $name . one_of('_p0', '_p1a', '_p2') : $name;
}

# May roll back what it did. The table is locked, so that each question and the oracle see the same rows.
sub in_transaction { my ($d, @lines) = @_; return [ 'BEGIN;', @lines, look($d, 2), one_of('COMMIT;', 'ROLLBACK;') ]; }

sub anew
{
	my ($d) = @_;
	my $i = any_index($d) // return [ "REINDEX TABLE $d->{t}{name};" ];
	my $drop = 'DROP INDEX ' . index_name($d->{t}, $i) . ';';
	return in_transaction($d, $drop, index_sql($d->{t}, $i) . ';');
}

sub second_index
{
	my ($d) = @_;
	my $i = any_index($d) // return [ "ANALYZE $d->{t}{name};" ];
	my $name = "$d->{t}{name}_sim_of_$d->{session}_" . $d->{named}++;
	my $concurrently = !$d->{t}{partitions};
	return [ index_sql($d->{t}, $i, name => $name, concurrently => $concurrently) . ';', 'DROP INDEX ' . ($concurrently ? 'CONCURRENTLY ' : '')
		. "IF EXISTS $name;" ];
}

my @definitions = (
	[ 4, sub { [ 'REINDEX INDEX ' . some_index($_[0]) . ';' ] } ],
	[ 5, sub { [ 'REINDEX INDEX ' . ($_[0]{t}{exclude} ? '' : 'CONCURRENTLY ') . some_index($_[0]) . ';' ] } ],
	[ 2, sub { [ 'REINDEX TABLE CONCURRENTLY ' . some_table($_[0]) . ';' ] } ],
	[ 6, sub { [ "VACUUM $_[0]{t}{name};" ] } ],
	[ 3, sub { [ 'VACUUM (' . one_of('FREEZE, INDEX_CLEANUP ON', 'PARALLEL 2, INDEX_CLEANUP ON', 'ANALYZE, TRUNCATE ON')
		. ") $_[0]{t}{name};" ] } ],
	[ 1, sub { [ 'VACUUM FULL ' . some_table($_[0]) . ';' ] } ],
	[ 2, sub { [ "CLUSTER $_[0]{t}{name} USING $_[0]{t}{name}_id;" ] } ],
	[ 1, sub { in_transaction($_[0], "TRUNCATE $_[0]{t}{name};", insert($_[0]) . ';') } ],
	[ 2, \&anew ],
	[ 2, \&second_index ],
	[ 1, sub { [ "ALTER TABLE $_[0]{t}{name} ADD COLUMN of_$_[0]{session} int DEFAULT 7;",
		"ALTER TABLE $_[0]{t}{name} DROP COLUMN IF EXISTS of_$_[0]{session};" ] } ],
	# Rewrites the table and its indexes.
	[ 1, sub { in_transaction($_[0], "ALTER TABLE $_[0]{t}{name} ALTER pad TYPE " . one_of('bigint', 'int', 'numeric') . ';') } ],
	[ 1, sub { [ $_[0]{t}{partitions} ? 'CHECKPOINT;' : 'ALTER INDEX ' . some_index($_[0]) . ' SET (fillfactor = '
		. one_of(30, 70, 100) . ');' ] } ],
	[ 1, sub { [ 'ALTER INDEX ' . some_index($_[0]) . ' SET TABLESPACE ' . one_of('elsewhere', 'pg_default') . ';' ] } ],
	[ 1, sub { [ 'ALTER TABLE ' . some_table($_[0]) . ' SET TABLESPACE ' . one_of('elsewhere', 'pg_default') . ';' ] } ],
	[ 1, sub { $_[0]{t}{partitions} || $_[0]{t}{exclude} eq 'deferred' ? [ 'CHECKPOINT;' ]
		: in_transaction($_[0], "ALTER TABLE $_[0]{t}{name} SET " . one_of('LOGGED', 'UNLOGGED') . ';') } ],
	[ 1, sub { my $t = $_[0]{t}; return [ 'CHECKPOINT;' ] unless $t->{partitions} =~ /^RANGE/;
		[ "ALTER TABLE $t->{name} DETACH PARTITION $t->{name}_p0;",
			"ALTER TABLE $t->{name} ATTACH PARTITION $t->{name}_p0 FOR VALUES FROM (MINVALUE) TO (1000);" ] } ],
	[ 1, sub { [ "ANALYZE $_[0]{t}{name};" ] } ],
	[ 1, sub { [ 'CHECKPOINT;' ] } ]);

# From 19 on.
my @repack = (
	[ 2, sub { [ "REPACK $_[0]{t}{name} USING INDEX $_[0]{t}{name}_id;" ] } ],
	[ 2, sub { [ 'REPACK ' . some_table($_[0]) . ';' ] } ],
	[ 2, sub { [ 'REPACK (CONCURRENTLY) ' . some_table($_[0]) . ';' ] } ]);

# ---- a session ----------------------------------------------------------------------------------------------------

# The transactions of a session; its number makes its rows and names differ from those of others. $definer: it changes
# definitions most of the time; others do that seldom.
sub session_lines
{
	my ($t, $session, $definer, $n) = @_;
	my $d = { t => $t, session => $session, next_id => $session * 1_000_000 + 100, named => 0 };
	my @definitions = (@definitions, $t->{server}{major} >= 19 ? @repack : ());
	my $share = $definer ? 0.6 : 0.06;
	return map { my $r = rand(); $r < $share ? weighted($d, @definitions) : $r < $share + 0.25 ? looks($d) : transaction($d) } 1 .. $n;
}

# May a statement of such a session end with this error ("SQLSTATE: message")? Conflicts, deadlocks, locks that are not to be had
# in time; what another session is dropping; savepoints of a transaction that has failed; rows that are too near others, or in a
# partition that is away; a partition that could not be detached, when it is to be attached; tables that REPACK does not take,
# for an index that another session left invalid or for want of a key; after a kill the connection's end. And what the server
# says when an index is dropped while a command goes through several.
my $fair = join '|', qw(40001 40P01 55P03 25P02 3B001 42P01 42704), '55000: cannot execute REPACK';
sub ends_fairly
{
	my ($t, $error, $statement, $killed) = @_;
	return 1 if $error =~ /^(?:$fair)/;
	return 1 if $error =~ /^XX000: could not open relation with OID/ && $statement =~ /^(?:REINDEX|VACUUM|CLUSTER|REPACK)/;
	return 1 if $error =~ /^23P01/ && $t->{exclude};
	return 1 if $error =~ /^(?:23514|55000|42809: .* is already a partition)/ && $t->{partitions} =~ /^RANGE/;
	return $killed && $error =~ /^(?:57P01|57P02|57P03|08006|08003)/;
}

1;
