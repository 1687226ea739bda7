//! What stands in front of a text and is not of it: the name of a speaker, the number of a section, the type
//! of a commit, the place, the date and the agency of a report. `layout` asks for each text before its letters
//! are folded, since capitals tell names. A text has one opening at most.

use super::form::fold;
use crate::same::limits::{
    LEAST_BEHIND_DATELINE, LEAST_BEHIND_SECTION, MOST_OF_DATELINE, MOST_OF_SPEAKER,
    WORDS_OF_DATELINE,
};
use crate::same::lists::{Classes, lists};
use crate::text::scripts::{is_han, is_syllable};

/// What stands in front of the number of a section.
const SECTIONS: &str = "§|第|article |art. |artikel |artículo |articolo |section |clause |статья |пункт |\
    artigo ";

/// The bytes of the opening of a text.
pub fn opening(text: &str) -> Option<usize> {
    // The first letter says of most texts what they do not begin with.
    let first = text.chars().next()?;
    let of_section = first.is_ascii_digit() || "§第aAsScCсСпП".contains(first);
    let of_report = first.is_uppercase() || matches!(first, '(' | '[' | '【') || is_han(first);
    let has_dash = |text: &str| text.bytes().any(|byte| matches!(byte, b'-' | 0xe2));
    let head = &text[..text.floor_char_boundary(MOST_OF_DATELINE)];
    let opening = speaker(text)
        .or_else(|| of_section.then(|| section(text)).flatten())
        .or_else(|| {
            first
                .is_ascii_lowercase()
                .then(|| commit_type(text))
                .flatten()
        });
    match of_report && (!first.is_uppercase() || has_dash(head)) {
        true => opening.or_else(|| dateline(text)),
        false => opening,
    }
}

/// The bytes of the name of a speaker with which a text begins: ANNA: I told you.
fn speaker(text: &str) -> Option<usize> {
    let colon = text[..text.floor_char_boundary(4 * MOST_OF_SPEAKER + 1)].find(':')?;
    let name = &text[..colon];
    let is_name = name.chars().count() <= MOST_OF_SPEAKER
        && name.chars().filter(|c| c.is_alphabetic()).count() >= 2
        && name.chars().all(|c| c.is_uppercase() || " .-'".contains(c));
    (is_name && text.len() > colon + 1).then_some(colon + 1)
}

/// The bytes of the number of a section with which a text begins: `12.3 The tenant`, `Art. 7 - Il locatore`.
fn section(text: &str) -> Option<usize> {
    let is_mark = |c: char| {
        matches!(
            c,
            '.' | ':' | '-' | '\u{2013}' | '\u{2014}' | ' ' | '\u{3000}'
        )
    };
    let named = SECTIONS.split('|').find_map(|name| {
        let begin = text.get(..name.len())?;
        begin.eq_ignore_ascii_case(name).then_some(name.len())
    });
    let begin = named.unwrap_or_default();
    let number = text[begin..].trim_start_matches([' ', '.']);
    let digits = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let mut behind = digits;
    if text.starts_with('第') {
        behind = digits.strip_prefix(['条', '條'])?;
    }
    let rest = behind.trim_start_matches(is_mark);
    let (number, marks) = (
        &number[..number.len() - digits.len()],
        &behind[..behind.len() - rest.len()],
    );
    let of_section = || {
        !marks.trim().is_empty()
            || number.ends_with('.')
            || matches!(text.chars().next(), Some('§' | '第'))
    };
    let is_number = number.trim_end_matches('.').contains('.') || named.is_some() && of_section();
    let begins = rest
        .chars()
        .next()
        .is_some_and(|c| c.is_alphabetic() && !c.is_lowercase());
    let is_followed =
        rest.split(' ').nth(LEAST_BEHIND_SECTION).is_some() || rest.starts_with(is_han);
    let is_section =
        number.starts_with(|c: char| c.is_ascii_digit()) && is_number && !marks.is_empty();
    (is_section && begins && is_followed).then_some(text.len() - rest.len())
}

