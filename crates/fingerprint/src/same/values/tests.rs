//! Pairs of texts that write one value in two forms, and pairs of two values, in many languages.

use crate::same::{differences, same};
use proptest::prelude::*;

fn is_same(a: &str, b: &str) -> bool {
    let [there, back] = [(a, b), (b, a)].map(|(a, b)| same(a, b, &mut || {}).unwrap());
    assert_eq!(there, back, "{a} / {b}");
    there
}

fn all_same(pairs: &[(&str, &str)]) {
    let wrong: Vec<_> = pairs.iter().filter(|(a, b)| !is_same(a, b)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn none_same(pairs: &[(&str, &str)]) {
    let wrong: Vec<_> = pairs.iter().filter(|(a, b)| is_same(a, b)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn numbers_in_words_and_in_digits() {
    all_same(&[
        (
            "We planted forty-two trees along the canal",
            "We planted 42 trees along the canal",
        ),
        ("two hundred and fifty seats are left", "250 seats are left"),
        ("a dozen roses for the table", "12 roses for the table"),
        (
            "see Chapter IX for the method",
            "see Chapter 9 for the method",
        ),
        ("Der Zug hat siebenundzwanzig Wagen", "Der Zug hat 27 Wagen"),
        (
            "Il reste quatre-vingt-dix places au balcon",
            "Il reste 90 places au balcon",
        ),
        (
            "Quedan dieciséis plazas en el curso",
            "Quedan 16 plazas en el curso",
        ),
        (
            "Abbiamo ventitré biciclette in magazzino",
            "Abbiamo 23 biciclette in magazzino",
        ),
        (
            "Há dezoito mesas na sala grande",
            "Há 18 mesas na sala grande",
        ),
        ("В зале тридцать пять мест", "В зале 35 мест"),
        (
            "Mamy siedemnaście rowerów na stanie",
            "Mamy 17 rowerów na stanie",
        ),
        (
            "Er staan vierentwintig stoelen klaar",
            "Er staan 24 stoelen klaar",
        ),
        ("Vi har fjorton cyklar kvar", "Vi har 14 cyklar kvar"),
        (
            "Meillä on kahdeksan pyörää jäljellä",
            "Meillä on 8 pyörää jäljellä",
        ),
        ("V sále je patnáct židlí", "V sále je 15 židlí"),
        ("A teremben tizenkét szék van", "A teremben 12 szék van"),
        ("Sınıfta on beş öğrenci var", "Sınıfta 15 öğrenci var"),
        ("Υπάρχουν έντεκα θέσεις ακόμη", "Υπάρχουν 11 θέσεις ακόμη"),
        ("कमरे में पाँच कुर्सियाँ हैं", "कमरे में 5 कुर्सियाँ हैं"),
        (
            "Ada sebelas kursi di ruang ini",
            "Ada 11 kursi di ruang ini",
        ),
        ("Còn bảy chỗ trong lớp học", "Còn 7 chỗ trong lớp học"),
        ("사과 다섯 개를 샀습니다", "사과 5 개를 샀습니다"),
        ("图书馆有二十三张桌子", "图书馆有23张桌子"),
        ("第十二章讲的是方法", "第12章讲的是方法"),
        ("会議室に椅子が十五脚あります", "会議室に椅子が15脚あります"),
        ("King Edward VII", "King Edward the Seventh"),
        ("Вход с третьего этажа", "Вход с 3-го этажа"),
        ("семь тысяч рублей", "7000 рублей"),
    ]);
    none_same(&[
        (
            "We planted forty-two trees along the canal",
            "We planted 43 trees along the canal",
        ),
        (
            "see Chapter IX for the method",
            "see Chapter 11 for the method",
        ),
        ("Der Zug hat siebenundzwanzig Wagen", "Der Zug hat 72 Wagen"),
        (
            "Il reste quatre-vingt-dix places au balcon",
            "Il reste 80 places au balcon",
        ),
        ("В зале тридцать пять мест", "В зале 30 мест"),
        ("图书馆有二十三张桌子", "图书馆有32张桌子"),
        ("two flats with three rooms", "3 flats with 2 rooms"),
        (
            "the second edition of the atlas",
            "the 3rd edition of the atlas",
        ),
    ]);
}

#[test]
fn dates_and_times() {
    all_same(&[
        ("Delivery by 9 August 2025", "Delivery by 2025-08-09"),
        ("Delivery by August 9th, 2025", "Delivery by 9.8.2025"),
        ("Lieferung bis 9. August 2025", "Lieferung bis 09.08.2025"),
        ("Livraison le 17 février 2025", "Livraison le 17/02/2025"),
        ("Entrega el 17 de febrero de 2025", "Entrega el 17/02/2025"),
        ("Доставка 17 февраля 2025 г.", "Доставка 17.02.2025"),
        ("Dostawa 17 lutego 2025 r.", "Dostawa 17.02.2025"),
        ("2025年2月17日交货", "2025-02-17交货"),
        ("2025년 2월 17일 배송", "2025-02-17 배송"),
        ("Teslimat 17 Şubat 2025", "Teslimat 17.02.2025"),
        (
            "Doors open on Wed, 3 Sept",
            "Doors open on Wednesday, 3 September",
        ),
        (
            "Die Führung beginnt um 14.45 Uhr",
            "Die Führung beginnt um 14:45 Uhr",
        ),
        ("The tour starts at 2:45 pm", "The tour starts at 14:45"),
        ("La visite commence à 14 h 45", "La visite commence à 14:45"),
        ("参观下午2点45分开始", "参观14:45开始"),
        ("見学は午後2時半に始まります", "見学は14:30に始まります"),
        ("Başlangıç 14.45", "Başlangıç 14:45"),
        ("lunch at noon", "lunch at 12:00"),
        ("open 9am-5pm", "open 9:00-17:00"),
        ("cena a las 9 de la noche", "cena a las 9 de la noche."),
        ("ngày 12 tháng 3 năm 2024", "12.03.2024"),
        ("3月5日（火）開催", "3月5日 火曜日 開催"),
    ]);
    none_same(&[
        ("Delivery by 03/04/2025", "Delivery by 3 April 2025"),
        ("Delivery by 03/04/2025", "Delivery by 04/03/2025"),
        ("Delivery by 9 August 2025", "Delivery by 2025-09-08"),
        ("Lieferung bis 9. August 2025", "Lieferung bis 09.07.2025"),
        ("The tour starts at 2:45 pm", "The tour starts at 2:45 am"),
        ("The tour starts at 2:45 pm", "The tour starts at 15:45"),
        (
            "The call starts at 14:45 UTC",
            "The call starts at 14:45 CET",
        ),
        ("参观下午2点45分开始", "参观上午2点45分开始"),
        (
            "Doors open on Wed, 3 Sept",
            "Doors open on Thursday, 3 September",
        ),
        ("the bar (open until 14:30)", "the bar (open until 14:45)"),
    ]);
}

#[test]
fn amounts_with_units_and_money() {
    all_same(&[
        ("Add 1.25 l of stock", "Add 1250 ml of stock"),
        ("Mehl: 1,5 Kilogramm", "Mehl: 1500 g"),
        ("Мука, 3 килограмма", "Мука, 3 кг"),
        ("Câble de 2 mètres", "Câble de 200 cm"),
        ("面粉3公斤装", "面粉3kg装"),
        ("砂糖200グラム入り", "砂糖200g入り"),
        ("Sznur 4 metry", "Sznur 4 m"),
        ("a run of ninety minutes", "a run of 90 min"),
        ("Oven at 190 degrees Celsius", "Oven at 190 °C"),
        ("a disk of 2 terabytes", "a disk of 2 TB"),
        ("The ticket costs € 35", "The ticket costs 35 EUR"),
        ("Билет стоит 350 рублей", "Билет стоит 350 ₽"),
        ("票价￥80", "票价80元"),
        ("切符は1200円です", "切符は¥1200です"),
        ("Bilet kosztuje 40 złotych", "Bilet kosztuje 40 PLN"),
        ("заказ № 481 готов", "заказ #481 готов"),
        (
            "requires version 2.4 of the library",
            "requires v2.4 of the library",
        ),
    ]);
    none_same(&[
        ("Add 1.25 l of stock", "Add 125 ml of stock"),
        ("Mehl: 1,5 Kilogramm", "Mehl: 150 g"),
        ("Мука, 3 килограмма", "Мука, 3 г"),
        ("面粉3公斤装", "面粉3斤装"),
        ("水500ミリリットル", "水500リットル"),
        ("The ticket costs € 35", "The ticket costs 35 USD"),
        ("票价￥80", "票价80美元"),
        (
            "requires version 2.4 of the library",
            "requires v2.40 of the library",
        ),
        ("Oven at 190 degrees Celsius", "Oven at 190 °F"),
        ("a talk of 1 hour and 20 minutes", "a talk of 90 min"),
        ("a fund of $1.3 million", "a fund of $1.3 bn"),
        ("福岡市中央区天神二丁目5番1号", "福岡市中央区天神2-1-5"),
    ]);
}

#[test]
fn words_of_two_languages_do_not_meet() {
    none_same(&[
        ("Four to sing", "Four do sing"),
        ("They may go", "They can go"),
        ("Das Mi ist verstimmt", "Das We ist verstimmt"),
    ]);
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
    let part = prop::sample::select(
        &[
            "two",
            "zwei",
            "2",
            "2.50",
            "02",
            "three",
            "hundred",
            "and",
            "III",
            "5",
            "pm",
            "14:30",
            "14.30",
            "Uhr",
            "June",
            "2024",
            "2024-06-05",
            "5.6.2024",
            "03/04/2024",
            "kg",
            "кг",
            "l",
            "€",
            "元",
            "二十",
            "三",
            "月",
            "日",
            "点",
            "下午",
            "5公斤",
            "v1.2",
            "#7",
            "№",
            "°C",
            "-5",
            "million",
            "a",
            "fri",
            "Friday",
            "1st",
            "first",
            "x",
            ".",
            ",",
            "(",
            ")",
            ":",
            "½",
            "สาม",
            "तीन",
            "삼",
            "\n",
            "第",
        ][..],
    );
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

/// A letter is the sign of many units: v is a week in Swedish and a year in Finnish.
#[test]
fn units_of_one_letter_are_their_own() {
    none_same(&[
        ("200 W", "200 V"),
        ("5 A fuse", "5 V fuse"),
        ("10 s", "10 h"),
        ("3 m", "3 l"),
        ("10 mg tablet", "10 µg tablet"),
    ]);
    all_same(&[
        ("16 Go de mémoire", "16 GB de mémoire"),
        ("30 grados a la sombra", "30 °C a la sombra"),
        ("screen of 27\" in black", "screen of 27 inches in black"),
        ("가격 3만원", "가격 30,000원"),
        ("Начало в 9:00 утра", "Начало в 9 утра"),
    ]);
}
