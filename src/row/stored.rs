//! Stored configurations: weights, a preset, words, stop words and document frequencies with a
//! name.
//!
//! What a name means never changes, so a session loads each configuration once. Whether the name is
//! there is looked up once in each statement, under that statement's snapshot.

#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::errors::{ToError, or_raise};
use simhash_fingerprint::Error as InputError;
use simhash_fingerprint::options::grammar::{RowOptions, parse_row, parse_text};
use simhash_fingerprint::options::presets::{self, Input, Preset};
use simhash_fingerprint::options::text_options::TextOptions;
use simhash_fingerprint::terms::Idf;
use simhash_fingerprint::text::part_of_speech::PartOfSpeech;
use simhash_fingerprint::text::stop_words::StopWords;
use simhash_fingerprint::text::user_words::UserWords;
use simhash_fingerprint::text::word_list::{GatheredWords, WordList};
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::give_back_freed;
use simhash_pg::process::snapshot::SnapshotContents;
use simhash_pg::spi::query::{ResultSink, for_each_row};
use simhash_pg::spi::saved_query::SavedQuery;
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::value::Value;

/// Number of configurations that a session keeps.
const MAX_LOADED: usize = 8;

/// A stored configuration.
pub struct Config {
    name: String,
    /// Digest of all that it means: a name may have another digest if it was dropped in a
    /// transaction that is rolled back, or was never committed.
    digest: String,
    lists: ConfigLists,
    pub preset: &'static Preset,
    row: Result<RowOptions, InputError>,
    text: Result<TextOptions, InputError>,
}

impl Config {
    /// Returns its options for rows.
    pub fn row_options(&self) -> &RowOptions {
        match (&self.row, &self.text) {
            (Ok(options), _) => options,
            (_, Ok(_)) => self.wrong_input("texts", "simhash64_named_text"),
            (Err(error), _) => error.to_error().raise(),
        }
    }

    /// Returns its options for texts.
    pub fn text_options(&self) -> &TextOptions {
        match (&self.text, &self.row) {
            (Ok(options), _) => options,
            (_, Ok(_)) => self.wrong_input("rows", "simhash64_named"),
            (Err(error), _) => error.to_error().raise(),
        }
    }

    fn wrong_input(&self, what: &str, function: &str) -> ! {
        Error::new(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("configuration \"{}\" is made for {what}", self.name),
        )
        .hint(format!("{function} takes {what}."))
        .raise()
    }
}

thread_local! {
    /// The most recently used one is the last.
    static LOADED: RefCell<Vec<Rc<Config>>> = const { RefCell::new(Vec::new()) };
}

/// State that a call site keeps for its configuration.
#[derive(Default)]
pub struct ConfigSite {
    name: Vec<u8>,
    snapshot: Option<SnapshotContents>,
    config: Option<Rc<Config>>,
}

impl ConfigSite {
    /// Returns the configuration that argument `i` names as the statement sees it, and whether it
    /// differs from that of the last call.
    pub fn refresh(&mut self, args: &Args, i: usize) -> Option<(Rc<Config>, bool)> {
        let name = args.varlena(i, pg_sys::TEXTOID)?.bytes();
        if let Some(config) = &self.config
            && self.name == name
            && self.snapshot.as_ref().is_some_and(SnapshotContents::is_now)
        {
            return Some((config.clone(), false));
        }
        let snapshot = SnapshotContents::now();
        let config = find(&to_utf8(name));
        let changed = self
            .config
            .as_ref()
            .is_none_or(|old| old.digest != config.digest);
        (self.name, self.snapshot) = (name.to_vec(), snapshot);
        self.config = Some(config.clone());
        Some((config, changed))
    }
}

/// Returns the configuration `name`.
fn find(name: &str) -> Rc<Config> {
    let digest = digest(name);
    let config = take_loaded(name, &digest).unwrap_or_else(|| Rc::new(load(name, digest)));
    LOADED.with_borrow_mut(|loaded| loaded.push(config.clone()));
    config
}

