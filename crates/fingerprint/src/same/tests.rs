use super::*;
use proptest::prelude::*;

/// A pair of texts with what a person says of it.
struct Verdict {
    id: u32,
    kind: String,
    a: String,
    b: String,
    same: bool,
    strict: bool,
}

fn verdicts() -> Vec<Verdict> {
    let read = |row: &Vec<String>| Verdict {
        id: row[0].parse().unwrap(),
        kind: row[1].clone(),
        a: row[3].clone(),
        b: row[4].clone(),
        same: row[5] == "true",
        strict: row[6] == "true",
    };
    crate::tests::verdicts::rows().iter().map(read).collect()
}

fn is_same(a: &str, b: &str) -> bool {
    same(a, b, &mut || {}).unwrap()
}

#[test]
fn what_people_say() {
    let mut right = [0; 2];
    let mut all = [0; 2];
    for verdict in verdicts().iter().filter(|verdict| verdict.strict) {
        let label = usize::from(verdict.same);
        all[label] += 1;
        if is_same(&verdict.a, &verdict.b) == verdict.same {
            right[label] += 1;
        } else {
            let differences = differences(&verdict.a, &verdict.b, &mut || {}).unwrap();
            let decide = differences.iter().filter(|difference| difference.decides);
            let shown: Vec<_> = decide
                .map(|d| format!("{} {} | {}", d.kind.name(), d.in_a, d.in_b))
                .collect();
            let short: String = shown.join("; ").chars().take(150).collect();
            println!(
                "{} {} same={}: {short}",
                verdict.id, verdict.kind, verdict.same
            );
        }
    }
    println!(
        "different {}/{}, same {}/{}",
        right[0], all[0], right[1], all[1]
    );
    let share = |right: i32, all: i32| f64::from(right) / f64::from(all);
    assert!(
        share(right[0] + right[1], all[0] + all[1]) >= 0.98,
        "{right:?} of {all:?}"
    );
    assert!(
        share(right[0], all[0]) >= 0.97 && share(right[1], all[1]) >= 0.97,
        "{right:?} of {all:?}"
    );
}

/// Words that lists have, numbers, marks, parts of mark-up, letters of many scripts.
const PIECES: &str = "(the|not|no|5|-5|1,500.00|1 500|€|C\\+\\+|#|membership|membershp|a\\.|Dr\\.|不|请|尽|近|。|، |<b>|&amp;|> |\n|\n2\n|1\\. |2\\) |👍|👎|é|e\u{301}|ß|नम्|ไม่|가나다|않다|חב\"ל|ك|ی|http://a\\.b/c\\?utm_x=1&d=2|- | |, |\\PC){0,24}";

proptest! {
    #[test]
    fn both_orders_have_one_answer(a in PIECES, b in PIECES) {
        prop_assert_eq!(is_same(&a, &b), is_same(&b, &a));
        let swapped = differences(&b, &a, &mut || {}).unwrap().into_iter().map(|difference| Difference {
            in_a: difference.in_b,
            in_b: difference.in_a,
            ..difference
        });
        prop_assert_eq!(differences(&a, &b, &mut || {}).unwrap(), swapped.collect::<Vec<_>>());
    }

    #[test]
    fn a_text_is_the_same_as_itself(a in PIECES) {
        prop_assert!(is_same(&a, &a));
        let spaced = format!(" {a} ");
        prop_assert!(is_same(&a, &spaced));
    }

    #[test]
    fn what_decides_is_shown(a in PIECES, b in PIECES) {
        let differences = differences(&a, &b, &mut || {}).unwrap();
        prop_assert_eq!(is_same(&a, &b), !differences.iter().any(|difference| difference.decides));
    }
}

#[test]
fn what_decides() {
    for (a, b) in [
        ("10⁶ cells", "106 cells"),
        ("1½ cups", "112 cups"),
        ("Final score: 11-1", "Final score: 1-11"),
        ("气温-5℃", "气温5℃"),
        ("It was 12 of 500.", "It was 125 of 00."),
        ("if a<b and c", "if a<b and d"),
    ] {
        assert!(!is_same(a, b), "{a} {b}");
    }
}

