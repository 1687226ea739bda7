"""Times the Python packages simhash and jieba over files of rows: `peers.py OUT`.
Lines: rows,what,microseconds of processor time a row,megabytes a second."""

import logging
import os
import sys
import time

import jieba
from simhash import Simhash

jieba.setLogLevel(logging.WARNING)
jieba.initialize()

WAYS = [
    ("Python simhash alone", lambda row: Simhash(row)),
    ("Python jieba alone", jieba.lcut),
    ("Python jieba and simhash", lambda row: Simhash(jieba.lcut(row))),
]

for name in ["zh_short", "zh_long", "en_short", "en_long"]:
    path = os.path.join(sys.argv[1], name + ".rows")
    if not os.path.exists(path):
        continue
    with open(path, encoding="utf-8") as file:
        rows = file.read().splitlines()
    # A part of the rows will do: these take long.
    rows = rows[: max(1, len(rows) // 4)]
    size = sum(len(row.encode()) for row in rows)
    for what, call in WAYS:
        start = time.process_time()
        for row in rows:
            call(row)
        seconds = time.process_time() - start
        print(f"{name},{what},{1e6 * seconds / len(rows):.3f},{size / 1e6 / seconds:.3f}")
