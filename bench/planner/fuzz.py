#!/usr/bin/env python3
"""Random queries: the plan that is chosen against the best of those that switching off kinds of plan gives.

Needs psql alone, and a server (PGHOST, PGPORT, PGDATABASE, PGUSER) with the extension installed. Makes its tables in a
schema planner_fuzz, which it drops first. Writes planner.md and planner.csv. The seed decides tables and queries.

A plan is as far off as the worst comparison with another plan of the same query says: their times, where the minima of
five executions differ by more than 1 ms, else their shared buffers, where these differ by more than 100.

The causes are told apart by what was executed. `same`: both plans search the same simhash indexes in the same way and
as often, or none; the difference is the server's part. `prices`: the pages that the chosen plan read cost no more than
those of the other one, at the query's own prices (1 for a page of a sequential scan, random_page_cost for others): in
memory, where these are not the prices, the other plan was faster. `other`: the rest.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import time

TIME_MATTERS_MS = 1.0
BUFFERS_MATTER = 100
STATEMENT_TIMEOUT_MS = 20_000
# Combinations of kinds of plan that are switched off, one plan each.
KINDS = "seqscan indexscan bitmapscan sort nestloop hashjoin mergejoin hashagg material memoize".split()
OFF = [()] + [(kind,) for kind in KINDS] + [
    ("seqscan", "indexscan"), ("seqscan", "bitmapscan"), ("indexscan", "bitmapscan"), ("seqscan", "sort"),
    ("bitmapscan", "sort"), ("hashjoin", "mergejoin"), ("nestloop", "mergejoin"), ("nestloop", "hashjoin"),
    ("seqscan", "hashjoin", "mergejoin"), ("indexscan", "hashjoin", "mergejoin"),
    ("indexscan", "bitmapscan", "nestloop"),
]
SETTINGS = """SET client_min_messages = error; SET jit = off; SET max_parallel_workers_per_gather = 0;
SET search_path = planner_fuzz, public; SET synchronize_seqscans = off;"""


class Psql:
    """One session. Answers end with a line that psql echoes."""

    END = "--end of answer--"

    def __init__(self):
        command = ["psql", "-X", "-q", "-A", "-t"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, statements):
        self.process.stdin.write(f"{statements}\n;\n\\echo {self.END}\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.rstrip("\n") == self.END:
                return "".join(lines)
            lines.append(line)
        raise SystemExit("the server closed the connection: " + "".join(lines))

    def must(self, statements):
        answer = self.run(statements)
        if "ERROR:" in answer:
            raise SystemExit(answer)
        return answer.strip()


def copy_rows(psql, table, rows):
    psql.process.stdin.write(f"COPY {table} FROM STDIN;\n")
    psql.process.stdin.writelines("\t".join(map(str, row)) + "\n" for row in rows)
    psql.process.stdin.write("\\.\n")
    psql.must("SELECT 1")


def signed(bits):
    return bits - (1 << 64) if bits >> 63 else bits


def flipped(draw, bits, flips):
    for bit in draw.sample(range(64), flips):
        bits ^= 1 << bit
    return bits


def uniform(draw, rows):
    return [draw.getrandbits(64) for _ in range(rows)]


def skewed(draw, rows):
    """A fifth of the rows with one key in block 0; clusters of near-duplicates, a few of them large."""
    result = []
    while len(result) < rows:
        bits = draw.getrandbits(64)
        if draw.random() < 0.2:
            bits = bits & (1 << 48) - 1 | 0xABCD << 48
        size = min(int(draw.paretovariate(0.8)), rows // 20, rows - len(result))
        result.extend(flipped(draw, bits, draw.choice((0, 1, 2, 3, 5, 8))) if i else bits for i in range(size))
    draw.shuffle(result)
    return result


def real(draw, rows, file):
    """Perceptual hashes of images, each repeated with up to six bits flipped."""
    with open(file, newline="") as lines:
        hashes = [int(row["phash"]) % (1 << 64) for row in csv.DictReader(lines) if row["phash"]]
    return [flipped(draw, hashes[i % len(hashes)], draw.randrange(7) if i >= len(hashes) else 0) for i in range(rows)]


class World:
    """The tables, and what a query can ask of them."""

    def __init__(self, psql, draw, rows, file):
        self.sets = {"uni": uniform(draw, rows), "skew": skewed(draw, rows)}
        self.sets["img"] = real(draw, rows // 3, file)
        self.tenants = 1000
        psql.must("""DROP SCHEMA IF EXISTS planner_fuzz CASCADE; CREATE SCHEMA planner_fuzz;
            CREATE EXTENSION IF NOT EXISTS simhash_dedup SCHEMA public;""" + SETTINGS)
        psql.must("CREATE TABLE tag (tenant int PRIMARY KEY, kind int)")
        copy_rows(psql, "tag", [(i, min(int(draw.paretovariate(0.7)), 99)) for i in range(self.tenants)])
        probes = []
        for name, bits in self.sets.items():
            columns = "id int PRIMARY KEY, tenant int, day int, flag boolean, fp bigint, pad text"
            psql.must(f"CREATE TABLE {name} ({columns})")
            size = len(bits)
            # Tenant 0 has a third of the rows, tenant 999 a hundred or so; days follow the table's order.
            copy_rows(psql, name, (
                (i, int(self.tenants * draw.random() ** 6), i * 1000 // size, draw.random() < 0.01, signed(fp),
                 "x" * draw.randrange(60))
                for i, fp in enumerate(bits)))
            psql.must(f"""CREATE INDEX {name}_tenant ON {name} (tenant); CREATE INDEX {name}_day ON {name} (day);
                CREATE INDEX {name}_fp ON {name} USING simhash (fp);""")
            probes += [(name, self.centre(draw, name)) for _ in range(300)]
        psql.must("CREATE TABLE probe (id int PRIMARY KEY, number int, of text, fp bigint)")
        copy_rows(psql, "probe", [(i, i % 300, name, fp) for i, (name, fp) in enumerate(probes)])
        self.scoped = "ERROR" not in psql.run("CREATE INDEX uni_scope ON uni USING simhash (tenant, fp)")
        if self.scoped:
            psql.must("CREATE INDEX skew_scope ON skew USING simhash (tenant, fp)")
        psql.must("VACUUM ANALYZE")

    def centre(self, draw, name):
        """A row's fingerprint, a few bits from one, or any."""
        bits = draw.choice(self.sets[name])
        return signed(draw.choice((bits, flipped(draw, bits, draw.randrange(1, 9)), draw.getrandbits(64))))

    def filters(self, draw, t):
        """Conditions of all selectivities, with and without an index."""
        tenant = draw.randrange(self.tenants)
        kind = draw.randrange(9)
        if kind == 0:
            return f"{t}.tenant = {tenant}"
        if kind == 1:
            some = (str(draw.randrange(self.tenants)) for _ in range(draw.randrange(2, 9)))
            return f"{t}.tenant IN ({', '.join(some)})"
        if kind == 2:
            return f"{t}.tenant < {int(self.tenants * draw.random() ** 3)}"
        if kind == 3:
            start = draw.randrange(1000)
            return f"{t}.day BETWEEN {start} AND {start + int(1000 * draw.random() ** 4)}"
        if kind == 4:
            return f"{t}.flag"
        if kind == 5:
            return f"{t}.day = {draw.randrange(1000)} AND {t}.tenant < {tenant}"
        if kind == 6:
            return f"{t}.id % 100 < {draw.randrange(1, 100)}"
        return "true"


