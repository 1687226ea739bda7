//! Pairs of texts that write one value in two forms, and pairs of two values, in many languages.

use crate::same::{differences, same};
use proptest::prelude::*;

fn is_same(a: &str, b: &str) -> bool {
    let [there, back] = [(a, b), (b, a)].map(|(a, b)| same(a, b, &mut || {}).unwrap());
    assert_eq!(there, back, "{a} / {b}");
    there
}

#[test]
fn what_meets_no_value_stays_as_it_is() {
    let shown = differences("three red lamps", "five red lamps", &mut || {}).unwrap();
    let words: Vec<_> = shown.iter().map(|one| (&*one.in_a, &*one.in_b)).collect();
    assert_eq!(words, [("three", "five")]);
}

/// An amount of hundredths of a litre, a kilogram or a kilometre in two ways.
fn amounts() -> impl Strategy<Value = (String, String, u32)> {
    const UNITS: [(&str, &str); 8] = [
        ("l", "ml"),
        ("kg", "g"),
        ("km", "m"),
        ("Liter", "Milliliter"),
        ("кг", "г"),
        ("公斤", "克"),
        ("kilometres", "metres"),
        ("キログラム", "グラム"),
    ];
    (prop::sample::select(&UNITS[..]), 1u32..10_000).prop_map(|((large, small), amount)| {
        let in_large = format!("{}.{:02} {large}", amount / 100, amount % 100);
        (in_large, format!("{amount}0 {small}"), amount)
    })
}

fn text() -> impl Strategy<Value = String> {
    const PARTS: [&str; 3] = [
        "two zwei 2 2.50 02 three hundred and III 5 pm 14:30 14.30 Uhr June 2024 2024-06-05 5.6.2024 03/04/2024 kg кг l € 元 二十 三",
        "月 日 点 下午 5公斤 v1.2 #7 № °C -5 million a fri Friday 1st first x . , ( ) : ½ สาม तीन 삼 第",
        "\n",
    ];
    let parts: Vec<&str> = PARTS.iter().flat_map(|parts| parts.split(' ')).collect();
    let part = prop::sample::select(parts);
    prop::collection::vec((part, prop::sample::select(&["", " "][..])), 0..12).prop_map(|parts| {
        parts
            .into_iter()
            .flat_map(|(part, gap)| [part, gap])
            .collect()
    })
}

proptest! {
    #[test]
    fn one_amount_in_two_units((large, small, _) in amounts()) {
        let [large, small] = [large, small].map(|amount| format!("take {amount} of it"));
        prop_assert!(is_same(&large, &small));
    }

    #[test]
    fn two_amounts_are_two((_, small, amount) in amounts(), other in 1u32..10_000) {
        prop_assume!(amount != other);
        let unit = small.split(' ').next_back().unwrap();
        let texts = [amount, other].map(|amount| format!("please take {amount}0 {unit} of it"));
        prop_assert!(!is_same(&texts[0], &texts[1]));
    }

    #[test]
    fn a_date_in_two_forms(year in 1900u32..2100, month in 0usize..12, day in 1u32..=28) {
        let names = ["January", "février", "marzo", "aprile", "maio", "Juni", "июля", "sierpnia", "září", "október", "Kasım", "desember"];
        let written = format!("until {day} {} {year}", names[month]);
        let month = month + 1;
        let iso = format!("until {year}-{month:02}-{day:02}");
        prop_assert!(is_same(&written, &iso));
        let next = format!("until {year}-{month:02}-{:02}", day + 1);
        prop_assert!(!is_same(&written, &next));
    }

    #[test]
    fn symmetric_and_reflexive(a in text(), b in text()) {
        prop_assert!(is_same(&a, &a));
        is_same(&a, &b);
        differences(&a, &b, &mut || {}).unwrap();
    }
}
