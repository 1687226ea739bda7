//! A mail without what others wrote in it and what programs put around it: quoted replies, the signature,
//! notices below it, placeholders, parameters of addresses that follow a visitor. [`super::markup`] calls
//! it for `"markup": "mail"`. What is left stands in the order of the mail; a mail that is nothing else
//! is kept as it is.

use super::markup::with_room;
use crate::error::Error;

/// Lines below the two dashes of a signature.
pub const LINES_OF_SIGNATURE: usize = 16;

/// Lines from that of the sender to that of the subject, in the head of a mail that is quoted below.
const LINES_OF_HEAD: usize = 6;

/// Bytes of a placeholder: longer ones are text in brackets.
const MOST_OF_PLACEHOLDER: usize = 80;

/// Bytes of a line of a notice: a long paragraph.
const MOST_OF_NOTICE: usize = 4096;

/// What stands around the name of what a program was to put there.
const PLACEHOLDERS: [(&str, &str); 5] = [
    ("[image:", "]"),
    ("[cid:", "]"),
    ("{{", "}}"),
    ("%%", "%%"),
    ("<<", ">>"),
];

/// Begins of the lines of the sender and of the subject.
const SENDERS: [&str; 8] = [
    "From:",
    "Von:",
    "De :",
    "De:",
    "Da:",
    "Van:",
    "От:",
    "发件人",
];
const SUBJECTS: [&str; 8] = [
    "Subject:",
    "Betreff:",
    "Objet",
    "Asunto:",
    "Assunto:",
    "Oggetto:",
    "Тема:",
    "主题",
];

/// What stands between dashes above a mail that is quoted below.
const ORIGINALS: [&str; 10] = [
    "Original Message",
    "Forwarded message",
    "Ursprüngliche Nachricht",
    "Weitergeleitete Nachricht",
    "Message d'origine",
    "Mensaje original",
    "Mensagem original",
    "Messaggio originale",
    "Исходное сообщение",
    "原始邮件",
];

/// The mail as its sender wrote it.
pub fn own_text(mail: &str, check_interrupts: &mut dyn FnMut()) -> Result<String, Error> {
    let mut lines: Vec<&str> = Vec::new();
    let reserved = lines.try_reserve_exact(mail.lines().count());
    reserved.map_err(|_| Error::OutOfMemory)?;
    check_interrupts();
    for (n, line) in mail.lines().enumerate() {
        if n.is_multiple_of(4096) {
            check_interrupts();
        }
        match line.trim_start().starts_with('>') {
            true => drop_quotation_head(&mut lines),
            false => lines.push(line),
        }
    }
    let has_text = |lines: &[&str]| lines.iter().any(|line| !line.trim().is_empty());
    if let Some(below) = (0..lines.len()).find(|n| begins_original(&lines[*n..]))
        && has_text(&lines[..below])
    {
        lines.truncate(below);
    }
    let last = lines.len().saturating_sub(LINES_OF_SIGNATURE + 1);
    if let Some(mark) = (last..lines.len()).find(|n| lines[*n].trim_end() == "--")
        && has_text(&lines[..mark])
    {
        lines.truncate(mark);
    }
    drop_notices(&mut lines);
    let mut own = with_room(mail.len() + 1)?;
    for line in lines {
        push_plain(line, &mut own);
        own.push('\n');
    }
    if own.trim().is_empty() {
        own.clear();
        own.push_str(mail);
    }
    Ok(own)
}

/// Takes the line away that says whom the next lines quote: on Wed, Jun 5, 2024 Lena Fox wrote:
fn drop_quotation_head(lines: &mut Vec<&str>) {
    // One empty line stays of many, so that no quotation reads them all again.
    let written = lines.iter().rposition(|line| !line.trim().is_empty());
    let written = written.map_or(0, |last| last + 1);
    lines.truncate(written + 1);
    let Some(last) = written.checked_sub(1) else {
        return;
    };
    if is_quotation_head(lines[last]) {
        // A long one goes on in a second line.
        let is_rest = lines[last].split_whitespace().count() <= 3 && last > 0;
        lines.truncate(last - usize::from(is_rest && lines[last - 1].contains(char::is_numeric)));
    }
}

