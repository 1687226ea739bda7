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

fn verdicts(rows: &[Vec<String>]) -> Vec<Verdict> {
    let read = |row: &Vec<String>| Verdict {
        id: row[0].parse().unwrap(),
        kind: row[1].clone(),
        a: row[3].clone(),
        b: row[4].clone(),
        same: row[5] == "true",
        strict: row[6] == "true",
    };
    rows.iter().map(read).collect()
}

fn is_same(a: &str, b: &str) -> bool {
    same(a, b, &mut || {}).unwrap()
}

/// A letter behind a hyphen is part of a name, whatever it is short for in a chat.
#[test]
fn letters_of_names_are_no_shorthand() {
    assert!(!is_same("plan A-R for the team", "plan A-U for the team"));
    assert!(!is_same("a B-R battery", "a B-U battery"));
    assert!(is_same(
        "how r u today my friend",
        "how are you today my friend"
    ));
}

/// The share of the pairs that are right, of the different ones among them, and the least of a kind of six
/// pairs and more.
fn shares(rows: &[Vec<String>]) -> [f64; 3] {
    let mut kinds: std::collections::HashMap<String, [f64; 2]> = Default::default();
    let mut different = [0.0; 2];
    for verdict in verdicts(rows).iter().filter(|verdict| verdict.strict) {
        let is_right = is_same(&verdict.a, &verdict.b) == verdict.same;
        let count = |counts: &mut [f64; 2]| {
            counts[0] += f64::from(u8::from(is_right));
            counts[1] += 1.0;
        };
        count(kinds.entry(verdict.kind.clone()).or_default());
        if !verdict.same {
            count(&mut different);
        }
        if !is_right {
            println!("{} {} same={}", verdict.id, verdict.kind, verdict.same);
        }
    }
    let [right, all] = [0, 1].map(|n| kinds.values().map(|kind| kind[n]).sum::<f64>());
    let large = kinds.values().filter(|kind| kind[1] >= 6.0);
    let least = large.map(|kind| kind[0] / kind[1]).fold(1.0, f64::min);
    [right / all, different[0] / different[1], least]
}

#[test]
fn what_people_say() {
    for (rows, wanted) in [
        (crate::tests::verdicts::rows(), [0.98, 0.98, 0.7]),
        (crate::tests::verdicts::second(), [0.95, 0.99, 0.75]),
        (crate::tests::verdicts::third(), [0.93, 0.98, 0.6]),
    ] {
        let shares = shares(&rows);
        assert!(
            shares
                .iter()
                .zip(wanted)
                .all(|(share, least)| *share >= least),
            "{shares:?}"
        );
    }
}

/// A word that makes another thing of a title decides on either side of it, and in marks.
#[test]
fn a_deciding_word_decides() {
    let words = "draft former deputy interim void fake expired acting alleged preliminary Entwurf ehemaliger \
        stellvertretende gefälschte abgelaufen brouillon ancien adjoint faux périmé borrador antiguo falso \
        interino rascunho suposto bozza scaduto presunto черновик бывший поддельный szkic były nieważny taslak \
        sahte مسودة سابق 草案";
    let titles = [
        "report on the water quality of the lake",
        "director of the museum in the old town hall",
        "tickets for the concert in the park on Sunday",
        "Vertrag zwischen dem Verein und der Bäckerei",
        "rapport sur la qualité de l'eau du lac",
        "entrada para el museo de la ciudad",
        "договор между школой и пекарней",
        "bilet na koncert w parku",
        "湖水水质报告",
        "Passport of Anna Berg",
    ];
    let (mut same, mut all) = (0, 0);
    for title in titles {
        for word in words.split_whitespace() {
            let marked = [
                format!("{word} {title}"),
                format!("{title} {word}"),
                format!("{}: {title}", word.to_uppercase()),
                format!("{title} ({word})"),
                format!("[{word}] {title}"),
                format!("{title} | {word}"),
            ];
            for other in marked {
                all += 1;
                if is_same(title, &other) {
                    same += 1;
                    println!("{title} | {other}");
                }
            }
        }
    }
    assert!(same * 100 <= all * 3, "{same} of {all}");
}

#[test]
fn what_is_around_a_text_does_not_decide() {
    let lamp = "The street lamp in front of the bakery has been dark for two weeks and the corner is dangerous.";
    let lift = "路口的红绿灯坏了三天，上下班时车辆很乱，希望尽快修好。";
    let around = [
        (lamp, "{}\n\nRegards,\nTom Elder"),
        (lamp, "{}\n\n--\nTom Elder\nCity Council\nTel. 555 0199"),
        (lamp, "Dear council,\n\n{}\n\nKind regards\nA. Reed"),
        (lamp, "{} Please help!"),
        (lamp, "{} (updated)"),
        (lamp, "[edited] {}"),
        (lamp, "UPDATE: {}"),
        (lamp, "{} https://city.example/lamp/12?utm_source=x"),
        (lamp, "On Mon, 3 Jun 2024 at 10:12, Ann Lee wrote:\n> {}"),
        (
            lamp,
            "{}\n\nThis e-mail is confidential. If you are not the intended recipient, please delete it.",
        ),
        (lamp, "(Reuters) {}"),
        (lamp, "{} | City News"),
        (lamp, "{} #city #lamp"),
        (lamp, "{}\n\nSubscribe to our newsletter."),
        (lift, "您好！{}谢谢！"),
        (lift, "尊敬的领导：您好！{}此致敬礼"),
        (lift, "{}（已编辑）"),
    ];
    for (text, form) in around {
        let other = form.replace("{}", text);
        assert!(is_same(text, &other), "{other}");
        assert!(!is_same_strictly(text, &other), "{other}");
    }
}

