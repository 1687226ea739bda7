"""Hashes of 256 bits of pictures, and the same question about them to others: what is within 31 bits?

    pdq.py hash FOLDER > values.csv                each picture of the folder and seven edited ones of it: PDQ, dHash 16 x 16
    pdq.py ask pdq values.csv 'host=... dbname=...'
    pdq.py all pdq values.csv 'host=... dbname=...'    all pairs, by simhash_pairs and by reading every pair; or dhash, both times

Needs pillow, numpy, pdqhash, imagehash, faiss-cpu, pybktree and psycopg2-binary; the database has simhash_dedup and, if it is to be
asked, pgvector. Pictures below 64 pixels, and PDQ hashes of quality below 50, are left out. Every answer is compared with that of
reading all rows.
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


def as_jpeg(picture, quality):
    from PIL import Image

    encoded = io.BytesIO()
    picture.save(encoded, "JPEG", quality=quality)
    return Image.open(encoded).convert("RGB")


def versions(picture):
    """The picture, and what people make of it."""
    from PIL import ImageEnhance

    width, height = picture.size
    yield picture
    yield as_jpeg(picture.resize((max(width // 2, 8), max(height // 2, 8))), 50)
    yield as_jpeg(picture, 20)
    yield picture.crop((width // 50, height // 50, width - width // 50, height - height // 50))
    yield ImageEnhance.Brightness(picture).enhance(0.8)
    yield ImageEnhance.Contrast(picture).enhance(1.3)
    yield picture.convert("L").convert("RGB")
    yield picture.rotate(1, fillcolor="white")


def of_pdq(picture):
    import pdqhash

    bits, quality = pdqhash.compute(numpy.asarray(picture))
    return numpy.packbits(bits.astype(numpy.uint8)).tobytes().hex() if quality >= 50 else None


def of_dhash(picture):
    import imagehash

    return str(imagehash.dhash(picture, hash_size=16))


def hashes(folder):
    from PIL import Image

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["picture", "version", "pdq", "dhash"])
    for number, path in enumerate(sorted(pathlib.Path(folder).rglob("*.png"))):
        try:
            with Image.open(path) as opened:
                if min(opened.size) < 64 or max(opened.size) > 2000:
                    continue
                # Clip art stands on nothing: on white here.
                layers = opened.convert("RGBA")
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            continue
        picture = Image.new("RGB", layers.size, "white")
        picture.paste(layers, mask=layers.getchannel("A"))
        # Both hashes begin by making the picture small.
        picture.thumbnail((512, 512), reducing_gap=2)
        for version, edited in enumerate(versions(picture)):
            out.writerow([number, version, of_pdq(edited), of_dhash(edited)])


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


def read(kind, path):
    digits = [row[kind] for row in csv.DictReader(open(path, encoding="ascii")) if row[kind]]
    return digits, numpy.array([list(bytes.fromhex(value)) for value in digits], dtype=numpy.uint8)


def ask(kind, path, dsn):
    digits, values = read(kind, path)
    random.seed(1)
    queries = random.sample(range(len(digits)), min(QUERIES, len(digits)))
    truth = [brute_force(values, values[query]).tolist() for query in queries]
    print(f"{len(digits)} hashes, {len(queries)} queries, {sum(map(len, truth))} rows within {RADIUS} bits, each query among them.\n")
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


def filled(dsn, digits):
    """A session of a database with the hashes in the table picture_hash."""
    import psycopg2

    connection = psycopg2.connect(dsn)
    connection.autocommit = True
    db = connection.cursor()
    db.execute("DROP TABLE IF EXISTS picture_hash; CREATE TABLE picture_hash (id int PRIMARY KEY, hash bigint[] NOT NULL, bits bit(256) NOT NULL)")
    lines = io.StringIO("".join(f"{row}\t{value}\n" for row, value in enumerate(digits)))
    db.execute("CREATE TEMP TABLE digits (id int, value text)")
    db.copy_from(lines, "digits")
    db.execute(
        "INSERT INTO picture_hash SELECT id, fingerprint_parts_from_hex(value), ('x' || value)::varbit"
        " FROM digits ORDER BY id"
    )
    return db


def all_pairs(kind, path, dsn):
    digits, values = read(kind, path)
    # How many pairs there are at each distance: a row with all after it, 64 bits at a time.
    words = values.view(numpy.uint64)
    truth = [0] * (RADIUS + 1)
    for row in range(len(words) - 1):
        distances = numpy.bitwise_count(words[row + 1 :] ^ words[row]).sum(axis=1)
        for distance, pairs in enumerate(numpy.bincount(distances[distances <= RADIUS], minlength=RADIUS + 1)):
            truth[distance] += int(pairs)
    db = filled(dsn, digits)
    start = time.perf_counter()
    db.execute("SELECT distance, count(*) FROM simhash_pairs('picture_hash', 'id', 'hash', %s) GROUP BY 1" % RADIUS)
    found = dict(db.fetchall())
    seconds = time.perf_counter() - start
    wrong = [distance for distance in range(RADIUS + 1) if found.get(distance, 0) != truth[distance]]
    print(f"{len(digits)} hashes; pairs within {RADIUS} bits: {sum(truth)} by reading all, {sum(found.values())} by simhash_pairs ({seconds:.2f} s)")
    print(f"distances with another number of pairs: {wrong or 'none'}; odd distances: {sum(truth[1::2])} pairs")
    db.execute("DROP TABLE picture_hash")


def of_database(dsn, digits, queries, truth):
    db = filled(dsn, digits)
    db.execute("SET jit = off; SET plan_cache_mode = force_generic_plan; SET max_parallel_workers_per_gather = 0")
    start = time.perf_counter()
    for part in range(1, 5):
        db.execute(f"CREATE INDEX ON picture_hash USING simhash ((hash[{part}]))")
    built = time.perf_counter() - start
    db.execute("VACUUM ANALYZE picture_hash")
    db.execute(
        "PREPARE near (text) AS SELECT id FROM picture_hash, fingerprint_parts_from_hex($1) AS q"
        " WHERE hamming_parts_within(hash, q, %s)" % RADIUS
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
    db.execute("CREATE INDEX ON picture_hash USING hnsw (bits bit_hamming_ops)")
    built = time.perf_counter() - start
    db.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    version = db.fetchone()[0]
    for nearest in (40, 1000):
        db.execute(f"SET hnsw.ef_search = {nearest}")
        db.execute(
            f"PREPARE near{nearest} (bit) AS SELECT id FROM (SELECT id, bits <~> $1 AS distance FROM picture_hash"
            f" ORDER BY bits <~> $1 LIMIT {nearest}) AS n WHERE distance <= {RADIUS}"
        )

        def by_graph(query):
            db.execute(f"EXECUTE near{nearest} (%s::bit(256))", (format(int(digits[query], 16), "0256b"),))
            return [row[0] for row in db.fetchall()]

        answers, seconds = timed(by_graph, queries)
        report(f"pgvector {version} HNSW, the {nearest} nearest", answers, truth, seconds, f"built in {built:.1f} s")
    db.execute("DROP TABLE picture_hash")


def rows_read(plan):
    """Rows that the bitmap scan of a plan has read from the table."""
    if plan["Node Type"] == "Bitmap Heap Scan":
        return plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Index Recheck", 0)
    return sum(map(rows_read, plan.get("Plans", [])))


{"hash": hashes, "ask": ask, "all": all_pairs}[sys.argv[1]](*sys.argv[2:])
