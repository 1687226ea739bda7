//! Texts of code: each name, number and operator counts, white space and comments do not. [`crate::same`]
//! asks first whether two texts are code. The answer depends on their lines alone.

use super::bytes::Bytes;
use super::tokens::{Token, TokenKind, Tokens};
use crate::error::Error;
use crate::same::with_room;

/// Words with which statements begin.
const STATEMENTS: &str = "if (|if(|for (|for(|while (|while(|def |function |let |const |var |class |public |\
    private |static |elif |else:|#include";

/// Whether a text is code: at least half of its lines are statements.
pub fn is_code(text: &str, bytes: &Bytes) -> bool {
    if !bytes.have(b"=;{(<&|*") || !bytes.have_letters() {
        return is_query(text);
    }
    if is_object(text) || is_query_string(text) {
        return false;
    }
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let is_statement = |line: &&str| is_statement(line.trim(), bytes);
    let statements = lines().filter(is_statement).count();
    2 * statements >= lines().count() && statements > 0 || is_query(text)
}

/// Whether a text is one object of JSON of names and values, whose order says nothing.
pub fn is_object(text: &str) -> bool {
    let text = text.trim();
    let inner = text
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| {
        inner.trim_start().starts_with('"')
            && !inner.contains(['{', '[', ';'])
            && inner.contains("\":")
    })
}

/// Whether a text is the names and values of an address, whose order says nothing: id=7&lang=en.
pub fn is_query_string(text: &str) -> bool {
    let parts = || text.split('&');
    let is_plain = |c: char| c.is_alphanumeric() || "=&_-.+%".contains(c);
    text.as_bytes().contains(&b'&')
        && text.chars().all(is_plain)
        && parts().all(|part| {
            part.split_once('=')
                .is_some_and(|(name, _)| !name.is_empty())
        })
}

/// Whether a line is a statement, of a text that has these bytes.
fn is_statement(line: &str, bytes: &Bytes) -> bool {
    if line.contains("://") {
        return false;
    }
    // == History == is a heading.
    let has_operator = || {
        bytes.have(b"=&|:+*") && !line.starts_with("==") && (has_operator(line) || has_power(line))
    };
    let begins = line.contains(['(', '=', '{', ':', '<'])
        && line.starts_with(|c| "iwfdlcvpse#".contains(c))
        && STATEMENTS.split('|').any(|begin| line.starts_with(begin));
    // if a > b: swap(a, b)
    let compares = |line: &str| {
        [" < ", " > ", " <= ", " >= "]
            .iter()
            .any(|sign| line.contains(sign))
    };
    let is_condition = ["if ", "elif ", "while "]
        .iter()
        .any(|begin| line.starts_with(begin))
        && line.contains(':')
        && compares(line);
    let ends =
        line.ends_with([';', '{', '}']) && (line.len() == 1 || line.contains(['(', '=', '}', '{']));
    begins || is_condition || ends || has_operator() || bytes.have(b"=") && is_assignment(line)
}

/// Whether a line has an operator that prose has not.
fn has_operator(line: &str) -> bool {
    let is_operator = |pair: &[u8; 2]| {
        matches!(
            pair,
            [b'=' | b'!' | b'+' | b'-' | b'*' | b'/' | b':', b'='] | b"&&" | b"||" | b"::"
        )
    };
    line.as_bytes().array_windows().any(is_operator)
        || [" ** ", "++;", "<<="]
            .iter()
            .any(|operator| line.contains(operator))
}

/// Whether two stars stand between two operands; in mark-up there is a space on one side.
fn has_power(line: &str) -> bool {
    let begins = |text: &str| text.starts_with(|c: char| c.is_alphanumeric() || c == '(');
    let ends = |text: &str| text.ends_with(|c: char| c.is_alphanumeric() || c == ')');
    let mut sides = line.split("**");
    let (Some(front), Some(behind), None) = (sides.next(), sides.next(), sides.next()) else {
        return false;
    };
    ends(front) && begins(behind)
}

/// `name = value`, with nothing in front that could be a sentence.
fn is_assignment(line: &str) -> bool {
    let Some((name, value)) = line.split_once('=') else {
        return false;
    };
    let name = name.trim();
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.[]".contains(&byte))
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && !value.trim().is_empty()
        && !value.starts_with('=')
}

