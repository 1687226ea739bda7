#!/usr/bin/env python3
"""Writes crates/fingerprint/src/text/lists/same/sounds_han.txt: the characters of Han by their sound.

A line for each syllable of Mandarin without its tone: the characters that have it as their first or second
reading. Characters that neither GB 2312, Big5 nor Shift JIS knows are left out. The readings are those of
the package pypinyin 0.55.0 (MIT), from pinyin-data 0.15.0, from kMandarin and kHanyuPinyin of Unicode's
Unihan. `pip install pypinyin==0.55.0` first.
"""

import collections
import pathlib
import unicodedata

from pypinyin.pinyin_dict import pinyin_dict

TARGET = pathlib.Path(__file__).parents[1] / 'crates/fingerprint/src/text/lists/same/sounds_han.txt'


def is_common(character):
    for encoding in ('gb2312', 'big5', 'shift_jis'):
        try:
            character.encode(encoding)
            return True
        except UnicodeEncodeError:
            pass
    return False


def toneless(reading):
    letters = unicodedata.normalize('NFD', reading)
    return ''.join(letter for letter in letters if letter.isascii() and letter.isalpha())


by_sound = collections.defaultdict(list)
for code, readings in sorted(pinyin_dict.items()):
    if 0x4E00 <= code <= 0x9FFF and is_common(chr(code)):
        for sound in dict.fromkeys(toneless(reading) for reading in readings.split(',')[:2]):
            by_sound[sound].append(chr(code))
lines = (''.join(characters) for _, characters in sorted(by_sound.items()) if len(characters) > 1)
TARGET.write_text('\n'.join(lines) + '\n', encoding='utf-8')
