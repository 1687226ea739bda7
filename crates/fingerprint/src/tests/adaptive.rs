//! The default preset: short texts by their pairs of letters, long ones as preset `shingles`, rows
//! as one text.

use super::*;
use crate::hash::mix;

fn text(text: &str) -> Option<u64> {
    of_text(text, "adaptive", Width::W64).unwrap()
}

fn distance(a: &str, b: &str) -> u32 {
    (text(a).unwrap() ^ text(b).unwrap()).count_ones()
}

/// Fixed: a change of any of them changes stored fingerprints.
#[test]
fn golden_values() {
    let long = "The street lamp in front of number 12 is dark. ".repeat(5);
    let found = [
        "a",
        "The street lamp is dark, please repair it",
        "路灯坏了，请尽快修理。谢谢",
        "가로등이 꺼졌어요 12번",
        "!?",
        long.as_str(),
    ]
    .map(|one| text(one).unwrap());
    assert_eq!(found.map(|value| format!("{value:016x}")), GOLDEN,);
}

const GOLDEN: [&str; 6] = [
    "fec3fe264a6f69c0",
    "ce2c6c21b1a1e416",
    "47d41590fb09e9d0",
    "81a2a5d3f0632052",
    "7d8be3cebefc59f6",
    "c18f68a26620e4a0",
];

/// The size of a text without spaces, in quarters of a letter, from which each bit is drawn from
/// n-grams, by the formula of the head of `letter_pairs`.
fn size_of_bit(bit: i32) -> usize {
    let rank = 4 * ((5 * (bit % 16)) % 16) + bit / 16;
    (320.0 * 5f64.powf((f64::from(rank) + 0.5) / 64.0)).round() as usize
}

/// The bits by the definition: each of the least hash in its bin, an empty bin that of the first
/// other one of its order (as for shingles, of which one feature fills all).
fn by_definition(letters: &str) -> u64 {
    let shingles = of_text(letters, "shingles", Width::W64).unwrap().unwrap();
    let mut pairs = std::collections::BTreeSet::new();
    let padded: Vec<char> = format!(" {letters} ").chars().collect();
    for pair in padded.windows(2) {
        let mut sum = 0x1c_u64;
        for byte in pair.iter().collect::<String>().bytes() {
            sum = sum.wrapping_mul(131).wrapping_add(u64::from(byte));
        }
        pairs.insert(mix(sum));
    }
    let drawn = crate::minwise::one_permutation::bits(pairs.into_iter().map(|hash| [hash]))[0];
    let size = 4 * letters.chars().filter(|c| *c != ' ').count();
    (0..64).fold(0, |bits, bit| {
        let from = if size >= size_of_bit(bit) {
            shingles
        } else {
            drawn
        };
        bits | from & 1 << bit
    })
}

proptest! {
    #[test]
    fn bits_are_those_of_the_definition(letters in "[a-e]{1,9}( [a-e]{1,9}){0,99}") {
        prop_assert_eq!(text(&letters), Some(by_definition(&letters)));
    }

    #[test]
    fn a_long_text_has_its_shingles(text in prop_oneof!["([a-z]{1,9}[ ,.]){200,300}", "[一-鿿]{158,250}"]) {
        let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
        if letters >= 395 || !text.is_ascii() {
            prop_assert_eq!(of_text(&text, "adaptive", Width::W64), of_text(&text, "shingles", Width::W64));
        }
    }

    /// Nothing but letters and where words end counts, and neither the length of a gap does.
    #[test]
    fn only_letters_and_gaps_count(words in prop::collection::vec("[a-zé0-9路灯가あ]{1,6}", 1..60), gap in 1usize..70_000) {
        let plain = words.join(" ");
        let shouted = words.join(&format!(",{}", " ".repeat(gap / words.len()))).to_uppercase();
        prop_assert_eq!(text(&plain), text(&format!("\n{shouted}!!\n")));
    }
}

/// Whatever the size, the quarters of a fingerprint have as many bits from n-grams, or one more.
#[test]
fn quarters_have_as_many_bits_of_each_kind() {
    for size in 300..1600 {
        let of_ngrams = |quarter| {
            let bits = 16 * quarter..16 * (quarter + 1);
            bits.filter(|&bit| size >= size_of_bit(bit)).count()
        };
        let counts = [0, 1, 2, 3].map(of_ngrams);
        assert!(
            counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1,
            "{size}"
        );
    }
}

#[test]
fn two_scripts_of_one_language_meet() {
    assert_eq!(
        distance("台灣的颱風來了，請關好門窗", "台湾的台风来了，请关好门窗"),
        0
    );
    assert_eq!(
        distance(
            "Ђак чита књигу у дворишту школе",
            "Đak čita knjigu u dvorištu škole"
        ),
        0
    );
}

/// A typing error in a short text leaves it near, where shingles find nothing.
#[test]
fn short_texts_are_near() {
    let pairs = [
        (
            "Street lamp broken in Mill Lane",
            "Street lamp brokn in Mill Lane",
        ),
        ("Invoice 4711 of the bakery", "invoice 4711 of the Bakery."),
        ("红色连衣裙 夏季新款", "红色连衣裙 夏季新欵"),
    ];
    for (a, b) in pairs {
        assert!(distance(a, b) <= 12, "{a}: {}", distance(a, b));
    }
    assert!(
        distance(
            "Street lamp broken in Mill Lane",
            "The library opens at nine on Monday"
        ) > 16
    );
}

#[test]
fn a_row_without_weights_is_one_text() {
    let row = |json: &str, is_text: [bool; 3]| {
        let mut fields = fields(3);
        fields
            .iter_mut()
            .zip(is_text)
            .for_each(|(field, is_text)| field.is_text = is_text);
        let options = parse_row(json, &mut || {}).unwrap();
        plan::row(presets::find(None).unwrap(), &options, &fields)
    };
    let read = |json: &str, is_text| {
        let plans = row(json, is_text).unwrap();
        plans
            .iter()
            .map(|plan| (plan.name.clone(), plan.fields().collect()))
            .collect::<Vec<(String, Vec<usize>)>>()
    };
    let (all, last) = ([true; 3], [false, true, true]);
    assert_eq!(read("{}", all), [("a, b, c".to_owned(), vec![0, 1, 2])]);
    assert_eq!(read("{}", last), [("b, c".to_owned(), vec![1, 2])]);
    assert_eq!(
        read(r#"{"$exclude": ["b"]}"#, last),
        [("c".to_owned(), vec![2])]
    );
    assert_eq!(read(r#"{"a": 1}"#, last), [("a".to_owned(), vec![0])]);
    assert_eq!(read(r#"{"*": 1}"#, last).len(), 3);
    assert_eq!(read(r#"{"$exclude": ["a", "b", "c"]}"#, all), []);
    let error = row("{}", [false; 3]).unwrap_err();
    assert_eq!(error.to_string(), "the row has no column of text");
    assert_eq!(
        error.hint().unwrap(),
        "Other columns count when weights name them, such as '{\"a\": 1}'."
    );
    assert_eq!(
        of_row(&["The lamp", "is dark"], "{}", "adaptive").unwrap(),
        text("The lamp\nis dark")
    );
}
