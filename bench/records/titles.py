"""Recall of planted copies of titles by simhash_record_pairs and by pg_trgm's GIN index, for run.sh: `titles.py FOLDER OUT`
measures the sets titles_* of FOLDER (id, src, title, origin: the title it was made of) and writes OUT/titles.md. Thresholds
are the least at which 97 of 100 pairs are right, so hindsight. Pairs of titles whose originals have a similarity of GREY
by pg_trgm are like each other by themselves, and count neither as right nor as wrong; this favours pg_trgm."""

import csv
import sys
from pathlib import Path

from server import psql, server


PRECISION = 0.97
# Chinese titles: originals that share so much, and the lengths (in letters, or in words) at which tables are split.
GREY = {True: 0.4, False: 0.5}
SHORT = {True: 10, False: 4}

TRGM = """SELECT x.id, y.id, similarity(x.title, y.title) FROM title AS x JOIN title AS y ON x.title % y.title AND x.id < y.id
	WHERE similarity(x.title, y.title) >= {threshold}"""
OURS = "SELECT a, b, similarity FROM simhash_record_pairs('title', 'id', {threshold}, '{{title}}', {options})"
# What is found, with what is known of each pair.
JUDGED = """SELECT s, y.origin = x.id, {length} FROM ({pairs}) AS p (a, b, s) JOIN title AS x ON x.id = a JOIN title AS y ON y.id = b
	JOIN title AS ox ON ox.id = x.origin JOIN title AS oy ON oy.id = y.origin
	WHERE ox.id = oy.id OR similarity(ox.title, oy.title) < {grey} ORDER BY s DESC"""


def load(file):
    """The table `title` with the index; whether the titles are Chinese."""
    psql(
        "DROP TABLE IF EXISTS title",
        "CREATE TABLE title (id int PRIMARY KEY, src text, title text, origin int)",
        f"\\copy title FROM '{file.resolve()}' CSV HEADER",
        "CREATE INDEX ON title USING gin (title gin_trgm_ops)",
        "ANALYZE title",
    )
    with open(file, newline="") as lines:
        titles = [line["title"] for line in csv.DictReader(lines)]
    return sum("\u4e00" <= title[0] <= "\u9fff" for title in titles) > len(titles) / 2


def measure(pairs, chinese, *settings):
    """(recall, that of short titles, threshold) with PRECISION, of a query with {threshold}; and its processor time there."""
    length = "length(ox.title)" if chinese else "cardinality(string_to_array(ox.title, ' '))"
    short = f"{length} <= {SHORT[chinese]}"
    truth, _, _ = server(f"SELECT {short} FROM title AS ox JOIN title AS y ON y.origin = ox.id AND y.id > ox.id")
    judged, _, _ = server(JUDGED.format(length=short, pairs=pairs.format(threshold=0.3), grey=GREY[chinese]), *settings)
    right = short_right = 0
    result = (0, 0, 1.0)
    for found, (score, is_right, is_short) in enumerate(judged, 1):
        right += is_right == "t"
        short_right += is_right == "t" and is_short == "t"
        if right >= PRECISION * found and (found == len(judged) or judged[found][0] < score):
            result = (right, short_right, float(score))
    threshold = result[2]
    _, seconds, memory = server(pairs.format(threshold=threshold), *settings, f"SET pg_trgm.similarity_threshold = {threshold}")
    return result[0] / len(truth), result[1] / max(sum(row == ["t"] for row in truth), 1), threshold, seconds, memory


def main(folder, out):
    files = [file for file in sorted(Path(folder).glob("titles_*.csv")) if not file.stem.endswith("_truth")]
    if not files:
        print("   no sets of titles: left out")
        return
    lines = ["| titles | way | recall | of short ones | threshold | s | MB |", "|---|---|---|---|---|---|---|"]
    try:
        psql("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except RuntimeError:
        print("   the server has no pg_trgm: left out")
        return
    for file in files:
        chinese = load(file)
        options = [f"ngram => {n}, rare => {rare}" for n in ((1, 2) if chinese else (3,)) for rare in (30, 100)]
        ways = [(option, OURS.replace("{options}", f"rarity => 0, {option}")) for option in options]
        for way, query in [*ways, ("pg_trgm", TRGM)]:
            recall, short, threshold, seconds, memory = measure(query, chinese)
            name = file.stem.removeprefix("titles_")
            lines.append(f"| {name} | {way} | {recall:.3f} | {short:.3f} | {threshold:.2f} | {seconds:.1f} | {memory:.0f} |")
            print(lines[-1], flush=True)
    Path(out, "titles.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
