#!/usr/bin/python3
"""Writes crates/fingerprint/src/text/lists/same/values.txt: words that stand for values, in 74 languages.

    cargo build -p simhash_fingerprint --example forms
    value_table.py FOLDER target/debug/examples/forms >crates/fingerprint/src/text/lists/same/values.txt

FOLDER holds the packages cldr-rbnf, cldr-units-full, cldr-dates-full, cldr-numbers-full and cldr-core of CLDR's JSON, unpacked.
PyICU (Debian: python3-icu) writes numbers by the rules of cldr-rbnf. Each line of the list is a word as `simhash_same` sees it,
without spaces and hyphens, and what it means:

    n20     a number                    o20     an ordinal number
    m6      a month                     d5      a day of the week, from Monday on
    p0 p12  in the morning, afternoon   h       what follows the time of a clock
    t12:00  noon
    u1000g  a unit, in the base unit    cEUR    a currency
    +3      it begins phrases of at most 3 words

What CLDR lacks is in OTHERS below. A numeral that is composed of others in the list is left out.
"""

import glob
import itertools
import json
import re
import subprocess
import sys
import unicodedata

import icu

LANGUAGES = """af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id is it ja ka kk km kn
ko ky lo lt lv mk ml mn mr ms my nb ne nl pa pl pt ro ru si sk sl sq sr sv sw ta te th tr uk ur uz vi zh zh-Hant
en-GB pt-PT""".split()

# The base unit of each unit, and how many of them it is.
UNITS = {
    "mass-milligram": "1mg", "mass-gram": "1000mg", "mass-kilogram": "1000000mg",
    "mass-tonne": "1000000000mg", "mass-pound": "1lb", "mass-ounce": "1oz",
    "volume-milliliter": "1ml", "volume-centiliter": "10ml", "volume-deciliter": "100ml", "volume-liter": "1000ml",
    "volume-cubic-centimeter": "1ml", "volume-cubic-meter": "1m3",
    "volume-tablespoon": "1tbsp", "volume-teaspoon": "1tsp", "volume-cup": "1cup", "volume-gallon": "1gal",
    "length-micrometer": "1um", "length-millimeter": "1000um", "length-centimeter": "10000um",
    "length-meter": "1000000um", "length-kilometer": "1000000000um",
    "length-inch": "1in", "length-foot": "1ft", "length-yard": "1yd", "length-mile": "1mi",
    "area-square-meter": "1m2", "area-square-kilometer": "1000000m2", "area-hectare": "10000m2",
    "duration-millisecond": "1ms", "duration-second": "1000ms", "duration-minute": "60000ms", "duration-hour": "3600000ms",
    "duration-day": "1day", "duration-week": "7day", "duration-month": "1month", "duration-year": "1year",
    "digital-byte": "1B", "digital-kilobyte": "1000B", "digital-megabyte": "1000000B", "digital-gigabyte": "1000000000B",
    "digital-terabyte": "1000000000000B",
    "temperature-celsius": "1C", "temperature-fahrenheit": "1F",
    "electric-volt": "1V", "electric-ampere": "1000mA", "electric-ohm": "1ohm",
    "power-watt": "1W", "power-kilowatt": "1000W",
    "energy-kilowatt-hour": "1kWh", "energy-kilocalorie": "1kcal",
    "frequency-hertz": "1Hz", "frequency-megahertz": "1000000Hz",
    "frequency-gigahertz": "1000000000Hz",
    "speed-kilometer-per-hour": "1kmh", "pressure-bar": "1bar", "concentr-percent": "1pct", "graphics-pixel": "1px",
}

# Words of the longest phrase; of a script without spaces each character is one.
MOST_WORDS = 9

# Bytes of the longest word that is kept.
LONGEST = 40

# Ordinal numbers in words are days of a month, floors, editions.
MOST_ORDINAL = 31

# Numbers of which the last word is that number.
LARGE = {count * unit: unit for unit in (1000, 1000000, 1000000000) for count in (1, 2, 5)}

# Currencies that all languages have a name for; the others have one at home.
NAMED = {"EUR", "USD", "GBP", "JPY", "CNY", "CHF"}

# The languages in whose country a currency is called by its noun alone.
CURRENCIES = {
    "EUR": "", "USD": "en", "GBP": "en", "JPY": "ja", "CNY": "zh", "INR": "hi mr bn ta te gu", "KRW": "ko", "TRY": "tr", "RUB": "ru",
    "UAH": "uk", "PLN": "pl", "CHF": "de fr it", "CZK": "cs", "SEK": "sv", "NOK": "nb", "DKK": "da", "HUF": "hu", "RON": "ro",
    "BGN": "bg", "RSD": "sr", "ILS": "he", "THB": "th", "VND": "vi", "IDR": "id", "MYR": "ms", "PHP": "fil", "BRL": "pt", "MXN": "es",
    "ARS": "", "AUD": "", "CAD": "", "NZD": "", "SGD": "", "HKD": "", "TWD": "", "ZAR": "af", "NGN": "", "KES": "sw", "EGP": "ar",
    "SAR": "", "AED": "", "IRR": "fa", "PKR": "ur", "BDT": "", "LKR": "si", "KZT": "kk", "UZS": "uz", "GEL": "ka", "AMD": "hy",
    "AZN": "az", "ISK": "is",
}

