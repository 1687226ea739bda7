"""Which texts of a corpus have an earlier one with a Jaccard similarity of at least 0.8? For run.sh. Arguments: a CSV file of
texts (id, body) in their order, and
  truth             prints id,yes or no of SAMPLE texts, by comparing with all earlier ones that could be alike
  WAY TRUTH.csv     looks each text up in MinHash LSH, checks what it finds, and stores it; prints CSV rows way,what,value."""

import csv
import os
import random
import resource
import sys
import time
from collections import Counter, defaultdict

from shingles import THRESHOLD, is_alike, packages, shingles


def texts(path):
    csv.field_size_limit(sys.maxsize)
    with open(path, newline="") as file:
        for id, body in csv.reader(file):
            yield int(id), body


def truth(path):
    """Of two sets so alike, one holds an element of every subset of the other with more than a fifth of its elements. So the
    rarest ones of each text of the sample find it."""
    ids = [id for id, _ in texts(path)]
    sample = set(random.Random(1).sample(ids, min(int(os.environ.get("SAMPLE", 5000)), len(ids))))
    drawn = {id: shingles(body) for id, body in texts(path) if id in sample}
    frequency = Counter(shingle for own in drawn.values() for shingle in own)
    rare = defaultdict(list)
    for id, own in drawn.items():
        needed = len(own) - int(THRESHOLD * len(own)) + 1
        for shingle in sorted(own, key=frequency.__getitem__)[:needed]:
            rare[shingle].append(id)
    waiting, yes = set(drawn), set()
    for id, body in texts(path):
        waiting.discard(id)
        own = shingles(body)
        for other in {other for shingle in own & rare.keys() for other in rare[shingle]} & waiting:
            if is_alike(own, drawn[other]):
                yes.add(other)
                waiting.discard(other)
    for id in sample:
        print(f"{id},{id in yes}")


def measure(path, name, truth_path):
    with open(truth_path) as file:
        true = {int(id) for id, yes in csv.reader(file) if yes == "True"}
    way, kept, marked = packages()[name](), {}, set()
    before = time.process_time()
    for id, body in texts(path):
        own = shingles(body)
        sketch = way.sketch(own)
        # Texts are kept, not sets: these would take ten times the memory.
        if any(is_alike(own, shingles(kept[other])) for other in way.query(sketch)):
            marked.add(id)
        way.insert(id, sketch)
        kept[id] = body
    print(f'"{name}","corpus, s",{time.process_time() - before}')
    print(f'"{name}","corpus, marked",{len(marked)}')
    print(f'"{name}","corpus, MB",{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}')
    print(f'"{name}","corpus, recall",{len(true & marked) / len(true)}')


if sys.argv[2] == "truth":
    truth(sys.argv[1])
else:
    measure(*sys.argv[1:])
