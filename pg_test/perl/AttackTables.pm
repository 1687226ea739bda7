# Tables that the attack (080) draws: fingerprints in a column, a generated column or an expression, scopes of every type
# that can be one, several indexes, constraints, partitions. What is drawn depends on rand() alone, so a seed repeats it.
package AttackTables;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(one_of chance between draw_table table_sql index_sql index_name rows_of load_of copy_of);

# ---- drawing ------------------------------------------------------------------------------------------------------

sub one_of { return $_[ rand @_ ]; }

sub chance { return rand() < $_[0]; }

sub between { my ($from, $to) = @_; return $from + int(rand($to - $from + 1)); }

# ---- columns ------------------------------------------------------------------------------------------------------

# How a table has its fingerprints: its columns for them, the column that a row is stored with, that column's value by the
# number of a row (%s) and the kind of fingerprints, and the fingerprint of a row whose alias (with a dot) is given.
my %plain_value = (value => sub { my ($kind, $n) = @_; return "drawn_fp('$kind', $n)" });
my %text_value = (value => sub { my ($kind, $n) = @_; return "drawn_text($n)" });
my @fingerprints = (
	{ has => 'a column', columns => 'fp bigint', store => 'fp', %plain_value, fp => sub { "$_[0]fp" } },
	{ has => 'a generated column', columns => 'v bigint, fp bigint GENERATED ALWAYS AS (v # 5) STORED', store => 'v', %plain_value,
		fp => sub { "$_[0]fp" } },
	{ has => 'an expression', columns => 'v bigint', store => 'v', %plain_value, fp => sub { "($_[0]v # 5)" } },
	{ has => 'a generated column', columns => "body text, fp bigint GENERATED ALWAYS AS (simhash64(body, preset => 'shingles')) STORED",
		store => 'body', %text_value, fp => sub { "$_[0]fp" }, texts => 1 },
	{ has => 'an expression', columns => 'body text', store => 'body', %text_value, fp => sub { "simhash64($_[0]body)" }, texts => 1 });

# Scopes: the column's type, its value by a number (%s), the operator class, the collation, and the indexed expression where
# that is not the column.
my @scopes = (
	{ type => 'smallint', value => '(%s %% 1000)::smallint' },
	{ type => 'int', value => '%s' },
	{ type => 'int', value => '%s', class => 'as_numbered' },
	{ type => 'int', value => '%s', expression => sub { "($_[0] % 7)" } },
	{ type => 'bigint', value => '%s * 4294967311::bigint' },
	{ type => 'oid', value => '(%s::bigint & 2147483647)::oid' },
	{ type => 'uuid', value => 'md5((%s)::text)::uuid' },
	{ type => 'text', value => "('tenant ' || %s)" },
	{ type => 'text', value => "('Tenant ' || %s)", expression => sub { "lower($_[0])" } },
	{ type => 'text', value => "(CASE WHEN i %% 2 = 0 THEN 'TENANT ' ELSE 'tenant ' END || %s)", collation => 'no_case' },
	{ type => 'varchar(30)', value => "('t' || %s)::varchar(30)" },
	{ type => 'char(14)', value => "('t' || %s)::char(14)" },
	{ type => 'date', value => "(date '2020-01-01' + %s %% 3000)" },
	{ type => 'boolean', value => '(%s %% 2 = 0)' },
	{ type => 'colour', value => "('{red,green,blue}'::colour[])[1 + abs(%s %% 3)]" },
	{ type => 'numeric', value => '(%s / 7.0)', class => 'as_numeric' });

# The server's major decides what may be drawn, and whether it has ICU.
sub drawn_scopes
{
	my ($server) = @_;
	my $n = one_of(0, 1, 1, 1, 2, 2, 3);
	my @all = grep { !$_->{collation} || $server->{icu} } @scopes;
	return map {
		my ($scope, $column) = (one_of(@all), "s$_");
		+{ %$scope, column => $column, expr => sub { my $c = "$_[0]$column"; $scope->{expression} ? $scope->{expression}->($c) : $c } }
	} 1 .. $n;
}

