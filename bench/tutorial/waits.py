#!/usr/bin/env python3
"""How long writers wait while a large table goes through docs/start.md.

Runs the SQL of the steps below, block by block, on a table of --rows articles of about 500 bytes, while two pgbench clients insert
and update single rows. Reports the longest statement of a writer that fell into each block. Beside them what the pages
advise against. Needs psql and pgbench, and an empty database (PGHOST, PGPORT, PGDATABASE, PGUSER) of a server with the
extension installed. Writes waits.md.
"""

import argparse
import glob
import os
import re
import signal
import statistics
import subprocess
import tempfile
import time

DOCS = os.path.join(os.path.dirname(__file__), "..", "..", "docs")
PAGE = "start.md"
STEPS = ["Search", "Flag what comes in", "Clean up", "Or refuse"]
FINGERPRINT = "simhash64(body)"

# Five sentences of 16 words. Every twentieth article is its neighbour but for the number at the end.
TABLE = """
CREATE TABLE sentence AS
    SELECT i, string_agg(substr(md5(i || ' ' || w), 1, 2 + (i * 7 + w * 5) % 7), ' ') || '. ' AS text
    FROM generate_series(0, 19999) i, generate_series(1, 16) w GROUP BY i;
ALTER TABLE sentence ADD PRIMARY KEY (i);
CREATE TABLE article (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title text, body text);
INSERT INTO article (title, body)
    SELECT 'Article ' || n, a.text || b.text || c.text || d.text || e.text || n % 20
    FROM (SELECT n, 5 * (n - (n % 20 = 0)::int)::bigint AS s FROM generate_series(1, {rows}) n) r
    JOIN sentence a ON a.i = abs(hashint8(s) % 20000) JOIN sentence b ON b.i = abs(hashint8(s + 1) % 20000)
    JOIN sentence c ON c.i = abs(hashint8(s + 2) % 20000) JOIN sentence d ON d.i = abs(hashint8(s + 3) % 20000)
    JOIN sentence e ON e.i = abs(hashint8(s + 4) % 20000);
VACUUM ANALYZE;
"""

# Half inserts, half updates that change the text: each one statement, and a transaction of its own.
WRITER = """
\\set a random(0, 19999)
\\set b random(0, 19999)
\\set c random(0, 19999)
\\set id random(1, {rows})
\\if :id % 2 = 0
INSERT INTO article (title, body)
    SELECT 'New', string_agg(text, '') FROM sentence WHERE i IN (:a, :b, :c, (:a + :b) % 20000, (:b + :c) % 20000);
\\else
UPDATE article SET body = (SELECT string_agg(text, '') FROM sentence
    WHERE i IN (:a, :b, :c, (:a + :b) % 20000, (:b + :c) % 20000)) WHERE id = :id;
\\endif
"""

REPORT = """\\! psql -X -q -c 'BEGIN; SELECT FROM article LIMIT 1; SELECT pg_sleep(5); COMMIT' >/dev/null &
SELECT pg_sleep(1);
"""
# The errors of a good run: the page shows what the constraint refuses.
ANNOUNCED = ['ERROR:  conflicting key value violates exclusion constraint "article_once"',
             "ERROR:  canceling statement due to lock timeout"]
BEFORE = [("two writers and nothing else", "SELECT pg_sleep(10);")]
# What the pages advise against. What stands between, without a name, is part of no measurement.
AGAINST = [
    ("ADD COLUMN behind a transaction that has read the table and sleeps for 5 s",
     f"RESET lock_timeout;\n{REPORT}ALTER TABLE article ADD COLUMN other bigint;"),
    ("the same with lock_timeout = '2s', which fails",
     f"SET lock_timeout = '2s';\n{REPORT}ALTER TABLE article ADD COLUMN one_more bigint;"),
    ("", "RESET lock_timeout; SELECT pg_sleep(5);"),
    ("CREATE INDEX without CONCURRENTLY", f"CREATE INDEX plain_index ON article USING simhash ({FINGERPRINT});"),
    ("", "DROP INDEX plain_index;"),
    ("one UPDATE of all rows", f"UPDATE article SET other = {FINGERPRINT};"),
    ("", "VACUUM article;"),
    ("ADD COLUMN ... GENERATED",
     f"ALTER TABLE article ADD COLUMN made bigint GENERATED ALWAYS AS ({FINGERPRINT}) STORED;"),
]


