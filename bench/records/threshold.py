"""Whether the intervals of simhash_record_quality hold the truth, for run.sh: `threshold.py FOLDER OUT` draws samples of RUNS seeds
from the sets of FOLDER, labels them by their truth, and writes OUT/threshold.md: the share of intervals that hold it."""

import os
import sys
from pathlib import Path

from measure import load, names
from rows import Rows
from server import psql, server

RUNS = int(os.environ.get("RUNS", "100"))
SIZES = 100, 200, 400


def main(folder, out):
    lines = ["| set | labels | precision: hold | recall: hold | half of the intervals of precision are shorter than | of recall |",
             "|---|---|---|---|---|---|"]
    for name in names(folder):
        rows = Rows(folder, name)
        load(rows)
        truth = ", ".join(f"({a},{b})" for a, b in sorted(rows.truth))
        relations = "'a', 'id', '{}', 'b', 'id'" if rows.two else "'a', 'id'"
        other = ", relation_b => 'b', key_b => 'id'" if rows.two else ""
        psql("DROP TABLE IF EXISTS truth, found, one", "CREATE TABLE truth (a int, b int, PRIMARY KEY (a, b))",
             f"INSERT INTO truth VALUES {truth}",
             f"CREATE TABLE found AS SELECT p.*, t.a IS NOT NULL AS same FROM simhash_record_pairs('a', 'id', 0{other}, rare => {rows.rare}) AS p "
             "LEFT JOIN truth AS t ON t.a = least(p.a, p.b) AND t.b = greatest(p.a, p.b)",
             f"CREATE TABLE one AS SELECT s.*, false AS same FROM simhash_record_sample({relations}, size => 1) AS s")
        held = ("SELECT avg((p BETWEEN precision_low - 1e-9 AND precision_high + 1e-9)::int), "
                "avg((r BETWEEN recall_low - 1e-9 AND recall_high + 1e-9)::int), "
                "percentile_disc(0.5) WITHIN GROUP (ORDER BY precision_high - precision_low), "
                "percentile_disc(0.5) WITHIN GROUP (ORDER BY recall_high - recall_low) "
                "FROM simhash_record_quality('one'), LATERAL (SELECT avg(same::int) AS p, "
                "sum(same::int)::float8 / (SELECT count(*) FROM found WHERE same) AS r FROM found WHERE similarity >= threshold) AS t")
        for size in SIZES:
            sums = [0.0] * 4
            for seed in range(RUNS):
                psql("TRUNCATE one",
                     f"INSERT INTO one SELECT s.*, EXISTS (SELECT FROM truth AS t WHERE t.a = least(s.a::int, s.b::int) "
                     f"AND t.b = greatest(s.a::int, s.b::int)) "
                     f"FROM simhash_record_sample({relations}, size => {size}, seed => {seed}, rare => {rows.rare}) AS s")
                (found,), *_ = server(held)
                sums = [total + float(value or 1) for total, value in zip(sums, found)]
            shares = [total / RUNS for total in sums]
            lines.append(f"| {name} | {size} | " + " | ".join(f"{share:.3f}" for share in shares) + " |")
            print(lines[-1], flush=True)
    Path(out, "threshold.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