def limit(draw, most=100_000):
    n = int(10 ** (draw.random() * 5))
    return "" if draw.random() < 0.25 else f" LIMIT {min(n, most)}"


class Query:
    """A query, and how it is planned. `$1` is the centre, `$2` the radius."""

    def __init__(self, draw, world, number):
        self.number = number
        self.name = draw.choice(list(world.sets))
        self.centre = world.centre(draw, self.name)
        self.radius = draw.choice((draw.randrange(25), draw.randrange(25), draw.choice((0, 3, 3, 6, 8))))
        self.page_cost = draw.choice(("4", "1.1"))
        self.generic = draw.random() < 0.33
        self.kind = draw.choice(list(TEMPLATES))
        self.text = TEMPLATES[self.kind](draw, world, self.name)

    def statement(self):
        if self.generic:
            return f"EXECUTE q{self.number} ({self.centre}, {self.radius})"
        centre = str(self.centre) if self.centre >= 0 else f"({self.centre})"
        return self.text.replace("$1", centre).replace("$2", str(self.radius))

    def prepare(self):
        start = f"SET random_page_cost = {self.page_cost};"
        if self.generic:
            # Each parameter is mentioned, so that each has its type.
            start += "SET plan_cache_mode = force_generic_plan;"
            start += f"PREPARE q{self.number} (bigint, int) AS {self.text};"
        return start

    def finish(self):
        return f"DEALLOCATE q{self.number};" if self.generic else ""


def within(draw, world, t):
    return f"SELECT id FROM {t} WHERE fp <~> $1 <= $2 AND {world.filters(draw, t)}{limit(draw)}"


