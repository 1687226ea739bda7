//! `forms`: one text in two forms, as keyboards, web pages and PDF files write it, and how many bits
//! its fingerprints differ by. `forms VERDICTS.csv` adds how often the documented advice agrees
//! with a person, by kind of pair. `forms times FILE...` times fingerprints of the lines of files.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use simhash_fingerprint::builder::{Content, FingerprintBuilder};
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::options::grammar::parse_text;
use simhash_fingerprint::options::plan::{self, ColumnPlan};
use simhash_fingerprint::options::presets;
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_set::jaccard;
use simhash_fingerprint::text::ngrams::GramLengths;

type Outcome<T> = Result<T, Box<dyn Error>>;

const PRESETS: [&str; 3] = ["shingles", "minwise", "words"];

/// Language, what differs, both forms.
const TEXTS: [(&str, &str, &str, &str); 22] = [
    (
        "English",
        "case",
        "The lamp in our street has been dark for two weeks",
        "THE LAMP IN OUR STREET HAS BEEN DARK FOR TWO WEEKS",
    ),
    (
        "English",
        "soft hyphens",
        "Please repair the broken elevator before Christmas",
        "Please re\u{ad}pair the bro\u{ad}ken ele\u{ad}va\u{ad}tor be\u{ad}fore Christ\u{ad}mas",
    ),
    (
        "English",
        "PDF ligatures",
        "The official office staff filed a final affidavit",
        "The oﬃcial oﬃce staﬀ ﬁled a ﬁnal aﬃdavit",
    ),
    (
        "English",
        "apostrophes",
        "The driver's bus didn't stop at Miller's corner",
        "The driver’s bus didn’t stop at Miller’s corner",
    ),
    (
        "French",
        "accents",
        "L'élève a été blessé près de la forêt à Besançon",
        "L'eleve a ete blesse pres de la foret a Besancon",
    ),
    (
        "German",
        "capitals",
        "Große Straße 5, Gießen: der Fußweg ist außer Betrieb",
        "GROSSE STRASSE 5, GIESSEN: DER FUSSWEG IST AUSSER BETRIEB",
    ),
    (
        "German",
        "NFD",
        "Für den Ausflug nächste Woche fehlen noch drei Anmeldungen",
        "Fu\u{308}r den Ausflug na\u{308}chste Woche fehlen noch drei Anmeldungen",
    ),
    (
        "Spanish",
        "accents",
        "Información sobre la línea telefónica dañada en Cádiz",
        "Informacion sobre la linea telefonica danada en Cadiz",
    ),
    (
        "Polish",
        "accents",
        "Żółta kurtka dziecięca, stan bardzo dobry, Łódź",
        "Zolta kurtka dziecieca, stan bardzo dobry, Lodz",
    ),
    (
        "Czech",
        "NFD",
        "Příliš žluťoučký kůň úpěl ďábelské ódy",
        "Pr\u{30c}i\u{301}lis\u{30c} z\u{30c}lut\u{30c}ouc\u{30c}ky\u{301} ku\u{30a}n\u{30c} u\u{301}pe\u{30c}l d\u{30c}a\u{301}belske\u{301} o\u{301}dy",
    ),
    (
        "Turkish",
        "capitals",
        "Diyarbakır Isparta yolunda ışıklar yanmıyor",
        "DİYARBAKIR ISPARTA YOLUNDA IŞIKLAR YANMIYOR",
    ),
    (
        "Vietnamese",
        "accents",
        "Kính gửi ban quản lý chợ, hệ thống thoát nước bị tắc đã một tuần",
        "Kinh gui ban quan ly cho, he thong thoat nuoc bi tac da mot tuan",
    ),
    (
        "Greek",
        "capitals",
        "Σπασμένος φωτισμός στον σταθμό, όλοι οι δρόμοι της πόλης",
        "ΣΠΑΣΜΕΝΟΣ ΦΩΤΙΣΜΟΣ ΣΤΟΝ ΣΤΑΘΜΟ, ΟΛΟΙ ΟΙ ΔΡΟΜΟΙ ΤΗΣ ΠΟΛΗΣ",
    ),
    (
        "Russian",
        "ё",
        "Ещё раз прошу: передайте тёплую воду и чёрный хлеб",
        "Еще раз прошу: передайте теплую воду и черный хлеб",
    ),
    (
        "Arabic",
        "vowel marks",
        "المصعد معطل في العمارة الثانية منذ أسبوع",
        "المِصْعَدُ مُعَطَّلٌ فِي العِمَارَةِ الثَّانِيَةِ مُنْذُ أُسْبُوعٍ",
    ),
    (
        "Arabic",
        "alef, yeh, tatweel",
        "أرجو إصلاح المصعد على الفور في المبنى الأول",
        "ارجو اصلاح المصـــعد علي الفور في المبني الاول",
    ),
    (
        "Persian",
        "digits, keyboard",
        "لطفا چراغ خیابان ۱۲۳۴۵ را تا تاریخ ۱۴۰۳ تعمیر کنید",
        "لطفا چراغ خيابان 12345 را تا تاريخ 1403 تعمير كنيد",
    ),
    (
        "Hebrew",
        "points",
        "שעת סיפור לילדים תתקיים בספרייה ביום רביעי",
        "שְׁעַת סִיפּוּר לִילָדִים תִּתְקַיֵּים בַּסִּפְרִיָּיה בְּיוֹם רְבִיעִי",
    ),
    (
        "Hindi",
        "digits",
        "कृपया 15 अगस्त 2024 तक सड़क की मरम्मत करें",
        "कृपया १५ अगस्त २०२४ तक सड़क की मरम्मत करें",
    ),
    (
        "Korean",
        "NFD",
        "도서관이 주말에 문을",
        "\u{1103}\u{1169}\u{1109}\u{1165}\u{1100}\u{116a}\u{11ab}\u{110b}\u{1175} \u{110c}\u{116e}\u{1106}\u{1161}\u{11af}\u{110b}\u{1166} \u{1106}\u{116e}\u{11ab}\u{110b}\u{1173}\u{11af}",
    ),
    (
        "Japanese",
        "half-width",
        "プリンターのドライバーを入れ直しても印刷できません",
        "ﾌﾟﾘﾝﾀｰのﾄﾞﾗｲﾊﾞｰを入れ直しても印刷できません",
    ),
    (
        "Chinese",
        "radicals of PDF files",
        "车门和马路边的食品店，青年人民长期见面",
        "⻋门和⻢路边的⻝品店，⻘年⼈⺠⻓期⻅面",
    ),
];

