# shellcheck shell=bash
# The part `writers` of make bench-triggers: many sessions that insert texts unlike each other, through the trigger and through an
# exclusion constraint. Sourced by run.sh, whose server has begun. Leaves writers.txt and writers.csv in OUT.

# shellcheck disable=SC2154  # work is set by begin_benchmark

STORED=${STORED:-100000}
TENANTS=${TENANTS:-100}
SECONDS_EACH=${SECONDS_EACH:-10}
SYNC=${SYNC:-on,off}
FSYNC=${FSYNC:-on}
LOADS=${LOADS:-1,2,3,4,5,6,7,8,9,10,11,12,13}
COPYROWS=${COPYROWS:-1000000}
COPYROUNDS=${COPYROUNDS:-1}
COPYSECONDS=${COPYSECONDS:-900}
# How many seconds a statement may take beyond the time of its run.
GRACE=30

# What the sessions run. Each row has a text and a tenant of its own.
writer_scripts() {
	local i one
	one='\set k random(1, 9000000000000000)
\set tenant random(1, :tenants)
INSERT INTO w (tenant_id, body) VALUES (:tenant, text_of(:k));'
	echo "$one" >"$SCRIPTS/one"
	for i in 10 100; do
		echo '\set k random(1, 9000000000000000)
INSERT INTO w (tenant_id, body) SELECT 1 + floor(random() * :tenants)::int, text_of(:k::bigint + i) FROM generate_series(1, '"$i"') i;' >"$SCRIPTS/$i"
	done
	{
		echo '\set statements random(5, 20)'
		echo 'BEGIN;'
		for i in {1..20}; do printf '%s\n%s\n%s\n' "\\if :statements >= $i" "$one" '\endif'; done
		echo 'END;'
	} >"$SCRIPTS/transaction"
	# A third are near-copies of stored texts, found by a key that they share or by being near.
	for i in id key; do
		one='\set copy random(1, 3)
\if :copy = 1
\set k -random(1, :stored)
\else
\set k random(1, 9000000000000000)
\endif
\set tenant 1 + abs(:k) % :tenants
INSERT INTO w (tenant_id, body) VALUES (:tenant, text_of(:k) || repeat($$!$$, (:k::bigint < 0)::int)) ON CONFLICT ('
		one+="$([ $i = id ] || echo tenant_id,) $i"') DO UPDATE SET seen = w.seen + 1 RETURNING id;'
		echo "$one" >"$SCRIPTS/upsert_$i"
		{
			echo 'BEGIN;'
			for _ in {1..10}; do echo "$one"; done
			echo 'END;'
		} >"$SCRIPTS/upserts_$i"
	done
}

# write_rows NAME CLIENTS SECONDS TENANTS SCRIPT: one run of pgbench. It tries no transaction twice. Its process id, its log of
# all transactions and what it says stay in a folder of this name.
write_rows() {
	local dir=$work/$1
	rm -rf "$dir"
	as_postgres mkdir "$dir"
	# A run that loses sessions by errors ends with another status. The errors are counted in the server's log.
	# shellcheck disable=SC2016  # for the inner shell
	as_postgres sh -c 'echo $$ >"$1/pid" && dir=$1 && shift && exec "$@" >"$dir/said" 2>&1' sh "$dir" \
		env PGOPTIONS="$PGOPTIONS -c statement_timeout=$(($3 + GRACE))s" timeout --foreground -k 5 $(($3 + 2 * GRACE)) \
		"$PG_BIN/pgbench" -n -M prepared -c "$2" -j $(($2 > 1 ? 2 : 1)) -T "$3" -D tenants="$4" -D stored="$STORED" -f "$SCRIPTS/$5" \
		--max-tries=1 -l --log-prefix="$dir/log" || true
}

# latencies NAME FROM: median, 95th percentile and maximum in milliseconds, of the transactions that ended after FROM.
latencies() {
	cat "$work/$1"/log.* | awk -v from="$2" '$3 ~ /^[0-9]+$/ && $5 + $6 / 1e6 >= from { print $3 / 1000 }' | sort -g |
		awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] ", " v[int(0.95 * NR + 0.999)] ", " v[NR]; else print "NULL, NULL, NULL" }'
}

