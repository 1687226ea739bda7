# The owner of the database may write stored configurations, and no other role: also after roles were dropped, the
# database got another owner, another role restored a dump, or pg_upgrade made a new cluster.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use File::Basename qw(dirname);
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('rights');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE bob LOGIN');
my $makes = q{SELECT simhash_create_config('c', preset => 'plain')};
my $rights = q{SELECT c.relname, pg_get_userbyid(c.relowner), a.grantee::regrole, a.privilege_type, a.is_grantable
	FROM pg_class AS c, aclexplode(c.relacl) AS a WHERE c.relnamespace = 'simhash_catalog'::regnamespace AND c.relkind = 'r'
		ORDER BY 1, 2, 3, 4};

sub may
{
	my ($database, $role) = @_;
	return $node->psql($database, $makes, extra_params => [ '-U', $role ]) == 0;
}

# Restores a plain dump of a database into a new one, and stops at the first error.
sub restored
{
	my ($from, $to, $as) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $file = $node->basedir . "/$to.sql";
	$node->command_ok([ 'pg_dump', '-f', $file, '-d', $node->connstr($from) ], "$from is dumped");
	my $text = slurp_file($file);
	unlike($text, qr/^(GRANT|REVOKE) .*simhash_(?:catalog|methods)/m, "$from: no right differs from those that the extension gives");
	$node->command_ok([ 'psql', '-X', '-q', '-U', $as, '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $node->connstr($to) ],
		"$from is restored by $as");
	is($node->safe_psql($to, $rights), $node->safe_psql($from, $rights), "$from: the same rights in $to");
	return;
}

# The creator: the owner of the database, a superuser, the first superuser.
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
for my $creator ('alice', 'root2', $superuser)
{
	my $name = "of_$creator";
	$node->safe_psql('postgres', <<"SQL");
CREATE ROLE alice LOGIN; CREATE ROLE clerk LOGIN; CREATE ROLE root2 LOGIN SUPERUSER;
CREATE DATABASE $name OWNER alice;
CREATE DATABASE ${name}_by_superuser OWNER alice;
CREATE DATABASE ${name}_by_owner OWNER bob;
SQL
	# Default privileges grant nothing here, and leave no role's name in an ACL.
	my $given = sub {
		my ($does, $to) = @_;
		$node->safe_psql($name, join '',
			map { "ALTER DEFAULT PRIVILEGES FOR ROLE $superuser, root2 $does ALL ON $_ $to reader, PUBLIC;" } 'TABLES', 'SCHEMAS');
	};
	$node->safe_psql('postgres', 'CREATE ROLE reader');
	$given->('GRANT', 'TO');
	$node->safe_psql($name, "CREATE EXTENSION simhash_dedup; $makes", extra_params => [ '-U', $creator ]);
	$given->('REVOKE', 'FROM');
	$node->safe_psql($name, 'DROP OWNED BY reader; DROP ROLE reader');
	is($node->safe_psql($name,
		q{SELECT has_schema_privilege('bob', s, 'CREATE'), has_schema_privilege('bob', s, 'USAGE')
			FROM unnest('{simhash_catalog,simhash_methods}'::text[]) AS s}),
		"f|t\nf|t", "$name: others create nothing in the extension's own schemas, and may use them");
	ok(may($name, 'alice'), "$name: the owner of the database makes configurations");
	ok(!may($name, 'bob'), "$name: others do not");
	my $drops = q{SELECT simhash_drop_config('c')};
	is($node->psql($name, $drops, extra_params => [ '-U', 'bob' ]), 3, "$name: others drop none");
	is($node->psql($name, $drops, extra_params => [ '-U', 'alice' ]), 0, "$name: the owner does");
	ok(may($name, 'alice'), "$name: and makes it again");
	restored($name, "${name}_by_superuser", $superuser);
	ok(may("${name}_by_superuser", 'alice'), "$name: restored by a superuser, the owner makes configurations");

	$node->safe_psql($name, 'GRANT INSERT ON ALL TABLES IN SCHEMA simhash_catalog TO clerk', extra_params => [ '-U', 'root2' ]);
	ok(may($name, 'clerk'), "$name: a role that was granted the right makes configurations");
	$node->safe_psql($name, 'DROP OWNED BY clerk');

	# All leave.
	for my $role ('alice', 'root2')
	{
		$node->safe_psql($_, "REASSIGN OWNED BY $role TO bob; DROP OWNED BY $role") for $name, "${name}_by_superuser", "${name}_by_owner";
	}
	$node->safe_psql('postgres', "ALTER DATABASE $_ OWNER TO bob") for $name, "${name}_by_superuser";
	$node->safe_psql('postgres', 'DROP OWNED BY alice, root2; DROP ROLE alice, root2, clerk');
	is($node->safe_psql($name,
		q{SELECT count(*) FROM pg_init_privs, aclexplode(initprivs) AS a WHERE a.grantee <> 0 AND a.grantee NOT IN (SELECT oid FROM pg_roles)
		OR a.grantor NOT IN (SELECT oid FROM pg_roles)}), 0, "$name: nothing is left of roles that are gone");
	ok(may($name, 'bob'), "$name: the new owner makes configurations");
	restored($name, "${name}_by_owner", 'bob');
	ok(may("${name}_by_owner", 'bob'), "$name: restored by the owner, who makes configurations");
	$node->safe_psql('postgres', "DROP DATABASE ${name}_by_superuser; DROP DATABASE ${name}_by_owner");
	$node->safe_psql($name, q{SELECT simhash_create_config('d', preset => 'plain', words => '{a word}')});
}

# One configuration goes to another server by the commands of the page: into a database of another encoding, which has a list
# of the same words already, and where the same again changes nothing and another meaning of the name is refused.
my $page = slurp_file(dirname($ENV{PG_TEST_DATA}) . '/docs/presets.md');
my $folder = $node->basedir;
my @copies = map { s{'(content|config)\.txt'}{'$folder/$1.txt'}r } $page =~ /^(\\copy .*\bsimhash_catalog\b.*)$/mg;
is(scalar(@copies), 4, 'the page has two commands for each server');
$node->safe_psql('postgres', "CREATE DATABASE from_here; CREATE DATABASE to_there ENCODING 'EUC_CN' LOCALE 'C' TEMPLATE template0");
$node->safe_psql($_, 'CREATE EXTENSION simhash_dedup') for 'from_here', 'to_there';
$node->safe_psql('from_here', <<'SQL');
CREATE TABLE doc AS SELECT 'the lamp in 幸福路 is dark ' || i AS body FROM generate_series(1, 9) AS i;
SELECT simhash_create_config('petition', '{"tf": "log", "cue_words": ["幸福", "a\nb"]}', preset => 's2', words => ARRAY['幸福路', 'blank and "quote"', '\back'],
	tags => '{ns,NULL,v}', stop_words => '{the,的}', idf_relation => 'doc', idf_column => 'body');
SELECT simhash_create_config('row', '{"路": 1, "lamp": 2, "灯灯": 3}', preset => 'plain');
SQL
$node->safe_psql('to_there',
	q{SET client_encoding = 'UTF8'; SELECT simhash_create_config('other', preset => 's0', stop_words => '{的,the}')});
$node->safe_psql('from_here', join "\n", @copies[0, 1]);
my $asks = q{SELECT simhash_config_digest('petition'), simhash64_named_text('the lamp in 幸福路', 'petition')};
for my $time ('copied', 'copied again')
{
	$node->safe_psql('to_there', "SET client_encoding = 'UTF8';\n" . join "\n", @copies[2, 3]);
	is($node->safe_psql('to_there', "SET client_encoding = 'UTF8'; $asks"), $node->safe_psql('from_here', $asks),
		"$time: the same digest and fingerprint");
}
is($node->safe_psql('to_there', 'SELECT count(*) FROM simhash_catalog.content'), 3, 'both have one list of stop words');
# The keys of its options have another order in jsonb of the other encoding.
my $row_asks = q{SELECT simhash_config_digest('row'), simhash64_named(r, 'row') FROM (VALUES ('a', 'b', 'c')) AS r ("路", lamp, "灯灯")};
$node->safe_psql('from_here', $copies[1] =~ s/'petition'/'row'/r);
$node->safe_psql('to_there', "SET client_encoding = 'UTF8';\n$copies[3]");
is($node->safe_psql('to_there', "SET client_encoding = 'UTF8'; $row_asks"), $node->safe_psql('from_here', $row_asks),
	'columns of other names: the same');
$node->safe_psql('from_here', $copies[1]);
$node->safe_psql('to_there', q{SELECT simhash_drop_config('petition')});
$node->safe_psql('to_there', "SET client_encoding = 'UTF8';\n" . join "\n", @copies[2, 3]);
is($node->safe_psql('to_there', "SET client_encoding = 'UTF8'; $asks"), $node->safe_psql('from_here', $asks),
	'dropped and copied: the same again');
$node->safe_psql('postgres', 'CREATE DATABASE to_other');
$node->safe_psql('to_other', q{CREATE EXTENSION simhash_dedup; SELECT simhash_create_config('petition', preset => 'plain')});
my (undef, undef, $refusal) = $node->psql('to_other', join "\n", @copies[2, 3]);
like($refusal, qr/configuration "petition" is there with another meaning/, 'another meaning is refused');
$node->safe_psql('postgres', "DROP DATABASE $_") for 'from_here', 'to_there', 'to_other';

# Everything goes to a new cluster.
my $counts = 'SELECT (SELECT count(*) FROM simhash_catalog.config), (SELECT count(*) FROM simhash_catalog.content)';
my @databases = split /\n/, $node->safe_psql('postgres', q{SELECT datname FROM pg_database WHERE datname LIKE 'of!_%' ESCAPE '!'});
my %before = map { $_ => $node->safe_psql($_, "$rights; $counts") } @databases;
is(scalar(@databases), 3, 'three databases');
$node->stop;
my $new = PostgreSQL::Test::Cluster->new('upgraded');
$new->init;
chdir $new->basedir or die $!;
command_ok([ 'pg_upgrade', '--no-sync', '-d', $node->data_dir, '-D', $new->data_dir, '-b', $node->config_data('--bindir'), '-B',
	$new->config_data('--bindir'),
		'-s', $node->host, '-p', $node->port, '-P', $new->port ], 'pg_upgrade');
$new->start;
$node = $new;
for my $name (@databases)
{
	is($node->safe_psql($name, "$rights; $counts"), $before{$name}, "$name: rights and rows after pg_upgrade");
	ok(may($name, 'bob'), "$name: the owner makes configurations after pg_upgrade");
}
$node->stop;
done_testing();
