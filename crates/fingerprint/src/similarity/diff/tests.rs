use super::alignment::{COMPARED, MOST_COMPARED};
use super::*;
use crate::same::differences;
use crate::text::folding::is_dropped;
use crate::text::normal::{Normalize, normal_form};
use proptest::prelude::*;

/// More than any text has.
const ALL: usize = usize::MAX;

/// What differs, and not what decides.
fn marked(a: &str, b: &str, context: usize) -> String {
    diff(a, b, context, &[], &mut || {}).unwrap()
}

/// What differs, and what decides.
fn judged(a: &str, b: &str, context: usize) -> String {
    let differences = differences(a, b, &mut || {}).unwrap();
    diff(a, b, context, &differences, &mut || {}).unwrap()
}

/// The text without white space and without what stands between `begin` and `end`; what stands between the other
/// marks, in another line, since its first character may be composed with the one in front.
fn without(marked: &str, [begin, end]: [&str; 2]) -> String {
    let mut kept = String::new();
    let mut rest = marked;
    while let Some((before, behind)) = rest.split_once(begin) {
        kept.push_str(before);
        rest = behind.split_once(end).unwrap().1;
    }
    kept.push_str(rest);
    for mark in ["[-", "-]", "{+", "+}", "(not compared by words)"] {
        kept = kept.replace(mark, "\n");
    }
    kept
}

/// Without white space and what nobody sees.
fn plain(text: &str) -> String {
    let is_seen = |c: &char| !c.is_whitespace() && !is_dropped(*c);
    text.chars().filter(is_seen).collect()
}

fn normal(text: &str) -> String {
    let mut normal = String::new();
    normal_form(text, Normalize::Fold, &mut normal, &mut || {}).unwrap();
    plain(&normal)
}

/// The second text as it is written, the first in normal form, since equal words are those of the second.
fn assert_gives_back(a: &str, b: &str) {
    let marked = marked(a, b, ALL);
    let (in_a, in_b) = (
        without(&marked, ["{+", "+}"]),
        without(&marked, ["[-", "-]"]),
    );
    assert_eq!(normal(&in_a), normal(a), "{a:?} {b:?} {marked:?}");
    assert_eq!(plain(&in_b), plain(b), "{a:?} {b:?} {marked:?}");
}

#[test]
fn words_that_differ_are_marked_as_git_does() {
    let lamp =
        "The street lamp in front of number 12 has been dark for two weeks, please repair it.";
    let other = lamp.replace("two", "three");
    let found = marked(lamp, &other, 3);
    assert_eq!(
        found,
        "... been dark for [-two-]{+three+} weeks, please ..."
    );
    for (a, b, context, expected) in [
        ("a b c", "a c", 3, "a [-b-] c"),
        ("a c", "a b c", 3, "a {+b+} c"),
        ("b c", "c", 3, "[-b-] c"),
        ("c", "b c", 3, "{+b+} c"),
        ("a b", "a", 3, "a [-b-]"),
        ("a", "a b", 3, "a {+b+}"),
        ("a.", "a,", 3, "a[-.-]{+,+}"),
        ("dark please", "dark, please", 3, "dark{+,+} please"),
        ("foo bar", "foobar", 3, "[-foo bar-]{+foobar+}"),
        ("", "a b", 3, "{+a b+}"),
        ("a b", "", 3, "[-a b-]"),
        ("", "", 3, ""),
        (" ", "\n\t", 3, "\n\t"),
        ("", " ", 0, " "),
        ("a  b", "a\nb", 3, "a\nb"),
        ("x a b c y", "z a b c w", 1, "[-x-]{+z+} a ... c [-y-]{+w+}"),
        ("x a b y", "z a b w", 1, "[-x-]{+z+} a b [-y-]{+w+}"),
        ("x a b y", "z a b w", 0, "[-x-]{+z+} ... [-y-]{+w+}"),
        ("a b x c d", "a b y c d", 0, "... [-x-]{+y+} ..."),
        ("a b c d e", "a b c d e", 2, "a b ... d e"),
        ("a b c", "a b c", 0, "..."),
        (
            "路灯已经坏了两周",
            "路灯已经坏了三周",
            2,
            "... 坏了[-两-]{+三+}周",
        ),
        (
            "路灯已经坏了两周",
            "路灯已经坏了三周",
            0,
            "... [-两-]{+三+} ...",
        ),
    ] {
        assert_eq!(marked(a, b, context), expected, "{a:?} {b:?} {context}");
        assert_gives_back(a, b);
    }
}