# How many transactions a run has done, and how long it took by its own clock.
done_by() { sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$work/$1/said" | grep . || echo 0; }
seconds_of() {
	awk -v bound="$2" '/actually processed/ { n = $6 } /^tps = / { tps = $3 } END { print (n > 0 && tps > 0 ? n / tps : bound) }' "$work/$1/said"
}

# Errors in the server's log since it had $1 bytes: deadlocks, and others.
errors_since() {
	tail -c "+$(($1 + 1))" "$work/server.log" | awk '/ 40P01 ERROR: / { d++; next } / ERROR: / { o++ } END { print d + 0 ", " o + 0 }'
}

log_size() { stat -c %s "$work/server.log"; }

# store WAY TENANTS: before each measurement the table is made again.
store() { sql -c "CALL store_texts('$1', $2, $STORED)" -c 'VACUUM ANALYZE w' -c CHECKPOINT; }

chosen() { [[ ",$LOADS," = *",$1,"* ]]; }

# load NUMBER NAME CLIENTS TENANTS SCRIPT WAY...: the same load under each of the ways.
load() {
	local number=$1 name=$2 clients=$3 tenants=$4 script=$5 way from rows errors
	shift 5
	chosen "$number" || return 0
	say "$name, synchronous_commit $sync"
	for way in "$@"; do
		store "$way" "$tenants"
		from=$(log_size)
		write_rows main "$clients" "$SECONDS_EACH" "$tenants" "$script"
		rows=$(($(sql -c 'SELECT rows_left()') - STORED))
		errors=$(errors_since "$from")
		sql -c "INSERT INTO written VALUES ('$sync', $round, $number, '$name', '$way', $rows / $(seconds_of main "$SECONDS_EACH")::float8,
			$(done_by main), $errors, $(latencies main 0))"
	done
}

# beside NUMBER NAME WAY...: one session beside 20, all of which insert single rows. Latencies and transactions are those of the one.
beside() {
	local number=$1 name=$2 way from rows others
	shift 2
	chosen "$number" || return 0
	say "$name, synchronous_commit $sync"
	for way in "$@"; do
		store "$way" "$TENANTS"
		from=$(log_size)
		write_rows others 20 $((SECONDS_EACH + 2)) "$TENANTS" one &
		others=$!
		sleep 1
		write_rows main 1 "$SECONDS_EACH" "$TENANTS" one
		wait "$others"
		rows=$(($(sql -c 'SELECT rows_left()') - STORED))
		sql -c "INSERT INTO written VALUES ('$sync', $round, $number, '$name', '$way', $rows / $(seconds_of others $((SECONDS_EACH + 2)))::float8,
			$(done_by main), $(errors_since "$from"), $(latencies main 0))"
	done
}

# upserts NUMBER NAME CLIENTS SCRIPT: the same upserts by a key that near-copies share, and by nearness. Says how many near pairs
# are stored after the latter.
upserts() {
	local number=$1 name=$2 clients=$3 script=$4 way from calls errors
	chosen "$number" || return 0
	say "$name, synchronous_commit $sync"
	for way in key id; do
		store "upsert by $way" "$TENANTS"
		from=$(log_size)
		write_rows main "$clients" "$SECONDS_EACH" "$TENANTS" "${script}_$way"
		calls=$(($(sql -c 'SELECT rows_left()' -c 'SELECT sum(seen) FROM w' | tail -n 1) - STORED))
		errors=$(errors_since "$from")
		sql -c "INSERT INTO written VALUES ('$sync', $round, $number, '$name', 'upsert by $way', $calls / $(seconds_of main "$SECONDS_EACH")::float8,
			$(done_by main), $errors, $(latencies main 0))"
	done
	echo "near pairs stored: $(sql -c "SELECT count(*) FROM simhash_pairs('w', 'id', 'fp', 8, '{tenant_id}', 'body', 0.8)")"
}

# ---- COPY -------------------------------------------------------------------------------------------------------------

# The dynamic shared memory that processes of this server have mapped, in kB. Other servers of the machine have segments of the
# same kind of name.
shared_kb() {
	local process
	for process in $(pgrep -P "$(as_postgres head -n 1 "$work/data/postmaster.pid")"); do
		awk '$6 ~ "^/dev/shm/PostgreSQL" { print $6 }' "/proc/$process/maps" 2>/dev/null || true
	done | sort -u | { xargs -r stat -c %s 2>/dev/null || true; } | awk '{ n += $1 } END { print int(n / 1024) }'
}

# Twice a second what the server has of it and how many locks are in its table of locks, until the file `watched` is gone.
watch_server() {
	while [ -e "$work/watched" ]; do
		echo "$(shared_kb) $(sql -c 'SELECT count(*) FROM pg_locks')"
		sleep 0.5
	done >"$work/seen"
}