def count_within(draw, world, t):
    return f"SELECT count(*), max(pad) FROM {t} WHERE fp <~> $1 <= $2 AND {world.filters(draw, t)}"


def nearest(draw, world, t):
    return f"SELECT id FROM {t} WHERE {world.filters(draw, t)} ORDER BY fp <~> $1{limit(draw)}"


def nearest_within(draw, world, t):
    return f"SELECT id FROM {t} WHERE fp <~> $1 <= $2 AND {world.filters(draw, t)} ORDER BY fp <~> $1{limit(draw)}"


def grouped(draw, world, t):
    where = world.filters(draw, t)
    return draw.choice((
        f"SELECT fp <~> $1, count(*) FROM {t} WHERE {where} GROUP BY 1 ORDER BY 1{limit(draw, 64)}",
        f"SELECT DISTINCT ON (fp <~> $1) id FROM {t} WHERE {where} ORDER BY fp <~> $1",
        f"SELECT id, rank() OVER (ORDER BY fp <~> $1) FROM {t} WHERE {where}{limit(draw)}"))


def probes(draw, world, t):
    few = draw.choice((1, 5, 20, 100))
    return (f"SELECT p.id, t.id FROM probe p JOIN {t} t ON t.fp <~> p.fp <= {draw.randrange(13)} "
            f"WHERE p.of = '{t}' AND p.number < {few} AND {world.filters(draw, 't')}{limit(draw)}")


def tagged(draw, world, t):
    kind = f"tag.kind {draw.choice(('=', '<', '>'))} {draw.choice((1, 2, 5, 50))}"
    if draw.random() < 0.5:
        return (f"SELECT t.id FROM {t} t JOIN tag USING (tenant) "
                f"WHERE {kind} AND t.fp <~> $1 <= $2{limit(draw)}")
    return (f"SELECT t.id FROM {t} t JOIN tag USING (tenant) WHERE {kind} AND {world.filters(draw, 't')} "
            f"ORDER BY t.fp <~> $1{limit(draw, 10_000)}")


def three(draw, world, t):
    few = draw.choice((1, 5, 20))
    return (f"SELECT p.id, t.id FROM probe p JOIN {t} t ON t.fp <~> p.fp <= {draw.randrange(10)} "
            f"JOIN tag USING (tenant) WHERE p.of = '{t}' AND p.number < {few} "
            f"AND tag.kind > {draw.choice((0, 1, 5, 50))}{limit(draw)}")


def lateral(draw, world, t):
    few = draw.choice((1, 5, 20))
    return (f"SELECT p.id, x.id FROM probe p, LATERAL (SELECT id FROM {t} t WHERE {world.filters(draw, 't')} "
            f"ORDER BY t.fp <~> p.fp LIMIT {draw.choice((1, 3, 10, 100))}) x WHERE p.of = '{t}' AND p.number < {few}")


def twins(draw, world, t):
    """Near-duplicates within the same tenant, of some rows."""
    return (f"SELECT a.id, b.id FROM {t} a JOIN {t} b "
            f"ON a.tenant = b.tenant AND a.fp <~> b.fp <= {draw.randrange(9)} "
            f"WHERE a.id < {draw.choice((10, 30, 100))} AND a.id <> b.id{limit(draw)}")


def listed(draw, world, t):
    values = ", ".join(str(world.centre(draw, t)) for _ in range(draw.choice((1, 3, 30))))
    operator = draw.choice(("=", "~="))
    return f"SELECT id FROM {t} WHERE fp {operator} ANY ('{{{values}}}'::bigint[]) AND {world.filters(draw, t)}"


KINDS_OF_QUERY = (within, count_within, nearest, nearest_within, grouped, probes, tagged, three, lateral, twins, listed)
TEMPLATES = {kind.__name__: kind for kind in KINDS_OF_QUERY}


def shape(node):
    """What makes two plans one: nodes, tables and indexes, in their order."""
    name = node.get("Index Name") or node.get("Relation Name")
    own = f"{node['Node Type']} {name}" if name else node["Node Type"]
    children = [shape(child) for child in node.get("Plans", [])]
    return f"{own} ({', '.join(children)})" if children else own


def nodes(node):
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)


def buffers_of(node):
    return node["Shared Hit Blocks"] + node["Shared Read Blocks"]


def searches(node):
    """The scans of simhash indexes, and how often each was executed."""
    names = ((n["Node Type"], n.get("Index Name", ""), "Order By" in n, n["Actual Loops"]) for n in nodes(node))
    return sorted(scan for scan in names if scan[1].endswith(("_fp", "_scope")))


