//! Lists of words as the tables of stored configurations keep them: terms, and for each a tag or
//! the number of documents that have it. Computes the digest of a list, and finds out what is wrong
//! with one.

use super::text::ARRAY;
use simhash_fingerprint::text::user_words::is_line_of_file;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::sha256::sha256;
use simhash_pg::sql::value::Value;
use simhash_pg::sql::value_parts::Array;

/// Maximum number of characters of a word.
const LONGEST: usize = 200;

/// Number of characters that an error shows of a word that is too long.
const SHOWN: usize = 40;

/// Number of bytes that are hashed at a time.
const PIECE: usize = 1 << 16;

/// Number of digits of the largest count.
const DIGITS: usize = 18;

pg_function! {
    /// `simhash_catalog.list_digest(documents bigint, terms text[], about text[]) -> text`
    fn simhash_list_digest, pg_finfo_simhash_list_digest (args) {
        args.result(Some(WordListArguments::from_arguments(args).digest()))
    }
}

pg_function! {
    /// `simhash_catalog.list_fault(documents bigint, terms text[], about text[]) -> text`
    fn simhash_list_fault, pg_finfo_simhash_list_fault (args) {
        args.result(WordListArguments::from_arguments(args).fault())
    }
}

struct WordListArguments<'a> {
    documents: Option<i64>,
    terms: Option<Array<'a>>,
    about: Option<Array<'a>>,
}

impl<'a> WordListArguments<'a> {
    fn from_arguments(args: &'a Args) -> Self {
        let array = |i| args.varlena(i, ARRAY).map(|value| value.array());
        Self {
            documents: args.get(0),
            terms: array(1),
            about: array(2),
        }
    }

    /// Returns SHA-256 in hexadecimal digits: of pieces, each of which begins with the digest of
    /// those before it.
    fn digest(&self) -> String {
        let documents = self.documents.map(|documents| documents.to_string());
        let mut piece = documents.unwrap_or_default().into_bytes();
        for array in [&self.terms, &self.about] {
            match array {
                Some(array) => piece.extend(format!(" {}", array.items.len()).bytes()),
                None => piece.extend(b" -"),
            }
            for item in array.iter().flat_map(|array| &array.items) {
                match item {
                    Some(value) => {
                        let text = to_utf8(value.bytes());
                        piece.extend(format!(" {}:", text.len()).bytes());
                        piece.extend(text.bytes());
                    }
                    None => piece.extend(b" -"),
                }
                if piece.len() >= PIECE {
                    check_for_interrupts();
                    piece = sha256(&piece).into();
                }
            }
        }
        let digest = sha256(&piece);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn fault(&self) -> Option<String> {
        let list = |array: &Option<Array<'_>>| {
            let dims = array.as_ref().map_or(&[][..], |array| &array.dims);
            matches!(dims, [] | [(_, 1)])
        };
        let terms = self.terms.as_ref().map_or(&[][..], |array| &array.items);
        let about = self.about.as_ref().map(|array| &array.items);
        let counted = self.documents.is_none() || about.is_some() || terms.is_empty();
        if !list(&self.terms)
            || !list(&self.about)
            || about.is_some_and(|about| about.len() != terms.len())
            || !counted
        {
            return Some("It must be a list of words, and as many tags or counts.".to_owned());
        }
        terms.iter().enumerate().find_map(|(i, term)| {
            if i % 1024 == 0 {
                check_for_interrupts();
            }
            self.word_fault(*term, about.and_then(|about| about[i]))
        })
    }

    fn word_fault(&self, term: Option<Value<'_>>, about: Option<Value<'_>>) -> Option<String> {
        let Some(term) = term.map(|term| to_utf8(term.bytes())) else {
            return Some("A word is NULL.".to_owned());
        };
        let shown: String = term.chars().take(SHOWN).collect();
        let length = term.chars().count();
        if !(1..=LONGEST).contains(&length) {
            let dots = if length > SHOWN { "..." } else { "" };
            return Some(format!(
                "\"{shown}{dots}\" has {length} characters; a word has 1 to {LONGEST}."
            ));
        }
        let Some(documents) = self.documents else {
            return is_line_of_file(&term)
                .then(|| format!("\"{shown}\" is a line of a dictionary file, not a word."));
        };
        let about = about.map(|about| to_utf8(about.bytes()));
        let about = about.as_deref().unwrap_or("");
        (!is_count(about, documents))
            .then(|| format!("Word \"{shown}\" is in {about} of {documents} documents."))
    }
}

/// Returns whether it is a number from 1 to `documents`, as the server writes it.
fn is_count(text: &str, documents: i64) -> bool {
    let digits = text.len() <= DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
    digits && !text.starts_with('0') && text.parse::<i64>().is_ok_and(|count| count <= documents)
}
