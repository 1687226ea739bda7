//! Stored configurations: weights, a preset, a dictionary and an idf table under a name and a
//! version.
//!
//! Versions never change, so a session loads each of them once. Which version a name stands for is
//! asked once in each statement, under that statement's snapshot.

#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::errors::{or_raise, raise};
use crate::fingerprint::Error;
use crate::fingerprint::options::grammar::{RowOptions, parse_row, parse_text};
use crate::fingerprint::options::presets::{self, Input, Preset};
use crate::fingerprint::options::text_options::TextOptions;
use crate::fingerprint::terms::{Idf, PartOfSpeech};
use crate::fingerprint::text::stop_words::StopWords;
use crate::fingerprint::text::user_words::UserWords;
use crate::fingerprint::text::word_list::{GatheredWords, WordList};
use crate::pg::process::backend::check_for_interrupts;
use crate::pg::process::error::{raise_with_hint, report};
use crate::pg::process::snapshot::Seen;
use crate::pg::spi::text_query::query;
use crate::pg::sql::fmgr::Args;

/// How many versions a session keeps.
const KEPT: usize = 8;

/// One version of a configuration.
pub struct Config {
    /// Unique, also among versions that were rolled back.
    id: String,
    /// Name and version.
    label: String,
    pub preset: &'static Preset,
    row: Result<RowOptions, Error>,
    text: Result<TextOptions, Error>,
}

impl Config {
    /// Its options when a row is given.
    pub fn row_options(&self) -> &RowOptions {
        match (&self.row, &self.text) {
            (Ok(options), _) => options,
            (_, Ok(_)) => self.made_for("texts", "simhash64_named_text"),
            (Err(error), _) => raise(error),
        }
    }

    /// Its options when a text is given.
    pub fn text_options(&self) -> &TextOptions {
        match (&self.text, &self.row) {
            (Ok(options), _) => options,
            (_, Ok(_)) => self.made_for("rows", "simhash64_named"),
            (Err(error), _) => raise(error),
        }
    }

    fn made_for(&self, what: &str, function: &str) -> ! {
        raise_with_hint(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("configuration \"{}\" is made for {what}", self.label),
            format!("{function} takes {what}."),
        )
    }
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
    /// The configuration that argument `i` names as the statement sees it, and whether it is
    /// another one than at the last call.
    pub fn refresh(&mut self, args: &Args, i: usize) -> Option<(Rc<Config>, bool)> {
        let name = args.varlena(i, pg_sys::TEXTOID)?.bytes();
        if let Some(config) = &self.config
            && self.name == name
            && self.seen.as_ref().is_some_and(Seen::is_now)
        {
            return Some((config.clone(), false));
        }
        let seen = Seen::now();
        let config = find(&crate::pg::process::encoding::to_utf8(name));
        let changed = self.config.as_ref().is_none_or(|old| old.id != config.id);
        (self.name, self.seen) = (name.to_vec(), seen);
        self.config = Some(config.clone());
        Some((config, changed))
    }
}

/// A row of simhash_catalog.config.
#[derive(Default)]
struct ConfigRow {
    id: String,
    label: String,
    options: Option<String>,
    preset: Option<String>,
    dictionary: Option<(String, String)>,
    idf: Option<(String, String)>,
}

/// The configuration `name` (its newest version) or `name@version`.
fn find(name: &str) -> Rc<Config> {
    // Only the usual spelling of a number: simhash_drop_config looks for that.
    let is_number = |text: &str| text.parse::<i32>().is_ok_and(|n| n.to_string() == text);
    let (base, version) = match name.rsplit_once('@') {
        Some((base, version)) if is_number(version) => (base, Some(version)),
        _ => (name, None),
    };
    let mut found = None;
    let this = match version {
        Some(_) => " AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4",
        None => "",
    };
    let text = format!(
        "SELECT id, version, options, preset, dictionary, dictionary_version, idf, idf_version \
         FROM simhash_catalog.config WHERE name OPERATOR(pg_catalog.=) $1{this} \
         ORDER BY version DESC LIMIT 1"
    );
    let parameters: Vec<&str> = std::iter::once(base).chain(version).collect();
    query(&text, &parameters, &mut |row| {
        let mut columns = row.iter().cloned();
        let mut next = || columns.next().flatten();
        found = Some(ConfigRow {
            id: next().unwrap_or_default(),
            label: format!("{base}@{}", next().unwrap_or_default()),
            options: next(),
            preset: next(),
            dictionary: next().zip(next()),
            idf: next().zip(next()),
        });
    });
    let Some(config_row) = found else {
        unknown(name);
    };
    let config = kept(&config_row.id).unwrap_or_else(|| Rc::new(load(config_row)));
    LOADED.with_borrow_mut(|loaded| loaded.push(config.clone()));
    config
}

/// Takes a version out of those that the session keeps. If it is not there and all places are
/// taken, drops the least recently used one.
fn kept(id: &str) -> Option<Rc<Config>> {
    LOADED.with_borrow_mut(|loaded| {
        let place = loaded.iter().position(|config| config.id == id);
        if place.is_none() && loaded.len() >= KEPT {
            loaded.remove(0);
        }
        place.map(|place| loaded.remove(place))
    })
}

