# What 052 and 053 share: tables whose clusters simhash_catalog.maintain_clusters() keeps, with triggers of many kinds;
# what is true of them; sessions that run random transactions (KeptOperations); the smallest history that is wrong.
package KeptClusters;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run;
use KeptOperations;
use List::Util qw(first);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw($anew $large kept_variants make_kept run_kept faults_of_kept kept_state first_fault smallest_history shown_history);

# ---- the tables ---------------------------------------------------------------------------------------------------

# key: of a number, as SQL writes it.
my %number = (type => 'bigint', key => sub { return $_[0] });
my %text = (type => 'text', key => sub { return "'k$_[0]'" });
my %uuid = (type => 'uuid', key => sub { return sprintf "'%08x-0000-0000-0000-%012x'::uuid", ($_[0] * 2654435761) % 2**32, $_[0] });

# timing: of a constraint trigger; events: of the trigger. partitions: of the table. upsert: ON CONFLICT can be used.
# keys_of_sessions: nothing but the test sees to it that keys are unique.
my $any_event = 'INSERT OR UPDATE OR DELETE';
my $deferred = 'DEFERRABLE INITIALLY DEFERRED';
my @variants = (
	{ name => 'plain' },
	{ name => 'named columns', radius => 5, events => 'INSERT OR UPDATE OF id, fp OR DELETE' },
	{ name => 'deferred', timing => $deferred },
	{ name => 'deferrable', radius => 0, timing => 'DEFERRABLE' },
	{ name => 'tenants', within => 1, events => 'INSERT OR UPDATE OF tenant, id, fp OR DELETE' },
	{ name => 'tenants, deferred', within => 1, timing => $deferred },
	{ name => 'tenants in partitions', within => 1, partitions => 'LIST (tenant)' },
	{ name => 'tenants in partitions, deferred', within => 1, partitions => 'LIST (tenant)', timing => $deferred },
	{ name => 'partitions', partitions => 'HASH (id)' },
	{ name => 'text keys, no index', %text, no_index => 1 },
	{ name => 'uuid keys, tenants', %uuid, within => 1 },
	{ name => 'keys change places', deferrable_key => 1 },
	{ name => 'keys change places, tenants', deferrable_key => 1, within => 1 },
	{ name => 'keys change places, deferred', deferrable_key => 1, timing => $deferred },
	{ name => 'by call', keep => 'at once', radius => 5 },
	{ name => 'by call, tenants in partitions', keep => 'at once', within => 1, partitions => 'LIST (tenant)' },
	{ name => 'noted', keep => 'manual' },
	{ name => 'noted, tenants', keep => 'manual', within => 1, radius => 5 },
	{ name => 'noted, tenants in partitions', keep => 'manual', within => 1, partitions => 'LIST (tenant)' },
	{ name => 'noted, keys change places', keep => 'manual', deferrable_key => 1 },
	{ name => 'noted, text keys, no index', keep => 'manual', %text, no_index => 1 });

