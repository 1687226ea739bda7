# The layout of the index's pages, for tests that look at the file itself, damage it or have to fill a leaf. All of it
# follows crates/hamming/src/page: a new page format changes these lines, and no other test knows a number of the layout.
package SimhashPages;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Utils;

our @EXPORT = qw(
	$page_size $header $format $downlink $wide_leaf %at $fair_end create_try pages_of write_pages damage_file flip_byte
	level_and_space lower_and_upper posting_size count_and_sorted leaf_format
);

# Bytes of a page, and of PostgreSQL's header on it.
our $page_size = 8192;
our $header = 24;
# The format version in the metapage.
our $format = 2;
# Bytes of a downlink on an internal page.
our $downlink = 24;
# Where a field begins on a page, in bytes.
our %at = (
	lower => 12,    # pd_lower and pd_upper, two bytes each
	version => $header + 4,    # of the metapage, after its magic
	stamp => $header + 8,    # of the metapage: the build stamp, eight bytes
	roots => 40,    # of the metapage: five blocks
	special => 8080,    # of every other page: the right sibling's block comes first
	level => 8086,    # and the key space, a byte each
	flags => 8084,    # two bytes: 2 for a wide leaf, 8 for one whose postings carry their scope
	scope => 8076,    # of a leaf: the scope of all its postings, unless they carry their own
	page_stamp => 8184,    # of every other page: four bytes of the build stamp
	sorted => 8182,    # how many postings a leaf had when it was last written as a whole: where its last slot ends
	child => 16);    # in a downlink
# Postings that fit a leaf of one scope whose keys span more than 32 values: 4 bytes and 10 bytes each.
our $wide_leaf = int(($at{scope} - $header) / 14);

# Of a page other than the metapage.
sub level_and_space { return unpack "x$at{level}CC", $_[0]; }

sub lower_and_upper { return unpack "x$at{lower}SS", $_[0]; }

# Bytes of a posting's second part; the first parts, of 4 bytes, follow the header.
sub posting_size { my ($upper, $count) = @_; return ($at{scope} - $upper) / $count; }

# Of a leaf: its postings, and those that were there when it was last written as a whole.
sub count_and_sorted { return ((unpack("x$at{lower}S", $_[0]) - $header) / 4, unpack("x$at{sorted}S", $_[0])); }

# Of a leaf: how it holds its postings, as crates/hamming/src/page/format.rs names it.
sub leaf_format
{
	my $flags = unpack "x$at{flags}S", $_[0];
	return ($flags & 2 ? 'wide' : 'narrow') . ', ' . ($flags & 8 ? 'several scopes' : 'one scope');
}

# How a statement that meets a damaged page may end, as try() says it.
our $fair_end = qr/(?:ok|00000|XX002|XX001 .*invalid page|0A000 (?:REINDEX )?index "\w+" has format \d+, this library reads $format$)/;

# Creates try(statement): 'ok', or its SQLSTATE, whether the hint says REINDEX, its message.
sub create_try
{
	my ($node) = @_;
	$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION try(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state text;
	message text;
	hint text;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true);
	EXECUTE statement;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' ', state, CASE WHEN hint ~ 'REINDEX' THEN 'REINDEX' END, message);
END $$;
SQL
	return;
}

# The pages of an index's file. The server must have written them.
sub pages_of { return unpack "(a$page_size)*", slurp_file($_[0]); }

sub write_pages
{
	my ($path, @pages) = @_;
	open my $fh, '>:raw', $path or die "$path: $!";
	print $fh join('', @pages);
	close $fh;
	return;
}

# $damage changes the pages, strings in the array to which it gets a reference. The server is down or does not look.
sub damage_file
{
	my ($path, $damage) = @_;
	my @pages = pages_of($path);
	$damage->(\@pages);
	return write_pages($path, @pages);
}

sub flip_byte
{
	my ($pages, $block, $at) = @_;
	substr($pages->[$block], $at, 1) ^= chr(1 + int(rand 255));
	return;
}

1;
