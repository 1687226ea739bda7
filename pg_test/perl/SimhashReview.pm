# What the tests of simhash_review.sql share: they run it as psql does, and read its page.
package SimhashReview;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run;

our @EXPORT = qw(review_script review counts text_of @stages);

# What the last review() said of its progress.
our @stages;

sub review_script { my ($node) = @_; return $node->config_data('--sharedir') . '/extension/simhash_review.sql'; }

# Runs the script and returns its status, page and messages, those of its progress apart.
sub review
{
	my ($server, $database, @variables) = @_;
	my ($page, $errors) = ('', '');
	IPC::Run::run([ 'psql', '-X', '-q', '-h', $server->host, '-p', $server->port, '-d', $database, '-f', review_script($server),
		map { ('-v', $_) } @variables ],
		'>', \$page, '2>', \$errors);
	@stages = ();
	push @stages, $1 while $errors =~ s/^simhash_review: \d+\.\d s: (.*)\n//m;
	return ($? >> 8, $page, $errors);
}

sub counts { my ($page) = @_; return { map { tr/,//dr } $page =~ /<dd id="(\w+)">([\d,]+)</g } }
sub text_of { my ($page) = @_; return $page =~ s/<[^>]*>//gr =~ s/&lt;/</gr =~ s/&gt;/>/gr =~ s/&#92;/\\/gr =~ s/&amp;/&/gr }

1;
