# Damaged files of indexes, for the attack (080) and 031: a drawn table's copies, the index of each damaged in its own way
# while the server is down. An answer is right, or an error with the SQLSTATE of damage, or wrong; what made it wrong is
# reported by simhash_index_verify when that reads the table too. Nothing crashes or hangs, and REINDEX mends all.
package AttackDamage;

use strict;
use warnings;
use Exporter 'import';
use AttackQuestions;
use AttackTables;
use File::Basename qw(dirname);
use PostgreSQL::Test::Utils;
use SimhashPages;

our @EXPORT = qw(@damage_kinds add_attack damage_copies);

sub some_page { my ($pages) = @_; return 1 + int(rand(@$pages - 1)); }

# Of a level above the leaves; any page where there is none.
sub inner_page { my ($pages) = @_; return one_of(grep({ (level_and_space($pages->[$_]))[0] > 0 } 1 .. $#$pages), ()) // some_page($pages); }

# Each gets the pages of the index, those of an earlier state of it, and those of an index of other rows.
my %damages = (
	'a byte' => sub { my ($pages) = @_; flip_byte($pages, int(rand @$pages), 8 + int(rand($page_size - 8))) },
	'a byte of what a page says of itself' => sub { my ($pages) = @_;
		chance(0.2) ? flip_byte($pages, 0, $header + int(rand 80))
			: flip_byte($pages, some_page($pages), $at{special} + int(rand($page_size - $at{special}))) },
	'a byte in every page' => sub { my ($pages) = @_; flip_byte($pages, $_, $header + int(rand($page_size - $header))) for 1 .. $#$pages },
	'random bytes in a page' => sub {
		my ($pages) = @_;
		substr($pages->[ some_page($pages) ], $header) = join '', map { chr int rand 256 } 1 .. $page_size - $header;
	},
	'a page of zeros' => sub { my ($pages) = @_; $pages->[ int(rand @$pages) ] = "\0" x $page_size },
	'two pages swapped' => sub { my ($pages) = @_; my ($a, $b) = map { some_page($pages) } 1 .. 2; @$pages[ $a, $b ] = @$pages[ $b, $a ] },
	'the end cut off' => sub { my ($pages) = @_; splice @$pages, 1 + int(rand(@$pages - 1)) },
	'the old file' => sub { my ($pages, $old) = @_; @$pages = @$old },
	'an old page' => sub { my ($pages, $old) = @_; my $at = some_page($old); $pages->[$at] = $old->[$at] },
	'every second page an old one' => sub { my ($pages, $old) = @_; my $odd = int(rand 2); $pages->[$_] =
		$old->[$_] for grep { $_ % 2 == $odd } 1 .. $#$old },
	'half of a page old' => sub {
		my ($pages, $old) = @_;
		my $at = some_page($old);
		substr($pages->[$at], 0, 4096) = substr($old->[$at], 0, 4096);
	},
	'a byte of an inner page' => sub { my ($pages) = @_; flip_byte($pages, inner_page($pages), $header + int(rand($page_size - $header))) },
	'two inner pages swapped' => sub {
		my ($pages) = @_;
		my ($a, $b) = map { inner_page($pages) } 1 .. 2;
		@$pages[ $a, $b ] = @$pages[ $b, $a ];
	},
	'an old inner page' => sub { my ($pages, $old) = @_; my $at = inner_page($old); $pages->[$at] = $old->[$at] },
	"another index's file" => sub { my ($pages, $old, $other) = @_; @$pages = @$other },
	"another index's page" => sub {
		my ($pages, $old, $other) = @_;
		my $at = some_page($pages);
		$pages->[$at] = $other->[$at] // $other->[1];
	});
our @damage_kinds = sort keys %damages;

# What questions need in a database (attack.sql), try() of SimhashPages, and what each form of verification finds in an index.
sub add_attack
{
	my ($node) = @_;
	$node->safe_psql('postgres', slurp_file(dirname(__FILE__) . '/attack.sql'));
	create_try($node);
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE verified (index text, heap boolean, fault text, row tid);
CREATE FUNCTION verify(index text, heap boolean) RETURNS void LANGUAGE sql AS
	$$ INSERT INTO verified SELECT index, heap, fault, substring(fault, '^row (\([0-9]+,[0-9]+\)) ')::tid
		FROM simhash_index_verify(index::regclass, heap) $$;
-- Of one index: what each form of verification has found, whether all of that is of rows without a fingerprint, and how many rows
-- of wrong answers it does not name. A fault of a page may be the reason for any.
CREATE FUNCTION found_in(index text, tab text, OUT quick boolean, OUT heap boolean, OUT of_null boolean,
	OUT unnamed bigint) LANGUAGE sql AS $$
	WITH found AS MATERIALIZED (SELECT * FROM verified v WHERE v.index = found_in.index)
	SELECT count(*) FILTER (WHERE NOT f.heap) > 0, count(*) FILTER (WHERE f.heap) > 0,
		coalesce(bool_and(fault ~ 'key spaces?:? 4$' OR fault ~ 'key space 4 '), false),
		CASE WHEN count(*) FILTER (WHERE f.heap AND row IS NULL) = 0 THEN
			(SELECT count(*) FROM (SELECT tid FROM wrong_row w WHERE w.tab = found_in.tab EXCEPT SELECT row FROM found g WHERE g.heap) x) ELSE 0 END
	FROM found f
$$;
SQL
	return;
}

sub path_of { my ($node, $index) = @_; return $node->data_dir . '/'
	. $node->safe_psql('postgres', "SELECT pg_relation_filepath('$index')"); }

# Copies of a table, one for each kind of damage, each with one of its indexes and rows of its own; their files are what
# changes have made of an earlier state. options: rows, more (storage parameters of the index).
# Returns faults (a text), and numbers: damages, answers that were errors or wrong, damages that gave wrong ones, of which a
# form of verification found the reason, and the kinds of damage for which the quick form did not; levels, of each copy's trees.
sub damage_copies
{
	my ($node, $t, $kinds, %options) = @_;
	my $rows = $options{rows} // between(300, 3000);
	my @copies = map { +{ kind => $kinds->[$_], t => copy_of($t, "d$_", $options{more}) } } 0 .. $#$kinds;
	my $make = "SET client_min_messages = warning;\nTRUNCATE verified, wrong_row;\n";
	my $change = '';
	for my $i (0 .. $#copies)
	{
		my $copy = $copies[$i]{t};
		my $first = 100_000 * $i;
		$make .= "DROP TABLE IF EXISTS $copy->{name};\n" . join '', table_sql($copy);
		$make .= rows_of($copy, $first + 1, $first + $rows) . ";\n" . 'REINDEX INDEX ' . index_name($copy, 0) . ";\n"
			. rows_of($copy, $first + $rows + 1, $first + int(1.3 * $rows)) . ";\n";
		$change .= "DELETE FROM $copy->{name} WHERE id % 5 = 1;\nVACUUM (INDEX_CLEANUP ON) $copy->{name};\n"
			. rows_of($copy, $first + 2 * $rows, $first + int(2.3 * $rows)) . ";\n"
		  # Never a HOT update, after which the index would know the row by another address than its ctid.
		  . "UPDATE $copy->{name} SET $copy->{store} = new.value FROM (SELECT id AS of, " . $copy->{value}->($copy->{kind}, "id + 12345")
		  . " AS value FROM $copy->{name}) AS new"
		  . " WHERE id = new.of AND id % 9 = 2 AND $copy->{store} IS DISTINCT FROM new.value;\n";
	}
	$node->safe_psql('postgres', "${make}CHECKPOINT;");
	$_->{path} = path_of($node, index_name($_->{t}, 0)) for @copies;
	$_->{old} = [ pages_of($_->{path}) ] for @copies;
	$node->safe_psql('postgres', $change);
	$node->stop;
	my @now = map { [ pages_of($_->{path}) ] } @copies;
	for my $i (0 .. $#copies)
	{
		my @pages = @{ $now[$i] };
		$damages{ $copies[$i]{kind} }->(\@pages, $copies[$i]{old}, $now[ $i - 1 ]);
		write_pages($copies[$i]{path}, @pages);
	}
	$node->start;
	my $found = look_at_damaged($node, \@copies);
	$found->{levels} = [ map { 1 + (sort { $b <=> $a } map { (level_and_space($_))[0] } @$_[ 1 .. $#$_ ])[0] } @now ];
	return $found;
}

# Questions, both forms of verification, statements that write, and REINDEX; what each prints begins with the copy's name.
sub looks_at
{
	my ($t) = @_;
	my ($name, $index) = ($t->{name}, index_name($t, 0));
	my $asked = questions($t, 9, may_fail => 1) =~ s/^SELECT d FROM/SELECT '$name asked ' || d FROM/mgr;
	my $written = join '', map { "SELECT '$name wrote ' || try(" . ("'" . ($_ =~ s/'/''/gr) . "'") . ");\n" }
	  rows_of($t, 5_000_001, 5_000_030), "UPDATE $name SET $t->{store} = NULL WHERE id % 20 = 3", "DELETE FROM $name WHERE id % 7 = 5";
	my $after = questions($t, 3) =~ s/^SELECT d FROM/SELECT '$name mended ' || d FROM/mgr;
	return <<"SQL";
SET lock_timeout = 0;
SET statement_timeout = '20s';
$asked
SELECT '$name quick ' || try('SELECT verify(''$index'', false)');
SELECT '$name heap ' || try('SELECT verify(''$index'', true)');
SELECT '$name stats ' || try('SELECT * FROM simhash_index_stats(''$index'')');
$written
VACUUM (INDEX_CLEANUP ON) $name;
\\echo $name wrote :SQLSTATE :LAST_ERROR_MESSAGE
REINDEX INDEX $index;
\\echo $name reindexed :SQLSTATE :LAST_ERROR_MESSAGE
$after
SELECT '$name mended ' || fault FROM simhash_index_verify('$index', true);
SQL
}

sub look_at_damaged
{
	my ($node, $copies) = @_;
	my %result = (faults => '', damages => 0, wrong => 0, misleading => 0, heap => 0, quick => 0, past_quick => {}, errors => 0);
	for my $copy (@$copies)
	{
		my ($name, $kind) = ($copy->{t}{name}, $copy->{kind});
		my $what = "damage '$kind' of the index ($copy->{t}{indexes}[0]{columns})";
		my ($status, $out, $err) = $node->psql('postgres', "\\set ON_ERROR_STOP 0\n" . looks_at($copy->{t}), timeout => 300);
		my %end;
		push @{ $end{$1} }, $2 while $out =~ /^$name (\w+) (.*)$/mg;
		my @wrong = grep { /^differs/ } @{ $end{asked} // [] };
		my @failed = grep { /^error/ } @{ $end{asked} // [] };
		my @ends = map { s/^error //r } @failed, map { @{ $end{$_} // ['no end'] } } qw(quick heap stats wrote);
		my @odd = grep { !/^$fair_end/ } @ends;
		$result{faults} .= "$what: the session ended: $err\n" if $status == 2;
		$result{faults} .= "$what: $_\n" for @odd, grep({ !/^00000/ } @{ $end{reindexed} // ['no end'] }),
			map { "after REINDEX: $_" } @{ $end{mended} // [] };
		# A verification that ends with an error of its own reports too.
		my ($quick, $heap, $of_null, $unnamed) = split /\|/, $node->safe_psql('postgres', "SELECT * FROM found_in('" . index_name($copy->{t}, 0)
			. "', '$name')"), -1;
		my %reports = (quick => $end{quick}[0] ne 'ok' || $quick eq 't', heap => $end{heap}[0] ne 'ok' || $heap eq 't');
		$result{faults} .= "$what: verification does not name $unnamed rows of wrong answers\n" if $unnamed && $end{heap}[0] eq 'ok';
		$result{damages}++;
		$result{errors} += @failed;
		next unless @wrong;
		$result{wrong} += @wrong;
		$result{misleading}++;
		$result{$_} += $reports{$_} ? 1 : 0 for qw(quick heap);
		# Rows without a fingerprint are filed once: nothing in the index can tell that one is missing.
		$result{past_quick}{ $kind =~ /file/ ? $kind : $of_null eq 't' ? 'rows without a fingerprint'
			: "$kind of ($copy->{t}{indexes}[0]{columns}): $wrong[0]" }++ unless $reports{quick};
		$result{faults} .= "$what: verification with the table finds no fault, and $wrong[0]\n" unless $reports{heap};
	}
	return \%result;
}

1;