# What CLDR does not have: short forms of numerals, clock words, signs and units that are written beside numbers.
OTHERS = """
n12 dozen Dutzend douzaine docena dúzia dozzina дюжина tuzin düzine dozijn dussin dusin
n1 a an
n2 两 兩 zwo két
n12 tizenkét
n22 huszonkét
n1000 k тыс тис
n10000 만
n100000000 억
n1000000 m mln mio Mio mn млн millions Millionen millones milioni milhões миллионов
n1000000000 b bn mld Mrd млрд
n1 하나 한
n2 둘 두
n3 셋 세
n4 넷 네
n5 다섯
n6 여섯
n7 일곱
n8 여덟
n9 아홉
n10 열
p0 am a.m. 上午 午前 早上 凌晨 오전 π.μ.
p12 pm p.m. 下午 午後 晚上 오후 μ.μ.
h uhr Uhr h hrs uur heures horas ore godz godz. godzina ч час часов часа klo kl kl. o'clock
m9 sept
d2 tues
d4 thur thurs
u1000000mg килограммов kilo kilos кило 公斤 千克
u500000mg 斤
u1000mg gr гр 克 граммов
u1000ml litre litres 升 公升
u1ml cc 毫升 公撮
u1m2 qm sqm кв.м 平方米 平米 ㎡
u1000000um mtr mtrs 公尺
u10000um 公分 厘米
u1000000000um kms 公里 千米
u1tbsp tbsps tbs EL
u1tsp tsps TL
u1000B ko
u1000000B Mo
u1000000000B Go
u1000000000000B To
u1bp bps basis_points Basispunkte
u1C °C C degC grad Grad grados gradi graus graden 度 градусов градуса
u10000mg dag dkg
u1pml ‰
u1F °F
u60000ms mins minute minutes
u3600000ms hr hrs std Std Stdn
u1pct percent pct
cUSD dollar dollars US$ бакс долларов доллара доллар
cGBP pound pounds quid
cEUR € euro euros
cCNY 元 块 人民币 元人民币 人民币元 ¥ RMB CN¥
cJPY 円 ¥ yen
cRUB руб р
cUAH грн
cINR Rs Re ₹
cBRL R$
cCHF Fr. Fr SFr
cTWD NT$ 元
"""

HEAD = """# CLDR {version} (cldr-rbnf, cldr-units, cldr-dates, cldr-numbers), Unicode-3.0, Copyright (c) 2004-2026 Unicode, Inc.
# Made by tools/value_table.py, which says what a line means.
"""

BETWEEN_WORDS = re.compile(r"[\s\-'.,/()·״\"׳]+")

found = {}

# The names of halves of a day that are no longer than two letters.
PERIODS = {"am", "pm", "fm", "em", "vm", "nm", "ip", "ap"}

# The words of the longest phrase that a word begins.
longest = {}

# Where a word of several parts has a space or a hyphen.
gaps = {}


def add(meaning, phrase):
    """Notes that a phrase has a meaning."""
    phrase = phrase.strip()
    if phrase and "\n" not in phrase:
        found.setdefault(phrase, set()).add(meaning)


def read(folder, *path):
    with open("/".join([folder, *path]), encoding="utf-8") as file:
        return json.load(file)


def numerals(folder, language):
    """Numbers in words, by all rule sets of a language."""
    name = f"{folder}/cldr-rbnf/rbnf/{language.replace('-', '_')}-SpelloutRules.txt"
    if not glob.glob(name):
        return
    with open(name, encoding="utf-8") as file:
        rules = icu.RuleBasedNumberFormat(file.read(), icu.Locale(language))
    numbers = [*range(101), *range(200, 1000, 100), *LARGE]
    for i in range(rules.getNumberOfRuleSetNames()):
        rule_set = rules.getRuleSetName(i)
        # Han numerals are read digit by digit.
        if "year" in rule_set or "financial" in rule_set or "%%" in rule_set or language in ("ja", "zh", "zh-Hant"):
            continue
        kind = "o" if "ordinal" in rule_set else "n"
        for number in numbers:
            if kind == "o" and number > MOST_ORDINAL:
                break
            phrase = rules.format(number, rule_set)
            if not re.search(r"\d", phrase):
                add(f"{kind}{number}", phrase)
                words = phrase.split()
                if number in LARGE and kind == "n" and len(words) > 1:
                    add(f"n{LARGE[number]}", words[-1])


def leaves(value):
    if isinstance(value, str):
        yield value
    else:
        for part in value.values():
            yield from leaves(part)