# ---- a table ------------------------------------------------------------------------------------------------------

# The columns of an index: those of its scopes with their classes, and the fingerprint.
sub index_columns
{
	my ($t, $scopes, $with) = @_;
	my $fp = $t->{fp}->('');
	my @columns = map { my $e = $_->{expr}->(''); ($e =~ /^\w+$/ ? $e : "($e)") . ($_->{class} ? " $_->{class}" : '') } @$scopes;
	return join ', ', map { $with ? "$_->[0] WITH $_->[1]" : $_->[0] } (map { [ $_, '=' ] } @columns),
		[ $fp =~ /^\w+$/ ? $fp : "($fp)", '~=' ];
}

# kind of fingerprints: given, so that the rounds go through all of them; 'texts': those of texts.
sub draw_table
{
	my ($server, $kind) = @_;
	my %t = (name => 't', kind => $kind, server => $server, rows => between(300, 3000),
		%{ one_of(grep { !$_->{texts} == ($kind ne 'texts') } @fingerprints) });
	$t{scopes} = [ drawn_scopes($server) ];
	my ($first) = @{ $t{scopes} };
	$t{partitions} = one_of('', '', '', 'HASH (id)', 'RANGE (id)', $first ? 'LIST (s1)' : '');
	$t{unlogged} = !$t{partitions} && chance(0.1);
	# Up to 16 partitions cannot have such a constraint; from 17 on it names what the rows are divided by.
	my $may_exclude = !$t{partitions} || ($server->{major} >= 17 && $t{partitions} eq 'LIST (s1)'
		&& !grep { $_->{expression} } @{ $t{scopes} });
	$t{exclude} = $may_exclude && chance(0.15) ? one_of('at once', 'at once', 'deferred') : '';
	# A key by which the table can be clustered, where partitions allow one.
	$t{key} = $t{partitions} eq 'LIST (s1)' ? '' : chance(0.7) ? 'PRIMARY KEY' : '';
	my $with = sub { chance(0.3) ? ' WITH (fillfactor = ' . one_of(10, 50, 100) . ')' : '' };
	my @indexes = $t{exclude} ? () : { columns => index_columns(\%t, $t{scopes}), scopes => $t{scopes}, more => $with->() };
	push @indexes, { columns => index_columns(\%t, []), scopes => [], more => $with->() } if @{ $t{scopes} } && chance(0.5);
	push @indexes, { columns => index_columns(\%t, [ reverse @{ $t{scopes} } ]), scopes => $t{scopes},
		more => $with->() } if @{ $t{scopes} } > 1 && chance(0.3);
	push @indexes, { columns => index_columns(\%t, []), scopes => [], more => ' WHERE id % 2 = 0', partial => 1 } if chance(0.3);
	$t{indexes} = \@indexes;
	return \%t;
}

sub index_name { my ($t, $i) = @_; return "$t->{name}_sim$i"; }

# CREATE INDEX of the table's index $i, under its name or another one.
sub index_sql
{
	my ($t, $i, %options) = @_;
	my $index = $t->{indexes}[$i];
	my $name = $options{name} // index_name($t, $i);
	return 'CREATE INDEX ' . ($options{concurrently} ? 'CONCURRENTLY ' : '')
		. "$name ON $t->{name} USING simhash ($index->{columns})$index->{more}";
}