fn plans() -> Outcome<Vec<ColumnPlan>> {
    let plan = |name: &&str| {
        let options = parse_text("{}", &mut || {})?;
        Ok(plan::text(presets::find(Some(name))?, &options)?)
    };
    PRESETS.iter().map(plan).collect()
}

fn fingerprint(plan: &ColumnPlan, text: &str) -> Outcome<Option<u64>> {
    let mut builder = FingerprintBuilder::<1>::new(Width::W64);
    builder.begin();
    builder.column(plan, Content::Text(text), &mut || {})?;
    Ok(builder.fingerprint().map(|words| words[0]))
}

fn bits(plan: &ColumnPlan, a: &str, b: &str) -> Outcome<Option<u32>> {
    let fingerprints = (fingerprint(plan, a)?, fingerprint(plan, b)?);
    Ok(match fingerprints {
        (Some(a), Some(b)) => Some((a ^ b).count_ones()),
        _ => None,
    })
}

fn table(plans: &[ColumnPlan]) -> Outcome<()> {
    println!(
        "| language | what differs | {} |\n|---|---|--:|--:|--:|",
        PRESETS.join(" | ")
    );
    for (language, what, a, b) in TEXTS {
        print!("| {language} | {what} |");
        for plan in plans {
            print!(
                " {} |",
                bits(plan, a, b)?.map_or("-".into(), |bits| bits.to_string())
            );
        }
        println!();
    }
    Ok(())
}

fn verdicts(plans: &[ColumnPlan], path: &str) -> Outcome<()> {
    let mut kinds: BTreeMap<(String, bool), [usize; 5]> = BTreeMap::new();
    let mut all = [[0; 4]; 4];
    for record in csv::Reader::from_path(path)?.records() {
        let record = record?;
        let [kind, a, b, same, strict] = [1, 3, 4, 5, 6].map(|i| record[i].to_owned());
        if strict != "true" {
            continue;
        }
        let letters = |text: &str| Letters::new(text, &mut || {});
        let like =
            jaccard(&letters(&a)?, &letters(&b)?, GramLengths::SHINGLES)?.unwrap_or(0.0) >= 0.8;
        let mut said = Vec::new();
        for plan in plans {
            said.push(bits(plan, &a, &b)?.is_some_and(|bits| bits <= 10));
        }
        said.push(said[0] && like);
        let same = same == "true";
        let entry = kinds.entry((kind, same)).or_default();
        entry[0] += 1;
        for (i, said) in said.into_iter().enumerate() {
            entry[i + 1] += usize::from(said == same);
            all[i][usize::from(same) * 2 + usize::from(said)] += 1;
        }
    }
    println!(
        "kind,same,pairs,right by {},right by advice",
        PRESETS.join(",right by ")
    );
    for ((kind, same), counts) in kinds {
        println!("{kind},{same},{}", counts.map(|n| n.to_string()).join(","));
    }
    for (name, [rejected, wrong, missed, found]) in PRESETS.iter().chain(&["advice"]).zip(all) {
        println!(
            "{name}: {found} same found, {missed} missed, {wrong} others called the same, {rejected} kept apart"
        );
    }
    Ok(())
}

/// Processor time of this thread so far.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `time` alone; this clock exists wherever PostgreSQL does.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn times(plans: &[ColumnPlan], paths: &[String]) -> Outcome<()> {
    for path in paths {
        let text = fs::read_to_string(path)?;
        print!("{path}");
        for plan in plans {
            let (start, mut fastest) = (Instant::now(), Duration::MAX);
            while start.elapsed() < Duration::from_millis(1500) {
                let start = processor_time();
                for line in text.lines() {
                    black_box(fingerprint(plan, line)?);
                }
                fastest = fastest.min(processor_time() - start);
            }
            print!(" {:.3}", fastest.as_secs_f64() * 1e3);
        }
        println!(" ms");
    }
    Ok(())
}

fn main() -> Outcome<()> {
    simhash_fingerprint::warm();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let plans = plans()?;
    match arguments.as_slice() {
        [first, paths @ ..] if first == "times" => times(&plans, paths),
        [path] => verdicts(&plans, path).and_then(|()| table(&plans)),
        _ => table(&plans),
    }
}
