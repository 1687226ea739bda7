use super::alignment::{COMPARED, MOST_COMPARED};
use super::*;
use proptest::prelude::*;

/// More than any text has.
const ALL: usize = usize::MAX;

fn marked(a: &str, b: &str, context: usize) -> String {
    diff(a, b, context, &mut || {}).unwrap()
}

/// Without white space and what stands between `begin` and `end`, and without the other marks.
fn without(marked: &str, [begin, end]: [&str; 2]) -> String {
    let mut kept = String::new();
    let mut rest = marked;
    while let Some((before, behind)) = rest.split_once(begin) {
        kept.push_str(before);
        rest = behind.split_once(end).unwrap().1;
    }
    kept.push_str(rest);
    for mark in ["[-", "-]", "{+", "+}", "(not compared by words)"] {
        kept = kept.replace(mark, "");
    }
    kept.split_whitespace().collect()
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect()
}

fn assert_gives_back(a: &str, b: &str) {
    let marked = marked(a, b, ALL);
    assert_eq!(
        without(&marked, ["{+", "+}"]),
        plain(a),
        "{a:?} {b:?} {marked:?}"
    );
    assert_eq!(
        without(&marked, ["[-", "-]"]),
        plain(b),
        "{a:?} {b:?} {marked:?}"
    );
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
        ("cafe\u{301} x", "cafe x", "[-cafe\u{301}-]{+cafe+} x"),
        ("🇩🇪🇫🇷", "🇩🇪🇮🇹", "🇩🇪[-🇫🇷-]{+🇮🇹+}"),
        ("👩‍👩‍👧 x", "👩‍👩‍👦 x", "[-👩‍👩‍👧-]{+👩‍👩‍👦+} x"),
        ("שלום עולם", "שלום לך", "שלום [-עולם-]{+לך+}"),
        ("한국어 글", "한국어 말", "한국어 [-글-]{+말+}"),
    ] {
        assert_eq!(marked(a, b, 3), expected);
        assert_gives_back(a, b);
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
        let found = diff(&a, &b, 3, &mut || pauses += 1).unwrap();
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
    let whole = Words::cut("a b. c", 0..6, 4, &mut || {}).unwrap().unwrap();
    assert_eq!(
        whole.iter("a b. c").collect::<Vec<_>>(),
        ["a", "b", ".", "c"]
    );
    assert!(Words::cut("a b. c", 0..6, 3, &mut || {}).unwrap().is_none());
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
    diff(&a, &b, 3, &mut || pauses += 1).unwrap();
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