/// A catalogue has one body for several things; the sentence about the entry tells them apart.
#[test]
fn what_a_text_says_of_itself_decides() {
    let body = "Lanternfish is a program that draws the tides of a harbour as a picture, with the moon above \
        it and the depth below, for sailors who leave before dawn and for teachers who explain why. ";
    for (a, b) in [
        ("", "This package contains the documentation."),
        (
            "This package contains the library.",
            "This package contains the library in Dutch.",
        ),
        ("Provides a library.", "Provides the manual of a library."),
        ("", "Lanternfish plots tables for printers."),
        ("It needs lantern-data.", "It needs lantern-extra-data."),
    ] {
        assert!(
            !is_same(&[body, a].concat(), &[body, b].concat()),
            "{a} | {b}"
        );
    }
    let edited = body.replace("a picture", "a really clear picture");
    assert!(is_same(body, &edited));
}

/// Another version of one letter.
#[test]
fn what_a_long_letter_may_have_besides() {
    let letter = "我们小区东门的路灯已经坏了三个星期，晚上回家的老人和孩子只能打着手电筒走路。\
        物业说灯杆归市政管理，市政又说线路是开发商埋的，两边推来推去，至今没有人来看过一眼。\
        上周五下雨，一位邻居在台阶上摔倒，送到医院缝了四针，医药费也没有人承担。\
        我们要求尽快查明责任单位，先把灯修好，再谈费用由谁出。";
    let with = |from: &str, to: &str| letter.replacen(from, to, 1);
    let addressed = |name: &str| format!("尊敬的{name}：您好！{letter}");
    for (a, b) in [
        (letter.to_owned(), addressed("陈书记")),
        (addressed("陈书记"), addressed("市长")),
        (
            letter.to_owned(),
            format!("小区东门的路灯坏了没有人来看{letter}"),
        ),
        (
            format!("{letter}2019年3月6日"),
            format!("{letter}2019年4月12日"),
        ),
        (
            letter.to_owned(),
            with("再谈费用", "门口的监控也一并修好，再谈费用"),
        ),
        (letter.to_owned(), with("两边推来推去", "双方互相推诿扯皮")),
    ] {
        assert!(is_same(&a, &b), "{a} | {b}");
    }
    for (a, b) in [
        (letter.to_owned(), with("四针", "七针")),
        (letter.to_owned(), with("东门", "西门")),
        (format!("{letter}申请已批准"), format!("{letter}申请已驳回")),
        (
            format!("刘玉兰女士：{letter}"),
            format!("赵启明先生：{letter}"),
        ),
    ] {
        assert!(!is_same(&a, &b), "{a} | {b}");
    }
}

/// Texts made to be slow: a text of a megabyte of repeated words, of words that are all alike, of
/// one word, of letters that are words each.
#[test]
fn crafted_texts_take_linear_time() {
    let of = |piece: &str, bytes: usize| piece.repeat(bytes / piece.len());
    let crafted = |bytes: usize| {
        let numbered = |step: usize| {
            (0..bytes / 8)
                .map(|i| format!("w{} ", i * step))
                .collect::<String>()
        };
        let typed = |letter: char| {
            (0..bytes / 12)
                .map(|i| format!("wordwo{letter}{} ", char::from(b'a' + (i * i % 26) as u8)))
                .collect::<String>()
        };
        [
            (of("a b ", bytes), of("b a a ", bytes)),
            (of("one. two. ", bytes), of("two. one. ", bytes)),
            (numbered(1), numbered(2)),
            (typed('x'), typed('y')),
            (of("x", bytes), of("y", bytes)),
            (of("的不", bytes), of("不了的", bytes)),
            (of("1 2,3 ", bytes), of("1 23 ", bytes)),
            (of("<b ", bytes), of("<i ", bytes)),
            (of("&x?a=", bytes), of("?&x=a", bytes)),
            (of("(一", bytes), of("(1", bytes)),
            (of("> 1.\n2-\n", bytes), of("1.\n> a-\n", bytes)),
            (of("नम", bytes), of("मन् ", bytes)),
            (of("a'", bytes), of("b'c'", bytes)),
            (of("1 234 567", bytes), of("1.234,5", bytes)),
            (of("$ 1 ", bytes), of("$$ 1 ", bytes)),
        ]
    };
    for (n, (a, b)) in crafted(1 << 20).iter().enumerate() {
        let begin = std::time::Instant::now();
        let mut last = std::time::Instant::now();
        let mut longest = 0.0_f64;
        let is_same = same(a, b, &mut || {
            longest = longest.max(last.elapsed().as_secs_f64());
            last = std::time::Instant::now();
        });
        longest = longest.max(last.elapsed().as_secs_f64());
        println!(
            "{n}: {is_same:?} {:.2} s, {longest:.2} s without a check for interrupts",
            begin.elapsed().as_secs_f64()
        );
        assert!(begin.elapsed().as_secs_f64() < 20.0, "{n}");
    }
}
