"""What measure.py compares with: Splink, recordlinkage, dedupe, rapidfuzz and MinHash LSH, each with the settings of one who
knows it. A peer takes Rows and returns ({(a, b): score}, the pairs at its default). Comparisons are chosen by the kinds of
columns, so that every set is treated in the same way; packages are imported where they are used, for one may be missing."""

import random
import warnings

from rows import WORD

warnings.filterwarnings("ignore")
SEED = 1


def at_least(scores, threshold):
    return {pair for pair, score in scores.items() if score >= threshold}


def frame(rows):
    """A data frame of columns that are not empty, of their types, NULL where nothing is."""
    import pandas

    table = pandas.DataFrame(index=list(rows.values))
    for column, kind in rows.kinds().items():
        values = rows.column(column)
        convert = float if kind == "number" else str.lower
        table[column] = [convert(values[id]) if values[id] else None for id in table.index]
    return table


# ---------------------------------------------------------------- Splink

def splink(rows):
    """Candidates share a rare word. u from random pairs, m by expectation maximisation over rows whose rarest word is the
    same, the prior from the number of true pairs."""
    import duckdb
    import splink.comparison_library as library
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    table, rare = frame(rows), rows.rare_words()
    kinds = rows.kinds()
    table["unique_id"] = table.index
    table["rare_words"] = [rare[id] for id in table.index]
    table["rarest"] = [rare[id][0] if rare[id] else None for id in table.index]
    numbers = rows.numbers()
    table["numbers"] = [sorted(numbers[id]) or None for id in table.index]
    comparisons = [library.ArrayIntersectAtSizes("numbers", [2, 1])] if "text" in kinds.values() else []
    for column, kind in kinds.items():
        if kind == "text":
            table[f"{column}_words"] = [sorted(set(WORD.findall(value))) or None if value else None for value in table[column]]
        comparisons.append(comparison(library, column, kind))
    sources = [table[[rows.source[id] == source for id in table.index]] for source in sorted(set(rows.source.values()))]
    possible = len(sources[0]) * len(sources[1]) if rows.two else len(table) * (len(table) - 1) / 2
    settings = SettingsCreator(
        link_type="link_only" if rows.two else "dedupe_only",
        comparisons=comparisons,
        blocking_rules_to_generate_predictions=[block_on("rare_words", arrays_to_explode=["rare_words"])],
        probability_two_random_records_match=len(rows.truth) / possible,
    )
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    database = DuckDBAPI(connection)
    tables = [database.register(source, dataset_display_name=f"side_{at}") for at, source in enumerate(sources)]
    linker = Linker(tables if rows.two else tables[0], settings)
    linker.training.estimate_u_using_random_sampling(max_pairs=3e5, seed=SEED)
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("rarest"), fix_u_probabilities=True)
    found = linker.inference.predict().as_pandas_dataframe()
    scores = {
        (min(a, b), max(a, b)): weight for a, b, weight in zip(found.unique_id_l, found.unique_id_r, found.match_weight)
    }
    # A probability of 0.9.
    return scores, at_least(scores, 3.1699)


def comparison(library, column, kind):
    """What an experienced user of Splink compares a column of this kind by."""
    if kind == "code":
        return library.DamerauLevenshteinAtThresholds(column, [1, 2]).configure(term_frequency_adjustments=True)
    if kind == "name":
        return library.JaroWinklerAtThresholds(column, [0.92, 0.8]).configure(term_frequency_adjustments=True)
    if kind == "number":
        left, right = f'"{column}_l"', f'"{column}_r"'
        near = f"abs({left} - {right}) <= %s * greatest(abs({left}), abs({right}))"
        conditions = [near % share for share in (0.001, 0.1, 0.3)]
    else:
        left, right = f'"{column}_words_l"', f'"{column}_words_r"'
        share = f"len(list_intersect({left}, {right})) / len(list_distinct(list_concat({left}, {right})))"
        conditions = [f"{share} >= {least}" for least in (0.8, 0.5, 0.2)]
    levels = [{"sql_condition": f"{left} IS NULL OR {right} IS NULL", "is_null_level": True, "label_for_charts": "null"}]
    levels += [{"sql_condition": condition, "label_for_charts": condition} for condition in conditions]
    levels.append({"sql_condition": "ELSE", "label_for_charts": "else"})
    return library.CustomComparison(output_column_name=column, comparison_levels=levels)


# ---------------------------------------------------------------- recordlinkage

def recordlinkage(rows):
    """Candidates share a rare word; the score is the mean of the comparisons. Its default is that of its guide: more than half
    of the comparisons give 0.85."""
    import pandas
    import recordlinkage as package

    table, kinds, numbers = frame(rows), rows.kinds(), rows.numbers()
    pairs = pandas.MultiIndex.from_tuples(rows.candidates())
    compare = package.Compare(n_jobs=1)
    for column, kind in kinds.items():
        if kind == "number":
            compare.numeric(column, column, method="gauss", scale=float(table[column].abs().median()) / 10 or 1, label=column)
        else:
            method = {"code": "damerau_levenshtein", "name": "jarowinkler", "text": "cosine"}[kind]
            compare.string(column, column, method=method, label=column)
    features = compare.compute(pairs, table)
    if "text" in kinds.values():
        features["numbers"] = [float(bool(numbers[a] & numbers[b])) for a, b in pairs]
    scores = dict(zip(map(tuple, features.index), features.mean(axis=1)))
    return scores, set(map(tuple, features.index[(features >= 0.85).mean(axis=1) > 0.5]))


