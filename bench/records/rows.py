"""A set of records, read from NAME.csv (id, src, columns) and NAME_truth.csv (id1, id2), and what is the same for all peers:
kinds of columns, words and candidates. measure.py and peers.py use it. An identifier is of one row of both sources."""

import csv
import re
from collections import defaultdict
from itertools import combinations
from pathlib import Path

WORD = re.compile(r"\w+")
# Clusters of more rows than this share nothing that is rare.
RARE = {"cora": 100}
RARE_ELSE = 30


class Rows:
    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.rare = RARE.get(name, RARE_ELSE)
        with open(Path(folder, f"{name}.csv"), newline="") as file:
            reader = csv.reader(file)
            header = next(reader)[2:]
            lines = list(reader)
        self.columns = [re.sub(r"\W", "_", column).lower() or f"column_{i}" for i, column in enumerate(header)]
        self.values = {int(line[0]): line[2:] for line in lines}
        self.source = {int(line[0]): line[1] for line in lines}
        self.two = len(set(self.source.values())) == 2
        with open(Path(folder, f"{name}_truth.csv"), newline="") as file:
            self.truth = {(int(a), int(b)) for a, b in list(csv.reader(file))[1:]}

    def of(self, source):
        return [id for id in self.values if self.source[id] == source]

    def comparable(self, a, b):
        return not self.two or self.source[a] != self.source[b]

    def column(self, name):
        at = self.columns.index(name)
        return {id: values[at] for id, values in self.values.items()}

    def text(self, id):
        return " ".join(filter(None, self.values[id]))

    def kinds(self):
        """column -> number, code (one word, mostly with digits), name (up to three words) or text; empty columns have none."""
        kinds = {}
        for column in self.columns:
            values = list(filter(None, self.column(column).values()))
            if not values:
                continue
            words = sum(len(value.split()) for value in values) / len(values)
            digits = sum(any(map(str.isdigit, value)) for value in values) / len(values)
            if all(map(is_number, values)) and any("." in value for value in values):
                kinds[column] = "number"
            elif words < 1.5 and digits > 0.5:
                kinds[column] = "code"
            else:
                kinds[column] = "name" if words <= 3 else "text"
        return kinds

    def rare_words(self):
        """id -> the words that at most `rare` rows have, and more than one, the rarest first."""
        words = {id: set(WORD.findall(self.text(id).lower())) for id in self.values}
        having = defaultdict(int)
        for own in words.values():
            for word in own:
                having[word] += 1
        return {
            id: sorted((word for word in own if 1 < having[word] <= self.rare), key=lambda word: (having[word], word))
            for id, own in words.items()
        }

    def numbers(self):
        """id -> numbers of models and the like, which an experienced user would take out of a longer text."""
        words = {id: WORD.findall(self.text(id).lower()) for id in self.values}
        return {id: {word for word in own if len(word) > 3 and any(map(str.isdigit, word))} for id, own in words.items()}

    def candidates(self):
        """Pairs of rows that share a rare word."""
        rows = defaultdict(list)
        for id, words in self.rare_words().items():
            for word in words:
                rows[word].append(id)
        return sorted({pair for ids in rows.values() for pair in combinations(sorted(ids), 2) if self.comparable(*pair)})


def is_number(value):
    try:
        float(value)
    except ValueError:
        return False
    return True


def quality(pairs, rows):
    """Precision, recall and F of a set of pairs."""
    right = len(pairs & rows.truth)
    precision, recall = right / max(len(pairs), 1), right / len(rows.truth)
    return precision, recall, 2 * right / (len(pairs) + len(rows.truth))


def best(scores, rows):
    """(precision, recall, F, threshold) at the threshold with the best F. scores: {(a, b): score}."""
    result = (0.0, 0.0, 0.0, 0.0)
    right = found = 0
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    for at, (pair, score) in enumerate(ordered):
        found += 1
        right += pair in rows.truth
        last = at + 1 == len(ordered) or ordered[at + 1][1] < score
        f = 2 * right / (found + len(rows.truth))
        if last and f > result[2]:
            result = (right / found, right / len(rows.truth), f, score)
    return result


def mutual(scores):
    """The pairs of which each row is the other's best, as one_to_one has them."""
    first = {}
    for pair, _ in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        for id in pair:
            first.setdefault(id, pair)
    return {pair: score for pair, score in scores.items() if first[pair[0]] == pair == first[pair[1]]}
