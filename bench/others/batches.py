"""One question, and 64 questions in one call, to binary indexes of FAISS, for run.sh: arguments are CSV files of the fingerprints
(one a line, in the order of their id from 1), question (fp) and answer (question, id, distance), how many rounds, and a way.
Prints CSV rows way,what,value as in the table batch_measured. The index lives in the process, and uses one thread."""

import resource
import sys
import time

BITS = 64


def flat(faiss):
    return faiss.IndexBinaryFlat(BITS)


def multi_hash(hashes, flips):
    """Finds all within `hashes * (flips + 1) - 1`: the bits that differ cannot be more than `flips` in each hash."""

    def make(faiss):
        index = faiss.IndexBinaryMultiHash(BITS, hashes, BITS // hashes)
        index.nflip = flips
        return index

    return make


WAYS = {"IndexBinaryFlat": flat} | {
    f"IndexBinaryMultiHash, {hashes} hashes, nflip {flips}": multi_hash(hashes, flips)
    for hashes, flips in ((4, 0), (4, 1), (3, 0), (3, 1), (3, 2), (2, 1))
}


def memory():
    """MB of memory that the process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def ask(index, questions, radius, size):
    """All questions, `size` in a call. FAISS finds what is nearer than its radius."""
    found = []
    for first in range(0, len(questions), size):
        limits, _, ids = index.range_search(questions[first : first + size], radius + 1)
        found.append((first, limits, ids))
    return found


def main(name, rounds, fps, questions, answers):
    import faiss

    faiss.omp_set_num_threads(1)
    as_bytes = fps.view("uint8").reshape(-1, BITS // 8)
    asked = questions.view("uint8").reshape(-1, BITS // 8)
    before, started = memory(), time.process_time()
    index = WAYS[name](faiss)
    index.add(as_bytes)
    print(f'"{name}",build,{time.process_time() - started}')
    print(f'"{name}","index, MB",{memory() - before}')
    for radius in 3, 8:
        truth = {(question, id) for question, id, distance in answers.tolist() if distance <= radius}
        for what, size in ("one", 1), ("64", 64):
            found = {
                (int(questions[first + i]), int(id) + 1)
                for first, limits, ids in ask(index, asked, radius, size)
                for i in range(len(limits) - 1)
                for id in ids[limits[i] : limits[i + 1]]
            }
            if not found <= truth:
                sys.exit(f"{name}: {len(found - truth)} wrong answers within {radius}")
            for _ in range(rounds):
                started = time.process_time()
                ask(index, asked, radius, size)
                print(f'"{name}","{what} {radius}",{(time.process_time() - started) / (len(questions) / size)}')
        print(f'"{name}","found {radius}",{len(found) / len(truth)}')


if len(sys.argv) > 1:
    import numpy

    rows, question, answer, rounds, way = sys.argv[1:]
    rows, question = (numpy.fromfile(name, dtype="int64", sep="\n") for name in (rows, question))
    main(way, int(rounds), rows, question, numpy.loadtxt(answer, dtype="int64", delimiter=","))
else:
    from importlib.util import find_spec

    # Each in a process of its own, for its memory.
    for name in WAYS if find_spec("faiss") else ():
        print(name)