/// A statement of SQL: its words are written in capitals, or it ends with a semicolon.
fn is_query(text: &str) -> bool {
    let is_capital = |word: &str| word.bytes().all(|byte| !byte.is_ascii_lowercase());
    is_statement_of_sql(text, is_capital)
        || text.trim_end().ends_with(';') && is_statement_of_sql(text, |_| true)
}

/// Whether a text begins with a verb of SQL and has the word that goes with it.
fn is_statement_of_sql(text: &str, is_written: fn(&str) -> bool) -> bool {
    const VERBS: [(&str, &str); 5] = [
        ("SELECT", "FROM"),
        ("UPDATE", "SET"),
        ("DELETE", "FROM"),
        ("INSERT", "INTO"),
        ("CREATE", "TABLE"),
    ];
    let mut words = text.split_whitespace();
    let is = |word: &str, wanted: &str| word.eq_ignore_ascii_case(wanted) && is_written(word);
    let first = words.next().unwrap_or_default();
    let verb = VERBS.iter().find(|(verb, _)| is(first, verb));
    verb.is_some_and(|(_, second)| words.any(|word| is(word, second)))
}

/// Whether a text is an element of mark-up of which its attributes say more than its words.
pub fn is_element(text: &str) -> bool {
    let text = text.trim();
    if !text.starts_with('<') || !text.ends_with('>') || !text.contains("=\"") {
        return false;
    }
    let (mut inside, mut outside, mut in_tag) = (0, 0, false);
    for c in text.chars() {
        match c {
            '<' => in_tag = true,
            '>' => in_tag = false,
            _ if in_tag => inside += 1,
            c if !c.is_whitespace() => outside += 1,
            _ => (),
        }
    }
    inside > outside
}

/// The names, numbers and operators of code, without comments, and without what ends a line.
pub fn cut(text: &str) -> Result<Tokens, Error> {
    let mut tokens = Tokens {
        text: with_room(text.len())?,
        ..Tokens::default()
    };
    // Names of SQL have no case, and either quotation mark begins a text of most languages.
    let is_sql = is_statement_of_sql(text, |_| true);
    let in_one_line = |text: String| match text.contains("--") {
        true => text,
        false => text.replace('\n', " "),
    };
    let lower = is_sql.then(|| in_one_line(text.to_ascii_lowercase()));
    for line in lower.as_deref().unwrap_or(text).lines() {
        let line = without_comment(line.trim());
        let line = line.trim_end().trim_end_matches([';', ',']);
        let (mut rest, mut depth) = (line, 0usize);
        while let Some(c) = rest.chars().next() {
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            let (length, kind) = if is_name(c) {
                let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                let is_number = c.is_ascii_digit();
                (
                    length,
                    if is_number {
                        TokenKind::Number
                    } else {
                        TokenKind::Word
                    },
                )
            } else {
                let is_operator = |c: char| "<>=!+-*/%&|^~:?.".contains(c);
                let run = rest.find(|c| !is_operator(c)).unwrap_or(rest.len());
                (run.max(c.len_utf8()), TokenKind::Symbol)
            };
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => (),
            }
            // It ends a statement, as the end of the line does; within brackets it says more.
            let ends_statement = c == ';' && depth == 0;
            if !c.is_whitespace() && !ends_statement {
                let reserved = tokens.tokens.try_reserve(1);
                reserved.map_err(|_| Error::OutOfMemory)?;
                let token = Token {
                    kind,
                    ..Token::default()
                };
                let word = match c {
                    '\'' | '`' => "\"",
                    _ => &rest[..length],
                };
                tokens.push(word, token);
            }
            rest = &rest[length..];
        }
    }
    Ok(tokens)
}

fn without_comment(line: &str) -> &str {
    let is_whole =
        line.starts_with('#') && !line.starts_with("#include") && !line.starts_with("#define");
    if is_whole || line.starts_with("/*") && line.ends_with("*/") {
        return "";
    }
    let starts = ["//", " # ", "-- "]
        .into_iter()
        .filter_map(|mark| line.find(mark));
    let begin = starts.filter(|at| !line[..*at].ends_with(':')).min();
    begin.map_or(line, |at| &line[..at])
}