# ---------------------------------------------------------------- dedupe

def dedupe(rows):
    """Trained on a fifth of the true pairs (200 at most) and as many others, half of them candidates; its own blocking."""
    import dedupe as package
    import numpy
    from dedupe import variables

    random.seed(SEED)
    numpy.random.seed(SEED)
    table = frame(rows)
    fields = []
    for column, kind in rows.kinds().items():
        missing = bool(table[column].isna().any())
        if kind == "number":
            fields.append(variables.Price(column, has_missing=missing))
            table[column] = table[column].where(table[column] > 0, None)
        elif kind == "code":
            fields.append(variables.ShortString(column, has_missing=missing))
        else:
            fields.append(variables.String(column, has_missing=missing))
        if kind == "text":
            corpus = [value for value in table[column] if value]
            fields.append(variables.Text(column, corpus=corpus, has_missing=missing))
    table = table.astype(object).where(table.notna(), None)
    data = table.to_dict("index")
    sides = [{id: data[id] for id in rows.of(source)} for source in sorted(set(rows.source.values()))]
    model = (package.RecordLink if rows.two else package.Dedupe)(fields, num_cores=1, in_memory=True)
    model.mark_pairs(labels(rows, data))
    model.prepare_training(*sides)
    model.train()
    found = model.score(model.pairs(*sides))
    scores = {(int(min(ids)), int(max(ids))): float(score) for ids, score in zip(found["pairs"], found["score"])}
    return scores, at_least(scores, 0.5)


def labels(rows, data):
    matches = random.sample(sorted(rows.truth), min(200, len(rows.truth) // 5))
    near = random.sample([pair for pair in rows.candidates() if pair not in rows.truth], len(matches) // 2)
    first, last = rows.of("a"), rows.of("b") if rows.two else rows.of("a")
    far = ((random.choice(first), random.choice(last)) for _ in range(len(matches) - len(near)))
    others = near + [pair for pair in far if pair[0] != pair[1] and pair not in rows.truth]
    return {
        "match": [(data[a], data[b]) for a, b in matches],
        "distinct": [(data[a], data[b]) for a, b in others],
    }


# ---------------------------------------------------------------- rapidfuzz

def rapidfuzz(rows):
    """token_set_ratio of whole rows of which the first columns begin with the same letter."""
    from collections import defaultdict

    from rapidfuzz import fuzz, process

    texts = {id: " ".join(WORD.findall(rows.text(id).lower())) for id in rows.values}
    blocks = defaultdict(lambda: ([], []))
    for id, text in texts.items():
        if text:
            blocks[text[0]][rows.two and rows.source[id] == "b"].append(id)
    scores = {}
    for first, second in blocks.values():
        others = second if rows.two else first
        for begin in range(0, len(first), 500):
            part = first[begin : begin + 500]
            ratios = process.cdist(
                [texts[id] for id in part], [texts[id] for id in others], scorer=fuzz.token_set_ratio, score_cutoff=50
            )
            for i, j in zip(*ratios.nonzero()):
                a, b = part[i], others[j]
                if a < b:
                    scores[a, b] = float(ratios[i, j])
    return scores, at_least(scores, 90)


# ---------------------------------------------------------------- datasketch

def datasketch(rows):
    """Words and 3-grams of whole rows in 42 bands of 3 of 128 permutations; candidates are checked by their Jaccard
    similarity, which is the score."""
    from datasketch import MinHash, MinHashLSH

    lsh = MinHashLSH(num_perm=128, params=(42, 3))
    features, sketches = {}, {}
    for id in rows.values:
        words = WORD.findall(rows.text(id).lower())
        letters = "".join(words)
        features[id] = {*words, *(letters[i : i + 3] for i in range(len(letters) - 2))}
        sketches[id] = MinHash(num_perm=128, seed=SEED)
        sketches[id].update_batch([feature.encode() for feature in features[id]])
        lsh.insert(id, sketches[id])
    scores = {}
    for a, own in features.items():
        for b in lsh.query(sketches[a]):
            if a < b and rows.comparable(a, b):
                scores[a, b] = len(own & features[b]) / max(len(own | features[b]), 1)
    return scores, at_least(scores, 0.5)


PEERS = {
    "Splink": ("splink", splink, "P 0.9"),
    "recordlinkage": ("recordlinkage", recordlinkage, "half"),
    "dedupe": ("dedupe", dedupe, "0.5"),
    "rapidfuzz": ("rapidfuzz", rapidfuzz, "90"),
    "MinHash LSH": ("datasketch", datasketch, "0.5"),
}
