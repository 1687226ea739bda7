"""PDQ hashes of pictures, and the same question about them to others: what is within 31 of 256 bits?

    pdq.py hash FOLDER > values.csv        each picture of the folder, and a copy of it, half as large, as JPEG of quality 50
    pdq.py ask values.csv 'host=... dbname=...'

Needs pillow, numpy, pdqhash, faiss-cpu, pybktree and psycopg2-binary; the database has simhash_dedup and, if it is to be asked, pgvector.
Pictures below 64 pixels, and those of quality below 50, are left out. Every answer is compared with that of reading all rows.
"""

import csv
import io
import pathlib
import random
import statistics
import sys
import time

import numpy

RADIUS = 31
QUERIES = 500


def hashes(folder):
    import pdqhash
    from PIL import Image

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["id", "copy_of", "quality", "pdq"])

    def pdq(picture):
        bits, quality = pdqhash.compute(numpy.asarray(picture))
        return quality, numpy.packbits(bits.astype(numpy.uint8)).tobytes().hex()

    number = 0
    for path in sorted(pathlib.Path(folder).rglob("*.png")):
        try:
            with Image.open(path) as opened:
                # Clip art stands on nothing: on white here.
                layers = opened.convert("RGBA")
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            continue
        if min(layers.size) < 64 or max(layers.size) > 4000:
            continue
        picture = Image.new("RGB", layers.size, "white")
        picture.paste(layers, mask=layers.getchannel("A"))
        quality, value = pdq(picture)
        if quality < 50:
            continue
        number += 2
        out.writerow([number, "", quality, value])
        smaller, encoded = picture.resize([side // 2 for side in picture.size]), io.BytesIO()
        smaller.save(encoded, "JPEG", quality=50)
        quality, value = pdq(Image.open(encoded).convert("RGB"))
        out.writerow([number + 1, number, quality, value])


def brute_force(values, query):
    return numpy.flatnonzero(numpy.unpackbits(values ^ query, axis=1).sum(axis=1, dtype=numpy.int32) <= RADIUS)


def report(name, answers, truth, seconds, note=""):
    found = sum(len(set(answer) & set(right)) for answer, right in zip(answers, truth))
    wrong = sum(len(set(answer) - set(right)) for answer, right in zip(answers, truth))
    of = sum(len(right) for right in truth[: len(answers)])
    median = statistics.median(seconds) * 1000
    print(f"| {name} | {100 * found / of:.1f} % | {wrong} | {median:.2f} | {note} |", flush=True)


def timed(ask, queries):
    answers, seconds = [], []
    for query in queries:
        start = time.perf_counter()
        answers.append(ask(query))
        seconds.append(time.perf_counter() - start)
    return answers, seconds


def ask(path, dsn):
    rows = list(csv.DictReader(open(path, encoding="ascii")))
    digits = [row["pdq"] for row in rows]
    values = numpy.array([list(bytes.fromhex(value)) for value in digits], dtype=numpy.uint8)
    random.seed(1)
    queries = random.sample(range(len(rows)), min(QUERIES, len(rows)))
    truth = [brute_force(values, values[query]).tolist() for query in queries]
    print(f"{len(rows)} hashes, {len(queries)} queries, {sum(map(len, truth))} rows within {RADIUS} bits, each query among them.\n")
    print("| | found | wrong | ms | |\n|---|---|---|---|---|")
    of_faiss(values, queries, truth)
    of_tree(digits, queries, truth)
    of_database(dsn, digits, queries, truth)


def of_faiss(values, queries, truth):
    import faiss

    faiss.omp_set_num_threads(1)
    # With 16 parts, a row within 31 bits is within one in some part: exact. Its range is exclusive.
    for flips in (1, 0):
        start = time.perf_counter()
        index = faiss.IndexBinaryMultiHash(256, 16, 16)
        index.add(values)
        built = time.perf_counter() - start
        index.nflip = flips
        answers, seconds = timed(lambda query: index.range_search(values[query : query + 1], RADIUS + 1)[2].tolist(), queries)
        report(f"FAISS {faiss.__version__} IndexBinaryMultiHash, 16 by 16 bits, nflip {flips}", answers, truth, seconds, f"built in {built:.1f} s")
    flat = faiss.IndexBinaryFlat(256)
    flat.add(values)
    answers, seconds = timed(lambda query: flat.range_search(values[query : query + 1], RADIUS + 1)[2].tolist(), queries)
    report("FAISS IndexBinaryFlat", answers, truth, seconds)


def of_tree(digits, queries, truth):
    import pybktree

    numbers = [(int(value, 16), row) for row, value in enumerate(digits)]
    start = time.perf_counter()
    tree = pybktree.BKTree(lambda a, b: (a[0] ^ b[0]).bit_count(), numbers)
    built = time.perf_counter() - start
    some = queries[:100]
    answers, seconds = timed(lambda query: [item[1][1] for item in tree.find(numbers[query], RADIUS)], some)
    report("pybktree", answers, truth, seconds, f"built in {built:.1f} s; {len(some)} queries")


def of_database(dsn, digits, queries, truth):
    import psycopg2

    connection = psycopg2.connect(dsn)
    connection.autocommit = True
    db = connection.cursor()
    db.execute("DROP TABLE IF EXISTS pdq_picture; CREATE TABLE pdq_picture (id int PRIMARY KEY, pdq bigint[] NOT NULL, bits bit(256) NOT NULL)")
    lines = io.StringIO("".join(f"{row}\t{value}\n" for row, value in enumerate(digits)))
    db.execute("CREATE TEMP TABLE digits (id int, value text)")
    db.copy_from(lines, "digits")
    db.execute(
        "INSERT INTO pdq_picture SELECT id, fingerprint_parts_from_hex(value), fingerprint_parts_to_bits(fingerprint_parts_from_hex(value))"
        " FROM digits ORDER BY id"
    )
    db.execute("SET jit = off; SET plan_cache_mode = force_generic_plan; SET max_parallel_workers_per_gather = 0")
    start = time.perf_counter()
    for part in range(1, 5):
        db.execute(f"CREATE INDEX ON pdq_picture USING simhash ((pdq[{part}]))")
    built = time.perf_counter() - start
    db.execute("VACUUM ANALYZE pdq_picture")
    db.execute(
        "PREPARE near (text) AS SELECT id FROM pdq_picture, fingerprint_parts_from_hex($1) AS q"
        " WHERE hamming_parts_within(pdq, q, %s)" % RADIUS
    )

    def by_parts(query):
        db.execute("EXECUTE near (%s)", (digits[query],))
        return [row[0] for row in db.fetchall()]

    answers, seconds = timed(by_parts, queries)
    read = 0
    for query in queries[:100]:
        db.execute("EXPLAIN (ANALYZE, FORMAT json) EXECUTE near (%s)", (digits[query],))
        read += rows_read(db.fetchone()[0][0]["Plan"])
    true = sum(len(right) for right in truth[:100])
    report("simhash_dedup, four indexes", answers, truth, seconds, f"built in {built:.1f} s; {read / true:.1f} rows read for each row found")
    db.execute("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'")
    if db.fetchone()[0] == 0:
        print("pgvector is not there.")
        return
    db.execute("CREATE EXTENSION IF NOT EXISTS vector")
    start = time.perf_counter()
    db.execute("CREATE INDEX ON pdq_picture USING hnsw (bits bit_hamming_ops)")
    built = time.perf_counter() - start
    db.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    version = db.fetchone()[0]
    for nearest in (40, 1000):
        db.execute(f"SET hnsw.ef_search = {nearest}")
        db.execute(
            f"PREPARE near{nearest} (bit) AS SELECT id FROM (SELECT id, bits <~> $1 AS distance FROM pdq_picture"
            f" ORDER BY bits <~> $1 LIMIT {nearest}) AS n WHERE distance <= {RADIUS}"
        )

        def by_graph(query):
            db.execute(f"EXECUTE near{nearest} (%s::bit(256))", (format(int(digits[query], 16), "0256b"),))
            return [row[0] for row in db.fetchall()]

        answers, seconds = timed(by_graph, queries)
        report(f"pgvector {version} HNSW, the {nearest} nearest", answers, truth, seconds, f"built in {built:.1f} s")
    db.execute("DROP TABLE pdq_picture")


def rows_read(plan):
    """Rows that the bitmap scan of a plan has read from the table."""
    if plan["Node Type"] == "Bitmap Heap Scan":
        return plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Index Recheck", 0)
    return sum(map(rows_read, plan.get("Plans", [])))


if sys.argv[1] == "hash":
    hashes(sys.argv[2])
else:
    ask(*sys.argv[2:])
