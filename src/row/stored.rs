//! Stored configurations: weights, a preset, a dictionary and an idf table under a name and a version.
//!
//! Versions never change. So each is loaded once in a session, and what has to be asked again is only
//! which version a name stands for: once in each statement, under that statement's snapshot.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::errors::or_raise;
use crate::fingerprint::Error;
use crate::fingerprint::options::{RowOptions, TextOptions, parse_row, parse_text};
use crate::fingerprint::presets::{self, Input, Preset};
use crate::fingerprint::stop_words::StopWords;
use crate::fingerprint::terms::{Idf, Speech};
use crate::fingerprint::user_words::UserWords;
use crate::fingerprint::word_list::{GatheredWords, WordList};
use crate::pg::error::report;
use crate::pg::fmgr::Args;
use crate::pg::lookup::function_schema;
use crate::pg::process::check_for_interrupts;
use crate::pg::snapshot::Seen;
use crate::pg::text_query::query;

/// How many versions a session keeps.
const KEPT: usize = 8;

/// One version of a configuration.
pub struct Config {
    /// Unique, also among versions that were rolled back.
    id: String,
    pub preset: &'static Preset,
    pub row: Result<RowOptions, Error>,
    pub text: Result<TextOptions, Error>,
}

thread_local! {
    /// The most recently used last.
    static LOADED: RefCell<Vec<Rc<Config>>> = const { RefCell::new(Vec::new()) };
}

/// What a call site remembers of its configuration.
#[derive(Default)]
pub struct Named {
    name: Vec<u8>,
    seen: Option<Seen>,
    config: Option<Rc<Config>>,
}

impl Named {
    /// The configuration that argument `i` names as the statement sees it, and whether it is another one
    /// than at the last call.
    pub fn refresh(&mut self, args: &Args, i: usize) -> Option<(Rc<Config>, bool)> {
        let name = args.varlena(i, pg_sys::TEXTOID)?.bytes();
        let seen = Seen::now();
        if let Some(config) = &self.config
            && seen.is_some()
            && self.seen == seen
            && self.name == name
        {
            return Some((config.clone(), false));
        }
        let schema = function_schema(args);
        let config = find(&schema, &crate::pg::encoding::to_utf8(name));
        let changed = self.config.as_ref().is_none_or(|old| old.id != config.id);
        (self.name, self.seen) = (name.to_vec(), seen);
        self.config = Some(config.clone());
        Some((config, changed))
    }
}

/// A row of simhash_config.
#[derive(Default)]
struct Entry {
    id: String,
    options: Option<String>,
    preset: Option<String>,
    dictionary: Option<(String, String)>,
    idf: Option<(String, String)>,
}

/// The configuration `name` (its newest version) or `name@version`.
fn find(schema: &str, name: &str) -> Rc<Config> {
    let (base, version) = match name.rsplit_once('@') {
        Some((base, version)) if version.parse::<i32>().is_ok() => (base, Some(version)),
        _ => (name, None),
    };
    let mut found = None;
    let this = match version {
        Some(_) => " AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4",
        None => "",
    };
    let text = format!(
        "SELECT id, options, preset, dictionary, dictionary_version, idf, idf_version FROM {schema}.simhash_config \
         WHERE name OPERATOR(pg_catalog.=) $1{this} ORDER BY version DESC LIMIT 1"
    );
    let parameters: Vec<&str> = std::iter::once(base).chain(version).collect();
    query(&text, &parameters, &mut |row| {
        let mut columns = row.iter().cloned();
        let mut next = || columns.next().flatten();
        found = Some(Entry {
            id: next().unwrap_or_default(),
            options: next(),
            preset: next(),
            dictionary: next().zip(next()),
            idf: next().zip(next()),
        });
    });
    let Some(entry) = found else {
        unknown(schema, name);
    };
    let config = kept(&entry.id).unwrap_or_else(|| Rc::new(load(schema, entry)));
    LOADED.with_borrow_mut(|loaded| loaded.push(config.clone()));
    config
}

/// Takes a version out of those that the session keeps, or the one that was not used for longest, when
/// there is no more room.
fn kept(id: &str) -> Option<Rc<Config>> {
    LOADED.with_borrow_mut(|loaded| {
        let place = loaded.iter().position(|config| config.id == id);
        if place.is_none() && loaded.len() >= KEPT {
            loaded.remove(0);
        }
        place.map(|place| loaded.remove(place))
    })
}

