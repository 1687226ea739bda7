#!/usr/bin/env bash
# make installcheck: the SQL files of pg_test on a server that runs, where PGHOST and PGPORT say, by a superuser (PGUSER). The
# extension has to be installed there, or in DESTDIR below it; nothing is built and nothing is installed. PGXN's client
# (`pgxn check`) and Debian's pg_buildext call this.
#
# The tests make the database CONTRIB_TESTDB (contrib_regression) anew. TESTS restricts them to names that begin so.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/count.sh
. "$(dirname "$0")/count.sh"

find_postgres build || fail "no pg_config found: point PG_CONFIG at that of your server"
pg_regress=$(dirname "$("$PG_CONFIG" --pgxs)")/../test/regress/pg_regress
[ -x "$pg_regress" ] || fail "$pg_regress is missing: install postgresql-server-dev-$(major_of "$PG_CONFIG"), or a PostgreSQL with its test programs"
bin=$("$PG_CONFIG" --bindir)
out=$(mktemp -d "${TMPDIR:-/tmp}/simhash_installcheck.XXXXXX")
trap 'rm -rf "$out"' EXIT

names=()
for file in "$ROOT"/pg_test/sql/*.sql; do
	name=$(basename "$file" .sql)
	if wanted "$name"; then names+=("$name"); fi
done
[ "${#names[@]}" -gt 0 ] || fail "no test has a name that begins with: $TESTS"

# Tests write files where they run.
cd "$out"
# As in test_major.sh: comparing all rows costs enough to be compiled, which takes longer than running it.
if ! PGOPTIONS="-c jit=off ${PGOPTIONS:-}" "$pg_regress" --bindir="$bin" --inputdir="$ROOT/pg_test" \
	--outputdir="$out" --dbname="${CONTRIB_TESTDB:-contrib_regression}" --encoding=UTF8 --no-locale "${names[@]}"; then
	[ ! -e "$out/regression.diffs" ] || cat "$out/regression.diffs"
	exit 1
fi