#[test]
fn marks_cut_no_character() {
    for (a, b, expected) in [
        ("cafe\u{301}s x", "cafe x", "[-cafe\u{301}s-]{+cafe+} x"),
        ("🇩🇪🇫🇷", "🇩🇪🇮🇹", "🇩🇪[-🇫🇷-]{+🇮🇹+}"),
        ("👩‍👩‍👧 x", "👩‍👩‍👦 x", "[-👩‍👩‍👧-]{+👩‍👩‍👦+} x"),
        ("שלום עולם", "שלום לך", "שלום [-עולם-]{+לך+}"),
        ("한국어 글", "한국어 말", "한국어 [-글-]{+말+}"),
    ] {
        assert_eq!(marked(a, b, 3), expected);
        assert_gives_back(a, b);
    }
}

#[test]
fn words_are_compared_in_normal_form_and_shown_as_they_are_written() {
    for (a, b, expected) in [
        (
            "The Lamp is dark",
            "the LAMP is Broken",
            "the LAMP is [-dark-]{+Broken+}",
        ),
        (
            "un cafe\u{301} noir",
            "un caf\u{e9} noir",
            "un caf\u{e9} noir",
        ),
        (
            "Große Straße 5",
            "GROSSE STRASSE 6",
            "GROSSE STRASSE [-5-]{+6+}",
        ),
        (
            "re\u{ad}pair ze\u{200b}ro it",
            "repair zero them",
            "repair zero [-it-]{+them+}",
        ),
        ("１２ ﬁle", "12 file", "12 file"),
        ("wait… or", "wait... and", "wait... [-or-]{+and+}"),
        // A character is shown as a whole, and words beside it that both have.
        ("½ h", "1⁄3 h", "[-½-]{+1⁄3+} h"),
        ("x 1⁄3 h", "x ½ h", "x [-1⁄3-]{+½+} h"),
        ("℃ x", "°F x", "[-℃-]{+°F+} x"),
        ("‼ x", "!? x", "[-‼-]{+!?+} x"),
        ("a ‼‼ b", "a !!? b", "a !![-‼-]{+?+} b"),
    ] {
        assert_eq!(marked(a, b, ALL), expected, "{a:?} {b:?}");
        assert_gives_back(a, b);
    }
}

#[test]
fn what_decides_is_marked() {
    for (a, b, expected) in [
        (
            "Hello, the fee is 40 euros, payable on Monday.",
            "The fee is 45 euros, payble on Monday.",
            "[-Hello,-] The fee is [!40!]{!45!} euros, [-payable-]{+payble+} on Monday.",
        ),
        (
            "The lamp is safe.",
            "The lamp is not safe.",
            "The lamp is {!not!} safe.",
        ),
        (
            "It costs 1,500.00 EUR",
            "It costs 15,000.0 EUR",
            "It costs [!1,500.00!]{!15,000.0!} EUR",
        ),
        (
            "Keep at -5 degrees",
            "Keep at 5 degrees",
            "Keep at [!-!] 5 degrees",
        ),
        (
            "路灯坏了两周，请修理",
            "路灯坏了三周，请修理。",
            "路灯坏了[!两!]{!三!}周，请修理{+。+}",
        ),
        (
            "Great phone 👍",
            "great phone 👎",
            "great phone [!👍!]{!👎!}",
        ),
        // The normal form has no exponents: words are compared as they are written.
        (
            "About 10⁶ rows",
            "about 106 rows",
            "[!About 10⁶!]{!about 106!} rows",
        ),
        // No number of two in a row stands for the other.
        (
            "of 2 to 3 of 4",
            "of 2 to 5 of 4",
            "of 2 to [!3!]{!5!} of 4",
        ),
        // Not the words alone that change their places.
        (
            "Anna owes Bert money",
            "Bert owes Anna money",
            "{!Bert owes!} Anna [!owes Bert!] money",
        ),
    ] {
        assert_eq!(judged(a, b, ALL), expected, "{a:?} {b:?}");
    }
}

/// As `simhash_same` says, on texts that a person has judged.
#[test]
fn a_mark_says_whether_texts_are_the_same() {
    for row in crate::tests::verdicts::rows() {
        let (a, b) = (&row[3], &row[4]);
        let differences = differences(a, b, &mut || {}).unwrap();
        let decides = differences.iter().any(|difference| difference.decides);
        let marked = diff(a, b, ALL, &differences, &mut || {}).unwrap();
        assert_eq!(
            marked.contains("!]") || marked.contains("{!"),
            decides,
            "{marked}"
        );
    }
}