fn unknown(schema: &str, name: &str) -> ! {
    let mut names = Vec::new();
    let text = format!(
        "SELECT DISTINCT name FROM {schema}.simhash_config ORDER BY name USING OPERATOR(pg_catalog.<) LIMIT 10"
    );
    query(&text, &[], &mut |row| names.extend(row[0].clone()));
    let hint = match names.is_empty() {
        true => "simhash_create_config makes one.".to_owned(),
        false => format!("Among the configurations are {}.", names.join(", ")),
    };
    report(
        PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        format!("configuration \"{name}\" does not exist"),
        None,
        Some(hint),
    )
}

fn load(schema: &str, entry: Entry) -> Config {
    let preset = or_raise(presets::find(entry.preset.as_deref()));
    let json = entry.options.as_deref().unwrap_or("{}");
    let (mut row, mut text) = (parse_row(json), parse_text(json));
    let words = entry
        .dictionary
        .map(|(name, version)| Words::load(schema, &name, &version));
    let idf = entry
        .idf
        .map(|(name, version)| load_idf(schema, &name, &version));
    let row_text = row.as_mut().map(|row| &mut row.text);
    for options in [row_text, text.as_mut()].into_iter().flatten() {
        if let Some(words) = &words {
            words.add_to(options, preset);
        }
        if let Some(idf) = &idf {
            options.terms.idf.get_or_insert_with(|| Some(idf.clone()));
        }
    }
    Config {
        id: entry.id,
        preset,
        row,
        text,
    }
}

/// A version of a dictionary. Options of rows and of texts share it.
struct Words {
    whole: Arc<UserWords>,
    stop: Arc<WordList<()>>,
    is_empty: bool,
}

impl Words {
    fn load(schema: &str, name: &str, version: &str) -> Self {
        let (mut whole, mut stop) = (GatheredWords::default(), GatheredWords::default());
        let text = format!(
            "SELECT kind, word, tag FROM {schema}.simhash_dictionary_words($1, $2::pg_catalog.int4)"
        );
        query(&text, &[name, version], &mut |row| {
            let [kind, Some(word), tag] = row else {
                return;
            };
            or_raise(match kind.as_deref() {
                Some("stop") => stop.add(word, ()),
                _ => whole.add(word, tag.as_deref().map_or(Speech::Noun, Speech::of_tag)),
            });
        });
        let pause = &mut check_for_interrupts;
        let whole = whole.sorted(pause);
        Self {
            is_empty: whole.is_empty(),
            whole: Arc::new(or_raise(UserWords::tagged(whole, pause))),
            stop: Arc::new(stop.sorted(pause)),
        }
    }

    /// Stop words join those of options or preset; words do so unless the options have their own.
    fn add_to(&self, options: &mut TextOptions, preset: &Preset) {
        if options.dictionary.is_none() && !self.is_empty {
            options.dictionary = Some(self.whole.clone());
        }
        if !self.stop.is_empty() {
            let before = match (&options.stop_words, &preset.input) {
                (Some(given), _) => given.clone(),
                (None, Input::Words(rules)) => rules.stop_words.clone(),
                (None, Input::WeightedTokens) => StopWords::None,
            };
            options.stop_words = Some(before.with(self.stop.clone()));
        }
    }
}

fn load_idf(schema: &str, name: &str, version: &str) -> Arc<Idf> {
    let mut idf = Idf::new(0);
    let text = format!(
        "SELECT documents FROM {schema}.simhash_idf WHERE name OPERATOR(pg_catalog.=) $1 \
         AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4"
    );
    query(&text, &[name, version], &mut |row| {
        idf = Idf::new(number(&row[0]));
    });
    let text = format!(
        "SELECT term, documents FROM {schema}.simhash_idf_term WHERE name OPERATOR(pg_catalog.=) $1 \
         AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4"
    );
    query(&text, &[name, version], &mut |row| {
        if let Some(term) = &row[0] {
            or_raise(idf.add(term, number(&row[1])));
        }
    });
    Arc::new(idf)
}

fn number(column: &Option<String>) -> u64 {
    column.as_deref().and_then(|n| n.parse().ok()).unwrap_or(0)
}