fn is_same_strictly(a: &str, b: &str) -> bool {
    same_as(a, b, Strictness::Strict, &mut || {}).unwrap()
}

#[test]
fn spelling_and_layout_alone_are_the_same_strictly() {
    for (a, b) in [
        ("The lamp  is DARK.", "the lamp\nis dark"),
        ("crème brûlée for two", "creme brulee for two"),
        ("It costs 1,500.00 EUR", "It costs € 1500"),
        ("The colour of the theatre", "The color of the theater"),
    ] {
        assert!(is_same_strictly(a, b), "{a} | {b}");
    }
    for (a, b) in [
        (
            "A typing error in membership",
            "A typing error in membershp",
        ),
        ("the station", "the the station"),
        ("One. Two words. Three.", "Two words. One. Three."),
        ("请尽快更换灯泡", "请近快更换灯泡"),
        ("The lamp is really dark", "The lamp is dark"),
    ] {
        assert!(!is_same_strictly(a, b), "{a} | {b}");
    }
}

const LINES: [&str; 4] = [
    "Please transfer 4500 euros to the account until 12 May and send us the receipt",
    "Bus 7 no longer stops at the market since 3 March which is hard for people",
    "The flat has 3 rooms and 85 square metres and costs 1200 euros a month",
    "Call me at 0301234567 after 18 hours or come to room 214 on Monday",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// White space alone never decides, and another number does in whatever layout.
    #[test]
    fn a_layout_does_not_decide(
        line in 0usize..4,
        gaps in prop::collection::vec(prop::sample::select(vec![" ", " ", " ", "\n", "  ", "\t", "\r\n", "\n\n"]), 20),
        number in any::<prop::sample::Index>(),
        by in prop::sample::select(vec![1u64, 5, 1000]),
    ) {
        let laid_out = |words: &[String]| -> String {
            words.iter().zip(&gaps).flat_map(|(word, gap)| [word.as_str(), gap]).collect::<String>().trim().to_owned()
        };
        let words: Vec<String> = LINES[line].split(' ').map(str::to_owned).collect();
        let plain = words.join(" ");
        prop_assert!(is_same(&plain, &laid_out(&words)));
        let numbers: Vec<usize> = (0..words.len()).filter(|i| words[*i].parse::<u64>().is_ok()).collect();
        let at = numbers[number.index(numbers.len())];
        let mut other = words.clone();
        other[at] = (words[at].parse::<u64>().unwrap() + by).to_string();
        prop_assert!(!is_same(&laid_out(&words), &laid_out(&other)));
        prop_assert!(!is_same(&plain, &laid_out(&other)));
    }
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
    let edited = body.replace("a picture", "really just a picture");
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
        (letter.to_owned(), with("两边推来推去", "大家踢皮球玩")),
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
            (of("%20[b=", bytes), of("[/[b", bytes)),
            (of("%20[", bytes), of("[/b", bytes)),
            (of("(1) ", bytes), of("[1] ", bytes)),
            (of("{\"a\": 1, ", bytes), of("{\"a\":2,", bytes)),
            (of("a=b&c=d&", bytes), of("c=d&a=b&", bytes)),
            (of("(AP) - ROME, ", bytes), of("ROME (AP) - ", bytes)),
            (of("J. Roe 1999, 12. ", bytes), of("Roe J 1999; ", bytes)),
            (of("5\" 1T2: ", bytes), of("5\u{2033} nº ", bytes)),
            (of("SELECT a FROM b; -- ", bytes), of("select ( ; ", bytes)),
            (of("한을 가 ", bytes), of("한 가는 ", bytes)),
            (
                "Two lamps.".to_owned(),
                of("Two lamps. ", 11)
                    + &of("read more ", bytes / 2)
                    + &of("free shipping ", bytes / 2),
            ),
            (
                "我们提供这些。".to_owned(),
                of("我们提供这些。", 21) + &of("a的 ", bytes / 2),
            ),
            (of("的a不 ", bytes), of("的a不 的a不 。", bytes)),
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

/// Cases by kind: `=` in front of two texts that are the same, `!` in front of two others.
#[test]
fn cases_by_kind() {
    let cases = include_str!("../../tests/data/same.txt").lines();
    for case in cases.filter(|case| !case.starts_with('#')) {
        let (sign, texts) = case.split_once(' ').unwrap();
        let (a, b) = texts.split_once(" | ").unwrap();
        let [a, b] = [a, b].map(|text| text.replace("\\n", "\n"));
        assert_eq!(is_same(&a, &b), sign == "=", "{case}");
        assert_eq!(is_same(&b, &a), sign == "=", "{case}");
    }
}
