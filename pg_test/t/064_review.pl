# simhash_review.sql: its page is well-formed whatever texts and names hold, its counts are those of the functions, and it changes
# nothing: a standby can print it. It shows a caller no row that row security hides, and runs nobody's function in place of one.
use strict;
use warnings;
use SimhashTest;
use SimhashReview;
use Digest::SHA;
use Encode qw(encode decode);
use IPC::Run;
use JSON::PP;
use List::Util qw(max sum0);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('review', init => [ allows_streaming => 1 ]);
ok(-e review_script($node), 'it is installed');

# The first fault of a page, or nothing: tags are known and nested, no character stands outside of one that begins a tag or an
# entity, none is invisible or turns what follows around.
sub fault
{
	my ($page, $images) = @_;
	my %known = map { $_ => 1 } qw(html head meta title style body h1 h2 h3 p bdi dl div dt dd figure svg line g rect text
		figcaption details summary table tr th td del ins strong i code pre template label input output span select option button a textarea img);
	my %empty = map { $_ => 1 } qw(meta line rect input img);
	my @open;
	$page =~ s/^<!DOCTYPE html>\n// or return 'no DOCTYPE';
	# One script, the one that the policy names. Nothing else can run: no attribute is one of an event.
	$page =~ s/<script>(.*?)<\/script>\n(?=<\/body>)//s or return 'no script';
	my $hash = Digest::SHA::sha256_base64($1) . '=';
	my $policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-$hash'" . ($images ? '; img-src https: http: data:' : '');
	return 'another policy' unless index($page, qq(<meta http-equiv="Content-Security-Policy" content="$policy">)) > 0;
	while ($page =~ /\G([^<]*)(?:<(\/?)(\w+)((?: [\w:-]+="[^"<]*")*)\/?>|\z|(.{1,40}))/gs)
	{
		my ($text, $close, $tag, $attributes, $rest) = ($1, $2, $3, $4, $5);
		return "not a tag: $rest" if defined $rest;
		return "not an entity: $1" if $text =~ /(&(?!amp;|lt;|gt;|#92;|#xFFFD;).{0,20})/s;
		return "a bare > in: $text" if $text =~ />/ && (!@open || $open[-1] ne 'style');
		return 'a control character' if $text =~ /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]|\xc2[\x80-\x9f]/;
		last unless defined $tag;
		return "<$tag>" unless $known{$tag};
		return "<$tag$attributes>" if $tag eq 'img'
			&& (!$images || $attributes !~ /^ loading="lazy" referrerpolicy="no-referrer" alt="" src="(?:https?:\/\/|data:image\/)[^" ]*"$/);
		return "<$tag $attributes>" if $attributes =~ / on|javascript:|style=/i;
		if ($close) { my $last = pop @open; return "</$tag> closes <$last>" if $last ne $tag; }
		elsif (!$empty{$tag}) { push @open, $tag; }
	}
	return "open: @open" if @open;
	return '';
}

# ---- texts of four scripts, each with small changes; names and texts that would be tags, quotes and marks
my ($table, $key, $fp, $text) = (q(pet<b>"'ition), q(k<script>ey), q(f:'p"), q(te<xt>{));
my @names = map { '"' . s/"/""/gr . '"' } ($table, $key, $fp, $text);
my ($t, $k, $f, $b) = @names;
my @given = ("relation=$t", "key=$key", "fp=$fp", "text=$text", 'radius=16', 'jaccard=0.6');
$node->safe_psql('postgres', <<"END");
CREATE TABLE $t ($k text PRIMARY KEY, $f bigint, $b text, created_at timestamptz, clerk text DEFAULT 'a');
INSERT INTO $t SELECT i || '<script>alert(1)</script>''"' || CASE WHEN i % 3 = 0 THEN E'\\u202E\\\\" \\n\\x01,' ELSE '' END, simhash64(body), body, timestamptz '2026-01-01' - i * interval '1 day',
	CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END
FROM (SELECT i, (ARRAY[
	'The street lamp in front of number %s has been dark for two weeks, please <script>alert("x")</script> have it repaired before winter & frost.',
	'十二号门前的路灯坏了两个星期,请在冬天之前修好,谢谢大家的帮助和支持。%s 号居民敬上',
	'مصباح الشارع أمام المنزل رقم %s مظلم منذ أسبوعين، يرجى إصلاحه قبل الشتاء، شكرا لكم جميعا على المساعدة',
	'פנס הרחוב מול בית מספר %s חשוך כבר שבועיים, אנא תקנו אותו לפני החורף, תודה לכולם על העזרה',
	E'Marks [-of the-] {+others+} ]} {[ and \\x01\\x02\\x03\\x04\\x07\\x1b\\x7f\\u0085\\u202E\\u2066 \\\\u0001 \\\\\\\\ stay what they are in the text of row %s as it was sent to us.'])[1 + i % 5] AS form
	FROM generate_series(1, 200) AS i) r, format(form, CASE WHEN i % 3 = 0 THEN 'twelve' ELSE repeat('w' || i % 40 || ' ', i % 7) END) AS body;
INSERT INTO $t VALUES ('null', NULL, NULL), ('empty', simhash64('a lonely text'), NULL);
CREATE ROLE clerk LOGIN; GRANT SELECT ON $t TO clerk;
CREATE TABLE plain (id int, fp bigint, body text);
END

sub state_of
{
	return $node->safe_psql('postgres',
		"SELECT (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_proc), (SELECT count(*) FROM pg_type),
		(SELECT md5(string_agg(t::text, ' ' ORDER BY $k)) FROM $t t)");
}
is($node->safe_psql('postgres', 'SELECT simhash_catalog.review_script()'), slurp_file(review_script($node)), 'the server has the script');
my $before = state_of();
my ($status, $page, $errors) = review($node, 'postgres', @given, 'first_by=created_at');
is("$status$errors", '0', 'it prints a page');
is_deeply(\@stages, [ 'counting rows', 'estimating pairs', 'finding pairs', 'comparing texts', 'finding clusters', 'one step more and less',
	'comparing words', 'done' ], 'and says what it does');
is(fault($page), '', 'a well-formed one');
cmp_ok(length $page, '<', 2_000_000, 'of less than 2 MB');
is(state_of(), $before, 'nothing has changed');
my $text_of = text_of($page);
like($text_of, qr/\Q$_\E/, "it shows $_") for q(pet<b>""'ition), $key, $text, q(1<script>alert(1)</script>''"),
	'<script>alert("x")</script>', '十二号门前的路灯坏了', 'مصباح الشارع', 'פנס הרחוב', '[-of the-] {+others+} ]} {[', '\u0001 \\\\';
like($page, qr/<del>[^<]+<\/del>/, 'it marks words');
like($page, qr/<del><strong>[^<]+<\/strong><\/del><ins><strong>[^<]+<\/strong><\/ins>/, 'and those that decide');

my $pairs = "simhash_pairs('\"pet<b>\"\"''ition\"', key_type => NULL::text, columns => 'f:''p\"', key => '$key', radius => 16)";
my $clusters = "simhash_clusters('\"pet<b>\"\"''ition\"', key_type => NULL::text, columns => 'f:''p\"', key => '$key', radius => 16, method => 'leader', text => '$text', min_jaccard => 0.6)";
my %direct;
@direct{qw(rows fingerprints pairs compared clusters members going)} = split /\|/, $node->safe_psql('postgres', <<"END");
SELECT (SELECT count(*) FROM $t), (SELECT count($f) FROM $t), (SELECT count(*) FROM $pairs), (SELECT count(*) FROM $pairs),
	count(DISTINCT cluster_id), count(*), count(*) - count(DISTINCT cluster_id) FROM $clusters
END
is_deeply(counts($page), \%direct, 'counts are those of the functions');
cmp_ok($direct{going}, '>', 50, 'there is something to show');
my ($headline) = $page =~ /<p id="headline">(.*?)<\/p>/;
is(text_of($headline), sprintf('%d of %d rows, %.1f %%, would go if one of each cluster stays.', @direct{qw(going rows)},
	100 * $direct{going} / $direct{rows}), 'the headline');
like($page, qr/\bdd \{[^}]*white-space: nowrap/, 'numbers do not break');
# A bar of a chart and the blue one before it are as high as the chart's scale says.
for my $figure ($page =~ /(<figure>.*?<\/figure>)/gs)
{
	my %tick = reverse $figure =~ /<line x1="33" y1="([\d.]+)"[^>]*><text class="scale"[^>]*>(\d+)</g;
	my $top = max(keys %tick);
	my $unit = log(1 + $top) / (165.5 - $tick{$top});
	my @wrong = grep { abs(log(1 + $_) / $unit - (165.5 - $tick{$_})) > 0.5 } keys %tick;
	my $bars = 0;
	while ($figure =~ /: (\d+) pairs, of which (\d+|\?) count<\/title><rect class="no"[^>]*height="([\d.]+)"\/><rect class="yes"[^>]*height="([\d.]+)"/g)
	{
		my %bar = ($3 => $1, $4 => $2 eq '?' ? 0 : $2);
		push @wrong, map { "$bar{$_} is $_ high" } grep { abs(log(1 + $bar{$_}) / $unit - $_) > 1.5 } keys %bar;
		$bars++ if $1 > 5;
	}
	is("@wrong", '', 'bars and the scale agree');
	cmp_ok(scalar keys %tick, '>=', 2, '... which has marks');
	cmp_ok($bars, '>', 3, '... of several bars');
}
for my $by ([ 'distance', "SELECT distance, count(*) FROM $pairs GROUP BY distance" ],
	[ 'similarity',
		"SELECT to_char(bin / 20.0, 'FM0.00') || ' to ' || to_char((bin + 1) / 20.0, 'FM0.00'), count(*) FROM $pairs p JOIN $t x ON x.$k = a
			JOIN $t y ON y.$k = b,
		LATERAL (SELECT least(floor(simhash_jaccard(x.$b, y.$b) * 20 + 1e-9), 19)::int) s (bin) GROUP BY bin" ])
{
	my ($what, $query) = @$by;
	my %shown = $page =~ /<tr><td>([^<]*)<\/td><td>([1-9][\d,]*)<\/td>/g;
	my %wanted = map { split /\|/ } split /\n/, $node->safe_psql('postgres', $query);
	is_deeply({ map { $_ => $shown{$_} =~ tr/,//dr } grep { exists $wanted{$_} } keys %shown }, \%wanted, "pairs by $what");
}
# Other thresholds: what the page has to add up.
my ($cells) = map { decode_json($_) } $page =~ /id="cells">(.*?)</;
for my $limits ([ 16, 0 ], [ 9, 0.71 ], [ 4, 0.9 ], [ 16, 1 ])
{
	my ($radius, $jaccard) = @$limits;
	is(sum0(map { $_->[2] } grep { $_->[0] <= $radius && $_->[1] >= $jaccard * 100 } @$cells),
		$node->safe_psql('postgres', "SELECT count(*) FROM $pairs p
		JOIN $t x ON x.$k = a JOIN $t y ON y.$k = b
			WHERE distance <= $radius AND simhash_jaccard(x.$b, y.$b) >= $jaccard"), "pairs that $radius bits and $jaccard would count");
}
# One step: each row of the table is what the function answers.
for my $step ([ 15, 0.6 ], [ 17, 0.6 ], [ 16, 0.55 ], [ 16, 0.65 ])
{
	my ($radius, $jaccard) = @$step;
	my ($groups, $going) = $page =~ /<td>$radius<\/td><td>$jaccard<\/td><td>(\d+)<\/td><td>(\d+)</;
	is("$groups|$going", $node->safe_psql('postgres', "SELECT count(DISTINCT cluster_id), count(*) - count(DISTINCT cluster_id) FROM "
		. $clusters =~ s/=> 16, method/=> $radius, method/r =~ s/0\.6\)/$jaccard)/r), "radius $radius, similarity $jaccard");
}
# What the page would have deleted.
my ($delete) = $page =~ /<pre>(BEGIN;.*?)-- COMMIT/s;
$delete = text_of($delete) . "SELECT count(*) FROM $t; SELECT min(created_at) FROM $t; ROLLBACK;";
is($node->safe_psql('postgres', $delete), $direct{rows} - $direct{going} . "\n2025-06-15 00:00:00+00",
	'the statement deletes as many rows, not the oldest');
my ($select) = $page =~ /<pre>(SELECT .*?)<\/pre>/;
my ($size) = $page =~ /<h3>(\d+) rows<\/h3>/;
is($node->safe_psql('postgres', 'SELECT count(*) FROM (' . text_of($select) . ') s'), $size > 20 ? 20 : $size, 'keys can be copied');

# ---- decisions: what the script would put together is a statement that names the rows, in the order of their keys
sub decisions
{
	my ($page) = @_;
	my ($insert) = $page =~ /<pre hidden="" id="insert">(.*?)<\/pre>/;
	my %row = map { text_of($_) => 1 } $page =~ /<code hidden="" class="sql">(.*?)<\/code>/gs;
	return text_of($insert) . ' ' . join(', ', map { "${_}true)" } sort keys %row) . ' ON CONFLICT (a, b) DO UPDATE SET same = EXCLUDED.same;';
}
$node->safe_psql('postgres',
	qq(CREATE TABLE "de<cision" (a text REFERENCES $t, b text REFERENCES $t, same boolean, PRIMARY KEY (a, b), CHECK (a < b))));
(undef, my $decided) = review($node, 'postgres', @given, 'decisions="de<cision"');
is(fault($decided), '', 'a page with a table of decisions');
my @csv = map { decode_json(text_of($_)) } $decided =~ /<code hidden="" class="json">(.*?)<\/code>/gs;
my %distinct = map { join("\0", @$_) => $_ } @csv;
cmp_ok(scalar keys %distinct, '>', 20, 'there are pairs to decide');
is($node->safe_psql('postgres', decisions($decided) . ' SELECT count(*) FROM "de<cision"'), scalar keys %distinct,
	'decisions are of rows of the table');
is($node->safe_psql('postgres', q(SELECT p FROM "de<cision", concat(a, '|', b) AS p ORDER BY p COLLATE "C")),
	join("\n", sort map { encode('UTF-8', join('|', @$_)) } values %distinct), 'those of CSV are the same');
like(join('', keys %distinct), qr/\x{202e}\\" \n\x01,/, 'with characters that cannot be seen');
# What is judged is not asked again.
(undef, my $again) = review($node, 'postgres', @given, 'jaccard=0.8', 'decisions="de<cision"');
my @again = map { text_of($_) } map { /class="json">(.*?)<\/code>/gs } $again =~ /<h2>Pairs at the border(.*?)<h2>What you/s;
cmp_ok(scalar @again, '>', 0, 'there are pairs that are not judged');
is_deeply([ grep { $distinct{ join("\0", @{ decode_json($_) }) } } @again ], [], 'no pair at the border is judged');
like($again, qr/judged already are left out: \d+ of those/, 'the page says so');
unlike($decided, qr/judged already/, 'nothing is left out of the first page');
# A relation that the caller has not named is not read, though it has the name that the INSERT has without one, unless it is a
# table of the same owner.
my $default = '"pet<b>""\'ition_decision"';
$node->safe_psql('postgres', "CREATE VIEW $default AS SELECT (1 / 0)::text AS a, ''::text AS b, true AS same");
is((review($node, 'postgres', @given))[0], 0, 'a view that nobody named is not read');
isnt((review($node, 'postgres', @given, "decisions=$default"))[0], 0, 'one that is named is');
$node->safe_psql('postgres', "DROP VIEW $default");
$node->safe_psql('postgres', 'DROP TABLE "de<cision"');
unlike($decided =~ s/<template.*<\/template>//r =~ s/<(div|p) class="script" hidden="">.*?<\/\1>//gsr,
	qr/<(?:input|select|button|textarea)/, 'without its script the page has no buttons');

# ---- the rows: in what they differ, where their links go, how many there are, at a border that many pairs are near
(undef, my $rows) = review($node, 'postgres', @given, 'jaccard=0.8', 'steps=off');
is(fault($rows), '', 'a page with rows');
my %keys_of = map { /id="(p\d+)".*?class="json">(.*?)<\/code>/s ? ($1 => decode_json(text_of($2))) : () } split /(?=<div class="row)/,
	$rows;
my %differs = map { /id="(p\d+)".*?class="differs">(.*?)</s ? ($1 => $2) : () } split /(?=<div class="row)/, $rows;
sub quoted { return "'" . encode('UTF-8', $_[0] =~ s/'/''/gr) . "'" }
my $asked = join ', ', map { "('$_', " . join(', ', map { quoted($_) } @{ $keys_of{$_} }) . ')' } sort keys %keys_of;
my $signature = "(SELECT coalesce(string_agg(DISTINCT kind, ', ' ORDER BY kind), 'nothing') FROM simhash_why(x.$b, y.$b))";
is_deeply(\%differs, { map { split /\|/ } split /\n/,
	$node->safe_psql('postgres', "SELECT id, $signature FROM (VALUES $asked) s (id, a, b) JOIN $t x ON x.$k = a
		JOIN $t y ON y.$k = b") }, 'in what rows differ');
my %list = map {
	my ($heading) = /<h3>(.*?)</;
	$heading ? ($heading => { map { $_ => 1 } /class="differs">(.*?)</g }) : ()
} split /(?=<div class="list">)/, $rows =~ s/.*<h2>Pairs at the border//sr =~ s/<h2>What you.*//sr;
for my $border ([ 'Not alike enough, by 0.05 or less', 0.75, 0.8 ], [ 'Alike enough, by less than 0.05', 0.8, 0.85 ])
{
	my ($kinds, $near) = split /\|/, $node->safe_psql('postgres',
		"SELECT count(DISTINCT $signature), count(*) FROM $pairs p JOIN $t x ON x.$k = a JOIN $t y ON y.$k = b,
		LATERAL simhash_jaccard(x.$b, y.$b) j WHERE j >= $border->[1] AND j < $border->[2]");
	my $shown = keys %{ $list{ $border->[0] } };
	cmp_ok($shown, $near <= 96 ? '==' : '>', $near <= 96 ? ($kinds < 8 ? $kinds : 8) : 2,
		"$border->[0]: $shown sorts of $kinds, of $near pairs");
}
my %id = map { $_ => 1 } $rows =~ / id="([\w-]+)"/g;
is(scalar(() = $rows =~ / id="/g), scalar keys %id, 'each id stands once');
my @links = map {
	my ($from) = /id="(p\d+)"/;
	map { [ $from, $_ ] } /<a href="#(p\d+)">/g
} grep { /^<div class="row/ } split /(?=<div class="row)/, $rows;
cmp_ok(scalar @links, '>', 3, 'rows have links');
is_deeply([ grep { my ($from, $to) = @$_; !$id{$to} || $keys_of{$from} && $keys_of{$to}
	&& !grep { my $key = $_; grep { $_ eq $key } @{ $keys_of{$to} } } @{ $keys_of{$from} } } @links ], [], '... to the same rows');
is(scalar(() = $page =~ /<h3>[\d,]+ rows</g), $direct{clusters} < 25 ? $direct{clusters} : 25, 'the 25 largest clusters');
is(scalar(() = (review($node, 'postgres', @given, 'clusters=3'))[1] =~ /<h3>[\d,]+ rows</g), 3, 'or as many as are asked for');

# ---- a check of the caller's, of two texts or of two rows, in place of the similarity
$node->safe_psql('postgres', <<"END");
CREATE SCHEMA checks;
CREATE FUNCTION checks."as <alike>"(a text, b text) RETURNS boolean IMMUTABLE RETURN length(a) = length(b);
CREATE FUNCTION checks.close(a $t, b $t) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN
	IF a.$k >= b.$k THEN RAISE EXCEPTION ''wrong order''; END IF;
	RETURN CASE WHEN a.created_at > b.created_at - interval ''20 days'' THEN a.created_at < b.created_at + interval ''20 days'' END;
END';
CREATE FUNCTION checks.close(a text, b text) RETURNS boolean IMMUTABLE RETURN a = b;
END
for my $case (
	[ 'checks."as <alike>"', 'checks."as <alike>"(text,text)', "length(x.$b) = length(y.$b)" ],
	[ 'public.simhash_same', 'simhash_same(text,text)', "simhash_same(x.$b, y.$b)" ],
	[ "checks.close($t,$t)", "checks.close($t,$t)", "abs(extract(epoch FROM x.created_at - y.created_at)) < 20 * 86400" ])
{
	my ($given, $function, $condition) = @$case;
	my $literal = $function =~ s/'/''/gr;
	(my $checked = $clusters) =~ s/min_jaccard => 0\.6\)$/checked_by => '$literal'::regprocedure)/;
	($status, my $page, $errors) = review($node, 'postgres', @given, "checked_by=$given", 'first_by=created_at');
	is("$status$errors" . fault($page), '0', "$function: a page");
	my %found = %{ counts($page) };
	is("$found{clusters}|$found{members}|$found{pairs}",
		$node->safe_psql('postgres', "SELECT count(DISTINCT cluster_id), count(*), (SELECT count(*) FROM $pairs) FROM $checked"),
		"$function: counts");
	my %share = $page =~ /<tr><td>(\d+)<\/td><td>[\d,]+<\/td><td><\/td><td>(\d+) %/g;
	is_deeply(\%share, { map { split /\|/ } split /\n/,
		$node->safe_psql('postgres', "SELECT distance, round(100 * avg(($condition)::int)) FROM $pairs p
		JOIN $t x ON x.$k = a JOIN $t y ON y.$k = b GROUP BY distance") }, "$function: the share that counts, by distance");
	my ($step) = $page =~ /<td>17<\/td><td><\/td><td>(\d+)</;
	is($step, $node->safe_psql('postgres', 'SELECT count(DISTINCT cluster_id) FROM ' . $checked =~ s/16, 'leader'/17, 'leader'/r),
		"$function: one step");
	my ($delete) = $page =~ /<pre>(BEGIN;.*?)-- COMMIT/s;
	is($node->safe_psql('postgres', text_of($delete) . "SELECT count(*) FROM $t; ROLLBACK;"), $direct{rows} - $found{going},
		"$function: what the statement leaves");
	like($page, qr/Do not count, the most alike of them/, "$function: the border");
}

# ---- one variable: the key, the texts, the check and the table of decisions are known. What is judged different stays, what is
# judged the same goes, in the page, its statement and its export alike.
$node->safe_psql('postgres', q{CREATE TABLE lamp (id int PRIMARY KEY, street text, body text);
	INSERT INTO lamp SELECT i, 'Mill Lane', (ARRAY['The lamp at number %s is dark', 'the LAMP at number %s is dark!', 'Hello, the lamp at number %s is dark',
		'Something else'])[1 + i % 4] FROM generate_series(0, 39) i;
	UPDATE lamp SET body = CASE id % 4 WHEN 3 THEN body || id ELSE replace(body, '%s', (id / 4)::text) END});
sub one_variable
{
	my ($groups, $left) = @_;
	my ($status, $page, $errors) = review($node, 'postgres', 'relation=lamp');
	is("$status " . ($errors =~ s/psql:.*?: //r) . fault($page), qq(0 NOTICE:  comparing the texts of column "body"\n), 'one variable is enough');
	my ($delete) = map { text_of($_) } $page =~ /<pre>(BEGIN;.*?)-- COMMIT/s;
	my ($export) = map { text_of($_) } $page =~ /<pre>((?:CREATE TABLE|COPY).*?)<\/pre>/s;
	my $counts = counts($page);
	is("$counts->{clusters} $counts->{going}", "$groups " . (40 - $left), '... of as many groups');
	is($node->safe_psql('postgres', "$delete SELECT count(*) FROM lamp; ROLLBACK;"), $left, '... whose statement leaves as many rows');
	my @exported = split /\n/, $node->safe_psql('postgres', $export);
	is(scalar(grep { /,f$/ } @exported), 40 - $left, '... and whose export has those that go');
	return $page;
}
my $first = one_variable(10, 20);
my ($insert) = $first =~ /<pre hidden="" id="insert">(.*?)<\/pre>/s;
like($insert, qr/CREATE TABLE IF NOT EXISTS public.lamp_decision \(a integer, b integer/, 'the first decisions make their table');
$node->safe_psql('postgres', text_of($insert) . ' (0, 1, false), (6, 4, false), (3, 7, true), (11, 8, true)');
unlike(one_variable(11, 20), qr/CREATE TABLE/, 'which is read then');
$node->safe_psql('postgres', 'CREATE ROLE other; ALTER TABLE lamp_decision OWNER TO other');
one_variable(10, 20);
$node->safe_psql('postgres', 'DROP TABLE lamp_decision');

# ---- columns beside each other, as the rows have them
($status, my $sides, $errors) = review($node, 'postgres', @given, qq(columns=clerk, created_at, "$key"), 'steps=off');
is("$status$errors" . fault($sides), '0', 'a page with columns');
my %seen = map { my ($json, $a, $b) = /<tr class="other"><th>created_at<\/th><td>(.*?)<\/td><td>(.*?)<\/td>.*class="json">(.*?)<\/code>/s
	? ($3, $1, $2) : (); $json ? ($json => join '|', sort $a, $b) : () }
	split /(?=<div class="row)/, $sides;
my @sides = map { my $json = $_; '(' . join(', ', map { quoted($_) } @{ decode_json(text_of($json)) }, $seen{$json})
	. ')' } sort keys %seen;
cmp_ok(scalar @sides, '>', 20, 'pairs have them');
is($node->safe_psql('postgres', sprintf(q{SELECT count(*) FROM (VALUES %s) s (a, b, seen) JOIN %s x ON x.%s = a JOIN %2$s y ON y.%3$s = b,
	LATERAL (SELECT string_agg(v, '|' ORDER BY v COLLATE "C")
		FROM (VALUES (to_jsonb(x)->>'created_at'), (to_jsonb(y)->>'created_at')) i (v)) w (v) WHERE v = seen},
	join(', ', @sides), $t, $k)), scalar @sides, '... their own');

# ---- within and across columns: the same counts as the functions', of all pairs and of those among rows that are drawn
for my $list ('within', 'across')
{
	my ($those, $few) = map { s/\)$/, $list => '{clerk}')/r } $clusters, $pairs;
	my $wanted = $node->safe_psql('postgres', "SELECT (SELECT count(*) FROM $few), count(*), count(DISTINCT cluster_id) FROM $those");
	isnt($wanted, "$direct{pairs}|$direct{members}|$direct{clusters}", "$list: other pairs");
	for my $most (1000000, 300)
	{
		($status, my $page, $errors) = review($node, 'postgres', @given, "$list=clerk", "max_pairs=$most", 'columns=clerk', 'steps=on');
		is("$status$errors" . fault($page), '0', "$list: a page, with max_pairs $most");
		is(join('|', @{ counts($page) }{qw(pairs members clusters)}), $wanted, '... the counts');
		is(join(' ', map { scalar(() = $page =~ /<tr$_><th>clerk<\/th><td>\w+<\/td><td>/g) > 0 ? 'some' : 'none' } '', ' class="other"'),
			$list eq 'within' ? 'some none' : 'none some', '... pairs of such rows');
		my ($delete) = $page =~ /<pre>(BEGIN;.*?)-- COMMIT/s;
		is($node->safe_psql('postgres', text_of($delete) . "SELECT count(*) FROM $t; ROLLBACK;"), $direct{rows} - counts($page)->{going},
			'... what the statement leaves');
	}
}

# ---- again, on a standby, by another seed
sub timeless { return $_[0] =~ s/Read on [\d :-]+ UTC//r }
(undef, my $again) = review($node, 'postgres', @given, 'first_by=created_at');
is(timeless($again), timeless($page), 'the same rows are drawn again');
# At a border that more pairs are near than the page shows.
my @drawn = map { (undef, my $page) = review($node, 'postgres', @given, 'jaccard=0.8', "seed=$_"); timeless($page) } 1, 7;
isnt($drawn[1] =~ s/seed \(7\)/seed (1)/r, $drawn[0], 'another seed draws others');
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('review_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
($status, $again, $errors) = review($standby, 'postgres', @given, 'first_by=created_at');
is("$status$errors" . timeless($again), '0' . timeless($page), 'a standby prints the same');
$standby->stop;

# ---- more pairs than it looks at
($status, my $drawn, $errors) = review($node, 'postgres', @given, 'max_pairs=300', 'compared=50');
is("$status$errors" . fault($drawn), '0', 'with more pairs than max_pairs it draws rows');
like($drawn, qr/pairs within the radius, about</, 'the number of pairs is estimated');
is(counts($drawn)->{pairs}, $direct{pairs}, 'exactly, where the sample is the table');
cmp_ok(counts($drawn)->{compared}, '<', 150, 'few texts are compared');
is(counts($drawn)->{going}, $direct{going}, 'clusters are those of all rows');

# Of 600,000 pairs two thirds are drawn and 20,000 compared. A plan that takes the drawn pairs for billions needs minutes.
{
	local $ENV{PGOPTIONS} = '-c statement_timeout=60s';
	$node->safe_psql('postgres',
		q(CREATE TABLE many AS SELECT i AS id, g AS fp, 'ticket ' || i || ' of ' || g || repeat(' word' || g, 5) AS body
		FROM generate_series(1, 6000) i, LATERAL (SELECT (i % 30)::bigint * 1000003 * 7919 * 104729) s (g)));
	($status, my $many, $errors) = review($node, 'postgres', 'relation=many', 'key=id', 'fp=fp', 'text=body', 'jaccard=0.8', 'max_pairs=400000');
	is("$status$errors" . fault($many), '0', 'many pairs: a page in time');
	cmp_ok(abs(counts($many)->{compared} - 20000), '<', 2000, '... of as many compared pairs as are asked for');
}

# ---- other rows and keys
$node->safe_psql('postgres', 'CREATE DOMAIN number AS int; CREATE TABLE other (id uuid, n number, fp bigint, body text)');
for my $rows ('no rows', 'no fingerprint', 'one pair')
{
	$node->safe_psql('postgres', "INSERT INTO plain VALUES (1, NULL, NULL)") if $rows eq 'no fingerprint';
	$node->safe_psql('postgres', "INSERT INTO plain VALUES (2, 5, 'one and the same text'), (3, 5, 'one and the same text');
		INSERT INTO other SELECT md5(id::text)::uuid, id, fp, body FROM plain") if $rows eq 'one pair';
	($status, my $few, $errors) = review($node, 'postgres', 'relation=plain', 'key=id', 'fp=fp', 'text=body', 'jaccard=0.8', 'steps=off');
	is("$status$errors" . fault($few), '0', "$rows: a page");
	is(counts($few)->{going}, $rows eq 'one pair' ? 1 : 0, "$rows: what goes");
}
for my $column (qw(id n))
{
	($status, my $few, $errors) = review($node, 'postgres', 'relation=other', "key=$column", 'fp=fp', 'text=body', 'radius=64', 'jaccard=1');
	is("$status$errors" . fault($few) . counts($few)->{going}, '01', "other keys: $column");
}
# Of rows that a trigger has marked those without a mark stay, whatever their keys.
$node->safe_psql('postgres', q{CREATE TABLE marked (id int, fp bigint, body text, "dup""of" int);
	INSERT INTO marked SELECT i, i / 4, 'one and the same text ' || i / 4, CASE i WHEN 1 THEN 2 WHEN 3 THEN 2 WHEN 5 THEN 4 END FROM generate_series(1, 6) AS i});
for my $case ([ '1,4' ], [ '3,6', 'first_by=fp, id DESC NULLS LAST' ], [ '2,4', 'marks=dup"of' ], [ '2,6', 'marks=dup"of', 'first_by=dup"of' ])
{
	my ($stay, @marks) = @$case;
	$node->safe_psql('postgres', 'UPDATE marked SET "dup""of" = 6 WHERE id = 4') if @marks == 2;
	($status, my $marked, $errors) = review($node, 'postgres', 'relation=marked', 'key=id', 'fp=fp', 'text=body', 'jaccard=0.8', 'radius=0', @marks);
	is("$status$errors" . fault($marked), '0', "a page with @marks");
	my ($delete) = $marked =~ /<pre>(BEGIN;.*?)-- COMMIT/s;
	is($node->safe_psql('postgres', text_of($delete) . 'SELECT string_agg(id::text, $$,$$ ORDER BY id) FROM marked; ROLLBACK;'), $stay, "... keeps $stay");
	is(join(',', sort map { text_of($_) } $marked =~ /<div class="row kept"[^>]*><p class="quiet"><bdi>(<code>.*?<\/code>)/g), $stay, '... and shows them first');
}
# Keys and texts as large and hostile as may be.
$node->safe_psql('postgres', q(CREATE TABLE large (id text, fp bigint, body text);
	INSERT INTO large SELECT repeat('<', 300) || c * 100 + i, c, repeat(E'\u202E&', 3000) || ' text ' || repeat('<x> ', i % 3) FROM generate_series(1, 21) i, generate_series(1, 12) c));
($status, my $large, $errors) = review($node, 'postgres', 'relation=large', 'key=id', 'fp=fp', 'text=body', 'jaccard=0.1');
is("$status$errors" . fault($large), '0', 'large keys and texts: a page');
cmp_ok(length $large, '<', 2_000_000, 'of less than 2 MB');

# ---- others' functions and rows
{
	local $ENV{PGOPTIONS} = '-c search_path=public,pg_catalog';
	$node->safe_psql('postgres', <<'END');
CREATE FUNCTION public.planted() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$;
CREATE FUNCTION public.replace(text, text, text) RETURNS text LANGUAGE sql RETURN public.planted();
CREATE FUNCTION public.translate(text, text, text) RETURNS text LANGUAGE sql RETURN public.planted();
CREATE FUNCTION public.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql RETURN public.planted();
CREATE FUNCTION public.eq(text, name) RETURNS boolean LANGUAGE sql RETURN public.planted()::boolean;
CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = name, FUNCTION = public.eq);
CREATE FUNCTION public.joined(text, text) RETURNS text LANGUAGE sql RETURN public.planted();
CREATE OPERATOR public.|| (LEFTARG = text, RIGHTARG = text, FUNCTION = public.joined);
END
	($status, $again, $errors) = review($node, 'postgres', @given, 'first_by=created_at');
	is("$status$errors" . timeless($again), '0' . timeless($page), 'planted functions and operators are not called');
	$node->safe_psql('postgres', 'DROP FUNCTION public.planted CASCADE');
}
$node->safe_psql('postgres', "ALTER TABLE $t ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON $t TO clerk USING (clerk = 'even')");
{
	local $ENV{PGUSER} = 'clerk';
	($status, my $own, $errors) = review($node, 'postgres', @given);
	is("$status$errors" . fault($own), '0', 'a page under row security');
	is(counts($own)->{rows}, 100, 'of the caller\'s rows');
	is_deeply([ grep { $_ % 2 } text_of($own) =~ /\b(\d+)<script>alert\(1\)/g ], [], 'and no others');
	($status, my $none, $errors) = review($node, 'postgres', 'relation=plain', 'key=id', 'fp=fp', 'text=body', 'jaccard=0.8');
	like("$status$none$errors", qr/^3psql.*permission denied for table plain/, 'no page without the right to read');
}

# ---- errors: a message, a status, and no part of a page
$node->safe_psql('postgres', 'CREATE DATABASE bare');
$node->safe_psql('postgres',
	qq(CREATE TABLE odd (id int, ids int[], fp bigint, body text, "te\xe2\x80\xaext" text); CREATE TABLE "od\xe2\x80\xaed" (id int, fp bigint, body text)));
is((review($node, 'postgres', 'relation=' . $node->safe_psql('postgres', q(SELECT 'plain'::regclass::oid)), 'key=id', 'fp=fp',
	'text=body'))[0], 0, 'a page of a relation by its OID');
for my $case ([ 'postgres', qr/variable "relation" is missing.*Usage: psql -X/s ],
	[ 'postgres', qr/variable key: public.plain has no primary key of one column: .*; ALTER TABLE public.plain ADD id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY adds one/, 'relation=plain' ],
	[ 'bare', qr/extension "simhash_dedup" is not in this database/, 'relation=pg_class', 'key=oid', 'fp=x', 'text=y' ],
	[ 'postgres', qr/relation "nothing" does not exist/, 'relation=nothing', 'key=id', 'fp=fp', 'text=body' ],
	[ 'postgres', qr/variable key: public.plain has no column "nothing"/, 'relation=plain', 'key=nothing', 'fp=fp', 'text=body' ],
	[ 'postgres', qr/variable text: public.plain has no column "body,id"; a view makes one of several: SELECT \*, concat_ws\(' ', body,id\) AS whole FROM public.plain/,
		'relation=plain', 'key=id', 'text=body,id' ],
	[ 'postgres', qr/function "nothing" does not exist/, 'relation=plain', 'key=id', 'fp=fp', 'text=body', 'checked_by=nothing' ],
	[ 'postgres', qr/more than one function named "checks.close"/, 'relation=plain', 'key=id', 'fp=fp', 'text=body', 'jaccard=0.8',
		'checked_by=checks.close' ],
	[ 'postgres', qr/cannot check pairs/, 'relation=plain', 'key=id', 'fp=fp', 'text=body', 'checked_by=int4lt' ],
	[ 'postgres', qr/variable relation: there is none with OID 99999999/, 'relation=99999999', 'key=id', 'fp=fp', 'text=body' ],
	[ 'postgres', qr/variable key: rows cannot be looked up by column ids of type integer\[\]/, 'relation=odd', 'key=ids',
		'fp=fp', 'text=body' ],
	[ 'postgres', qr/variable text: the name te\?xt has a character/, 'relation=odd', 'key=id', 'fp=fp', "text=te\xe2\x80\xaext" ],
	[ 'postgres', qr/variable relation: the name public\."od\?d" has a character/, qq(relation="od\xe2\x80\xaed"), 'key=id',
		'fp=fp', 'text=body' ],
	(map { [ 'postgres', qr/variable $_->[0]: $_->[1]/, 'relation=plain', 'key=id', 'fp=fp', 'text=body', 'jaccard=0.8', "$_->[0]=$_->[2]" ] } [ 'radius',
		"'65' is not a number from 0 to 64", 65 ],
		(map { [ $_, "'-1' is not a number from 0 to", -1 ] } qw(radius jaccard max_pairs compared examples clusters)),
		[ 'jaccard', "'1.01' is", 1.01 ], [ 'seed', "'x' is not a number", 'x' ],
		(map { [ $_, 'public.plain has no column "none"', 'none' ] } qw(within across columns image marks)),
		[ 'columns', 'public.plain has no column "a,b"', '"a,b"' ]),
	[ 'postgres', qr/column "none" of relation "plain" does not exist/, 'relation=plain', 'key=id', 'fp=fp', 'text=body', 'first_by=none desc' ])
{
	my ($database, $message, @variables) = @$case;
	($status, my $none, $errors) = review($node, $database, @variables);
	is("$status$none", '3', "no page: @variables");
	like($errors, $message, 'and a message');
}

# ---- hashes of more than 64 bits: the same counts as the functions', of all pairs and of those among rows that are drawn
$node->safe_psql('postgres', <<'END');
CREATE TABLE picture (id int PRIMARY KEY, address text, hash bigint[]);
INSERT INTO picture SELECT i, 'https://pictures.example/' || i, ARRAY[h << 7, hashint8extended(h, 1), hashint8extended(h, 2), i % 5]
	FROM generate_series(1, 300) i, LATERAL hashint8extended(i % 100, 0) h;
ANALYZE picture;
END
my @pictures = ('relation=picture', 'key=id', 'fp=hash', 'text=address', 'radius=3', 'jaccard=0');
my ($pairs, $members, $clusters) = split /\|/, $node->safe_psql('postgres', q{
	SELECT (SELECT count(*) FROM simhash_pairs('picture', 'id', 'hash', 3)), count(*), count(DISTINCT cluster_id)
	FROM simhash_clusters('picture', 'id', 'hash', 3, 'leader', 'address', 0)});
cmp_ok($pairs, '>', 100, 'there are pairs of long hashes');
for my $most (1000000, 50)
{
	my ($status, $page, $errors) = review($node, 'postgres', @pictures, "max_pairs=$most");
	is($status, 0, "a page of long hashes, with max_pairs $most") or diag $errors;
	is(fault($page), '', '... is well-formed');
	my $counts = counts($page);
	is_deeply([ @$counts{qw(pairs members going)} ], [ $pairs, $members, $members - $clusters ], '... and has the counts of the functions');
}

# ---- pictures: those whose address is one, and cannot end the attribute
$node->safe_psql('postgres',
	q(UPDATE picture SET address = CASE id % 6 WHEN 0 THEN 'https://p.example/"onerror="alert(1)' WHEN 1 THEN 'javascript:alert(1)'
	WHEN 2 THEN 'https://p.example/<b>' WHEN 3 THEN E'https://p.example/\u202E' WHEN 4 THEN 'data:image/svg+xml,&x\y''' ELSE 'https://p.example/é?a=1&b=' || id END));
($status, $page, $errors) = review($node, 'postgres', @pictures, 'image=address');
is("$status$errors" . fault($page, 1), '0', 'a page with pictures');
my %shown = map { text_of($_) =~ s/\d+$//r => 1 } $page =~ /<img [^>]*src="([^"]*)">/g;
is_deeply([ sort keys %shown ], [ q(data:image/svg+xml,&x\y'), 'https://p.example/é?a=1&b=' ], 'of addresses alone');
is(fault((review($node, 'postgres', @pictures))[1]), '', 'none if none are asked for');

$node->stop;
done_testing();
