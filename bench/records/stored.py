"""What stored records cost, for run.sh: `stored.py FOLDER OUT` keeps 50,000 customers, refreshes them after 500 new rows, and asks 200
questions; then the same of ROWS people (1,000,000) of which rows are made as in people.sql. Writes OUT/stored.md. Times are processor time of the backend."""

import os
import re
import sys
from pathlib import Path

from measure import load
from rows import Rows
from server import psql

ROWS = int(os.environ.get("ROWS", "1000000"))
COLUMNS = "given_name,surname,born,phone,email,street,postcode,town"


def timed(*commands):
    """Seconds of processor time of the backend for each command; they run in one session."""
    _, said = psql("SET client_min_messages = log", "SET log_statement_stats = on", *commands)
    used = re.findall(r"!\s+([\d.]+) s user, ([\d.]+) s system", said)
    return [float(user) + float(system) for user, system in used[-len(commands):]]


def measure(table, threshold, questions):
    """(processor time of the first filling, of a refresh after 500 new rows, of a search of all pairs, median and 95th percentile of a question)"""
    kept = f"{table}_records"
    psql(f"DROP TABLE IF EXISTS {kept}, {kept}_term, {kept}_pair, {kept}_about, arrives",
         f"CREATE TABLE arrives AS SELECT * FROM {table} WHERE id % {questions} = 0 ORDER BY id LIMIT 500",
         f"DELETE FROM {table} WHERE id IN (SELECT id FROM arrives)")
    (filled,) = timed(f"SELECT simhash_keep_records('{table}', 'id', {threshold}, '{{{COLUMNS}}}')")
    psql(f"VACUUM ANALYZE {kept}", f"VACUUM ANALYZE {kept}_term", f"VACUUM ANALYZE {kept}_pair", f"INSERT INTO {table} TABLE arrives")
    (refreshed,) = timed(f"SELECT simhash_refresh_records('{kept}')")
    (pairs,) = timed(f"SELECT count(*) FROM simhash_record_pairs('{table}', 'id', {threshold}, '{{{COLUMNS}}}')")
    asked = [f"SELECT count(*) FROM simhash_record_search('{kept}', (SELECT to_jsonb(a) - 'id' || '{{\"street\": \"1 New Road\"}}' FROM arrives AS a "
             f"ORDER BY id OFFSET {i} LIMIT 1))" for i in range(220)]
    times = sorted(timed(*asked)[20:])
    size, _ = psql("\\pset tuples_only on", f"SELECT sum(pg_total_relation_size(c)) / 1e6 FROM unnest(ARRAY['{kept}', '{kept}_term', '{kept}_pair']::regclass[]) AS c")
    return filled, refreshed, pairs, times[len(times) // 2] * 1000, times[len(times) * 95 // 100] * 1000, float(size)


def main(folder, out):
    load(Rows(folder, "customers"))
    psql("DROP TABLE IF EXISTS customer, many", "CREATE TABLE customer AS TABLE a", "ALTER TABLE customer ADD PRIMARY KEY (id)")
    lines = ["| rows | filled | refreshed after 500 new rows | all pairs | a question | 95 of 100 below | MB |", "|---|---|---|---|---|---|---|"]
    for table, rows in (("customer", 50000), ("many", ROWS)):
        if not rows:
            continue
        if table == "many":
            # Each column from another customer, so that values repeat as in a table of that size and rows do not.
            psql(f"CREATE TABLE many AS SELECT i AS id, a.given_name, b.surname, c.born, reverse(d.phone) || (i / 50000) AS phone, "
                 f"left(b.surname, 3) || i % 9973 || d.email AS email, e.street, e.postcode, e.town FROM generate_series(1, {rows}) AS i "
                 "JOIN customer AS a ON a.id = 1 + i * 7 % 49000 JOIN customer AS b ON b.id = 1 + (i::bigint * 7919) % 49000 "
                 "JOIN customer AS c ON c.id = 1 + (i::bigint * 104729) % 49000 JOIN customer AS d ON d.id = 1 + (i::bigint * 1299709) % 49000 "
                 "JOIN customer AS e ON e.id = 1 + (i::bigint * 15485863) % 49000", "ALTER TABLE many ADD PRIMARY KEY (id)", "ANALYZE many")
        filled, refreshed, pairs, median, slow, size = measure(table, 0.5, rows // 1000)
        lines.append(f"| {rows:,} | {filled:.1f} s | {refreshed:.2f} s | {pairs:.1f} s | {median:.1f} ms | {slow:.1f} ms | {size:.0f} |")
        print(lines[-1], flush=True)
        Path(out, "stored.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
