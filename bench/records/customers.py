"""Writes the set customers in the layout of rows.py, for run.sh: `customers.py OUT ROWS`. Customers of an English and a German
shop: typing errors, nicknames, umlauts written out, telephone numbers as people write them, moves, marriages, households of one
address, children with a parent's name, and columns that were left empty. Nothing is of real people; each run has the same rows."""

import csv
import random
import sys
from datetime import date, timedelta
from itertools import accumulate, combinations
from pathlib import Path

NICKNAMES = {
    "en": {
        "Margaret": "Maggie", "Elizabeth": "Liz", "William": "Bill", "Robert": "Bob", "Richard": "Dick", "James": "Jim",
        "Katherine": "Kate", "Michael": "Mike", "Thomas": "Tom", "Edward": "Ted", "Patricia": "Pat", "Jennifer": "Jenny",
        "Christopher": "Chris", "Daniel": "Dan", "Matthew": "Matt", "Andrew": "Andy", "Joseph": "Joe", "Samuel": "Sam",
        "Benjamin": "Ben", "Victoria": "Vicky", "Susan": "Sue", "Deborah": "Debbie", "Rebecca": "Becky", "Anthony": "Tony",
    },
    "de": {
        "Johannes": "Hannes", "Katharina": "Kathi", "Friedrich": "Fritz", "Wilhelm": "Willi", "Elisabeth": "Lisa",
        "Maximilian": "Max", "Alexander": "Alex", "Josef": "Sepp", "Margarete": "Grete", "Susanne": "Susi", "Michael": "Michi",
        "Stefanie": "Steffi", "Heinrich": "Heinz", "Ulrich": "Uli", "Andreas": "Andi", "Barbara": "Bärbel",
    },
}
GIVEN = {
    "en": """Mary John Linda David Sarah Paul Karen Mark Nancy George Lisa Kenneth Emily Steven Amy Brian Laura Kevin Helen
        Ronald Anna Timothy Ruth Jason Alice Gary Julia Eric Grace Stephen Amber Scott Olivia Frank Rachel Raymond Hannah Gregory
        Janet Patrick Diane Dennis Carol Jerry Heather Tyler Gloria Aaron Evelyn Henry Joan Peter Megan Adam Jean Zachary Lauren
        Nathan Judith Kyle Ethel Oliver Phoebe Harry Isla Callum Niamh Owen Freya Rhys Imogen Hugo Beatrice""".split(),
    "de": """Anna Peter Ursula Thomas Monika Hans Renate Klaus Helga Jürgen Karin Günther Brigitte Dieter Ingrid Manfred Erika
        Uwe Gisela Werner Petra Horst Sabine Frank Birgit Bernd Claudia Jörg Andrea Matthias Gabriele Martin Heike Ralf Silke
        Torsten Anja Sven Sonja Kai Nicole Jan Tanja Björn Melanie Markus Christine Florian Julia Tobias Sandra Jonas Lena Lukas
        Laura Felix Leonie Niklas Hannah Moritz Käthe Götz Änne Sören Heidrun Wolfgang Jörn Elke Volker""".split(),
}
SURNAMES = {
    "en": """Smith Jones Taylor Brown Williams Wilson Johnson Davies Robinson Wright Thompson Evans Walker White Roberts Green
        Hall Wood Jackson Clarke Patel Khan Lewis James Phillips Mason Mitchell Rose Davis Rodgers Cox Alexander""".split(),
    "de": """Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer Richter Klein Wolf
        Schröder Neumann Schwarz Zimmermann Braun Krüger Hofmann Hartmann Lange Werner Krause Lehmann Köhler Maier""".split(),
}
# Parts of the other surnames, of streets and of towns.
PARTS = {
    "en": ("""Thorn Ash Brad Carl Dun Elm Far Gold Hart Ing Kirk Lang Mar Nor Oak Pem Quin Red Stan Tal Under Wal Wex York Haz
        Birch Black Cob Cran Den Eg Fair Gar Hol Ken""".split(),
           "bury ford ley ton well wood worth by field ham croft dale gate man ridge shaw stone wick".split()),
    "de": ("""Stein Wald Berg Eich Linden Rosen Gold Silber Eisen Kirch Alt Neu Ober Unter Hoch Tief Lang Kurz Breit Stark Grün
        Birken Buchen Hirsch Falken Adler Bären Schön Kalten Warm Sand Moor""".split(),
           "bach berger hauser mann meier müller hofer brunner feld huber maier stätter wälder linger kamp born rath ing".split()),
}
ENDINGS = {"en": ("", "s", "ing", "ey", "more"), "de": ("", "s", "en", "au", "heim")}
ROADS = {"en": ("Road", "Street", "Lane", "Avenue", "Close", "Drive", "Way"), "de": ("straße", "weg", "gasse", "allee", "platz")}
SHORT_ROADS = {"Road": "Rd", "Street": "St", "Lane": "Ln", "Avenue": "Ave", "Drive": "Dr", "straße": "str."}
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})
KEYS = {"a": "sq", "e": "wr", "i": "uo", "o": "ip", "n": "mb", "r": "et", "s": "ad", "t": "ry", "l": "k", "h": "gj", "m": "n"}
HEAD = ["given_name", "surname", "born", "phone", "email", "street", "postcode", "town"]
EMPTY = {"born": 0.06, "phone": 0.15, "email": 0.2, "street": 0.04, "postcode": 0.05, "town": 0.03, "given_name": 0.01}

