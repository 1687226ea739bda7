"""What the Python ways of run.sh share: the sets that simhash_jaccard compares, and sketches of them by the packages datasketch
and rensa, each with 128 permutations in 16 bands of 8."""

import unicodedata

THRESHOLD = 0.8
PERMUTATIONS, BANDS = 128, 16


def shingles(text):
    """The 5-grams that simhash_jaccard compares: letters and digits of the normal form, nothing between them."""
    text = "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).lower()))
    return {text[i : i + 5] for i in range(max(len(text) - 4, 1))}


def is_alike(a, b):
    return len(a & b) >= THRESHOLD * len(a | b)


class Datasketch:
    def __init__(self):
        from datasketch import MinHashLSH

        self.lsh = MinHashLSH(num_perm=PERMUTATIONS, params=(BANDS, PERMUTATIONS // BANDS))

    def sketch(self, own):
        from datasketch import MinHash

        sketch = MinHash(num_perm=PERMUTATIONS)
        sketch.update_batch([shingle.encode() for shingle in own])
        return sketch

    def insert(self, id, sketch):
        self.lsh.insert(id, sketch)

    def query(self, sketch):
        return self.lsh.query(sketch)


class Rensa:
    def __init__(self):
        from rensa import RMinHashLSH

        self.lsh = RMinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS, num_bands=BANDS)

    def sketch(self, own):
        from rensa import RMinHash

        sketch = RMinHash(num_perm=PERMUTATIONS, seed=1)
        sketch.update(list(own))
        return sketch

    def insert(self, id, sketch):
        self.lsh.insert(id, sketch)

    def query(self, sketch):
        return self.lsh.query(sketch)


def packages():
    """Name and way of each package that this interpreter has."""
    from importlib.util import find_spec

    ways = {"datasketch": Datasketch, "rensa": Rensa}
    return {f"MinHash LSH in Python, {name}": way for name, way in ways.items() if find_spec(name)}
