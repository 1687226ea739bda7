# The script of the page that simhash_review.sql makes, run by node where there is one: what a reader marks, sorts, filters and
# copies is what the page's numbers and the rows of the table say.
use strict;
use warnings;
use SimhashTest;
use SimhashReview;
use Encode qw(decode encode);
use File::Basename qw(dirname);
use IPC::Run;
use JSON::PP;
use List::Util qw(sum0);
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'there is no node' unless eval { IPC::Run::run([ 'node', '--version' ], '>', \my $version) };
my $node = new_node('review_page');

# What a reader sees at first, and after each step.
sub steps
{
	my ($page, @steps) = @_;
	my ($seen, $errors) = ('', '');
	my $file = PostgreSQL::Test::Utils::tempdir . '/page.html';
	append_to_file($file, $page);
	IPC::Run::run([ 'node', dirname(dirname(__FILE__)) . '/perl/review_page.js', $file, encode_json(\@steps) ], '>', \$seen, '2>', \$errors);
	is($errors, '', 'the script runs');
	return @{ decode_json($seen) };
}
sub rows { my ($page) = @_; return split /(?=<div class="row)/, $page =~ s/<h2>What you have decided.*//sr }
sub keys_by_id { my ($page) = @_; return map { /id="(p\d+)".*?class="json">(.*?)<\/code>/s ? ($1 => text_of($2)) : () } rows($page) }

# ---- what is copied: keys that SQL and CSV have to quote, and one that a spreadsheet takes for a formula, stay what they are
$node->safe_psql('postgres', q{
	CREATE TABLE quoting (id text PRIMARY KEY, fp bigint, body text);
	INSERT INTO quoting SELECT id, 7, 'one and the same text'
	FROM unnest(ARRAY['=1+1', 'a "b", c', E'two\nlines', 'it''s', E'back\\\\slash', '</pre>', E'\u202Eturned']) AS id;
	CREATE TABLE judged (a text, b text, same boolean, PRIMARY KEY (a, b));
	CREATE TABLE judged_csv (LIKE judged)});
my (undef, $page) = review($node, 'postgres', 'relation=quoting', 'key=id', 'fp=fp', 'text=body', 'radius=0', 'examples=100', 'clusters=0',
	'decisions=judged');
my %pair = keys_by_id($page);
my @ids = sort keys %pair;
is(scalar @ids, 21, 'all pairs of seven rows');
my $last = pop @ids;
my %said = map { $ids[$_] => $_ % 2 ? 'true' : 'false' } 0 .. $#ids;
my ($start, @seen) = steps($page, (map { [ 'mark', $_, $said{$_} ] } @ids), [ 'mark', $last, 'true' ], [ 'mark', $last, '' ],
	[ 'press', 'copy' ], [ 'set', 'as', 'csv' ], map { [ 'mark', $_, '' ] } @ids);
is("$start->{without}|$start->{decisions}|@{ $start->{decided} }", '0||0 0', 'what needs the script is there, and nothing is decided');
my ($copied, $csv) = @seen[ 22, 23 ];
is("@{ $copied->{decided} }", '20 20', 'what is marked counts, what is undecided again does not');
is($copied->{copied}, $copied->{decisions}, 'Copy copies all');
is("$copied->{file}|$csv->{file}", 'decisions.sql|decisions.csv', 'a file of SQL or of CSV');
is("$copied->{saved}$csv->{saved}", "$copied->{decisions}$csv->{decisions}", '... has what is shown');
is($seen[-1]->{decisions}, '', 'nothing is left when all is undecided');

my $file = PostgreSQL::Test::Utils::tempdir . '/decisions.csv';
append_to_file($file, encode('UTF-8', $csv->{decisions}));
$node->safe_psql('postgres', encode('UTF-8', $copied->{decisions}));
$node->safe_psql('postgres', "\\copy judged_csv FROM '$file' CSV HEADER");
my $wanted = 'VALUES ' . join ', ',
	map { '(' . join(', ', map { "'" . encode('UTF-8', s/'/''/gr) . "'" } @{ decode_json($pair{$_}) }) . ", $said{$_})" } @ids;
is($node->safe_psql('postgres', "SELECT count(*) FROM $_"), 20, "$_: as many pairs"),
	is($node->safe_psql('postgres', "TABLE $_ EXCEPT ($wanted)"), '', '... with the keys and what was said') for qw(judged judged_csv);
is($node->safe_psql('postgres', "SELECT count(*) FROM unnest((SELECT array_agg(a || b) FROM judged_csv)) AS k WHERE k LIKE '%=1+1%'") > 0, 1,
	'also of the formula');
$node->safe_psql('postgres', encode('UTF-8', $copied->{decisions} =~ s/ (true|false)\)/$1 eq 'true' ? ' false)' : ' true)'/ger));
is($node->safe_psql('postgres', 'SELECT count(*) FROM judged JOIN judged_csv USING (a, b) WHERE judged.same <> judged_csv.same'), 20,
	'what is judged again has the new judgement');

# ---- order, filters and thresholds, of pairs with many distances and kinds of difference
$node->safe_psql('postgres', q{
	CREATE TABLE letter (id int PRIMARY KEY, fp bigint, body text);
	INSERT INTO letter SELECT i, simhash64(body), body FROM generate_series(1, 200) AS i,
		format((ARRAY['The lamp in front of number %s has been dark for two weeks, please have it repaired before winter & frost.',
			'The lamp in front of number %s has not been dark for two weeks, please have it repaired before winter & frost.',
			'The BUS no longer stops at the market, which is hard for people who cannot walk far: %s.',
			'十二号门前的路灯坏了两个星期,请在冬天之前修好,谢谢大家的帮助和支持。%s 号居民敬上'])[1 + i % 4],
			CASE WHEN i % 3 = 0 THEN 'twelve' ELSE repeat('w' || i % 40 || ' ', i % 7) END) AS body});
(undef, $page) = review($node, 'postgres', 'relation=letter', 'key=id', 'fp=fp', 'text=body', 'radius=16', 'examples=400');
my %row = map { /id="(p\d+)" data-place="(\d+)" data-distance="(\d+)" data-jaccard="([\d.]+)"/ ? ($1 => [ $2, $3, $4 ]) : () } rows($page);
my %keys = keys_by_id($page);
my %ids;
push @{ $ids{ $keys{$_} } }, $_ for sort keys %keys;
my ($twice) = grep { @$_ > 1 && grep { $row{$_} } @$_ } map { $ids{$_} } sort keys %ids;
my @orders = ([ 'place 1', 0, 1 ], [ 'distance 1', 1, 1 ], [ 'distance -1', 1, -1 ], [ 'jaccard -1', 2, -1 ], [ 'jaccard 1', 2, 1 ]);
# Units are pairs at the border, and clusters: by their first row.
my %unit = map { /id="(p\d+)"/ ? ($1 => $_) : () } split /(?=<div class="row pair unit")|(?=<div class="unit">)/,
	$page =~ s/<h2>What you have decided.*//sr;
my %words = map { $_ => join "\n", map { lc decode('UTF-8', text_of($_)) } $unit{$_} =~ /<(?:p|pre)\b[^>]*>(.*?)<\/(?:p|pre)>/gs } keys %unit;
my @with_bus = grep { index($words{$_}, 'bus') >= 0 } sort keys %unit;
my ($kind) = $page =~ /class="differs">(?:[\w ]+, )?(negation)/;
my %of_kind = map { $_ => 1 } grep { $unit{$_} =~ /class="differs">(?:[^<]*, )?\Q$kind\E[,<]/ } keys %unit;
cmp_ok(0 + @with_bus, '<', keys %unit, 'not all units have the word');
cmp_ok(0 + keys %of_kind, '<', keys %unit, "... or differ in a $kind");

($start, my $marked, @seen) = steps($page, [ 'mark', $twice->[0], 'true' ], (map { [ 'set', 'order', $_->[0] ] } @orders),
	[ 'set', 'filter', 'Bus' ], [ 'set', 'differs', $kind ], [ 'set', 'filter', '' ], [ 'set', 'differs', '' ], [ 'set', 'filter', 'no such word' ],
	[ 'set', 'bits', '9' ], [ 'set', 'least', '71' ]);
is_deeply([ sort @{ $marked->{marked} } ], $twice, 'a pair that stands twice is marked twice');
is("@{ $marked->{decided} }", '1 1', '... and decided once');
for my $order (@orders)
{
	my ($name, $by, $sign) = @$order;
	my @lists = @{ shift(@seen)->{lists} };
	is_deeply([ map { [ map { $row{$_}[$by] } @$_ ] } @lists ], [ map { [ sort { $sign * ($a <=> $b) } map { $row{$_}[$by] } @$_ ] } @lists ],
		"order: $name");
	is_deeply([ sort map { @$_ } @lists ], [ sort keys %row ], '... of the same pairs');
}
for my $filter ([ 'a word', @with_bus ], [ "... and $kind", grep { $of_kind{$_} } @with_bus ], [ "$kind alone", sort keys %of_kind ],
	[ 'no filter', sort keys %unit ], ['what is nowhere'])
{
	my ($name, @shown) = @$filter;
	is_deeply([ sort @{ shift(@seen)->{shown} } ], \@shown, "filter: $name");
}
my ($cells) = map { decode_json($_) } $page =~ /id="cells">(.*?)</;
my $compared = counts($page)->{compared};
for my $limits ([ 16, 80 ], [ 9, 80 ], [ 9, 71 ])
{
	my ($bits, $least) = @$limits;
	my $n = sum0(map { $_->[2] } grep { $_->[0] <= $bits && $_->[1] >= $least } @$cells);
	my $would = $bits == 16 ? $start->{would} : shift(@seen)->{would};
	is($would =~ tr/,//dr =~ s/ %.*/ %/r, sprintf('%d pairs %.1f %%', $n, 100 * $n / $compared), "thresholds: $bits bits, $least hundredths");
}

$node->stop;
done_testing();