def blocks():
    """(what to call it, SQL) of each block of the steps."""
    with open(os.path.join(DOCS, PAGE), encoding="utf-8") as file:
        text = file.read()
    found, step = [], None
    for part in re.finditer(r"^## ([^\n]*)$|^```sql\n(.*?)^```", text, re.M | re.S):
        if part[1]:
            step = part[1]
        elif step in STEPS:
            commands = re.findall(r"^(?!SET|RESET|BEGIN|END)[A-Z]{4}.*", part[2], re.M)
            found.append((f"{step}: " + "; ".join(command.rstrip(";")[:40] for command in commands), part[2]))
    return found


def run(steps):
    """Runs the blocks in one session; (name, begin, end, size of the table) of each, in seconds of the epoch."""
    moment = "SELECT 'moment {}', extract(epoch FROM clock_timestamp()), pg_size_pretty(pg_table_size('article'));\n"
    # After each block the writers catch up, so that no wait is counted twice.
    script = "".join(f"{moment.format(i)}{sql}\n;\n{moment.format(i)}SELECT pg_sleep(1);\n"
                     for i, (_, sql) in enumerate(steps))
    output = subprocess.run(["psql", "-X", "-q", "-A", "-t"], input=script, check=True, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    errors = [line for line in output.split("\n") if "ERROR" in line]
    print("\n".join(errors))
    if errors != ANNOUNCED:
        raise SystemExit(f"other errors than these: {ANNOUNCED}")
    moments = re.findall(r"^moment (\d+)\|([0-9.]+)\|(.*)", output, re.M)
    return [(steps[int(begin[0])][0], float(begin[1]), float(end[1]), end[2])
            for begin, end in zip(moments[::2], moments[1::2]) if steps[int(begin[0])][0]]


def statements(folder):
    """(begin, end) of each statement of the writers, sorted. Time in pgbench's log counts from when it was due."""
    found = []
    for file in glob.glob(os.path.join(folder, "writers.*")):
        for line in open(file, encoding="ascii"):
            _, _, taken, _, second, microsecond, late = map(int, line.split())
            end = second + microsecond / 1e6
            found.append((end - (taken - late) / 1e6, end))
    return sorted(found)


def write(path, steps, written):
    lines = ["| block | seconds | longest statement, ms | median, ms | statements | table |", "|---" * 6 + "|"]
    for name, begin, end, size in steps:
        # A quarter of a second more on both sides, so that some fall into blocks that take no time.
        waits = [1000 * (e - b) for b, e in written if e >= begin - 0.25 and b <= end + 0.25]
        longest, median = (f"{max(waits):.0f}", f"{statistics.median(waits):.2f}") if waits else ("-", "-")
        lines.append(f"| `{name}` | {end - begin:.2f} | {longest} | {median} | {len(waits)} | {size} |")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=200, help="statements a second of both writers together")
    parser.add_argument("--out", default=".")
    given = parser.parse_args()
    subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1"], input=TABLE.format(rows=given.rows), check=True,
                   text=True)
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "writer.sql")
        with open(script, "w", encoding="ascii") as file:
            file.write(WRITER.format(rows=given.rows))
        writers = subprocess.Popen(
            ["pgbench", "-n", "-c", "2", "-j", "2", "-T", "100000", "-R", str(given.rate), "-l",
             f"--log-prefix={folder}/writers", "-f", script], stdout=subprocess.DEVNULL)
        try:
            time.sleep(2)
            steps = run(BEFORE + blocks() + AGAINST)
            time.sleep(1)
        finally:
            # As if its time were over: it writes its log and ends.
            writers.send_signal(signal.SIGALRM)
            writers_failed = writers.wait() != 0
        if writers_failed:
            raise SystemExit("a writer failed")
        written = statements(folder)
    write(os.path.join(given.out, "waits.md"), steps, written)


if __name__ == "__main__":
    main()
