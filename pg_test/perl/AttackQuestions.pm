# Questions that the attack (080) asks, each with the words in which reading every row answers it: searches by radius in all
# their forms, within scopes, the nearest, joins; by each kind of scan and plan.
package AttackQuestions;

use strict;
use warnings;
use Exporter 'import';
use AttackTables;

our @EXPORT = qw(question questions);

my @radii = (-1 .. 12, 3, 3, 8, 8, 15, 16, 20, 25, 30, 64);

# Bits that differ, without the extension.
sub bits { my ($fp, $q) = @_; return "bit_count(($fp # $q)::bit(64))"; }

# A row's value, drawn by its id.
sub value_of { my ($t, $value) = @_; return "(SELECT $value FROM $t->{name} ORDER BY hashint8extended(id, "
	. int(rand 1000) . ') LIMIT 1)'; }

# Beside a row's fingerprint, or anywhere.
sub centre
{
	my ($t) = @_;
	my $n = int(rand 1e6);
	return one_of("hashint8extended($n, 3)", 0, -1) if chance(0.1);
	return 'beside(' . value_of($t, $t->{fp}->('')) . ', ' . one_of(0, 0, 1, 2, 3, 6, 10) . ", $n)";
}

# Conditions on the fingerprint, FP, in the words of a query and in those of the oracle, for which BITS are those that differ from
# $1. $2 is the radius. OTHER are the bits that differ from $1 with the bits of the third element turned over.
my @within = (
	[ 'FP <~> $1 <= $2', 'BITS <= $2' ], [ 'FP <~> $1 <= $2', 'BITS <= $2' ], [ 'FP <~> $1 <= $2', 'BITS <= $2' ],
	[ '$1 <~> FP < $2', 'BITS < $2' ], [ '$2 >= FP <~> $1', 'BITS <= $2' ], [ 'FP <~> $1 BETWEEN 1 AND $2', 'BITS BETWEEN 1 AND $2' ],
	[ 'FP <@ hamming_ball($1, greatest($2, 0))', 'BITS <= greatest($2, 0)' ], [ 'FP <~> $1 = $2', 'BITS = $2' ],
	[ 'NOT (FP <~> $1 > $2)', 'BITS <= $2' ],
	[ 'FP ~= $1', 'BITS <= 3' ], [ 'FP = $1', 'BITS = 0' ],
	[ 'FP ~= ANY (ARRAY[$1, NULL, $1 # 4097, $1])', '(BITS <= 3 OR OTHER <= 3)', 4097 ],
	[ '(FP <~> $1 <= $2 OR FP <~> ($1 # 255) <= 4)', '(BITS <= $2 OR OTHER <= 4)', 255 ],
	[ '(FP <~> $1 <= $2 + 4 AND FP <~> ($1 # 21) <= $2 + 5)', '(BITS <= $2 + 4 AND OTHER <= $2 + 5)', 21 ]);