/// Random numbers that are the same in each run.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    }
}

fn text(words: impl Iterator<Item = usize>) -> String {
    words.map(|n| format!("{n:x} ")).collect()
}

#[test]
fn long_texts_are_compared_by_words_where_they_are_alike() {
    let mut random = numbers(1);
    let words: Vec<usize> = (0..3 * COMPARED).map(|_| random(5000)).collect();
    let mut other = words.clone();
    (0..COMPARED / 8).for_each(|_| other[random(words.len())] = random(5000));
    let (a, b) = (text(words.into_iter()), text(other.into_iter()));
    let found = marked(&a, &b, 0);
    assert!(!found.contains("not compared"));
    assert!(found.matches("[-").count() > COMPARED / 10);
    assert_gives_back(&a, &b);
}

#[test]
fn long_texts_that_are_not_alike_are_soon_there() {
    for different in [2, 50, 100_000] {
        let mut random = numbers(different as u64);
        let a = text((0..2 * COMPARED).map(|_| random(different)));
        let b = text((0..2 * COMPARED).map(|_| random(different)));
        let (mut pauses, start) = (0, std::time::Instant::now());
        let found = diff(&a, &b, 3, &[], &mut || pauses += 1).unwrap();
        // Of so few different words four in a row stand in both texts by chance.
        assert!(different == 50 || found.contains("(not compared by words) [-"));
        assert!(pauses > 20, "{pauses}");
        assert!(start.elapsed().as_secs() < 20);
        assert_gives_back(&a, &b);
    }
}

#[test]
fn long_stretches_share_a_limit() {
    let mut random = numbers(3);
    let mut text = || {
        let stretch = |n: usize, random: &mut dyn FnMut(usize) -> usize| {
            let words = (0..COMPARED / 2 - 4).map(|_| format!("{} ", random(5)));
            words
                .chain((0..4).map(|i| format!("x{n}{i} ")))
                .collect::<String>()
        };
        let stretches = 0..2 * MOST_COMPARED / COMPARED;
        stretches
            .map(|n| stretch(n, &mut random))
            .collect::<String>()
    };
    let (a, b) = (text(), text());
    let found = marked(&a, &b, 0);
    let coarse = found.matches("not compared").count();
    assert_eq!(coarse, MOST_COMPARED / COMPARED);
    assert_gives_back(&a, &b);
}

#[test]
fn only_so_many_words_are_kept() {
    let cut = |most| Words::cut("A b. c", 0..6, Form::Normal, most, &mut || {}).unwrap();
    let words = cut(4).unwrap();
    assert_eq!(words.iter().collect::<Vec<_>>(), ["a", "b", ".", "c"]);
    assert!(cut(3).is_none());
    let a = ".".repeat(MOST_WORDS + 1);
    let found = marked(&format!("x {a} y"), &format!("x {a}, y"), 1);
    assert_eq!(
        found,
        format!("x (not compared by words) [-{a}-]{{+{a},+}} y")
    );
}

#[test]
fn long_white_space_pauses() {
    let (a, mut pauses) = (" ".repeat(1 << 20), 0);
    let b = format!("{a}.");
    diff(&a, &b, 3, &[], &mut || pauses += 1).unwrap();
    assert!(pauses > 16, "{pauses}");
}

proptest! {
    #[test]
    fn both_texts_are_given_back(
        a in "[ab ,。路灯\n\u{301}é🇩🇪\u{200d}👩א]{0,24}", b in "[ab ,。路灯\n\u{301}é🇩🇪\u{200d}👩א]{0,24}",
    ) {
        assert_gives_back(&a, &b);
    }

    #[test]
    fn changed_texts_are_given_back(
        words in prop::collection::vec("[a-c]{1,2}[ ,.]", 0..60),
        changes in prop::collection::vec((any::<prop::sample::Index>(), "[a-d ]{0,3}"), 0..6),
        context in 0usize..4,
    ) {
        let mut other = words.clone();
        for (at, word) in changes.into_iter().filter(|_| !words.is_empty()) {
            other[at.index(words.len())] = word;
        }
        let (a, b) = (words.concat(), other.concat());
        assert_gives_back(&a, &b);
        // With less context the same words are marked.
        let marks = |text: &str| [text.matches("[-").count(), text.matches("{+").count()];
        prop_assert_eq!(marks(&marked(&a, &b, context)), marks(&marked(&a, &b, ALL)));
    }
}