random.seed(57)
chance = lambda share: random.random() < share


class Country:
    """Names and places, the first ones far more frequent than the last."""

    def __init__(self, language):
        self.language = language
        starts, ends = PARTS[language]
        compounds = [start + end + last for start in starts for end in ends for last in ENDINGS[language]]
        random.shuffle(compounds)
        self.given = self.common([*NICKNAMES[language], *GIVEN[language]], 0.5)
        self.surnames = self.common([*SURNAMES[language], *compounds], 0.6)
        self.roads = self.common(compounds[::-1], 0.4)
        towns = random.sample(compounds, 200)
        self.towns = self.common([(town, self.postal_area()) for town in towns], 0.7)

    def common(self, values, exponent):
        values = list(values)
        return values, list(accumulate(1 / (place + 1) ** exponent for place in range(len(values))))

    def draw(self, kind):
        values, weights = getattr(self, kind)
        return random.choices(values, cum_weights=weights)[0]

    def postal_area(self):
        if self.language == "de":
            return f"{random.randrange(10, 99)}{random.randrange(10)}"
        return "".join(random.choices("ABCDEGHLMNPRSTW", k=2))

    def place(self):
        town, area = self.draw("towns")
        number, road, kind = random.randrange(1, 140), self.draw("roads"), random.choice(ROADS[self.language])
        if self.language == "de":
            return {"street": f"{road}{kind} {number}", "postcode": f"{area}{random.randrange(100):02}", "town": town}
        code = f"{area}{random.randrange(1, 20)} {random.randrange(1, 10)}{random.choice('ABDEHJLN')}{random.choice('PQRTUWXYZ')}"
        return {"street": f"{number} {road} {kind}", "postcode": code, "town": town}

    def number(self):
        area = random.randrange(1200, 1990) if self.language == "en" else random.randrange(200, 990)
        return f"0{area} {random.randrange(100000, 999999)}"


def mail(person):
    name = f"{person['given_name']}.{person['surname']}".translate(UMLAUTS).lower()
    styles = [name, name.replace(".", ""), f"{name[0]}{name.split('.')[1]}{random.randrange(10, 99)}",
              f"{name.split('.')[0]}{random.randrange(1, 9999)}"]
    return f"{random.choice(styles)}@{random.choice(('gmail.com', 'gmx.de', 'web.de', 'outlook.com', 'yahoo.co.uk', 'example.org'))}"


