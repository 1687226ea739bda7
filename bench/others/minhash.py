"""MinHash LSH by Python packages, for run.sh: arguments are CSV files of doc (id, body), question (id) and answer
(question, id). Prints CSV rows way,what,value as in the table measured."""

import csv
import resource
import sys
import time

from shingles import is_alike, packages, shingles


def memory():
    """MB that the process has taken at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def measure(name, way, bodies, questions, answers):
    before, started = memory(), time.perf_counter()
    sketches = {}
    for id, body in bodies.items():
        sketches[id] = way.sketch(shingles(body))
        way.insert(id, sketches[id])
    print(f'"{name}","build, s",{time.perf_counter() - started}')
    # All of it lives in the process.
    print(f'"{name}","index, MB",{memory() - before}')
    found = set()
    for round in range(2):
        for id in questions:
            started = time.perf_counter()
            own = shingles(bodies[id])
            for other in way.query(sketches[id]):
                if other != id and is_alike(own, shingles(bodies[other])):
                    found.add((id, other))
            if round:
                print(f'"{name}","question, ms",{1000 * (time.perf_counter() - started)}')
    print(f'"{name}","recall",{len(found & answers) / len(answers)}')


def main(doc, question, answer, wanted):
    csv.field_size_limit(sys.maxsize)
    with open(doc, newline="") as file:
        bodies = {int(id): body for id, body in csv.reader(file)}
    with open(question) as file:
        questions = [int(line) for line in file]
    with open(answer) as file:
        answers = {tuple(map(int, line.split(","))) for line in file}
    measure(wanted, packages()[wanted](), bodies, questions, answers)


if len(sys.argv) > 1:
    main(*sys.argv[1:])
else:
    # Each in a process of its own, for its memory.
    for name in packages():
        print(name)
