"""Verdicts on pairs of texts beside what people say: simhash_same, the advice of the docs, and similarities of other tools, each
with the threshold that is best on these very pairs. Called by verdicts.sh; prints tables by method and by kind."""
import csv, difflib, json, math, subprocess, sys, unicodedata
from collections import Counter

try:
    from rapidfuzz import fuzz
except ImportError:
    fuzz = None


def plain(text):
    return unicodedata.normalize('NFKC', unicodedata.normalize('NFKC', text).casefold())


def letters(text):
    return ''.join(c for c in plain(text) if c.isalnum())


def jaccard(x, y):
    return len(x & y) / len(x | y) if x | y else 0.0


def ngrams(n):
    def grams(text):
        text = letters(text)
        return {text[i:i + n] for i in range(max(1, len(text) - n + 1))}
    return lambda a, b: jaccard(grams(a), grams(b))


def trigrams(a, b):
    def grams(text):
        words = ''.join(c if c.isalnum() else ' ' for c in text.lower()).split()
        return {padded[i:i + 3] for padded in ('  ' + word + ' ' for word in words) for i in range(len(padded) - 2)}
    return jaccard(grams(a), grams(b))


def tf_idf(texts):
    def words(text):
        return ''.join(c if c.isalnum() else ' ' for c in plain(text)).split()
    rows = Counter(word for text in texts for word in set(words(text)))

    def vector(text):
        return {word: n * (1 + math.log(len(texts) / rows[word])) for word, n in Counter(words(text)).items()}

    def cosine(a, b):
        x, y = vector(a), vector(b)
        length = math.sqrt(sum(v * v for v in x.values()) * sum(v * v for v in y.values()))
        return sum(v * y.get(word, 0) for word, v in x.items()) / length if length else 0.0
    return cosine


def best(scores, labels):
    """The verdicts at the threshold with which most are right."""
    def right(threshold):
        return sum((score >= threshold) == label for score, label in zip(scores, labels))
    threshold = max(sorted(set(scores)) + [2.0 * max(scores) + 1], key=right)
    return [score >= threshold for score in scores], threshold


def share(said, labels, only=None):
    chosen = [s == l for s, l in zip(said, labels) if only is None or l == only]
    return 100 * sum(chosen) / len(chosen)


def main(path, program):
    with open(path, encoding='utf-8', newline='') as file:
        rows = [row for row in csv.DictReader(file) if row['strict'] == 'true']
    labels = [row['same'] == 'true' for row in rows]
    pairs = [(row['a'], row['b']) for row in rows]
    lines = ''.join(json.dumps(pair) + '\n' for pair in pairs)
    out = [line.split() for line in subprocess.run([program], input=lines, text=True, check=True, stdout=subprocess.PIPE).stdout.splitlines()]
    methods = {'`simhash_same`': ([line[0] == '1' for line in out], None),
               'within 12 bits and `simhash_jaccard` of 0.8': ([int(line[1]) <= 12 and float(line[2]) >= 0.8 for line in out], None),
               'within 12 bits and `simhash_same`': ([int(line[1]) <= 12 and line[0] == '1' for line in out], None)}
    peers = {f'Jaccard of {n}-grams': ngrams(n) for n in (2, 3, 5)}
    peers['difflib `ratio`'] = lambda a, b: difflib.SequenceMatcher(None, plain(a), plain(b), autojunk=False).ratio()
    peers['trigrams as pg_trgm makes them'] = trigrams
    peers['cosine of words by TF-IDF'] = tf_idf([text for pair in pairs for text in pair])
    if fuzz:
        for name in ('ratio', 'partial_ratio', 'token_sort_ratio', 'token_set_ratio', 'WRatio'):
            peers[f'rapidfuzz `{name}`'] = lambda a, b, f=getattr(fuzz, name): f(plain(a), plain(b))
    else:
        print('rapidfuzz is not installed and left out', file=sys.stderr)
    for name, peer in peers.items():
        methods[name] = best([peer(a, b) for a, b in pairs], labels)
    print('| method | threshold | right, % | same found, % | different told apart, % |\n|---|---:|---:|---:|---:|')
    for name, (said, threshold) in methods.items():
        shown = '' if threshold is None else f'{threshold:.2f}'
        print(f'| {name} | {shown} | {share(said, labels):.1f} | {share(said, labels, True):.1f} | {share(said, labels, False):.1f} |')
    by_kind(rows, labels, methods)


def by_kind(rows, labels, methods):
    names = list(methods)[:2]
    best_peer = max(list(methods)[3:], key=lambda name: share(methods[name][0], labels))
    names.append(best_peer)
    print(f'\n| kind | a person says | pairs | {" | ".join(names)} |\n|---|---|---:|---:|---:|---:|')
    kinds = sorted({(row['same'] == 'false', row['kind']) for row in rows})
    for different, kind in kinds:
        chosen = [i for i, row in enumerate(rows) if row['kind'] == kind and labels[i] != different]
        right = [str(sum(methods[name][0][i] == labels[i] for i in chosen)) for name in names]
        print(f'| {kind} | {"different" if different else "same"} | {len(chosen)} | {" | ".join(right)} |')


main(*sys.argv[1:])