class Plan:
    def __init__(self, off, described):
        self.off = off
        self.shape = shape(described["Plan"])
        self.cost = described["Plan"]["Total Cost"]
        self.ms = self.buffers = self.searches = self.in_sequence = None

    def ran(self, measured):
        top = measured["Plan"]
        buffers = buffers_of(top)
        self.searches = searches(top)
        self.in_sequence = sum(buffers_of(n) for n in nodes(top) if n["Node Type"] == "Seq Scan")
        self.ms = min(measured["Execution Time"], self.ms if self.ms is not None else float("inf"))
        self.buffers = min(buffers, self.buffers if self.buffers is not None else buffers)

    def page_price(self, random_page):
        return self.in_sequence + (self.buffers - self.in_sequence) * random_page


def explain(psql, options, statement):
    answer = psql.run(f"EXPLAIN ({options} FORMAT json) {statement}")
    try:
        return json.loads(answer)[0]
    except json.JSONDecodeError:
        if "statement timeout" in answer:
            return None
        raise SystemExit(f"{statement}\n{answer}")


def plans_of(psql, query):
    found = {}
    for off in OFF:
        switch(psql, off)
        plan = Plan(off, explain(psql, "", query.statement()))
        found.setdefault(plan.shape, plan)
    return list(found.values())


def switch(psql, off):
    psql.must("".join(f"SET enable_{kind} = {'off' if kind in off else 'on'};" for kind in KINDS))


def execute(psql, query, plan, timeout):
    switch(psql, plan.off)
    psql.must(f"SET statement_timeout = {int(timeout)}")
    measured = explain(psql, "ANALYZE, BUFFERS, TIMING OFF, SUMMARY ON,", query.statement())
    # On a busy machine even this can take longer than the timeout that it ends.
    while "ERROR:" in psql.run("SET statement_timeout = 0"):
        pass
    if measured is not None:
        plan.ran(measured)
    return measured is not None


def factor(chosen, other):
    """How many times worse `chosen` is; below 1 when it is better."""
    if abs(chosen.ms - other.ms) > TIME_MATTERS_MS:
        return chosen.ms / other.ms
    if abs(chosen.buffers - other.buffers) > BUFFERS_MATTER:
        return chosen.buffers / max(other.buffers, 1)
    return 1.0


class Outcome:
    def __init__(self, query, plans):
        self.query, self.plans = query, plans
        self.chosen = plans[0]
        others = plans[1:] or plans
        self.best = max(others, key=lambda plan: factor(self.chosen, plan))
        self.factor = max(factor(self.chosen, self.best), 1.0)
        self.cause = cause(query, self.chosen, self.best)
        self.by_buffers = self.chosen.buffers / max(min(plan.buffers for plan in plans), 1)
        fastest = min(plan.ms for plan in plans)
        self.by_time = self.chosen.ms / fastest if self.chosen.ms - fastest > TIME_MATTERS_MS else 1.0


def cause(query, chosen, other):
    if chosen.searches == other.searches:
        return "same"
    random_page = float(query.page_cost)
    return "prices" if chosen.page_price(random_page) <= other.page_price(random_page) else "other"


def judge(psql, query):
    psql.must(query.prepare())
    plans = plans_of(psql, query)
    chosen = plans[0]
    done = [chosen]
    if not execute(psql, query, chosen, STATEMENT_TIMEOUT_MS):
        chosen.ms, chosen.buffers, chosen.in_sequence = STATEMENT_TIMEOUT_MS, 10 ** 9, 0
    else:
        execute(psql, query, chosen, STATEMENT_TIMEOUT_MS)
    # A plan that takes much longer than the chosen one is not the best.
    bound = min(3 * chosen.ms + 100, STATEMENT_TIMEOUT_MS)
    for plan in plans[1:]:
        if execute(psql, query, plan, bound) and execute(psql, query, plan, bound):
            done.append(plan)
    rivals = [plan for plan in done[1:] if chosen.ms - plan.ms > TIME_MATTERS_MS]
    for _ in range(3 if rivals else 0):
        for plan in [chosen] + rivals:
            execute(psql, query, plan, STATEMENT_TIMEOUT_MS)
    psql.must(f"RESET ALL; {SETTINGS} {query.finish()}")
    return Outcome(query, done)


def over(values, most):
    return sum(value > most for value in values)


