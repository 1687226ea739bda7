"""What pairs of people cost, for run.sh: `cost.py FOLDER OUT` reads febrl3 of FOLDER and writes OUT/cost.md: for each number
of rows in COST_ROWS the pairs from 0.3 on, the least of three runs (of one beyond 100,000 rows), and the candidates."""

import os
import sys
from pathlib import Path

from measure import load
from rows import Rows
from server import psql, server


def main(folder, out):
    load(Rows(folder, "febrl3"))
    psql("DROP TABLE IF EXISTS person", "CREATE TABLE person AS TABLE a")
    lines = ["| rows | work_mem | pairs | s | MB |", "|---|---|---|---|---|"]
    for rows in map(int, os.environ.get("COST_ROWS", "5000 100000").split()):
        psql("DROP TABLE IF EXISTS people", f"SET people.copies = {rows // 5000}", Path(__file__).with_name("people.sql").read_text())
        is_large = rows > 100_000
        for memory in ("64MB",) if is_large else ("4MB", "64MB"):
            runs = [server("SELECT count(*) FROM simhash_record_pairs('people', 'id', 0.3)", f"SET work_mem = '{memory}'")
                    for _ in range(1 if is_large else 3)]
            (pairs,), = runs[0][0]
            seconds, peak = (min(run[at] for run in runs) for at in (1, 2))
            lines.append(f"| {rows:,} | {memory} | {int(pairs):,} | {seconds:.1f} | {peak:.0f} |")
            print(lines[-1], flush=True)
        ((candidates,),), *_ = server("SELECT pairs FROM simhash_record_report('people', 'id') WHERE threshold = 0", "SET work_mem = '64MB'")
        lines.append(f"{rows:,} rows: {int(candidates):,} candidates")
        print(lines[-1], flush=True)
    Path(out, "cost.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
