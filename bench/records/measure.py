"""Pairs of records by simhash_record_pairs and by peers.py, for run.sh: `measure.py FOLDER OUT` measures the sets of FOLDER
(NAME.csv and NAME_truth.csv, without titles_*) and writes OUT/records.md, and OUT/records_short.md for docs/records.md.
Every method runs in a process of its own, which ends after LIMIT seconds of processor time. The server is that of the PG*
variables; PSQL is the program psql."""

import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

from peers import PEERS
from rows import Rows, best, mutual, quality
from server import psql, server

LIMIT = 300
# One processor for everyone, and sets in the same order in each run.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
OURS = {"all pairs": (False, 0.45), "one_to_one": (True, 0.3)}


def load(rows):
    """The table `record`, and the views a and b of its sources."""
    columns = ", ".join(f'"{column}" text' for column in rows.columns)
    named = ", ".join(["id", *(f'"{column}"' for column in rows.columns)])
    file = Path(rows.folder, f"{rows.name}.csv").resolve()
    commands = [
        "DROP TABLE IF EXISTS record CASCADE",
        f"CREATE TABLE record (id int PRIMARY KEY, src text, {columns})",
        f"\\copy record FROM '{file}' CSV HEADER",
        *(f"CREATE VIEW {source} AS SELECT {named} FROM record WHERE src = '{source}'" for source in "ab"),
    ]
    psql(*commands)


def ours(rows, one_to_one, threshold):
    """Scores of all pairs from threshold 0 on; time and memory are those of a call at the threshold."""
    load(rows)
    other = ", relation_b => 'b', key_b => 'id'" if rows.two else ""
    call = f"SELECT * FROM simhash_record_pairs('a', 'id', %s{other}, one_to_one => {one_to_one}, rare => {rows.rare})"
    found, _, _ = server(call % 0)
    scores = {(int(a), int(b)): float(similarity) for a, b, similarity in found}
    found, seconds, memory = server(call % threshold)
    return scores, {(int(a), int(b)) for a, b, _ in found}, seconds, memory


def theirs(rows, peer):
    scores, matches = peer(rows)
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(use.ru_utime + use.ru_stime for use in usage)
    return scores, matches, seconds, max(use.ru_maxrss for use in usage) / 1024


def one(method, folder, name):
    """In a process of its own: the figures of one method, as JSON."""
    rows = Rows(folder, name)
    if method in OURS:
        scores, matches, seconds, memory = ours(rows, *OURS[method])
    else:
        scores, matches, seconds, memory = theirs(rows, PEERS[method][1])
    print(json.dumps({"best": best(scores, rows), "mutual": best(mutual(scores), rows), "default": quality(matches, rows),
                      "seconds": seconds, "memory": memory}))


def apart(method, folder, name):
    """What `one` says of a method, or why it says nothing."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 5))
    done = subprocess.run([sys.executable, __file__, "--one", method, str(folder), name], preexec_fn=limit,
                          env={**os.environ, **ONE_THREAD}, capture_output=True, text=True)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"more than {LIMIT // 60} minutes"
    if done.returncode:
        print(f"{name}: {method} failed: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return "failed"
    return json.loads(done.stdout.splitlines()[-1])


def line(method, got):
    """A line of a set's table."""
    default = OURS[method][1] if method in OURS else PEERS[method][2]
    title = f"simhash_record_pairs, {method}" if method in OURS else method
    if isinstance(got, str):
        return f"| {title} | {got} | | | | | | | |"
    precision, recall, f, threshold = got["best"]
    return (f"| {title} | {precision:.3f} | {recall:.3f} | {f:.3f} | {threshold:.2f} | {got['mutual'][2]:.3f} "
            f"| {got['default'][2]:.3f} ({default}) | {got['seconds']:.1f} | {got['memory']:.0f} |")


def short_table(title, sets, methods, cell):
    """A table of sets and methods: `cell` says what there is of a method."""
    heads = [head for head, _ in methods]
    lines = [title, "", "| set | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for name, results in sets.items():
        cells = ("-" if isinstance(results[method], str) else cell(results[method]) for _, method in methods)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def short(sets):
    """The tables of the documentation, of what `apart` says of each set and method."""
    peers = [method for method in next(iter(sets.values())) if method not in OURS]
    all_pairs, _ = OURS
    defaults = [(f"simhash_record_pairs, {method} ({threshold})", method) for method, (_, threshold) in OURS.items()]
    defaults += [(f"{method} ({PEERS[method][2]})", method) for method in peers]
    methods = [("simhash_record_pairs", all_pairs), *((method, method) for method in peers)]
    return "\n\n".join([
        short_table("F at the best threshold, of all pairs / one to one:", sets, methods,
                    lambda got: f"{got['best'][2]:.3f} / {got['mutual'][2]:.3f}"),
        short_table("F at the default threshold, in parentheses:", sets, defaults, lambda got: f"{got['default'][2]:.3f}"),
        short_table("Seconds of processor time, and MB:", sets, methods,
                    lambda got: f"{got['seconds']:.1f} s, {got['memory']:.0f}"),
    ])


def names(folder):
    found = sorted(file.name[: -len("_truth.csv")] for file in Path(folder).glob("*_truth.csv"))
    chosen = os.environ.get("SETS", "").replace(",", " ").split()
    return [name for name in found if not name.startswith("titles_") and (name in chosen or not chosen)]


def main(folder, out):
    methods = list(OURS)
    for method, (package, _, _) in PEERS.items():
        if importlib.util.find_spec(package):
            methods.append(method)
        else:
            print(f"   {sys.executable} has no package {package}: left out")
    tables, sets = [], {}
    for name in names(folder):
        rows = Rows(folder, name)
        kind = "two tables" if rows.two else "one table"
        rare = f", rare => {rows.rare}" if rows.rare != 30 else ""
        table = [f"**{name}**: {len(rows.values):,} rows, {kind}, {len(rows.truth):,} true pairs{rare}", "",
                 "| method | precision | recall | F | at | F one to one | F at default | s | MB |", "|---|---|---|---|---|---|---|---|---|"]
        results = sets[name] = {method: apart(method, folder, name) for method in methods}
        table += [line(method, got) for method, got in results.items()]
        print("\n".join(table), end="\n\n", flush=True)
        tables.append("\n".join(table))
        Path(out, "records.md").write_text("\n\n".join(tables) + "\n")
        Path(out, "records_short.md").write_text(short(sets) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        one(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
