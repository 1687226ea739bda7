# docs/reference has what the server has: nothing is missing, and nothing is there that the server does not know.
# A signature stands in a block marked `signature`, on one line, or on several of which all but the first are indented.
use strict;
use warnings;
use SimhashTest;
use File::Basename qw(basename dirname);
use File::Find;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = dirname($ENV{PG_TEST_DATA});
my %page = map { basename($_, '.md') => slurp_file($_) } glob("$root/docs/reference/*.md");
my $node = new_node('reference');

# Both lists are the same; what differs is shown as it has to be written or taken away.
sub same
{
	my ($documented, $existing, $what) = @_;
	my %documented = map { $_ => 1 } @$documented;
	my %existing = map { $_ => 1 } @$existing;
	cmp_ok(scalar @$existing, '>', 0, "$what: there are some");
	is(join("\n", sort grep { !$documented{$_} } keys %existing), '', "$what: none is missing");
	is(join("\n", sort grep { !$existing{$_} } keys %documented), '', "$what: all exist");
	is(scalar @$documented, scalar keys %documented, "$what: each stands there once");
	return;
}

sub signatures
{
	my @found;
	for my $text (values %page)
	{
		while ($text =~ /^```signature\n(.*?)^```/gms)
		{
			(my $block = $1) =~ s/\n[ \t]+/ /g;
			push @found, grep { /\S/ } split /\n/, $block;
		}
	}
	return @found;
}