def household(country):
    """The people of one address."""
    place, surname, phone = country.place(), country.draw("surnames"), country.number()
    people = []
    for at in range(random.choices((1, 2, 3, 4), (85, 11, 3, 1))[0]):
        years = 25 * 365 if at >= 2 else 0
        born = date(1935, 1, 1) + timedelta(random.randrange(35 * 365) + years)
        person = {"given_name": country.draw("given"), "surname": surname if chance(0.9) else country.draw("surnames"),
                  "born": born.isoformat(), "phone": phone if chance(0.6) else country.number(), **place}
        if at >= 2 and chance(0.06):
            person["given_name"] = people[0]["given_name"]
        person["email"] = mail(person)
        people.append(person)
    return people


def misspelt(value):
    at = random.randrange(len(value))
    return random.choice((
        value[:at] + value[at + 1:],
        value[:at] + value[at] + value[at:],
        value[:at] + value[at:at + 2][::-1] + value[at + 2:],
        value[:at] + random.choice(KEYS.get(value[at].lower(), "x")) + value[at + 1:],
    ))


def another_date(born):
    year, month, day = born.split("-")
    if int(day) <= 12 and chance(0.4):
        return f"{year}-{day}-{month}"
    if chance(0.5):
        return f"{year}-{month}-{random.randrange(1, 29):02}"
    return f"{int(year) + random.choice((-10, -1, 1, 10))}-{month}-{day}"


def written(number, language):
    area, rest = number.split(" ")
    country = "+44" if language == "en" else "+49"
    return random.choice((number, f"{area}/{rest}", f"{country} {area[1:]} {rest}", f"({area}) {rest[:3]} {rest[3:]}", area + rest))


def copy(person, country):
    """The same person as written another time."""
    row = dict(person)
    if chance(0.06):
        row.update(country.place())
        if chance(0.5):
            row["phone"] = country.number()
    if chance(0.02):
        row["surname"] = country.draw("surnames")
    if chance(0.1):
        row["phone"] = country.number()
    if chance(0.1):
        row["email"] = mail(row)
    return row


def typed(row, country):
    """A row with what goes wrong at the keyboard."""
    row = dict(row)
    if chance(0.15):
        row["given_name"] = NICKNAMES[country.language].get(row["given_name"], row["given_name"])
    if chance(0.04):
        row["given_name"] = f"{row['given_name'][0]}."
    row["phone"] = written(row["phone"], country.language)
    if chance(0.2):
        row["street"] = next((row["street"].replace(*kind) for kind in SHORT_ROADS.items() if kind[0] in row["street"]), row["street"])
    if chance(0.03):
        row["born"] = another_date(row["born"])
    for column in ("given_name", "surname", "street", "town"):
        if chance(0.15):
            row[column] = row[column].translate(UMLAUTS)
        if chance(0.06):
            row[column] = misspelt(row[column])
        if chance(0.05):
            row[column] = row[column].upper()
    for column in ("phone", "email", "postcode"):
        if chance(0.03):
            row[column] = misspelt(row[column])
    if chance(0.01):
        row["given_name"], row["surname"] = row["surname"], row["given_name"]
    for column, share in EMPTY.items():
        if chance(share):
            row[column] = ""
    return row


def main(out, rows):
    lines, people = [], 0
    countries = [Country("en"), Country("de")]
    while len(lines) < int(rows):
        country = random.choice(countries)
        for person in household(country):
            people += 1
            for _ in range(random.choices((1, 2, 3, 4), (60, 27, 9, 4))[0]):
                lines.append((people, typed(copy(person, country), country)))
    random.shuffle(lines)
    of_person = {}
    with open(Path(out, "customers.csv"), "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "src", *HEAD])
        for id, (person, row) in enumerate(lines, 1):
            of_person.setdefault(person, []).append(id)
            writer.writerow([id, "a", *(row[column] for column in HEAD)])
    with open(Path(out, "customers_truth.csv"), "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id1", "id2"])
        writer.writerows(pair for ids in of_person.values() for pair in combinations(ids, 2))


if __name__ == "__main__":
    main(*sys.argv[1:])
