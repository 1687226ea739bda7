//! From text to words.
//!
//! In the order in which text flows through: [`markup`] (HTML out, with [`mail`] and `subtitles`), [`normal`] (normal form; in
//! [`pieces`] for texts that are shown as they are written),
//! [`words`] and [`ngrams`] (words, with their [`part_of_speech`], and character n-grams, both by
//! the [`scripts`] of characters), [`user_words`] and [`stop_words`] (words that users add and words
//! that do not count), [`word_list`] (how such words are kept). The built-in lists are in `lists/`.

pub(crate) mod folding;
pub mod mail;
pub mod markup;
pub mod ngrams;
pub mod normal;
pub(crate) mod other_scripts;
pub mod part_of_speech;
pub(crate) mod pieces;
pub(crate) mod scripts;
pub mod stop_words;
mod subtitles;
pub mod user_words;
pub mod word_list;
pub mod words;
