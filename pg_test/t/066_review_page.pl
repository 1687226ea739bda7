# The page that simhash_review.sql makes, in a browser where one is installed: what a reader marks, sorts, filters, copies and saves
# is what the page's numbers and the rows of the table say, and what is judged reaches the statement that deletes.
use strict;
use warnings;
use SimhashTest;
use SimhashBrowser;
use SimhashReview;
use Encode qw(decode encode);
use JSON::PP;
use List::Util qw(sum0);
use PostgreSQL::Test::Utils;
use Test::More;

my $browser = browser() or plan skip_all => 'Chromium is not installed';
my $node = new_node('review_page');

# What a reader sees.
use constant SEEN => q{(() => {
	const all = (what, where = document) => [...where.querySelectorAll(what)], byId = id => document.getElementById(id);
	return { decisions: byId('decisions').value, decided: all('.decided').map(e => e.textContent), would: byId('would').textContent,
		marked: all('.pair').filter(p => p.querySelector('input:checked').value).map(p => p.id),
		lists: all('.list').map(list => all('.row', list).map(row => row.id)), without: all('.script').filter(e => e.hidden).length,
		shown: all('.unit').filter(e => e.checkVisibility()).map(unit => unit.id || unit.querySelector('.row').id) };
})()};

# The same at first, and after each step: ["mark", id of a pair, value], ["set", id of a field, value], ["copy"] or ["save"].
sub steps
{
	my ($page, @steps) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir . '/page.html';
	unlink $file;
	append_to_file($file, $page);
	$browser->open_page($file);
	is(scalar(grep { $_->{method} =~ /exceptionThrown|entryAdded/ } @{ $browser->{events} }), 0, 'the page loads, and its policy allows its script');
	return map {
		my ($what, $id, $value) = @$_;
		my %more;
		if ($what eq 'mark') { $browser->click("document.querySelector('#$id input[value=\"$value\"]')") }
		elsif ($what eq 'set') { $browser->set($id, $value) }
		elsif ($what eq 'copy') { $browser->click("document.getElementById('copy')"); $more{copied} = $browser->pasted }
		elsif ($what eq 'save') { @more{qw(file saved)} = $browser->saved("document.getElementById('save')") }
		+{ %{ $browser->value(SEEN) }, %more }
	} ['start'], @steps;
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
my (undef, $page) = review($node, 'postgres', 'relation=quoting', 'key=id', 'fp=fp', 'text=body', 'jaccard=0.8', 'radius=0', 'examples=100', 'clusters=0',
	'decisions=judged');
my %pair = keys_by_id($page);
my @ids = sort keys %pair;
is(scalar @ids, 21, 'all pairs of seven rows');
my $last = pop @ids;
my %said = map { $ids[$_] => $_ % 2 ? 'true' : 'false' } 0 .. $#ids;
my ($start, @seen) = steps($page, (map { [ 'mark', $_, $said{$_} ] } @ids), [ 'mark', $last, 'true' ], [ 'mark', $last, '' ],
	['copy'], ['save'], [ 'set', 'as', 'csv' ], ['save'], map { [ 'mark', $_, '' ] } @ids);
is("$start->{without}|$start->{decisions}|@{ $start->{decided} }", '0||0 0', 'what needs the script is there, and nothing is decided');
my ($copied, $sql, $csv) = @seen[ 22, 23, 25 ];
is("@{ $copied->{decided} }", '20 20', 'what is marked counts, what is undecided again does not');
is($copied->{copied}, $copied->{decisions}, 'Copy copies all');
is("$sql->{file}|$csv->{file}", 'decisions.sql|decisions.csv', 'a file of SQL or of CSV');
is(decode('UTF-8', "$sql->{saved}$csv->{saved}"), "$copied->{decisions}$csv->{decisions}", '... has what is shown');
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
(undef, $page) = review($node, 'postgres', 'relation=letter', 'key=id', 'fp=fp', 'text=body', 'jaccard=0.8', 'radius=16', 'examples=400');
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

# ---- what is judged in the page reaches its statement, by way of the file that it saves
$node->safe_psql('postgres', q{
	CREATE TABLE lamp (id int PRIMARY KEY, body text);
	INSERT INTO lamp VALUES (1, 'The lamp at number 5 is dark'), (2, 'the LAMP at number 5 is dark'), (3, 'The lamp at number 7 is dark'),
		(4, 'the LAMP at number 7 is dark'), (5, 'The lamp at number 8 is dark')});
(undef, $page) = review($node, 'postgres', 'relation=lamp');
my ($delete) = map { text_of($_) } $page =~ /<pre>(BEGIN;.*?)-- COMMIT/s;
%keys = keys_by_id($page);
my %by_keys = map { $keys{$_} =~ tr/"//dr => $_ } keys %keys;
(undef, undef, undef, my $said) = steps($page, [ 'mark', $by_keys{'[1,2]'}, 'false' ], [ 'mark', $by_keys{'[1,3]'}, 'true' ], ['save']);
is($node->safe_psql('postgres', "$delete SELECT string_agg(id::text, ',' ORDER BY id) FROM lamp; ROLLBACK;"), '1,3,5', 'before: one of each group stays');
$node->safe_psql('postgres', $said->{saved});
is($node->safe_psql('postgres', "$delete SELECT string_agg(id::text, ',' ORDER BY id) FROM lamp; ROLLBACK;"),
	'1,2,5', 'then what is judged different stays, and what is judged the same goes');

# ---- what is left to judge comes first
sub clusters_shown
{
	(undef, $page) = review($node, 'postgres', 'relation=lamp');
	%keys = keys_by_id($page);
	%by_keys = map { $keys{$_} =~ tr/"//dr => $_ } keys %keys;
	my ($clusters) = $page =~ /<h2>The largest clusters(.*?)<h2>Pairs at/s;
	return join ' ', map { text_of($_) =~ tr/"//dr } $clusters =~ /class="json">(.*?)<\/code>/gs;
}
$node->safe_psql('postgres', 'DELETE FROM lamp_decision');
is(clusters_shown(), '[1,2] [3,4]', 'clusters of one size by their keys');
(undef, undef, $said) = steps($page, [ 'mark', $by_keys{'[1,2]'}, 'true' ], ['save']);
$node->safe_psql('postgres', $said->{saved});
is(clusters_shown(), '[3,4] [1,2]', 'one that is judged comes last');
$node->safe_psql('postgres', "INSERT INTO lamp VALUES (6, 'The lamp at number 5 is dark.')");
is(clusters_shown(), '[1,2] [1,6] [3,4]', '... until it gains a row');

$node->stop;
done_testing();