fn unknown(name: &str) -> ! {
    let mut names = Vec::new();
    let text = "SELECT DISTINCT name FROM simhash_catalog.config \
                ORDER BY name USING OPERATOR(pg_catalog.<) LIMIT 10";
    query(text, &[], &mut |row| names.extend(row[0].clone()));
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

fn load(config_row: ConfigRow) -> Config {
    let preset = or_raise(presets::find(config_row.preset.as_deref()));
    let json = config_row.options.as_deref().unwrap_or("{}");
    let (mut row, mut text) = (
        parse_row(json, &mut check_for_interrupts),
        parse_text(json, &mut check_for_interrupts),
    );
    // A shortage of memory passes: unlike other errors it is not remembered.
    if matches!(row, Err(Error::OutOfMemory)) || matches!(text, Err(Error::OutOfMemory)) {
        or_raise(Err::<(), _>(Error::OutOfMemory));
    }
    let used = |kind, stored: &Option<(String, String)>| {
        let (name, version) = stored.clone()?;
        Some(StoredVersion {
            config: config_row.label.clone(),
            kind,
            name,
            version,
        })
    };
    let words = used("dictionary", &config_row.dictionary).map(|version| Words::load(&version));
    let idf = used("idf table", &config_row.idf).map(|version| load_idf(&version));
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
        id: config_row.id,
        label: config_row.label,
        preset,
        row,
        text,
    }
}

/// A version of a dictionary or an idf table that a configuration uses.
struct StoredVersion {
    config: String,
    kind: &'static str,
    name: String,
    version: String,
}

impl StoredVersion {
    fn rows(&self, text: &str, row: &mut dyn FnMut(&[Option<String>])) {
        query(text, &[&self.name, &self.version], row);
    }

    /// Raises an ERROR unless as many words or terms are stored as the version was made of: with
    /// others its fingerprints would differ.
    fn check(&self, should: Option<u64>, found: u64, what: &str) {
        let Self {
            config,
            kind,
            name,
            version,
        } = self;
        let (state, detail) = match should {
            Some(should) if should == found => return,
            Some(should) => (
                "is damaged",
                format!("Stored {what}: {found}, expected: {should}."),
            ),
            None => ("does not exist", "Its rows are missing.".to_owned()),
        };
        report(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            format!("version \"{version}\" of {kind} \"{name}\" {state}"),
            Some(format!("Configuration \"{config}\" uses it. {detail}")),
            Some("The tables of schema simhash_catalog must be restored together.".to_owned()),
        )
    }
}

/// A version of a dictionary. Options of rows and of texts share it.
struct Words {
    whole: Arc<UserWords>,
    stop: Arc<WordList<()>>,
    is_empty: bool,
}

impl Words {
    fn load(version: &StoredVersion) -> Self {
        let (mut whole, mut stop) = (GatheredWords::default(), GatheredWords::default());
        let (mut should, mut count) = (None, 0);
        let text = "SELECT words FROM simhash_catalog.dictionary \
                    WHERE name OPERATOR(pg_catalog.=) $1 AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4";
        version.rows(text, &mut |row| should = Some(number(&row[0])));
        let text = "SELECT kind, word, tag \
                    FROM simhash_catalog.dictionary_words($1, $2::pg_catalog.int4)";
        version.rows(text, &mut |row| {
            let [kind, Some(word), tag] = row else {
                return;
            };
            count += 1;
            or_raise(match kind.as_deref() {
                Some("stop") => stop.add(word, ()),
                _ => whole.add(
                    word,
                    tag.as_deref()
                        .map_or(PartOfSpeech::Noun, PartOfSpeech::of_tag),
                ),
            });
        });
        version.check(should, count, "words");
        let pause = &mut check_for_interrupts;
        let whole = whole.sorted(pause);
        Self {
            is_empty: whole.is_empty(),
            whole: Arc::new(or_raise(UserWords::tagged(whole, pause))),
            stop: Arc::new(stop.sorted(pause)),
        }
    }

    /// Adds the stop words to those of options or preset, and the words unless the options have a
    /// dictionary.
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

fn load_idf(version: &StoredVersion) -> Arc<Idf> {
    let mut idf = Idf::new(0);
    let (mut should, mut count) = (None, 0);
    let text = "SELECT documents, terms FROM simhash_catalog.idf \
                WHERE name OPERATOR(pg_catalog.=) $1 AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4";
    version.rows(text, &mut |row| {
        idf = Idf::new(number(&row[0]));
        should = Some(number(&row[1]));
    });
    if should.is_none() {
        version.check(should, count, "terms");
    }
    let text = "SELECT term, documents FROM simhash_catalog.idf_term \
                WHERE name OPERATOR(pg_catalog.=) $1 AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4";
    version.rows(text, &mut |row| {
        if let Some(term) = &row[0] {
            count += 1;
            or_raise(idf.add(term, number(&row[1])));
        }
    });
    version.check(should, count, "terms");
    Arc::new(idf)
}

fn number(column: &Option<String>) -> u64 {
    column.as_deref().and_then(|n| n.parse().ok()).unwrap_or(0)
}
