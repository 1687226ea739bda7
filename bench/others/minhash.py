"""MinHash LSH by the package datasketch, for run.sh: arguments are CSV files of doc (id, body), question (id) and answer
(question, id). Prints CSV rows way,what,value as in the table measured."""

import csv
import resource
import sys
import time
import unicodedata

from datasketch import MinHash, MinHashLSH

WAY = "MinHash LSH in Python"
THRESHOLD = 0.8


def shingles(text):
    """The 5-grams that simhash_jaccard compares: letters and digits of the normal form, nothing between them."""
    text = "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).lower()))
    return {text[i : i + 5] for i in range(max(len(text) - 4, 1))}


def main(doc, question, answer):
    csv.field_size_limit(sys.maxsize)
    with open(doc, newline="") as file:
        bodies = {int(id): body for id, body in csv.reader(file)}
    with open(question) as file:
        questions = [int(line) for line in file]
    with open(answer) as file:
        answers = {tuple(map(int, line.split(","))) for line in file}

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    lsh = MinHashLSH(num_perm=128, params=(16, 8))
    sketches = {}
    for id, body in bodies.items():
        sketch = MinHash(num_perm=128)
        sketch.update_batch([shingle.encode() for shingle in shingles(body)])
        sketches[id] = sketch
        lsh.insert(id, sketch)
    print(f'"{WAY}","build, s",{time.perf_counter() - started}')
    # All of it lives in the process.
    print(f'"{WAY}","index, MB",{(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3}')

    found = set()
    for round in range(2):
        for id in questions:
            started = time.perf_counter()
            own = shingles(bodies[id])
            for other in lsh.query(sketches[id]):
                theirs = shingles(bodies[other])
                if other != id and len(own & theirs) >= THRESHOLD * len(own | theirs):
                    found.add((id, other))
            if round:
                print(f'"{WAY}","question, ms",{1000 * (time.perf_counter() - started)}')
    print(f'"{WAY}","recall",{len(found & answers) / len(answers)}')


main(*sys.argv[1:])