sub condition_on_fp
{
	my ($t, $alias) = @_;
	my ($asked, $meant, $turned) = @{ one_of(@within) };
	my $fp = $t->{fp}->($alias);
	my %means = (FP => $fp, BITS => bits($fp, '$1'), OTHER => bits($fp, '($1 # ' . ($turned // 0) . ')'));
	s/\b(FP|BITS|OTHER)\b/$means{$1}/g for $asked, $meant;
	return ($asked, $meant);
}

# A condition on scopes, with its parameters, of which the first has the number $n: all pinned, in lists, some, none.
sub condition_on_scopes
{
	my ($t, $alias, $n) = @_;
	my @scopes = @{ $t->{scopes} };
	return ('true') if !@scopes || chance(0.15);
	@scopes = @scopes[ 0 .. rand @scopes ] if chance(0.15);
	my $salt = int(rand 1000);
	my (@conditions, @args, @types);
	for my $scope (@scopes)
	{
		my $e = $scope->{expr}->($alias);
		my $inside = $scope->{expr}->('');
		# One row for all columns: rows drawn apart would seldom have a scope in common.
		my $drawn = "(SELECT $inside FROM $t->{name} ORDER BY hashint8extended(id, $salt) LIMIT 1)";
		my $type = $scope->{type};
		my $kind = rand();
		push(@conditions, "$e IS NULL"), next if $kind < 0.08;
		if ($kind < 0.35)
		{
			push @conditions, "$e = ANY (\$" . ($n + @args) . ')';
			push @args, "(ARRAY(SELECT $inside FROM $t->{name} ORDER BY hashint8extended(id, $salt) LIMIT " . one_of(1, 4, 4, 40)
				. ")::${type}[] || ARRAY[NULL]::${type}[])";
			push @types, "${type}[]";
			next;
		}
		push @conditions, "$e = \$" . ($n + @args);
		push @args, $drawn;
		push @types, $type;
	}
	return (join(' AND ', @conditions), \@args, \@types);
}

# ---- kinds of questions -------------------------------------------------------------------------------------------
#
# Each gives: form (see as_line() in attack.sql), asked, meant, arguments, types.

sub by_radius
{
	my ($t) = @_;
	my ($asked, $meant) = condition_on_fp($t, '');
	my ($scopes, $args, $types) = condition_on_scopes($t, '', 3);
	my $more = chance(0.15) ? ' AND id % 2 = 0' : '';
	my $select = "SELECT id FROM $t->{name} WHERE $scopes$more AND";
	return ('rows', "$select $asked", "$select $meant", [ centre($t), one_of(@radii), @{ $args // [] } ],
		[ 'bigint', 'int', @{ $types // [] } ]);
}

sub nearest
{
	my ($t) = @_;
	my $fp = $t->{fp}->('');
	my $bits = bits($fp, '$1');
	my ($scopes, $args, $types) = condition_on_scopes($t, '', 4);
	my $within = chance(0.4);
	my ($asked, $meant) = $within ? ("$fp <~> \$1 <= \$3", "$bits <= \$3") : ('true', 'true');
	return ('nearest',
		"SELECT id, $fp <~> \$1 AS d, ${bits}::int AS real FROM $t->{name} WHERE $scopes AND $asked ORDER BY $fp <~> \$1 LIMIT \$2",
		"SELECT ${bits}::int AS d FROM $t->{name} WHERE $scopes AND $meant ORDER BY 1 LIMIT \$2",
		[ centre($t), one_of(1, 2, 5, 10, 10, 50, 300, 100000), one_of(@radii), @{ $args // [] } ],
		[ 'bigint', 'int', 'int', @{ $types // [] } ]);
}

# Rows with and without a fingerprint, and scopes alone.
sub of_all
{
	my ($t) = @_;
	my $fp = $t->{fp}->('');
	my ($scopes, $args, $types) = condition_on_scopes($t, '', 1);
	my ($asked, $meant) = @{ one_of([ "$fp IS NULL", "coalesce(($fp)::text, '') = ''" ],
		[ "$fp IS NOT NULL", "coalesce(($fp)::text, '') <> ''" ], [ 'true', 'true' ]) };
	return ('rows', "SELECT id FROM $t->{name} WHERE $scopes AND $asked", "SELECT id FROM $t->{name} WHERE $scopes AND $meant",
		$args // [], $types // []);
}

# A few rows with all others: $1 says which few, $2 is the radius.
sub join_of_rows
{
	my ($t) = @_;
	my ($a, $b) = map { $t->{fp}->($_) } 'a.', 'b.';
	my $same = chance(0.6) ? join '', map { ' AND ' . $_->{expr}->('a.') . ' = ' . $_->{expr}->('b.') } @{ $t->{scopes} } : '';
	my $few = "(SELECT * FROM $t->{name} ORDER BY hashint8extended(id, \$1) LIMIT 12)";
	my @args = ([ int(rand 1000), one_of(grep { $_ < 20 } @radii) ], [ 'bigint', 'int' ]);
	my @on = map { $_ . $same } "$b <~> $a <= \$2", bits($b, $a) . ' <= $2';
	return (one_of(
		sub { return ('rows', map({ "SELECT a.id, b.id FROM $few a JOIN $t->{name} b ON $_" } @on), @args) },
		sub { return ('rows', map({ "SELECT a.id, b.id FROM $few a LEFT JOIN $t->{name} b ON $_" } @on), @args) },
		sub { return ('rows', map({ "SELECT a.id FROM $few a WHERE EXISTS (SELECT FROM $t->{name} b WHERE $_ AND a.id <> b.id)" } @on), @args) },
		sub { return ('rows', map({ "SELECT a.id FROM $few a WHERE NOT EXISTS (SELECT FROM $t->{name} b WHERE $_ AND a.id <> b.id)" } @on),
			@args) },
		sub { return ('rows',
			"SELECT a.id, n.d FROM $few a, LATERAL (SELECT $b <~> $a AS d FROM $t->{name} b WHERE true$same ORDER BY $b <~> $a LIMIT 5) n",
			"SELECT a.id, n.d FROM $few a, LATERAL (SELECT " . bits($b, $a) . "::int AS d FROM $t->{name} b WHERE true$same ORDER BY 1 LIMIT 5) n",
			@args) }))->();
}

sub quoted { return "'" . ($_[0] =~ s/'/''/gr) . "'"; }

sub array { return 'ARRAY[' . join(', ', map { quoted($_) } @_) . ']::text[]'; }

# A statement that prints what is wrong with an answer. Options: may_fail, updates (the table may be changed under a cursor).
sub question
{
	my ($t, %options) = @_;
	my ($form, $asked, $meant, $args, $types) = one_of((\&by_radius) x 5, (\&nearest) x 3, \&of_all, \&join_of_rows)->($t);
	my $way = one_of(qw(index index index bitmap bitmap any parallel));
	my $mode = one_of(qw(literal literal custom generic generic subquery six), $form eq 'rows' ? 'cursor' : ());
	my $changed = $mode eq 'cursor' && $options{updates} ? quoted($t->{name}) : 'NULL';
	my $may_fail = $options{may_fail} ? 'true' : 'false';
	return "SELECT d FROM differs($changed, " . join(', ', map { quoted($_) } $form, $asked, $meant)
	  . ', ' . array(@$args) . ', ' . array(@$types) . ", '$way', '$mode', $may_fail) d WHERE d IS NOT NULL;\n";
}

sub questions { my ($t, $n, %options) = @_; return join '', map { question($t, %options) } 1 .. $n; }

1;