/// Takes a configuration out of those that the session keeps. If it is not there and all places are
/// taken, drops the least recently used one.
fn take_loaded(name: &str, digest: &str) -> Option<Rc<Config>> {
    LOADED.with_borrow_mut(|loaded| {
        let is_same = |config: &Rc<Config>| config.digest == digest && config.name == name;
        let place = loaded.iter().position(is_same);
        if place.is_none() && loaded.len() >= MAX_LOADED {
            loaded.remove(0);
        }
        place.map(|place| loaded.remove(place))
    })
}

/// Returns the digest of the configuration `name`; raises an ERROR unless all of it is there.
pub fn checked_digest(name: &str) -> String {
    let digest = digest(name);
    check(name);
    digest
}

/// Calls `row` with each row of a query whose parameter is a text.
fn rows_of<const N: usize>(sql: &'static str, parameter: &str, row: ResultSink<N>) {
    let query = SavedQuery::of_session(sql, &[pg_sys::TEXTOID]);
    query.for_each_row(&[Some(Value::of_text(parameter))], row);
}

/// Returns the digest of the configuration `name`; raises an ERROR if there is none.
fn digest(name: &str) -> String {
    let sql = "SELECT digest FROM simhash_catalog.config \
               WHERE name OPERATOR(pg_catalog.=) $1 AND NOT dropped";
    let mut digest = None;
    rows_of(sql, name, &mut |[text]| {
        digest = text.map(|text| text.to_text())
    });
    digest.unwrap_or_else(|| unknown(name))
}

fn unknown(name: &str) -> ! {
    let mut names = Vec::new();
    let sql = "SELECT name FROM simhash_catalog.config WHERE NOT dropped \
               ORDER BY name USING OPERATOR(pg_catalog.<) LIMIT 10";
    for_each_row(sql, &[], &mut |[name]| {
        names.extend(name.map(|name| name.to_text()))
    });
    let hint = match names.is_empty() {
        true => "simhash_create_config makes one.".to_owned(),
        false => format!("Among the configurations are {}.", names.join(", ")),
    };
    Error::new(
        PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        format!("configuration \"{name}\" does not exist"),
    )
    .hint(hint)
    .raise()
}

/// Raises an ERROR unless all of the configuration is there and as it was stored: otherwise its
/// fingerprints would differ.
fn check(name: &str) {
    let sql = "SELECT simhash_catalog.fault_of(c) FROM simhash_catalog.config AS c \
               WHERE c.name OPERATOR(pg_catalog.=) $1";
    let mut fault = None;
    rows_of(sql, name, &mut |[text]| {
        fault = text.map(|text| text.to_text())
    });
    if let Some(fault) = fault {
        Error::new(
            PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
            format!("configuration \"{name}\" is damaged"),
        )
        .detail(fault)
        .hint("The tables of schema simhash_catalog must be restored together.")
        .raise()
    }
}

fn load(name: &str, digest: String) -> Config {
    check(name);
    let sql = "SELECT options, preset, words, stop_words, frequencies FROM simhash_catalog.config \
               WHERE name OPERATOR(pg_catalog.=) $1";
    let mut columns = [const { None }; 5];
    rows_of(sql, name, &mut |row| {
        columns = row.map(|text| text.map(|text| text.to_text()));
    });
    let [json, preset, words, stop_words, frequencies] = columns;
    let json = json.unwrap_or_default();
    let preset = or_raise(presets::find(preset.as_deref()));
    let (mut row, mut text) = (
        parse_row(&json, &mut check_for_interrupts),
        parse_text(&json, &mut check_for_interrupts),
    );
    // A shortage of memory passes, so it is not remembered, unlike other errors.
    if matches!(row, Err(InputError::OutOfMemory)) || matches!(text, Err(InputError::OutOfMemory)) {
        Error::out_of_memory().raise();
    }
    let lists = ConfigLists {
        words: words.map(|digest| shared(digest, |lists| &lists.words, load_words)),
        stop_words: stop_words
            .map(|digest| shared(digest, |lists| &lists.stop_words, load_stop_words)),
        frequencies: frequencies.map(|digest| shared(digest, |lists| &lists.frequencies, load_idf)),
    };
    let row_text = row.as_mut().map(|row| &mut row.text);
    for options in [row_text, text.as_mut()].into_iter().flatten() {
        lists.add_to(options, preset);
    }
    Config {
        name: name.to_owned(),
        digest,
        lists,
        preset,
        row,
        text,
    }
}