def summary(outcomes):
    """A table: how far off, by kinds of query; and by buffers and by time alone."""
    columns = ("queries", "number", "plans a query", "within 1.2", "over 2 times", "over 5 times", "worst",
               "by buffers alone over 2 / 5", "by time alone over 2 / 5")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for kind in [*TEMPLATES, "all"]:
        some = [o for o in outcomes if kind in (o.query.kind, "all")]
        if some:
            factors, buffers, times = [o.factor for o in some], [o.by_buffers for o in some], [o.by_time for o in some]
            plans = sum(len(o.plans) for o in some) / len(some)
            cells = (kind, len(some), f"{plans:.1f}", sum(f <= 1.2 for f in factors), over(factors, 2),
                     over(factors, 5), f"{max(factors):.1f}", f"{over(buffers, 2)} / {over(buffers, 5)}",
                     f"{over(times, 2)} / {over(times, 5)}")
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def causes(outcomes):
    """A table: how many are far off, by cause; and those of them that take longer, not only more buffers."""
    lines = ["| cause | over 2 times | over 5 times | in time over 2 / 5 |", "|---|---|---|---|"]
    for name in ("same", "prices", "other"):
        some = [o for o in outcomes if o.cause == name]
        factors = [o.factor for o in some]
        slower = [o.factor for o in some if o.chosen.ms - o.best.ms > TIME_MATTERS_MS]
        lines.append(f"| {name} | {over(factors, 2)} | {over(factors, 5)} | {over(slower, 2)} / {over(slower, 5)} |")
    return lines


def worst(outcomes, how_many=20):
    lines = ["| times | cause | chosen: ms, buffers | other plan: ms, buffers | plans | query |", "|---" * 6 + "|"]
    for o in sorted(outcomes, key=lambda o: -o.factor)[:how_many]:
        a, b, q = o.chosen, o.best, o.query
        how = f"{f'generic, radius {q.radius}' if q.generic else 'custom'}, random_page_cost {q.page_cost}"
        text = q.text if q.generic else q.statement()
        lines.append(f"| {o.factor:.1f} | {o.cause} | {a.ms:.1f}, {a.buffers} | {b.ms:.1f}, {b.buffers} "
                     f"| {a.shape} / {b.shape} | `{text}` ({how}) |")
    return lines


HEADINGS = "number kind generic page_cost radius factor cause by_buffers by_time query plan cost ms buffers off".split()


def write(args, world, outcomes, start):
    """Writes both files; returns the report as lines."""
    scopes = "with" if world.scoped else "without"
    head = (f"Seed {args.seed}, {len(outcomes)} queries, {args.rows} rows, {scopes} scopes, "
            f"{time.monotonic() - start:.0f} s.")
    lines = [head, "", *summary(outcomes), "", *causes(outcomes), "", "The worst twenty:", "", *worst(outcomes)]
    with open(os.path.join(args.out, "planner.md"), "w") as file:
        file.write("\n".join(lines) + "\n")
    with open(os.path.join(args.out, "planner.csv"), "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(HEADINGS)
        for o in outcomes:
            q = o.query
            of_query = [q.number, q.kind, q.generic, q.page_cost, q.radius, f"{o.factor:.2f}", o.cause,
                        f"{o.by_buffers:.2f}", f"{o.by_time:.2f}", q.text.replace("$1", str(q.centre))]
            for plan in o.plans:
                of_plan = [plan.shape, plan.cost, plan.ms, plan.buffers, " ".join(plan.off)]
                table.writerow(of_query + of_plan)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=300_000, help="rows of the two largest tables")
    parser.add_argument("--seconds", type=float, default=3600, help="stop after so long, whatever is left")
    parser.add_argument("--out", default=".", help="folder of the results")
    images = os.path.join(os.path.dirname(__file__), "../../pg_test/data/image_hashes.csv")
    parser.add_argument("--images", default=images, help="a CSV file with a column phash")
    args = parser.parse_args()
    draw, psql, start = random.Random(args.seed), Psql(), time.monotonic()
    world = World(psql, draw, args.rows, args.images)
    # The session's directories of the indexes: loaded after some searches.
    for name in world.sets:
        psql.must(f"SELECT count(*) FROM probe p, LATERAL (SELECT FROM {name} t WHERE t.fp <~> p.fp <= 8) x")
    outcomes = []
    for number in range(args.queries):
        if time.monotonic() - start > args.seconds:
            break
        if number % 100 == 0 and outcomes:
            write(args, world, outcomes, start)
        outcomes.append(judge(psql, Query(random.Random(f"{args.seed} {number}"), world, number)))
        if sys.stderr.isatty() or number % 100 == 99:
            print(f"{number + 1} of {args.queries} queries", file=sys.stderr, flush=True)
    print("\n".join(write(args, world, outcomes, start)))


if __name__ == "__main__":
    main()