# Rows of the tables below a heading, up to the next one: the first cell without quotes of code, and the whole row.
sub table_rows
{
	my ($text, $heading) = @_;
	my ($below) = $text =~ /^#+ \Q$heading\E\n(.*?)(?=^#|\z)/ms or die "no heading $heading";
	return map { /^\| `([^`]+)`/ ? [ $1, $_ ] : () } split /\n/, $below;
}

# What the server says to a statement that fails.
sub refusal
{
	my ($sql) = @_;
	my ($code, undef, $error) = $node->psql('postgres', $sql);
	fail("refused: $sql") unless $code;
	return $error;
}

# The members of the extension that users write, as the pages write them. A kind of object that no branch knows appears as
# the server describes it, and so is missing.
my $members = <<'END';
WITH extension AS (
	SELECT oid, extnamespace FROM pg_extension WHERE extname = 'simhash_dedup'
), member AS (
	SELECT d.classid, d.objid FROM pg_depend d JOIN extension e ON d.refobjid = e.oid
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
		-- What the server makes for another object: types of rows and of arrays.
		AND NOT EXISTS (SELECT FROM pg_depend i
			WHERE (i.classid, i.objid, i.objsubid, i.deptype) = (d.classid, d.objid, d.objsubid, 'i'))
), said AS (
	SELECT classid, objid, format('%s%s(%s) RETURNS %s %s',
		CASE WHEN pronamespace <> (SELECT extnamespace
			FROM extension) THEN pronamespace::regnamespace || '.' END, proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
		concat_ws(' ', CASE provolatile WHEN 'i' THEN 'IMMUTABLE' WHEN 's' THEN 'STABLE' ELSE 'VOLATILE' END,
			CASE WHEN proisstrict THEN 'STRICT' END)) AS line
	FROM member JOIN pg_proc p ON classid = 'pg_proc'::regclass AND p.oid = objid
	UNION ALL
	SELECT classid, objid, concat_ws(' ', NULLIF(oprleft, 0)::regtype, oprname, oprright::regtype, 'RETURNS', oprresult::regtype)
	FROM member JOIN pg_operator o ON classid = 'pg_operator'::regclass AND o.oid = objid
	UNION ALL
	SELECT classid, objid, 'TYPE ' || objid::regtype FROM member WHERE classid = 'pg_type'::regclass
	UNION ALL
	SELECT classid, objid, concat_ws(' ', 'OPERATOR CLASS', opcname, CASE WHEN opcdefault THEN 'DEFAULT' END, 'FOR TYPE',
		opcintype::regtype, 'USING', amname)
	FROM member JOIN pg_opclass c ON classid = 'pg_opclass'::regclass AND c.oid = objid JOIN pg_am a ON a.oid = opcmethod
	UNION ALL
	SELECT classid, objid, concat_ws(' ', format('CAST (%s AS %s)', castsource::regtype, casttarget::regtype),
		CASE castcontext WHEN 'a' THEN 'AS ASSIGNMENT' WHEN 'i' THEN 'AS IMPLICIT' END)
	FROM member JOIN pg_cast c ON classid = 'pg_cast'::regclass AND c.oid = objid
	UNION ALL
	SELECT classid, objid, 'ACCESS METHOD ' || amname FROM member JOIN pg_am a ON classid = 'pg_am'::regclass AND a.oid = objid
	UNION ALL
	SELECT classid, objid, 'SCHEMA ' || objid::regnamespace FROM member WHERE classid = 'pg_namespace'::regclass
	UNION ALL
	SELECT classid, objid, format('%s %s(%s)', CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'VIEW' ELSE 'TABLE' END, objid::regclass,
		(SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute
			WHERE attrelid = objid AND attnum > 0 AND NOT attisdropped))
	FROM member JOIN pg_class c ON classid = 'pg_class'::regclass AND c.oid = objid AND relkind IN ('r', 'p', 'v', 'm', 'f')
), internal AS (
	-- Functions that no user calls: those of the internal schema, those with values that SQL has none of, those of a type.
	SELECT classid, objid FROM member JOIN pg_proc p ON classid = 'pg_proc'::regclass AND p.oid = objid
	WHERE pronamespace = 'simhash_catalog'::regnamespace
		OR EXISTS (SELECT FROM pg_type t WHERE t.typtype = 'p' AND t.oid = ANY (proargtypes::oid[] || prorettype)
			AND (t.typname IN ('internal', 'cstring') OR t.typname LIKE '%\_handler'))
		OR EXISTS (SELECT FROM pg_type t WHERE p.oid IN (typinput, typoutput, typreceive, typsend, typmodin, typmodout))
	UNION ALL
	-- Relations that not everyone may read.
	SELECT classid, objid FROM member WHERE classid = 'pg_class'::regclass AND NOT has_table_privilege('public', objid, 'SELECT')
	UNION ALL
	-- Families of the classes.
	SELECT classid, objid FROM member WHERE classid = 'pg_opfamily'::regclass
		AND EXISTS (SELECT FROM pg_opclass JOIN member m ON m.classid = 'pg_opclass'::regclass AND m.objid = pg_opclass.oid
			WHERE opcfamily = member.objid)
)
SELECT coalesce(line, pg_describe_object(classid, objid, 0)) FROM member LEFT JOIN said USING (classid, objid)
WHERE (classid, objid) NOT IN (SELECT classid, objid FROM internal)
END

# OUT arguments are written as the columns of a table.
sub with_table
{
	my ($line) = @_;
	my @columns;
	push @columns, $1 while $line =~ s/(?<=[(\s])OUT ([^,)]+?(?:\([\d,]+\))?)(?:, |(?=\) RETURNS ))//;
	return $line unless @columns;
	$line =~ s/, \) RETURNS /) RETURNS /;
	$line =~ s/RETURNS (?:SETOF )?record/'RETURNS TABLE(' . join(', ', @columns) . ')'/e;
	return $line;
}

# The short names of types, defaults without a cast (the type stands before them), and IMMUTABLE where nothing else is said.
sub short
{
	my ($line) = @_;
	return $line unless $line =~ /\) RETURNS /;
	$line =~ s/\bdouble precision\b/float8/g;
	$line =~ s/\binteger\b/int/g;
	$line =~ s/ IMMUTABLE\b//;
	$line =~ s/( DEFAULT (?:'[^']*'|[\w.]+))::[\w ]+(?:\[\])?/$1/g;
	return $line;
}

# Forms for keys that are no integers, with `key_type`, and for rows with weights: the page says once for all how they differ.
my @existing = grep { !/\bkey_type(?:_a)? any|\brecord, weights jsonb/ } map { short(with_table($_)) } split /\n/, $node->safe_psql('postgres', $members);
push @existing, split /\n/, $node->safe_psql('postgres', <<'END');
LOAD 'simhash_dedup';
SELECT format('%s = %s (%s, %s)', name, concat_ws(' ', boot_val, unit),
	concat_ws(', ', vartype, enumvals::text, min_val || ' to ' || max_val), context)
FROM pg_settings WHERE name LIKE 'simhash\_dedup.%'
END

# What the page says of a function begins with its comment, of which `\df+` shows the whole: up to the first semicolon.
my $said = lc $page{functions} =~ s/`//gr =~ s/\s+/ /gr;
my @unsaid = grep { index($said, lc) < 0 } split /\n/, $node->safe_psql('postgres', <<'END');
SELECT split_part(obj_description(p.oid, 'pg_proc'), ';', 1) FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid
WHERE d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'simhash_dedup')
	AND pronamespace <> 'simhash_catalog'::regnamespace AND prorettype <> 'trigger'::regtype
