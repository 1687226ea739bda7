#!/usr/bin/env python3
"""Pairs of English words of which one looks like the other with a typing error, for
crates/fingerprint/src/text/lists/same/confused_pairs.txt: both are words of the language, so neither is an error.

    confused_pairs.py WORDS VERDICTS > confused_pairs.txt

WORDS has a word a line: american-english-small of SCOWL 2020.12.07 (Kevin Atkinson; free to use and change with its
notice). VERDICTS is the example of that name of crates/fingerprint, built with an empty list: a pair counts if
simhash_same takes one word for the other. Forms and spellings of one word are left out.
"""
import collections
import json
import re
import subprocess
import sys


def once(word):
    """The word without doubled letters."""
    return re.sub(r"(.)\1+", r"\1", word)


def candidates(words):
    """Words that are a letter apart, and long ones with the same consonants."""
    near = collections.defaultdict(set)
    for word in words:
        near[word].add(word)
        for at in range(len(word)):
            near[word[:at] + word[at + 1:]].add(word)
        if len(word) >= 8:
            near[word[:2], word[-1], re.sub("[aeiouy]", "", once(word))].add(word)
    for group in near.values():
        group = sorted(group)
        for n, word in enumerate(group):
            yield from ((word, other) for other in group[n + 1:])


def are_of_one_word(short, long, words):
    """Whether two words, the shorter one first, are forms or spellings of one."""
    if long in (short + "s", short + "d", short + "es"):
        return True
    if any(re.sub(old, new, short) == re.sub(old, new, long)
           for old, new in (("oes$", "os"), ("(i|y)z", r"\1s"), ("ly$", "le"), ("re(s?)$", r"er\1"), ("our", "or"),
                            ("ogue", "og"), ("ce", "se"), ("mme", "m"), ("ae|oe", "e"))):
        return True
    if short.replace("ll", "l") == long.replace("ll", "l") and (len(short) >= 7 or short.endswith("l")):
        return True
    ending = re.search("(ed|ing|ers?|ors?|es)$", short)
    if once(short) != once(long) or not ending:
        return False
    stem = short[:ending.start()]
    return len(stem) >= (5 if stem in words else 6)


def main():
    words = {line.strip() for line in open(sys.argv[1], encoding="utf-8")}
    words = {word for word in words if re.fullmatch("[a-z]{4,14}", word)}
    pairs = sorted(pair for pair in set(candidates(words))
                   if not are_of_one_word(*sorted(pair, key=len), words))
    text = "we saw that the green {} was here again with seven other things on the long table"
    asked = "\n".join(json.dumps([text.format(word) for word in pair]) for pair in pairs)
    said = subprocess.run([sys.argv[2]], input=asked, capture_output=True, text=True, check=True).stdout
    for pair, line in zip(pairs, said.splitlines(), strict=True):
        if line.startswith("1"):
            print(*pair)


main()