# copy_beside NUMBER NAME CLIENTS WAY...: a COPY in one transaction, and CLIENTS sessions that insert single rows. Latencies and
# transactions are those of the sessions.
copy_beside() {
	local number=$1 name=$2 clients=$3 way from begun seconds figures times before peak watcher others
	shift 3
	chosen "$number" || return 0
	say "$name, synchronous_commit $sync"
	for way in "$@"; do
		store "$way" "$TENANTS"
		from=$(log_size)
		if [ "$clients" != 0 ]; then
			write_rows others "$clients" "$COPYSECONDS" "$TENANTS" one &
			others=$!
			sleep 1
		fi
		before=$(shared_kb)
		touch "$work/watched"
		watch_server &
		watcher=$!
		begun=$EPOCHREALTIME
		seconds=NULL
		# One that is refused or takes too long has no figure.
		if sql -c "SET statement_timeout = '${COPYSECONDS}s'" -c "COPY w (tenant_id, body) FROM '$work/texts'" 2>"$work/refused"; then
			seconds="$EPOCHREALTIME - $begun"
		else
			echo "$way: $(head -n 1 "$work/refused")"
		fi
		rm "$work/watched"
		wait "$watcher"
		peak=$(awk '{ if ($1 > kb) kb = $1; if ($2 > locks) locks = $2 } END { print kb + 0 ", " locks + 0 }' "$work/seen")
		figures='NULL, NULL' times='NULL, NULL, NULL'
		if [ "$clients" != 0 ]; then
			# pgbench takes the signal of its clock for the end of -T.
			kill -ALRM "$(pgrep -P "$(cat "$work/others/pid")")" || true
			wait "$others"
			times=$(latencies others "$begun")
			figures="$(done_by others) / $(seconds_of others "$COPYSECONDS")::float8, $(done_by others)"
		fi
		sql -c "INSERT INTO written VALUES ('$sync', $round, $number, '$name', '$way', $figures, $(errors_since "$from"),
			$times, $seconds, $before, $peak)"
	done
}

# ---- all of it --------------------------------------------------------------------------------------------------------

# Settings of all sessions that begin from now on.
set_up() {
	sql -c "ALTER SYSTEM SET synchronous_commit = '$1'" -c "ALTER SYSTEM SET fsync = '$FSYNC'" -c "ALTER SYSTEM SET log_line_prefix = '%m [%p] %e '" \
		-c 'SELECT FROM pg_reload_conf()' -c 'SELECT FROM pg_sleep(1)'
}

writers() {
	local round sync SCRIPTS=$work/scripts
	sql -f "$ROOT/bench/triggers/writers.sql"
	mkdir "$SCRIPTS"
	writer_scripts
	chmod -R a+rX "$SCRIPTS"
	for round in $(seq "$ROUNDS"); do
		for sync in ${SYNC//,/ }; do
			set_up "$sync"
			load 1 '1 session, one row a transaction' 1 "$TENANTS" one none constraint 'radius 3' 'radius 8'
			load 2 '4 sessions, one row a transaction' 4 "$TENANTS" one none constraint 'radius 3' 'radius 8'
			load 3 '16 sessions, one row a transaction' 16 "$TENANTS" one none constraint 'radius 3' 'radius 8' 'radius 10'
			load 4 '16 sessions, one row a transaction, all of one tenant' 16 1 one constraint 'radius 3' 'radius 10'
			load 5 '4 sessions, ten rows a statement' 4 "$TENANTS" 10 constraint 'radius 3' 'radius 8'
			load 6 '4 sessions, 100 rows a statement' 4 "$TENANTS" 100 constraint 'radius 3' 'radius 8'
			load 7 '20 sessions, transactions of 5 to 20 statements of one row' 20 "$TENANTS" transaction constraint 'radius 3' 'radius 8'
			beside 8 '1 session beside 20, one row a transaction' constraint 'radius 3' 'radius 8'
			upserts 11 '20 sessions, one upsert a transaction' 20 upsert
			upserts 12 '64 sessions, one upsert a transaction' 64 upsert
			upserts 13 '20 sessions, ten upserts a transaction' 20 upserts
		done
	done
	sync=${SYNC%%,*}
	if chosen 9 || chosen 10; then
		set_up "$sync"
		sql -c "COPY (SELECT 1 + i % $TENANTS, text_of(10000000000000000 + i) FROM generate_series(1, $COPYROWS) i) TO '$work/texts'"
	fi
	for round in $(seq "$COPYROUNDS"); do
		copy_beside 9 "COPY of $COPYROWS rows, alone" 0 constraint 'radius 3' 'radius 8'
		copy_beside 10 "COPY of $COPYROWS rows beside 4 sessions, one row a transaction" 4 constraint 'radius 3' 'radius 8'
	done
	sql --csv -P tuples_only=off -c 'TABLE written' >"$OUT/writers.csv"
	sql -P format=aligned -P tuples_only=off -v stored="$STORED" -v tenants="$TENANTS" -f "$ROOT/bench/triggers/writers_report.sql" | tee "$OUT/writers.txt"
}
