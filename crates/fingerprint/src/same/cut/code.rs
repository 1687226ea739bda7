//! Texts of code: each name, number and operator counts, white space and comments do not. [`crate::same`]
//! asks first whether two texts are code. The answer depends on their lines alone.

use super::tokens::{Token, TokenKind, Tokens};
use crate::error::Error;
use crate::same::with_room;

/// Words with which statements begin.
const STATEMENTS: [&str; 18] = [
    "if (",
    "if(",
    "for (",
    "for(",
    "while (",
    "while(",
    "def ",
    "function ",
    "let ",
    "const ",
    "var ",
    "class ",
    "public ",
    "private ",
    "static ",
    "elif ",
    "else:",
    "#include",
];

/// Operators that prose has not.
const OPERATORS: [&str; 12] = [
    "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "::", "++;", "<<=", ":=",
];

/// Whether a text is code: at least half of its lines are statements.
pub fn is_code(text: &str) -> bool {
    if !text.contains(['=', ';', '{', '(', '<', '&', '|'])
        || !text.contains(|c: char| c.is_ascii_alphabetic())
    {
        return is_query(text);
    }
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let statements = lines().filter(|line| is_statement(line.trim())).count();
    2 * statements >= lines().count() && statements > 0 || is_query(text)
}

fn is_statement(line: &str) -> bool {
    if line.contains("://") {
        return false;
    }
    let has_operator = || {
        line.contains(['=', '&', '|', '+', ':'])
            && OPERATORS.iter().any(|operator| line.contains(operator))
    };
    let begins = STATEMENTS.iter().any(|begin| line.starts_with(begin))
        && line.contains(['(', '=', '{', ':', '<']);
    let ends =
        line.ends_with([';', '{', '}']) && (line.len() == 1 || line.contains(['(', '=', '}', '{']));
    begins || ends || has_operator() || is_assignment(line)
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
    const VERBS: [(&str, &str); 4] = [
        ("SELECT ", " FROM "),
        ("UPDATE ", " SET "),
        ("DELETE ", " FROM "),
        ("INSERT ", " INTO "),
    ];
    let text = text.trim();
    let in_capitals = || {
        let verb = VERBS.iter().find(|(verb, _)| text.starts_with(verb));
        verb.is_some_and(|(verb, second)| text[verb.len() - 1..].contains(second))
    };
    let in_any_case = || {
        let begins = |verb: &str| {
            text.get(..verb.len())
                .is_some_and(|begin| begin.eq_ignore_ascii_case(verb))
        };
        let verb = VERBS.iter().find(|(verb, _)| begins(verb));
        verb.is_some_and(|(verb, second)| {
            let mut behind = text.as_bytes()[verb.len() - 1..].windows(second.len());
            behind.any(|words| words.eq_ignore_ascii_case(second.as_bytes()))
        })
    };
    in_capitals() || text.ends_with(';') && in_any_case()
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
    for line in text.lines() {
        let line = without_comment(line.trim());
        let line = line.trim_end().trim_end_matches([';', ',']);
        let mut rest = line;
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
            let ends_block = c == ';' && rest.trim_start_matches(';').trim_start().starts_with('}');
            if !c.is_whitespace() && !ends_block {
                let reserved = tokens.tokens.try_reserve(1);
                reserved.map_err(|_| Error::OutOfMemory)?;
                let token = Token {
                    kind,
                    ..Token::default()
                };
                tokens.push(&rest[..length], token);
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