/// Whether a mail begins that is quoted below.
fn begins_original(lines: &[&str]) -> bool {
    let Some(first) = lines.first().map(|line| line.trim()) else {
        return false;
    };
    let inner = first.trim_matches('-');
    let begins = |line: &str, with: &[&str]| with.iter().any(|begin| line.starts_with(begin));
    first.len() - inner.len() >= 4 && ORIGINALS.contains(&inner.trim())
        || begins(first, &SENDERS)
            && (lines.iter().take(LINES_OF_HEAD)).any(|line| begins(line.trim(), &SUBJECTS))
}

/// Takes away the last paragraphs that programs put below each mail, and leaves the first one.
fn drop_notices(lines: &mut Vec<&str>) {
    const NOTICES: &str = include_str!("lists/mail_notices.txt");
    loop {
        let is_empty = |n: &usize| lines[*n].trim().is_empty();
        let end = (0..lines.len()).rev().find(|n| !is_empty(n));
        let begin = end.and_then(|end| (0..end).rev().find(is_empty));
        let Some(begin) = begin else { return };
        let is_notice = |line: &&str| {
            let line = line.to_lowercase();
            NOTICES.lines().any(|notice| line.contains(notice))
        };
        let mut may_be = lines[begin..]
            .iter()
            .filter(|line| line.len() < MOST_OF_NOTICE);
        let is_notice = may_be.any(is_notice);
        if !is_notice {
            return;
        }
        lines.truncate(begin);
    }
}

/// Writes a line without placeholders and without what follows a visitor.
fn push_plain(line: &str, own: &mut String) {
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if let Some(length) = placeholder(rest) {
            own.push(' ');
            rest = &rest[length..];
            continue;
        }
        let is_address = rest.starts_with("https://") || rest.starts_with("http://");
        let length = match is_address {
            true => rest.find(char::is_whitespace).unwrap_or(rest.len()),
            false => c.len_utf8(),
        };
        match is_address.then(|| rest[..length].split_once('?')).flatten() {
            Some((page, query)) => {
                own.push_str(page);
                let parameters = query.split('&');
                let is_kept = |parameter: &&str| {
                    !is_tracking(parameter.split('=').next().unwrap_or_default())
                };
                for (n, parameter) in parameters.filter(is_kept).enumerate() {
                    own.push(if n == 0 { '?' } else { '&' });
                    own.push_str(parameter);
                }
            }
            None => own.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
}

/// The bytes of a placeholder that begins a text.
fn placeholder(text: &str) -> Option<usize> {
    let (begin, end) = PLACEHOLDERS
        .into_iter()
        .find(|(begin, _)| text.starts_with(begin))?;
    let most = text.floor_char_boundary(MOST_OF_PLACEHOLDER);
    let (name, _) = text.get(begin.len()..most)?.split_once(end)?;
    // The signs of 1 << 2 are not around a name.
    let is_of_name = |c: char| c.is_alphanumeric() || "_-.:|()/@".contains(c);
    let is_name = name
        .chars()
        .all(|c| is_of_name(c) || c == ' ' && begin != "<<");
    (is_name && !name.is_empty()).then_some(begin.len() + name.len() + end.len())
}

/// Whether a parameter of an address says where a visitor came from.
pub fn is_tracking(parameter: &str) -> bool {
    const NAMES: &str = include_str!("lists/tracking_parameters.txt");
    let begins = |with: &str| {
        let begin = parameter.as_bytes().get(..with.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(with.as_bytes()))
    };
    let mut names = NAMES.split_whitespace();
    names.any(|name| match name.strip_suffix('*') {
        Some(begin) => begins(begin),
        None => begins(name) && parameter.len() == name.len(),
    })
}

/// The line above a quoted mail: on Wed, Jun 5, 2024 Lena Fox wrote:
pub fn is_quotation_head(line: &str) -> bool {
    let Some(head) = line.trim_end().strip_suffix([':', '\u{ff1a}']) else {
        return false;
    };
    let ends = [
        "wrote",
        "schrieb",
        "geschrieben",
        "a écrit",
        "escribió",
        "escreveu",
        "ha scritto",
        "schreef",
        "пишет",
        "писал",
        "писала",
        "пише",
        "napisał",
        "napisała",
        "写道",
        "寫道",
        "yazdı",
        "skrev",
        "a scris",
        "napsal(a)",
        "kirjoitti",
        "έγραψε",
        "đã viết",
        "menulis",
        "작성",
        "書きました",
    ];
    ends.into_iter().any(|end| head.trim_end().ends_with(end))
        || head.starts_with("Am ") && head.contains(" schrieb ")
}
