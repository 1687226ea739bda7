//! The figures by which texts are judged, each with its reason. All files of [`super`] read them. They were
//! set on pairs that people judged (tests/data) and hold for kinds and not for pairs: where a figure
//! could be one or another, it is the one that calls more texts different.

// Layout.

/// Letters of the name of a speaker.
pub const MOST_OF_SPEAKER: usize = 20;

/// Bytes and words of the place, the date and the agency of a report.
pub const MOST_OF_DATELINE: usize = 80;
pub const WORDS_OF_DATELINE: usize = 8;

/// Words of a report behind them, at least: shorter texts are titles, whose first word counts.
pub const LEAST_BEHIND_DATELINE: usize = 4;

/// Words behind the number of a section, at least: 1.5 Liter Milch.
pub const LEAST_BEHIND_SECTION: usize = 4;

/// Lines from a page number to the next one, at least.
/// A form has a label and a value in turn, a page has more lines.
pub const LINES_OF_A_PAGE: usize = 4;

/// Numbers that grow from page to page, at least.
/// Two numbers may follow each other by chance: 7 and 8 in an address.
pub const LEAST_PAGES: usize = 3;

// What carries a text.

/// Words of a salutation.
/// Dear ladies and gentlemen of the board, and a title.
pub const MOST_OF_SALUTATION: usize = 8;

/// Words of the line of a closing: with many friendly greetings from all of us.
pub const MOST_OF_CLOSING: usize = 6;

/// Words of a closing that is a word of sentences too: Best, Tom.
pub const WORDS_OF_WEAK_CLOSING: usize = 2;

/// Words of the signature below it.
pub const WORDS_OF_SIGNATURE: usize = 40;

/// Characters of a clause of thanks.
pub const MOST_OF_THANKS: usize = 12;

/// Words of a text that may be cut off, at least.
/// Four words are the begin of many texts.
pub const LEAST_CUT: usize = 5;

// Alignment.

/// Pairs of words that are compared at once.
/// Bounds the table of a stretch to a megabyte.
pub const MOST_PAIRS: usize = 1 << 23;

// Words that are alike.

/// Letters that are compared one by one.
pub const MOST_LETTERS: usize = 40;

/// Bytes of words that a scan cuts into several.
pub const SCANNED: usize = 5;

/// Letters of words in which neighbours may have changed places, at least.
/// Of words of three letters most orders are words.
pub const SWAPPED_LETTERS: usize = 4;

/// Letters of words of which one may be left out.
/// A word of four letters less one is mostly another word: board, boar.
pub const LEFT_OUT_LETTERS: usize = 5;

/// Letters of words of which one may be another.
/// Green and grey, Joan and John are words of one language.
pub const REPLACED_LETTERS: usize = 6;

/// Letters of a day, a month or a negation with an error: noting is not nothing, cancled is cancelled.
pub const COUNTING_LETTERS: usize = 7;

/// Letters of words with two slips.
/// Shorter words with two errors are nearer to other words.
pub const TWICE_WRONG_LETTERS: usize = 8;

// The shape of two texts, and what is compared.

/// Words of each text that are paired one by one.
/// Bounds the work for each stretch to 256 comparisons.
pub const MOST_PAIRED: usize = 16;

/// Two texts of which one lacks more than these words of the other, and more than that share of all, have
/// nothing to do with each other.
/// Below, pairs of forms may still explain all words.
pub const UNLIKE_WORDS: usize = 12;

/// The share of all words beyond which they have nothing to do with each other.
/// Texts that share fewer words have no sentence in common.
pub const UNLIKE_SHARE: f64 = 0.6;

/// The share beyond which nothing else is asked of two texts. Values and wordings make a tenth of the words
/// others; of 1,143 pairs that are called the same it was .36 in one, .16 in another and less in all others.
pub const FAR_SHARE: f64 = 0.5;

/// The same of scripts without spaces, where texts about different things share most characters: .09 at most.
pub const FAR_SHARE_OF_CHARACTERS: f64 = 0.3;

/// Words beside those with which both texts begin and end. Shorter texts may be one date or one amount.
pub const FAR_WORDS: usize = 24;

/// Words of a text that are compared by their letters first: longer texts are compared by equal words.
pub const SKETCHED_WORDS: usize = 64;

/// Letters that two words may have that the other has not: two slips replace two letters, a short word
/// has one.
pub const SKETCHED_LETTERS: u32 = 4;
pub const SKETCHED_LETTERS_OF_SHORT: u32 = 2;
pub const SKETCHED_SHORT: u32 = 5;

/// Letters of a stem, of which both words may have any ending.
pub const SKETCHED_STEM: usize = 3;

/// Words of a text that are in no form in the other one and in no list: with fewer, more has to be known.
pub const SKETCHED_ALONE: usize = 3;

/// Words of a text that is another one by any word that stands for another: a third fewer than those of a
/// long one, since other wordings may have fewer words.
pub const SKETCHED_REPLACED: usize = 40;

/// Words around a difference that may be part of a negation with it.
pub const AROUND: usize = 6;

/// Words of a long text: in it more may differ.
/// A letter of a paragraph: below, people name each word that differs; above, they read for what it
/// says.
pub const LONG: f64 = 60.0;

/// Words of a text of which passages may be in other words.
/// A page: people that compare two of them skip a passage in other words.
pub const VERY_LONG: f64 = 160.0;

/// Words of a field of a record, on average.
pub const WORDS_OF_A_FIELD: usize = 6;

// What words are.

/// Words by which a stretch is moved at most, of a heading and of a sentence up to a difference.
pub const MOST_SLID: usize = 60;