def dates(folder, language):
    calendar = read(folder, "cldr-dates-full/main", language, "ca-gregorian.json")
    calendar = calendar["main"][language]["dates"]["calendars"]["gregorian"]
    days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    for form in ("format", "stand-alone"):
        for width in ("abbreviated", "wide"):
            for number, name in calendar["months"][form][width].items():
                add(f"m{number}", name)
                if language == "he":
                    # In March.
                    add(f"m{number}", "ב" + name)
            for name, day in calendar["days"][form][width].items():
                add(f"d{1 + days.index(name)}", day)
        for width in ("abbreviated", "wide"):
            periods = calendar["dayPeriods"][form][width]
            for period, name in periods.items():
                if period in ("noon", "midnight") and width == "wide":
                    add("t12:00" if period == "noon" else "t00:00", name)
                if period == "am" or period.startswith("morning"):
                    add("p0", name)
                elif period == "pm" or period.startswith(("afternoon", "evening")):
                    add("p12", name)


def is_at_home(name, language):
    """Whether a name of one or two letters is of the language whose short names all others read.

    A letter is the sign of many units: v is a week in Swedish, a year in Finnish and a volt everywhere.
    """
    letters = name.rstrip(".")
    homes = {"LATIN": ["en", "en-GB"], "CYRILLIC": ["ru"]}
    script = unicodedata.name(letters[:1] or " ").split()[0]
    return len(letters) > 2 or language in homes.get(script, [language])


def units(folder, language):
    all_units = read(folder, "cldr-units-full/main", language, "units.json")["main"][language]["units"]
    for width in ("long", "short", "narrow"):
        for unit, meaning in UNITS.items():
            for key, pattern in all_units[width].get(unit, {}).items():
                is_name = key == "displayName" and width == "short"
                if "{0}" in pattern and key != "perUnitPattern" or is_name:
                    name = pattern.replace("{0}", " ").strip()
                    if is_at_home(name, language) and not (name == "m" and unit.startswith("duration")):
                        add(f"u{meaning}", name)


def currencies(folder, language):
    names = read(folder, "cldr-numbers-full/main", language, "currencies.json")["main"][language]["numbers"]["currencies"]
    for code, homes in CURRENCIES.items():
        add(f"c{code}", code)
        for key, name in names.get(code, {}).items():
            is_name = key.startswith("displayName")
            is_home = language in homes.split()
            # A dollar sign without a country may be that of many countries.
            if (name != "$" or code == "USD") and (not is_name or is_home or code in NAMED):
                add(f"c{code}", name)
            if is_name and is_home:
                words = name.split()
                for word in (words[0], words[-1]):
                    add(f"c{code}", word)


def forms(program):
    """What each phrase is for simhash_same, without what stands between words."""
    phrases = list(found)
    lines = "".join(phrase + "\n" for phrase in phrases)
    folded = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout.split("\n")
    meanings = {}
    for phrase, form in zip(phrases, folded):
        key = BETWEEN_WORDS.sub("", form)
        # Letters and signs, at most as long as the cutter's longest look ahead.
        if key and not key[0].isdigit() and len(key.encode()) <= LONGEST:
            meanings.setdefault(key, set()).update(found[phrase])
            parts = [part for part in BETWEEN_WORDS.split(form) if part]
            ends = set(itertools.accumulate(len(part) for part in parts))
            gaps[key] = gaps.get(key, ends) & ends
            first = first_token(form.strip(" .-("))
            if first != key and len(form) > len(first):
                words = len(key) if len(first) == 1 else len(parts)
                longest[first] = max(longest.get(first, 0), min(words, MOST_WORDS))
                meanings.setdefault(first, set())
    return meanings


def first_token(form):
    """The first word of a form, as the cutter takes it."""
    is_letter = lambda c: unicodedata.category(c)[0] in "LMN"
    if re.match("[\u0e00-\u0edf\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]", form) or not is_letter(form[0]):
        return form[0]
    return "".join(itertools.takewhile(is_letter, form))


def is_composed(key, number, meanings):
    """Whether a numeral is that of the tens and that of the rest, one behind the other."""
    number = int(number)
    if not 20 < number < 100 or number % 10 == 0:
        return False
    tens, rest = f"n{number - number % 10}", number % 10
    return any(
        tens in meanings.get(key[:at], ()) and {f"n{rest}", f"o{rest}"} & set(meanings.get(key[at:], ()))
        for at in gaps[key]
    )


def main():
    folder, program = sys.argv[1:]
    for language in LANGUAGES:
        for part in (numerals, dates, units, currencies):
            part(folder, language)
    for line in OTHERS.strip().split("\n"):
        meaning, *words = line.split()
        for word in words:
            add(meaning, word.replace("_", " "))
    version = read(folder, "cldr-core/package.json")["version"]
    meanings = forms(program)
    sys.stdout.write(HEAD.format(version=version))
    composed = {
        (key, meaning)
        for key, all_meanings in meanings.items()
        for meaning in all_meanings
        if meaning[0] in "no" and is_composed(key, meaning[1:], meanings)
    }
    for key in sorted(meanings, key=lambda key: key.encode()):
        if len(key) <= 2 and key.isascii() and key not in PERIODS:
            meanings[key] -= {"p0", "p12"}
        kept = sorted((meaning for meaning in meanings[key] if (key, meaning) not in composed))
        if key in longest:
            kept.append(f"+{longest[key]}")
        if kept:
            print(key, *kept)


if __name__ == "__main__":
    main()