sub kept_variants
{
	return map {
		my $by_tenant = ($_->{partitions} // '') eq 'LIST (tenant)';
		+{ %number, radius => 3, events => $any_event, timing => '', %$_,
			upsert => !$by_tenant && !$_->{deferrable_key}, moves_keys => $_->{deferrable_key},
			keys_of_sessions => $by_tenant, tenant_is_set => $by_tenant, deferrable => $_->{timing} }
	} @variants;
}

# The triggers of a variant.
sub triggers
{
	my ($v) = @_;
	my $function = "EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=cluster', 'key=id', 'fingerprint=fp', 'radius=$v->{radius}'"
	  . ($v->{within} ? ", 'within=tenant')" : ')');
	my $kind = $v->{timing} ? 'CONSTRAINT TRIGGER' : 'TRIGGER';
	return "CREATE TRIGGER keep_truncated AFTER TRUNCATE ON doc FOR EACH STATEMENT $function;\n"
	  . "CREATE $kind keep AFTER $v->{events} ON doc $v->{timing} FOR EACH ROW $function;\n";
}

# Tells the server that the table is large, so that notes are answered row by row. TRUNCATE makes it forget.
our $large = q{UPDATE pg_class SET reltuples = 1000000 WHERE relname ~ '^doc(_[123])?$';};

# One call makes the table of clusters and the triggers.
sub kept_by_call
{
	my ($v) = @_;
	my $within = $v->{within} ? 'tenant' : '';
	return "SELECT simhash_keep_clusters('doc', 'id', 'fp', $v->{radius}, '{$within}', 'cluster', '$v->{keep}');\n$large\n";
}

# What SQL makes the tables of a variant.
sub definition
{
	my ($v) = @_;
	my $partitions = $v->{partitions} // '';
	my $key = $partitions eq 'LIST (tenant)' ? 'id, tenant' : 'id';
	my $later = $v->{deferrable_key} ? ' DEFERRABLE' : '';
	return "CREATE TABLE doc (id $v->{type}, tenant int, fp bigint, note text, PRIMARY KEY ($key)$later)"
	  . ($partitions && " PARTITION BY $partitions") . ";\n"
	  . ($partitions =~ /^LIST/ ? join '', map { "CREATE TABLE doc_$_ PARTITION OF doc FOR VALUES IN ($_);\n" } 1 .. 3 : '')
	  . ($partitions =~ /^HASH/ ? join '', map { "CREATE TABLE doc_$_ PARTITION OF doc FOR VALUES WITH (MODULUS 2, REMAINDER $_);\n" } 0,
	  	1 : '')
	  . ($v->{no_index} ? '' : "CREATE INDEX ON doc USING simhash (fp);\n")
	  . ($v->{keep} ? kept_by_call($v) : "CREATE TABLE cluster (key $v->{type} PRIMARY KEY, cluster_id $v->{type} NOT NULL);\n"
		. "CREATE INDEX ON cluster (cluster_id);\n" . triggers($v));
}

# Makes the tables anew, and faults(), which says what is not true of them, after a refresh where changes are noted. counted()
# groups the rows by comparing each different fingerprint with all before it.
sub make_kept
{
	my ($node, $v) = @_;
	my $within = $v->{within} ? 'true' : 'false';
	my $refresh = ($v->{keep} // '') eq 'manual' ? "SELECT simhash_refresh_clusters('cluster');" : '';
	my $columns = $v->{within} ? '{tenant}' : '{}';
	$node->safe_psql('postgres', <<"SQL" . definition($v));
SET client_min_messages = warning;
DROP TABLE IF EXISTS doc, cluster, cluster_note CASCADE;
DROP FUNCTION IF EXISTS faults, counted, must_be_true;
SQL
	$node->safe_psql('postgres', <<"SQL");
CREATE VIEW stored AS SELECT key, cluster_id FROM (SELECT *, count(*) OVER (PARTITION BY cluster_id) AS size FROM cluster) s WHERE size > 1;
CREATE VIEW afresh AS SELECT key, cluster_id
	FROM simhash_clusters('doc', key_type => NULL::$v->{type}, columns => 'fp', key => 'id', radius => $v->{radius}, method => 'components', within => '$columns');
CREATE FUNCTION counted() RETURNS TABLE (key $v->{type}, cluster_id $v->{type}) LANGUAGE plpgsql AS \$\$
DECLARE
	fps bigint[];
	scopes int[];
	groups int[] := '{}';
	joined int[];
BEGIN
	SELECT array_agg(fp ORDER BY fp, scope), array_agg(scope ORDER BY fp, scope) INTO fps, scopes
	FROM (SELECT DISTINCT fp, CASE WHEN $within THEN tenant ELSE 0 END AS scope FROM doc WHERE fp IS NOT NULL) d WHERE scope IS NOT NULL;
	FOR i IN 1 .. coalesce(cardinality(fps), 0) LOOP
		joined := ARRAY(SELECT DISTINCT g FROM unnest(groups, fps, scopes) AS before (g, fp, scope)
			WHERE g IS NOT NULL AND scope = scopes[i] AND bit_count((fp # fps[i])::bit(64)) <= $v->{radius});
		IF cardinality(joined) > 0 THEN
			groups := ARRAY(SELECT CASE WHEN g = ANY (joined) THEN i ELSE g END FROM unnest(groups) WITH ORDINALITY AS u (g, n) ORDER BY n);
		END IF;
		groups := groups || i;
	END LOOP;
	RETURN QUERY SELECT s.id, s.smallest FROM (
		SELECT d.id, first_value(d.id) OVER (PARTITION BY f.g ORDER BY d.id) AS smallest, count(*) OVER (PARTITION BY f.g) AS size
		FROM doc d JOIN unnest(groups, fps, scopes) AS f (g, fp, scope) ON d.fp = f.fp AND (NOT $within OR d.tenant = f.scope)
	) s WHERE size > 1;
END \$\$;
CREATE FUNCTION faults() RETURNS SETOF text LANGUAGE sql AS \$\$
	$refresh
	WITH afresh AS MATERIALIZED (TABLE afresh), counted AS MATERIALIZED (SELECT * FROM counted())
	SELECT 'too much: ' || key || ' in ' || cluster_id FROM (TABLE stored EXCEPT TABLE afresh) x
	UNION ALL SELECT 'missing: ' || key || ' in ' || cluster_id FROM (TABLE afresh EXCEPT TABLE stored) x
	UNION ALL SELECT 'not what counting bits gives: ' || key || ' in ' || cluster_id
		FROM ((TABLE afresh EXCEPT TABLE counted) UNION ALL (TABLE counted EXCEPT TABLE afresh)) x
	UNION ALL SELECT 'no row: ' || key FROM cluster WHERE NOT EXISTS (SELECT FROM doc WHERE id = key)
	UNION ALL SELECT 'alone, in a cluster of another name: ' || min(key::text) || ' in ' || cluster_id
		FROM cluster GROUP BY cluster_id HAVING count(*) = 1 AND min(key::text) <> cluster_id::text
\$\$;
CREATE FUNCTION must_be_true() RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
	all_faults text := (SELECT string_agg(fault, ', ' ORDER BY fault) FROM (SELECT fault FROM faults() fault LIMIT 20) f);
BEGIN
	IF all_faults IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'assert_failure', MESSAGE = all_faults;
	END IF;
END \$\$;
SQL
	return;
}

# ---- sessions -----------------------------------------------------------------------------------------------------

# Runs lists of transactions, each list by a session of its own, all at once. Sets error in each transaction, to its
# first one ("SQLSTATE: message") or ''. With check a session looks at the clusters after each of its transactions.
# Returns what else went wrong.
sub run_kept
{
	my ($node, $lists, %options) = @_;
	my @sessions;
	for my $list (@$lists)
	{
		my $file = $node->basedir . '/session_' . @sessions . '.sql';
		open my $fh, '>', $file or die "$file: $!";
		for my $i (0 .. $#$list)
		{
			print $fh "\\warn at $i\n", map { "$_\n" } @{ $list->[$i]{lines} };
			# A history that was made smaller may have lost its COMMIT.
			print $fh "COMMIT;\nSELECT must_be_true();\n" if $options{check};
		}
		close $fh;
		my $err = '';
		push @sessions, { err => \$err, run => IPC::Run::start(
			[ 'psql', '-X', '-q', '-o', '/dev/null', '-v', 'VERBOSITY=verbose', '-f', $file, '-h', $node->host, '-p', $node->port, 'postgres' ],
			'>', \my $out, '2>', \$err) };
	}
	my $failed = '';
	for my $i (0 .. $#sessions)
	{
		$sessions[$i]{run}->finish or $failed .= "psql failed: ${ $sessions[$i]{err} }\n";
		$_->{error} = '' for @{ $lists->[$i] };
		my $at = 0;
		for my $line (split /\n/, ${ $sessions[$i]{err} })
		{
			$at = $1 if $line =~ /^at (\d+)$/;
			$lists->[$i][$at]{error} ||= "$1" if $line =~ /(?:ERROR|FATAL|PANIC):  (\w{5}: .*)/;
		}
	}
	return $failed;
}

sub faults_of_kept { my ($node) = @_; return $node->safe_psql('postgres', 'SELECT fault FROM faults() fault ORDER BY 1 LIMIT 30'); }

# A transaction that stores all rows that are there.
sub kept_state
{
	my ($node) = @_;
	my $rows = $node->safe_psql('postgres', "SELECT string_agg(format('(%L, %L, %L)', id, tenant, fp), ', ' ORDER BY id) FROM doc");
	return { operations => 0, lines => [ $rows eq '' ? () : "INSERT INTO doc (id, tenant, fp) VALUES $rows;" ] };
}

# ---- histories ----------------------------------------------------------------------------------------------------

# Empties the tables without a trigger.
our $anew = "SET session_replication_role = replica; TRUNCATE doc, cluster; RESET session_replication_role; $large";

# Runs transactions one after the other on empty tables, and looks after each. Returns the number of those up to the
# first after which the clusters are wrong, and what is; 0 when there is none.
sub first_fault
{
	my ($node, @transactions) = @_;
	my $list = [ { operations => 0, lines => [$anew] }, map { { %$_ } } @transactions ];
	run_kept($node, [$list], check => 1);
	my $at = first { $list->[$_]{error} =~ /^P0004/ } 0 .. $#$list;
	return $at ? ($at, $list->[$at]{error}) : (0, '');
}

# The lists of lines with one thing less than $lines: a savepoint, a line, a row of VALUES.
sub lines_with_less
{
	my ($lines) = @_;
	my @less = [ grep { !/SAVEPOINT|TO s;|RELEASE/ } @$lines ];
	for my $i (0 .. $#$lines)
	{
		push @less, [ @$lines[ 0 .. $i - 1, $i + 1 .. $#$lines ] ];
		while ($lines->[$i] =~ /\([^()]*\), (?=\()|(?<=\)), \([^()]*\)/g)
		{
			push @less, [ @$lines[ 0 .. $i - 1 ], substr($lines->[$i], 0, $-[0]) . substr($lines->[$i], $+[0]), @$lines[ $i + 1 .. $#$lines ] ];
		}
	}
	return grep { join("\n", @$_) ne join("\n", @$lines) } @less;
}

# Leaves out what can be left out, transactions first, as long as the clusters are still wrong.
sub smallest_history
{
	my ($node, @transactions) = @_;
	my ($until) = first_fault($node, @transactions);
	return () unless $until;
	splice @transactions, $until;
	for (my $i = $#transactions; $i >= 0; $i--)
	{
		my @fewer = @transactions;
		splice @fewer, $i, 1;
		@transactions = @fewer if @fewer && (first_fault($node, @fewer))[0];
	}
	for my $transaction (@transactions)
	{
		my $less = 1;
		while ($less)
		{
			my $kept = $transaction->{lines};
			$less = first { $transaction->{lines} = $_; (first_fault($node, @transactions))[0] } lines_with_less($kept);
			$transaction->{lines} = $less // $kept;
		}
	}
	return grep { @{ $_->{lines} } } @transactions;
}

# A history as a script that can be run by hand.
sub shown_history
{
	my ($v, @transactions) = @_;
	return join '', definition($v), map { map { "$_\n" } @{ $_->{lines} } } @transactions;
}

1;