/// A list with its digest.
type Shared<T> = Option<(String, Arc<T>)>;

/// The lists of words of a configuration, which options of rows and of texts share, and other
/// configurations that have the same.
struct ConfigLists {
    words: Shared<UserWords>,
    stop_words: Shared<WordList<()>>,
    frequencies: Shared<Idf>,
}

/// Returns the list with this digest: of a configuration that the session keeps, or loaded.
fn shared<T>(
    digest: String,
    list_of: fn(&ConfigLists) -> &Shared<T>,
    load: fn(&str) -> T,
) -> (String, Arc<T>) {
    let known = LOADED.with_borrow(|loaded| {
        let mut lists = loaded
            .iter()
            .filter_map(|config| list_of(&config.lists).as_ref());
        lists
            .find(|list| list.0 == digest)
            .map(|list| list.1.clone())
    });
    let list = known.unwrap_or_else(|| {
        let list = Arc::new(load(&digest));
        // The server read the whole list at once.
        give_back_freed();
        list
    });
    (digest, list)
}

impl ConfigLists {
    /// Adds the stop words to those of options or preset, and words and frequencies unless the
    /// options have their own.
    fn add_to(&self, options: &mut TextOptions, preset: &Preset) {
        if let Some((_, words)) = &self.words {
            options.dictionary.get_or_insert_with(|| words.clone());
        }
        if let Some((_, stop_words)) = &self.stop_words {
            let before = match (&options.stop_words, &preset.input) {
                (Some(given), _) => given.clone(),
                (None, Input::Words(rules)) => rules.stop_words.clone(),
                (None, Input::WeightedTokens) => StopWords::None,
            };
            options.stop_words = Some(before.with(stop_words.clone()));
        }
        if let Some((_, idf)) = &self.frequencies {
            options.terms.idf.get_or_insert_with(|| Some(idf.clone()));
        }
    }
}

/// Calls `add` with each word of a list, and its tag or its number of documents.
fn each_term(digest: &str, mut add: impl FnMut(&str, Option<&str>) -> Result<(), InputError>) {
    // They are not in FROM, where the server would keep all words before it gives the first.
    let sql = "SELECT pg_catalog.unnest(terms), pg_catalog.unnest(about) \
               FROM simhash_catalog.content WHERE digest OPERATOR(pg_catalog.=) $1";
    rows_of(sql, digest, &mut |[term, about]| {
        check_for_interrupts();
        if let Some(term) = term {
            let about = about.map(|about| about.to_text());
            or_raise(add(&term.to_text(), about.as_deref()));
        }
    });
}

fn load_words(digest: &str) -> UserWords {
    let mut words = GatheredWords::default();
    each_term(digest, |word, tag| {
        words.add(word, tag.map_or(PartOfSpeech::Noun, PartOfSpeech::of_tag))
    });
    let check_interrupts = &mut check_for_interrupts;
    or_raise(UserWords::tagged(
        words.sorted(check_interrupts),
        check_interrupts,
    ))
}

fn load_stop_words(digest: &str) -> WordList<()> {
    let mut words = GatheredWords::default();
    each_term(digest, |word, _| words.add(word, ()));
    words.sorted(&mut check_for_interrupts)
}

fn load_idf(digest: &str) -> Idf {
    let sql = "SELECT documents FROM simhash_catalog.content \
               WHERE digest OPERATOR(pg_catalog.=) $1";
    let mut documents = 0;
    rows_of(sql, digest, &mut |[count]| {
        documents = count.map_or(0, |count| count.integer() as u64);
    });
    let mut idf = Idf::new(documents);
    each_term(digest, |term, count| {
        let count = count.and_then(|count| count.parse().ok());
        idf.add(term, count.unwrap_or(0))
    });
    idf
}