/// The bytes of the type of a commit with which its message begins: fix:, feat(api)!:
fn commit_type(text: &str) -> Option<usize> {
    const TYPES: [&str; 10] = [
        "feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore",
    ];
    let colon = text[..text.floor_char_boundary(2 * MOST_OF_SPEAKER)].find(": ")?;
    let name = text[..colon].trim_end_matches('!');
    let name = name
        .split_once('(')
        .filter(|(_, scope)| scope.ends_with(')'))
        .map_or(name, |(name, _)| name);
    TYPES.contains(&name).then_some(colon + 1)
}

/// The bytes of the place, the date and the agency with which a report begins: `LISBON, 3 May (AP) -`.
fn dateline(text: &str) -> Option<usize> {
    let head = &text[..text.floor_char_boundary(MOST_OF_DATELINE)];
    // (서울=연합뉴스), 【東京＝共同】; (n=40) and (重量=40 kg) are none.
    if let Some(inner) = head.strip_prefix(['(', '[', '【']) {
        let end = inner.find([')', ']', '】'])?;
        let (place, agency) = inner[..end].split_once(['=', '＝'])?;
        let is_report = place.chars().all(is_of_east) && agency.starts_with(is_of_east);
        let mut behind = inner[end..].chars();
        behind.next();
        return is_report.then_some(head.len() - behind.as_str().len());
    }
    if head.starts_with(is_han) {
        let end = head.find(['电', '電', '讯', '訊'])? + '电'.len_utf8();
        let is_agency = head[..end].contains(['社', '网', '报', '網', '報']);
        let is_apart = head[end..].starts_with([' ', '\u{3000}', '(', '（', '：', ':']);
        return (is_agency && is_apart).then_some(end);
    }
    const DASHES: [&str; 6] = [
        " - ",
        " \u{2013} ",
        " \u{2014} ",
        ".- ",
        " -- ",
        ".\u{2014} ",
    ];
    let dashes = DASHES.iter();
    let dashes = dashes.filter_map(|dash| Some((head.find(dash)?, dash.len())));
    let (end, dash) = dashes.min()?;
    let behind = &text[end + dash..];
    let is_followed = behind.split(' ').nth(LEAST_BEHIND_DATELINE).is_some();
    if !is_followed || !is_place_and_date(&head[..end], behind) {
        return None;
    }
    // The agency behind the dash: РИА Новости.
    let agency = behind
        .find(". ")
        .filter(|end| *end < 2 * MOST_OF_SPEAKER && behind[..*end].split(' ').any(is_agency));
    Some(end + dash + agency.map_or(0, |end| end + 1))
}

fn is_of_east(c: char) -> bool {
    is_han(c) || is_syllable(c)
}

fn has(word: &str, class: Classes) -> bool {
    lists().classes(&fold(word)).has(class)
}

fn is_agency(word: &str) -> bool {
    word.contains(char::is_uppercase) && has(word, Classes::SOURCE)
}

/// Whether words in front of a dash are a place in capitals with a date, or have an agency in brackets.
fn is_place_and_date(head: &str, behind: &str) -> bool {
    let words = || {
        head.split([' ', ',', '/', '(', ')', '.'])
            .filter(|word| !word.is_empty())
    };
    let is_capital =
        |word: &str| word.chars().nth(3).is_some() && word.chars().all(char::is_uppercase);
    let is_part = |word: &str| {
        is_capital(word)
            || is_agency(word)
            || has(word, Classes::CALENDAR)
            || word.bytes().all(|byte| byte.is_ascii_digit())
    };
    // In a text of capitals they say nothing.
    let is_place = behind.contains(char::is_lowercase)
        && words().next().is_some_and(is_capital)
        && words().all(is_part);
    let has_bracket = head.trim_end_matches('.').ends_with(')');
    is_place || has_bracket && words().any(is_agency) && words().count() <= WORDS_OF_DATELINE
}
