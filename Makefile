# simhash_dedup: `make help` lists the commands. The work is done by the scripts in tools
# and bench, which read these variables from the environment:
#
#   PG_CONFIG   the server to build for, install into and test with (pg_config on PATH, or the newest server installed)
#   PG_CONFIGS  servers of other majors for the tests, with spaces between them; others are fetched (tools/servers.txt)
#   MAJORS      the major of `make test`, the majors of `make test-majors` ("16 19")
#   FULL        FULL=1: every file of tests in `make test`, and on all majors in `make test-majors`, with upgrades between them
#   PROFILE     what cargo builds with: dev (tests, demo) or release (install, packages, benchmarks)
#   CITUS       for `make test-citus`: a git repository of Citus, of which CITUS_TAG (v13.2.2) is built, or its unpacked sources
#   CONTRIB_TESTDB  the database that `make installcheck` makes anew (contrib_regression)
#   TESTS       tests whose names begin with one of these words ("pairs 005"), instead of all
#   JOBS        how many majors are tested at a time (2)
#   SUITES      how many suites of a major run side by side (3 in `make test`, else 2)
#   DESTDIR     a prefix for `make install`, as packagers use it
#   prefix      a folder outside of the server for `make install`: prefix/lib and prefix/share/extension (18 and later)
#   SUITE       the Debian release of `make test-deb` and `make test-readme` (bookworm); WITH_TESTS=1: the latter also runs `make test`
#   MAINTAINER  "Name <address>" for the packages of `make deb`: the project has no address
#   KEEP        KEEP=1 leaves the server of `make demo` running
#   ROWS        rows of `make bench`, or several numbers with commas between them
#   SETS        sets of `make bench` (A,B; T of short texts, of TEXTS=file if given), or of records of `make quality`
#   QUESTIONS   how many searches `make bench-others` and `bench-fdw` measure
#   SEED        what `make attack` and `make bench-planner` draw from; QUERIES: how many queries of the latter (1000)
#   COUNT       how many changes of the code `make mutants` tries (200), drawn from SEED (1)
#   ENTRIES     which changes of tools/server_mutants.txt `make mutants-server` makes, by number ("3 17"), instead of all
#   ROUND       the one round that `make attack` repeats
#   PEERS       PEERS=none measures the extension alone
#   PARTS       what `make bench-triggers` measures: some of copies, splits, loads and writers ("loads writers"), instead of all;
#               texts or batches: of `make bench-others`; same: of `make bench-text` what `simhash_same` takes, without a server
#   OUT         folder for the result of `make bench`, `quality` and `bench-text` (target/bench, ...)
#   SECONDS_EACH  how long `make soak` repeats each test (600), `make attack` and `make fuzz` run (60), and a load of `make bench-triggers` (10)
#   DATA        folder of the labelled sets of `make quality`, and of real rows for `bench-text`
#   PYTHON      an interpreter: with the packages simhash and jieba for `make bench-text`, with datasketch and faiss for
#               `make bench-others`, with splink, recordlinkage, dedupe, rapidfuzz and datasketch for `make quality`, with psycopg,
#               sqlalchemy, alembic and django for the Python of the pages in `make test`

export PG_CONFIG PG_CONFIGS CITUS CITUS_TAG SUITE MAINTAINER WITH_TESTS MAJORS FULL PROFILE TESTS JOBS SUITES DESTDIR prefix CONTRIB_TESTDB KEEP ROWS SETS TEXTS SEED COUNT ENTRIES ROUND QUERIES QUESTIONS PEERS PARTS OUT SECONDS_EACH DATA PYTHON

.PHONY: all help build install uninstall installcheck demo test test-majors test-citus quick mutants mutants-server soak attack fuzz bench bench-cold bench-text bench-planner bench-triggers bench-others bench-tutorial bench-citus bench-fdw quality deb dist sbom test-deb test-readme test-docker clean
.DEFAULT_GOAL := help