END
is(join("\n", @unsaid), '', 'functions are described as their comments describe them');

my ($rust, $sql) = ('', '');
find({ no_chdir => 1, wanted => sub { $rust .= slurp_file($_) if /\.rs$/ } }, "$root/source/src", "$root/source/crates");
$sql .= slurp_file($_) for glob("$root/source/sql/*.sql");

# Storage parameters: names and defaults are known to the sources alone, limits to the server.
$node->safe_psql('postgres', 'CREATE TABLE t (id int, fp bigint, body text); CREATE INDEX t_fp ON t USING simhash (fp)');
for my $name ($rust =~ /add_\w+_reloption\(\s*\w+,\s*c"(\w+)"/g)
{
	my ($default) = $rust =~ /const \U$name\E: \w+ = ([^;]+);/;
	my ($low, $high) = refusal("ALTER INDEX t_fp SET ($name = -1)") =~ /between "(.+)" and "(.+)"/;
	push @existing, "WITH ($name = $default) $low to $high";
}
same([ signatures() ], \@existing, 'signatures');

# Words and numbers that the server's message allows stand in the row.
sub row_says
{
	my ($row, $message) = @_;
	my ($allowed) = $message =~ /must be (.*), not / or return;
	my @values = ($allowed =~ /"(\w+)"/g, $allowed =~ /\b(\d+)\b/g, $allowed =~ /\b(true|false)\b/g);
	push @values, split /, /, $1 if $allowed =~ /^one of (.*)/;
	is(join(' ', grep { $row->[1] !~ /\b\Q$_\E\b/ } @values), '', "$row->[0]: values");
	return;
}

# Trigger arguments, as the functions list them.
for my $function (grep { s/\(\) RETURNS trigger .*// } my @copies = @existing)
{
	my $fire = sub {
		my ($arguments) = @_;
		my @errors = map { refusal(<<"END") } qw(BEFORE AFTER);
BEGIN;
CREATE TRIGGER t $_ INSERT ON t FOR EACH ROW EXECUTE FUNCTION $function($arguments);
INSERT INTO t VALUES (1, 1);
END
		return (grep { /trigger argument/ } @errors)[0] // '';
	};
	my @rows = table_rows($page{operators}, $function);
	my ($known) = $fire->("'nothing=1'") =~ /Known arguments: (.*)\./;
	same([ map { $_->[0] } @rows ], [ map { "$_=" } split /, /, $known ], "arguments of $function");
	for my $row (@rows)
	{
		my @needed = grep { /^(\w+)=/ && "$1=" ne $row->[0] && $known =~ /\b$1\b/ }
			qw(fingerprint=fp key=id clusters=c text=body weights={});
		row_says($row, $fire->(join ', ', map { "'$_'" } @needed, "$row->[0]*"));
	}
}

# Options of texts, columns and rows; presets; kinds of features.
sub listed
{
	my ($call) = @_;
	return split /, /, (refusal("SELECT simhash64($call)") =~ /(?:options|options of a text|presets) are (.*?)\./)[0];
}
my %options = (
	text => [ listed(q('a', '{"?": 1}')) ],
	column => [ listed(q(ROW('a'), '{"f1": {"?": 1}}')) ],
	row => [ map { s/^\$//r } listed(q(ROW('a'), '{"$?": 1}')) ]);
my @rows = (table_rows($page{options}, 'Of texts, columns and rows'), table_rows($page{options}, 'What a word weighs'));
for my $of (sort keys %options)
{
	same([ map { $_->[0] =~ /"(\w+)"/ } grep { $_->[1] =~ /^\|[^|]+\|[^|]*\b$of\b/ } @rows ], $options{$of}, "options of a $of");
}
for my $row (@rows)
{
	# As an option of a column where there is one, else of a row.
	my ($key) = $row->[0] =~ /"(\w+)"/;
	my $json = (grep { $_ eq $key } @{ $options{column} }) ? qq({"f1": {"$key": -1}}) : qq({"\$$key": -1});
	row_says($row, refusal("SELECT simhash64(ROW('a'), '$json')"));
}
same([ map { $_->[0] } table_rows($page{options}, 'Presets') ], [ listed(q('a', preset => '?')) ], 'presets');
same([ map { $_->[0] =~ /"(\w+)"/ } table_rows($page{options}, 'Kinds of features') ],
	[ listed(q('a', '{"features": ["?"]}')) ], 'kinds of features');
my ($methods) = $page{functions} =~ /^### simhash_clusters\n.*?`method` is (.*?);/ms;
my ($known_methods) = refusal(q(SELECT simhash_clusters('t', 'id', 'fp', 3, '?'))) =~ /Methods are (.*)\./;
same([ $methods =~ /`(\w+)`/g ], [ split /, /, $known_methods ], 'methods of simhash_clusters');

# SQLSTATEs, by the names that the sources use.
my %state;
for (split /\n/, slurp_file($node->config_data('--sharedir') . '/errcodes.txt'))
{
	my ($state, @names) = /^(\w{5})\s+[EWS]\s+(ERRCODE_\w+)(?:\s+(\w+))?/ or next;
	# Of states with one name PL/pgSQL takes the first.
	$state{$_} //= $state for grep { defined } @names;
}
my %raised = map { ($state{$_} // "unknown $_") => 1 } ($rust =~ /\b(ERRCODE_\w+)/g, $sql =~ /ERRCODE = '(\w+)'/g);
my @states = map { [ split / *\| */, $_->[1] ] } table_rows($page{errors}, 'States');
same([ map { $_->[1] =~ /(\w+)/ } @states ], [ keys %raised ], 'SQLSTATEs');
my @misnamed = grep { my (undef, $state, $name) = map { s/`//gr } @$_; ($state{$name} // '') ne $state } @states;
is(join(' ', map { $_->[1] } @misnamed), '', 'names of SQLSTATEs');

# Each message is one of the sources, but for what stands there in the place of `...`, and each state has one.
for ($rust, $sql)
{
	s/\\\n\s*//g;
	s/\\"/"/g;
	s/''/'/g;
}
my %explained;
my @absent;
for my $row (grep { !/^\| `\w{5}` / } $page{errors} =~ /^(\| .*`.*)/gm)
{
	my (undef, $messages, $states) = split / \| |^\| /, $row;
	my @parts = grep { length } map { split /\.\.\./ } $messages =~ /`([^`]+)`/g;
	push @absent, grep { index($rust, $_) < 0 && index($sql, $_) < 0 } @parts;
	$explained{$_} = 1 for split /, /, $states;
}
is(join("\n", @absent), '', 'messages are those of the sources');
same([ keys %explained ], [ keys %raised ], 'SQLSTATEs of messages');
$node->stop;
done_testing();
