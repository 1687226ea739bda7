# Chromium without a window, for the tests of pages: it is told over a pipe, in its DevTools protocol, to open a page, click, type,
# move sliders and save files as a reader does. browser() returns nothing where it is not installed.
package SimhashBrowser;

use strict;
use warnings;
use Exporter 'import';
use Fcntl qw(F_DUPFD);
use JSON::PP;
use PostgreSQL::Test::Utils;
use POSIX qw(dup2 _exit);
use Time::HiRes qw(time);

our @EXPORT = qw(browser);

# Seconds that an answer may take.
use constant PATIENCE => $PostgreSQL::Test::Utils::timeout_default;

sub browser
{
	my ($program) = grep { -x } map { my $folder = $_; map { "$folder/$_" } qw(chromium chromium-browser google-chrome) } split /:/, $ENV{PATH};
	return unless $program;
	my $home = PostgreSQL::Test::Utils::tempdir;
	pipe(my $its_input, my $commands) and pipe(my $answers, my $its_output) or die "pipe: $!";
	my $pid = fork // die "fork: $!";
	if (!$pid)
	{
		# It reads descriptor 3 and writes to 4.
		my @high = map { fcntl($_, F_DUPFD, 10) } $its_input, $its_output;
		dup2($high[0], 3), dup2($high[1], 4), dup2(POSIX::open('/dev/null', POSIX::O_RDWR()), $_) for 1, 2;
		$ENV{HOME} = $home;
		exec $program, qw(--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --remote-debugging-pipe --no-first-run),
			"--user-data-dir=$home/profile", 'about:blank' or _exit(127);
	}
	close $its_input, close $its_output;
	$commands->autoflush(1);
	my $self = bless { pid => $pid, commands => $commands, answers => $answers, unread => '', number => 0, events => [], folder => "$home/saved" };
	mkdir $self->{folder};
	$self->call('Browser.setDownloadBehavior', { behavior => 'allow', downloadPath => $self->{folder}, eventsEnabled => JSON::PP::true });
	return $self;
}

sub DESTROY
{
	my ($self) = @_;
	local ($?, $!);
	kill 'KILL', $self->{pid};
	waitpid $self->{pid}, 0;
}

# The next message, an answer or an event.
sub message
{
	my ($self) = @_;
	my $until = time() + PATIENCE;
	my $end;
	while (($end = index $self->{unread}, "\0") < 0)
	{
		my $ready = '';
		vec($ready, fileno $self->{answers}, 1) = 1;
		die 'the browser does not answer' unless select($ready, undef, undef, $until - time()) > 0;
		sysread($self->{answers}, $self->{unread}, 1 << 16, length $self->{unread}) or die 'the browser has ended';
	}
	my $message = substr $self->{unread}, 0, $end + 1, '';
	chop $message;
	return decode_json($message);
}

sub call
{
	my ($self, $method, $params) = @_;
	my $number = ++$self->{number};
	my %session = $self->{session} && $method !~ /^(?:Browser|Target)\./ ? (sessionId => $self->{session}) : ();
	$self->{commands}->print(encode_json({ id => $number, method => $method, params => $params // {}, %session }), "\0");
	while (my $message = $self->message)
	{
		if (!$message->{id}) { push @{ $self->{events} }, $message }
		elsif ($message->{id} == $number)
		{
			die "$method: $message->{error}{message}" if $message->{error};
			return $message->{result};
		}
	}
}

# Waits for an event of this name, which `fits`.
sub event
{
	my ($self, $name, $fits) = @_;
	while (1)
	{
		my $event = shift @{ $self->{events} } // $self->message;
		return $event->{params} if ($event->{method} // '') eq $name && (!$fits || $fits->($event->{params}));
	}
}

# Opens a file; what it reports as wrong, a script that its policy refuses for example, is in `faults`.
sub open_page
{
	my ($self, $file) = @_;
	my $target = $self->call('Target.createTarget', { url => 'about:blank' })->{targetId};
	$self->{session} = $self->call('Target.attachToTarget', { targetId => $target, flatten => JSON::PP::true })->{sessionId};
	$self->call("$_.enable") for qw(Page Runtime Log);
	$self->{events} = [];
	$self->call('Page.navigate', { url => "file://$file" });
	$self->event('Page.loadEventFired');
}

# The value of an expression of JavaScript in the page.
sub value
{
	my ($self, $expression) = @_;
	my $result = $self->call('Runtime.evaluate', { expression => $expression, returnByValue => JSON::PP::true });
	die "$expression: $result->{exceptionDetails}{exception}{description}" if $result->{exceptionDetails};
	return $result->{result}{value};
}

# Clicks in the middle of what an expression returns.
sub click
{
	my ($self, $element) = @_;
	my $place = $self->value("(e => { e.scrollIntoView({ block: 'center' }); const r = e.getBoundingClientRect();"
		. "return { x: r.x + r.width / 2, y: r.y + r.height / 2 }; })($element)");
	$self->call('Input.dispatchMouseEvent', { type => $_, button => 'left', clickCount => 1, %$place }) for qw(mousePressed mouseReleased);
}

sub key
{
	my ($self, $key, %more) = @_;
	$self->call('Input.dispatchKeyEvent', { type => $_, key => $key, code => $key, windowsVirtualKeyCode => { ArrowLeft => 37, ArrowRight => 39 }->{$key} // 0, %more })
		for qw(rawKeyDown keyUp);
}

# Gives a field a value: types it, moves a slider with the keys of arrows, or chooses.
sub set
{
	my ($self, $id, $value) = @_;
	my $field = "document.getElementById('$id')";
	my $kind = $self->value("$field.type");
	if ($kind eq 'range')
	{
		$self->value("$field.focus()");
		my $steps = $value - $self->value("$field.value");
		$self->key($steps < 0 ? 'ArrowLeft' : 'ArrowRight') for 1 .. abs $steps;
	}
	elsif ($kind eq 'search')
	{
		$self->value("$field.focus(), $field.select()");
		$value eq '' ? $self->key('Delete', commands => ['delete']) : $self->call('Input.insertText', { text => $value });
	}
	else
	{
		$self->value("$field.value = " . JSON::PP->new->allow_nonref->encode($value)
			. "; ['input', 'change'].forEach(e => $field.dispatchEvent(new Event(e, { bubbles: true })))");
	}
}

# What is pasted after something was copied.
sub pasted
{
	my ($self) = @_;
	$self->value("document.body.prepend(Object.assign(document.createElement('textarea'), { id: 'pasted' })), document.getElementById('pasted').focus()");
	$self->key('v', modifiers => 2, commands => ['paste']);
	return $self->value("(e => { e.remove(); return e.value; })(document.getElementById('pasted'))");
}

# Clicks on a link that saves a file; its name and what is in it.
sub saved
{
	my ($self, $element) = @_;
	unlink glob "$self->{folder}/*";
	$self->click($element);
	my $name = $self->event('Browser.downloadWillBegin')->{suggestedFilename};
	$self->event('Browser.downloadProgress', sub { $_[0]->{state} eq 'completed' });
	return ($name, slurp_file("$self->{folder}/$name"));
}

1;