/// Which share of a heading the text below has again.
pub const HEADING_SHARE: f64 = 0.8;

/// The same of a heading that begins as only headings do: Subject, Betreff.
pub const NAMED_HEADING_SHARE: f64 = 0.4;

/// Words of a text in which those of a heading are looked for.
pub const MOST_REPEATED: usize = 4096;

/// Letters of a name that a catalogue begins with, and words of a sentence at its end.
pub const NAME: usize = 5;

/// Words of a sentence in which it says what it is about.
pub const LEAD: usize = 10;

// Words replaced.

/// Words from the begin in which somebody is addressed.
pub const HEAD: usize = 20;

/// Characters or words of the name in front of an office.
pub const MOST_OF_NAME: usize = 3;

/// Words of a clause that may be another one.
pub const REPLACED_CLAUSE: f64 = 3.0;

// Words added.

/// Which share of the words of a long text one addition may have.
pub const CLAUSE_SHARE: f64 = 0.25;

/// Words of a clause in a text without marks.
pub const ADDED_CLAUSE: f64 = 4.0;

/// Words of a clause between two marks, which say where it ends.
pub const BOUNDED_CLAUSE: f64 = 3.0;

/// Words of a heading, or of a sentence that makes a short text another one.
pub const SENTENCE: f64 = 3.0;

/// Words behind a name, at least, of a sentence about it.
pub const SENTENCE_BEHIND_A_NAME: usize = 3;

/// Equal words between two of which each text has one.
pub const BETWEEN_SWAPPED: usize = 2;

/// Words of a greeting or a closing.
pub const MOST_OF_GREETING: usize = 14;

/// Words of a note.
/// Longer than edit: fixed a typo, a note says something.
pub const MOST_OF_NOTE: usize = 5;

/// Words and characters of a notice that a short part makes one: enjoy, Photo.
pub const WORDS_OF_NOTICE: usize = 3;

/// The same of a text without spaces.
pub const CHARACTERS_OF_NOTICE: usize = 14;

/// Words of a sentence that begins with a call, and letters of one: read more, sent from.
pub const WORDS_OF_CALL: usize = 8;

/// Shorter ones begin other sentences too.
pub const LETTERS_OF_CALL: usize = 6;

/// Bytes of a part that is one in any sentence: subscribe to, all rights reserved.
pub const LONG_PART: usize = 10;

// What all differences decide together.

/// Words of a sentence, at least.
/// Fewer have no verb with what it is about.
pub const WORDS_OF_A_SENTENCE: usize = 3;

/// Which share of the words may have a typing error.
/// One error in a text of five words is a slip, two make another text.
pub const ERROR_SHARE: f64 = 0.2;

/// Characters of a text without spaces for each error.
/// A character says more than a letter.
pub const CHARACTERS_OF_AN_ERROR: f64 = 30.0;

/// Which share of the words may be added.
pub const ADDED_SHARE: f64 = 0.06;

/// The same of a long text.
/// A quarter: a letter with a paragraph more is the same letter.
pub const ADDED_SHARE_OF_LONG: f64 = 0.25;

/// Words that may be added to a short text.
pub const ADDED_WORDS: f64 = 3.0;

/// The same of a text without spaces, where two characters are one.
pub const ADDED_WORDS_OF_CHARACTERS: f64 = 4.0;

/// The share of a short text that they are at most.
pub const ADDED_SHARE_OF_SHORT: f64 = 0.34;

/// Which share of a long text may be clauses in other words.
pub const REWRITTEN_SHARE: f64 = 0.05;

/// The same of a very long text.
pub const REWRITTEN_SHARE_OF_VERY_LONG: f64 = 0.15;

/// Words of a text for each that may be exchanged alone.
pub const WORDS_OF_AN_EXCHANGE: f64 = 80.0;

// Order.

/// Clauses of a list of which another text is made, and words that they have on average.
/// Two things in turn may be two things.
pub const LEAST_TILES: usize = 3;
pub const MOST_OF_TILE: usize = 3;

/// Words of a name, and of what stands in front of a verb.
pub const MOST_OF_TURNED_NAME: usize = 3;

/// Words of an entry of a list of references.
pub const LEAST_OF_REFERENCE: usize = 6;
pub const MOST_OF_REFERENCE: usize = 60;

/// Words of a name with titles.
pub const MOST_OF_RANKED: usize = 10;

/// Words that change places with each other at most.
pub const MOST_MOVED: usize = 4;

/// Words that are looked through for a block that has moved.
/// Blocks of longer texts are sentences, which have a rule of their own.
pub const MOST_REORDERED: usize = 200;

/// Words of a text in which a block may have moved.
/// Two words in turn are two things in turn: X owes Y.
pub const LEAST_REORDERED: usize = 3;

/// Digits of a group of a telephone number, at least.
pub const LEAST_OF_GROUP: usize = 3;

/// Words that two things in turn may share at either end.
pub const MOST_SHARED: usize = 3;

// Sentences.

/// Which share of the pairs of words of a sentence another one has that is much alike.
pub const ALIKE_SHARE: f64 = 0.5;

/// Letters of a word that its forms share.
/// Endings of most inflected words begin behind the fourth letter.
pub const STEM: usize = 4;

/// Sentences of the same words that are compared. It bounds the work on a text of one sentence.
pub const MOST_ALIKE: usize = 4;

/// Words of a sentence that may be reworded, at least. Fewer are a name or a call.
pub const LEAST_STEMS: usize = 3;

/// Words of the block that is turned.
pub const MOST_TURNED: usize = 60;
