"""What pairs of 5,000 and of 100,000 people cost, for run.sh: `cost.py FOLDER OUT` reads febrl3 of FOLDER and writes
OUT/cost.md: the least of three runs."""

import sys
from pathlib import Path

from measure import load
from rows import Rows
from server import psql, server


def main(folder, out):
    load(Rows(folder, "febrl3"))
    psql("DROP TABLE IF EXISTS person, people", "CREATE TABLE person AS TABLE a",
         Path(__file__).with_name("people.sql").read_text())
    lines = ["| rows | work_mem | pairs | s | MB |", "|---|---|---|---|---|"]
    for table in ("person", "people"):
        (rows,), = server(f"SELECT count(*) FROM {table}")[0]
        for memory in ("4MB", "64MB"):
            runs = [server(f"SELECT count(*) FROM simhash_record_pairs('{table}', 'id', 0.3)", f"SET work_mem = '{memory}'")
                    for _ in range(3)]
            (pairs,), = runs[0][0]
            seconds, peak = (min(run[at] for run in runs) for at in (1, 2))
            lines.append(f"| {int(rows):,} | {memory} | {int(pairs):,} | {seconds:.1f} | {peak:.0f} |")
    print("\n".join(lines))
    Path(out, "cost.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