help:
	@echo 'For users:'
	@echo 'make demo           install what is missing, then show the extension on real rows (KEEP=1 leaves its server up)'
	@echo 'make build          compile for the server of PG_CONFIG'
	@echo 'make install        build, then install into that server (honours PG_CONFIG, prefix and DESTDIR)'
	@echo 'make uninstall      remove it from that server'
	@echo 'make installcheck   the SQL tests on a server that runs and has the extension (PGHOST, PGPORT), for packagers'
	@echo 'make deb            Debian packages and a tarball for PG_CONFIG and each of PG_CONFIGS, into target/packages'
	@echo
	@echo 'For developers (CONTRIBUTING.md):'
	@echo 'make test           install what is missing, then the tests on one major (MAJORS=18; FULL=1 also the long ones)'
	@echo 'make test-majors    a part of them on the other majors, and the long ones on the last (MAJORS="16 19", FULL=1)'
	@echo 'make test-citus     the tests on a cluster of Citus, which is built when its sources are given (CITUS=/folder)'
	@echo 'make quick          format, lint and unit tests only: no server is started'
	@echo 'make mutants        changes the code of the crates in COUNT places drawn from SEED, and says which the tests do not notice (COUNT=200)'
	@echo 'make mutants-server  makes the changes of a list to the code that needs a server, each of which must turn a test red (ENTRIES="3 17")'
	@echo 'make soak           crash, standby and concurrency tests again and again, and what valgrind and AddressSanitizer find (SECONDS_EACH=600)'
	@echo 'make attack         tables, statements, sessions, kills and damage drawn from SEED; every answer against reading all rows (SECONDS_EACH=60)'
	@echo 'make fuzz           random text and options against the fingerprint code (SECONDS_EACH=60)'
	@echo 'make bench          speed and size next to what PostgreSQL has without it (ROWS=1000000)'
	@echo 'make bench-cold     searches that find nothing in memory, by effective_io_concurrency (ROWS=1000000)'
	@echo 'make bench-text     how fast texts become fingerprints, next to cutting words alone'
	@echo 'make bench-planner  random queries: the chosen plan against the best of the others (SEED=1, QUERIES=1000)'
	@echo 'make bench-triggers copies, splits, loads and many sessions through the triggers, next to none and to EXCLUDE (PARTS=writers)'
	@echo 'make bench-others   near-duplicates of a text by this extension, pg_trgm, bktree, pgvector, and MinHash in Python'
	@echo 'make bench-tutorial how long writers wait while a large table goes through the tutorial (ROWS=1000000)'
	@echo 'make bench-citus    pairs, clusters and searches on 1, 2 and 3 workers of Citus, next to one table (ROWS=200000)'
	@echo 'make bench-fdw      searches and pairs over three servers with postgres_fdw, next to one server (ROWS=1000000)'
	@echo 'make quality        precision and recall of the fingerprints on labelled text (DATA=/folder)'
	@echo 'make dist           the source archive for PGXN'
	@echo 'make sbom           what is linked into the library, as CycloneDX lists it (SBOM), into target/packages'
	@echo 'make test-deb       two builds in two folders compared, and the package installed in a bare Debian (SUITE=bookworm)'
	@echo 'make test-readme    the source archive in a bare Debian, where the commands of the README are typed (SUITE=bookworm, WITH_TESTS=1)'
	@echo 'make test-docker    packaging/Dockerfile built with buildah, stand-ins for the official images, and a search in the result'
	@echo 'make clean          remove what was built'

# The client of PGXN calls all, install, uninstall and installcheck; Debian's pg_buildext all, install, installcheck and clean.
all: build

build:
	@tools/install.sh build

install:
	@tools/install.sh install

uninstall:
	@tools/install.sh uninstall

installcheck:
	@tools/installcheck.sh

demo:
	@tools/demo.sh

test:
	@tools/test.sh all

test-majors:
	@tools/test.sh majors

test-citus:
	@tools/test_citus.sh

quick:
	@tools/test.sh quick

mutants:
	@tools/mutants.sh

mutants-server:
	@tools/server_mutants.sh

soak:
	@tools/test.sh soak

attack:
	@tools/test.sh attack

fuzz:
	@fuzz/run.sh

bench:
	@bench/speed/run.sh

bench-cold:
	@bench/speed/cold.sh

bench-text:
	@bench/text/run.sh

bench-planner:
	@bench/planner/run.sh

bench-triggers:
	@bench/triggers/run.sh

bench-others:
	@bench/others/run.sh

bench-citus:
	@bench/scale_out/citus.sh

bench-tutorial:
	@bench/tutorial/run.sh

bench-fdw:
	@bench/scale_out/fdw.sh

quality:
	@bench/quality/run.sh

deb:
	@packaging/packages.sh

dist:
	@packaging/packages.sh dist

sbom:
	@packaging/packages.sh sbom

test-deb:
	@packaging/test_deb.sh

test-readme:
	@packaging/test_readme.sh

test-docker:
	@packaging/test_docker.sh

# Packages are tested where no cargo is.
clean:
	@! command -v cargo >/dev/null || cargo clean