sub partitions_sql
{
	my ($t) = @_;
	my $name = $t->{name};
	return '' unless $t->{partitions};
	return join '', map { "CREATE TABLE ${name}_p$_ PARTITION OF $name FOR VALUES WITH (MODULUS 3, REMAINDER $_);\n" } 0 .. 2
		if $t->{partitions} =~ /^HASH/;
	# Column order and dropped columns differ from those of the table; partitions of partitions.
	my @columns = map { "$_->{column} $_->{type}" . ($_->{collation} ? " COLLATE $_->{collation}" : '') } @{ $t->{scopes} };
	my $attached = "CREATE TABLE ${name}_p0 (gone int, " . join('', map { "$_, " } reverse @columns)
	  . "note text, pad int, $t->{columns}, id bigint NOT NULL);\nALTER TABLE ${name}_p0 DROP COLUMN gone;\n";
	if ($t->{partitions} =~ /^LIST/)
	{
		my $value = sprintf($t->{scopes}[0]{value}, 1) =~ s/\bi\b/0/r;
		return $attached
			. "ALTER TABLE $name ATTACH PARTITION ${name}_p0 FOR VALUES IN ($value);\nCREATE TABLE ${name}_p1 PARTITION OF $name DEFAULT;\n";
	}
	return $attached . <<"SQL";
ALTER TABLE $name ATTACH PARTITION ${name}_p0 FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE ${name}_p1 PARTITION OF $name FOR VALUES FROM (1000) TO (10000) PARTITION BY HASH (id);
CREATE TABLE ${name}_p1a PARTITION OF ${name}_p1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE ${name}_p1b PARTITION OF ${name}_p1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE ${name}_p2 PARTITION OF $name DEFAULT;
SQL
}

# The table with its key and constraint; and, as the second string, its other indexes.
sub table_sql
{
	my ($t) = @_;
	my @columns = ("id bigint NOT NULL", $t->{columns},
		map { "$_->{column} $_->{type}" . ($_->{collation} ? " COLLATE $_->{collation}" : '') } @{ $t->{scopes} });
	my $constraint = '';
	$constraint = ", CONSTRAINT $t->{name}_sim_apart EXCLUDE USING simhash (" . index_columns($t, $t->{scopes}, 1) . ')'
	  . ($t->{exclude} eq 'deferred' ? ' DEFERRABLE INITIALLY DEFERRED' : '') if $t->{exclude};
	my $key = $t->{key} ? ", CONSTRAINT $t->{name}_id PRIMARY KEY (id)" : '';
	my $made = 'CREATE ' . ($t->{unlogged} ? 'UNLOGGED ' : '') . "TABLE $t->{name} (" . join(', ', @columns)
		. ", note text, pad int$key$constraint)"
	  . ($t->{partitions} ? " PARTITION BY $t->{partitions}" : '') . ";\n" . partitions_sql($t)
	  . ($t->{key} ? '' : "CREATE INDEX $t->{name}_id ON $t->{name} (id);\n");
	return ($made, join '', map { index_sql($t, $_) . ";\n" } 0 .. $#{ $t->{indexes} });
}

# INSERT of the rows with these numbers.
sub rows_of
{
	my ($t, $from, $to) = @_;
	my @scopes = @{ $t->{scopes} };
	my $columns = join ', ', 'id', $t->{store}, map { $_->{column} } @scopes;
	my $n = 0;
	my $values = join ', ', 'i', $t->{value}->($t->{kind}, 'i'), map { sprintf $_->{value}, 'drawn_scope(i + ' . 7 * $n++ . ')' } @scopes;
	return "INSERT INTO $t->{name} ($columns) SELECT $values FROM generate_series($from, $to) i"
		. ($t->{exclude} eq 'at once' ? ' ON CONFLICT DO NOTHING' : '');
}

# The same as a load: of rows that are too near others none is stored. ON CONFLICT knows no deferred constraints.
sub load_of
{
	my ($t, $from, $to) = @_;
	return rows_of($t, $from, $to) if $t->{exclude} ne 'deferred';
	return "DO \$\$ BEGIN SET CONSTRAINTS ALL IMMEDIATE; FOR n IN $from .. $to LOOP BEGIN " . rows_of($t, 'n', 'n')
	  . '; EXCEPTION WHEN exclusion_violation THEN NULL; END; END LOOP; END $$';
}

# The same table under another name, without partitions and constraint, with one index, that covers all rows: to be damaged.
# $more: storage parameters of the index.
sub copy_of
{
	my ($t, $name, $more) = @_;
	my $scopes = chance(0.7) ? $t->{scopes} : [];
	my $index = { columns => index_columns($t, $scopes), scopes => $scopes, more => $more // '' };
	return { %$t, name => $name, partitions => '', exclude => '', unlogged => 0, key => 'PRIMARY KEY', indexes => [$index] };
}

1;
