//! What is left of HTML.

use proptest::prelude::*;

use crate::text::markup::{Markup, strip};

/// About the bytes between two pauses.
const CHUNK: usize = 1 << 16;

fn html(text: &str) -> String {
    let stripped = strip(Markup::Html, text, &mut || {});
    stripped.unwrap().trim().to_owned()
}

fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(html(text), *expected, "{text}");
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[test]
fn tags_end_words_unless_they_stand_in_the_run_of_a_text() {
    check(&[
        ("<p>one</p><p>two</p>", "one two"),
        ("<b>on</b>e", "one"),
        ("<SPAN class=x>on</SPAN><wbr>e", "one"),
        ("one<br>two<BR/>three<br />four", "one two three four"),
        ("<td>1<td>2<my-cell>3</my-cell>4", "1 2 3 4"),
        ("<a>1</a><abbreviation>2<strongest>3", "1 2 3"),
        ("<div>\n<ul><li>one</li>\n<li>two", "one \ntwo"),
        ("<p><p/></p>", ""),
    ]);
}

#[test]
fn what_is_no_text_goes() {
    check(&[
        ("<!DOCTYPE html PUBLIC 'a' \"b\">x", "x"),
        ("on<!-- <p> -- > --!>e<!---->, <!-->two", "one, two"),
        ("<?xml version='1.0'?>x<?php a ?>", "x"),
        ("<!ELEMENT a>x</ a>y</>z", "xyz"),
        ("a<script>var b = '<p>';</script>c", "a c"),
        ("a<SCRIPT SRC='x'><!-- </p> //--></ScripT >c", "a c"),
        ("<script><!-- <script> a </script> b --></script>c", "c"),
        ("a<style>b</styles></style\n>c</style>d", "a c d"),
        ("a<iframe>b</iframe><noframes>c</noframes>d", "a d"),
        ("a<noembed><b></noembed>d", "a d"),
        ("<img alt='a' title=b>c", "c"),
    ]);
}

#[test]
fn what_is_text_stays() {
    check(&[
        ("<title>a <b> &amp; c</title>d", "a <b> & c d"),
        ("<textarea>a</text></textarea >d", "a</text> d"),
        ("<xmp>a <b> &lt;</xmp>c", "a <b> &lt; c"),
        ("<plaintext>a</plaintext>", "a</plaintext>"),
        ("<noscript>a</noscript><template>b</template>", "a b"),
        ("<![CDATA[a < b]] &lt;]]>c", "a < b]] &lt;c"),
        ("a < b, a <3, 1<2 <", "a < b, a <3, 1<2 <"),
        ("a > b </", "a > b </"),
        ("两<b>个</b>字<p>段é", "两个字 段é"),
        ("<title>é<é</é</title>é", "é<é</é é"),
        ("a\0b", "a\0b"),
        ("a\r\nb\rc", "a\nb\nc"),
    ]);
}

#[test]
fn what_is_never_closed_goes_to_the_end() {
    check(&[
        ("a<b", "a"),
        ("a<b title='c> d", "a"),
        ("a<!-- b", "a"),
        ("a<script> b </script", "a"),
        ("a<style/> b", "a"),
        ("a<!", "a"),
        ("a<![CDATA[b", "ab"),
        ("<title>b", "b"),
    ]);
}

#[test]
fn attributes_hold_anything() {
    check(&[
        ("<a title='>' href=\"a>b'\">c</a>", "c"),
        ("<a title=a>b>c", "b>c"),
        ("<a b='&gt;' c='&notit;' d=&#62; =e \"f>g", "g"),
        ("<a/b/ c = 'd'/>e", "e"),
    ]);
}

#[test]
fn character_references_are_decoded() {
    check(&[
        ("R&amp;D &lt;b&gt; &quot;&apos;", "R&D <b> \"'"),
        ("caf&eacute;s &Eacute;&NotEqualTilde;", "cafés É≂̸"),
        (
            "AT&T &unknown; &; & &#; &#x; &#xg",
            "AT&T &unknown; &; & &#; &#x; &#xg",
        ),
        ("&copy2 &notit; &amp", "©2 ¬it; &"),
        ("&#233;&#xE9;&#Xe9&#233 x", "éééé x"),
        ("&#128;&#x99;&#129;", "€™\u{81}"),
        (
            "&#0;&#xD800;&#x110000;&#99999999999999999999;",
            "\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
        ),
        ("a&nbsp;b&shy;c&zwj;", "a\u{a0}b\u{ad}c\u{200d}"),
        ("&#x1F600;&#20013;", "😀中"),
        ("&amp;lt;", "&lt;"),
    ]);
}

#[test]
fn without_markup_a_text_is_as_it_comes() {
    let text = "a<b>\r&amp;";
    assert_eq!(strip(Markup::None, text, &mut || {}), Ok(text.into()));
}

/// Whatever a text is made of, it is read at one go, with checks for interrupts.
#[test]
fn long_texts_pause() {
    let long = |part: &str| part.repeat(4 * CHUNK / part.len());
    for part in [
        "a", "中", " ", "<", "&", "<p>", "&#", "&amp;", "<!--", "</", "-->", "a'",
    ] {
        for front in [
            "",
            "<p ",
            "<p a='",
            "<!--",
            "<script>",
            "<script><!--<",
            "<title></",
            "&",
            "&#",
        ] {
            let text = format!("{front}{}", long(part));
            let mut pauses = 0;
            let stripped = strip(Markup::Html, &text, &mut || pauses += 1).unwrap();
            assert!((3..=4).contains(&pauses), "{front}{part}: {pauses}");
            assert!(stripped.len() <= text.len() + 1);
        }
    }
}

proptest! {
    #[test]
    fn any_text_has_a_plain_one(text in r#"([<>&;"'!/ a=\-\[\]#x1é中\r\n\x00]|script|style|title|CDATA|amp|</|<!--|-->|]]>){0,40}"#) {
        let once = html(&text);
        prop_assert!(once.len() <= 3 * text.len());
        prop_assert_eq!(html(&text), once);
    }

    #[test]
    fn text_without_markup_is_its_own(text in r"[^<&\r]{0,60}") {
        let stripped = strip(Markup::Html, &text, &mut || {}).unwrap();
        prop_assert_eq!(stripped.as_ref(), &text);
    }

    #[test]
    fn what_is_escaped_comes_back(text in r#"([<>&;"'!/ a=\-#é中]|script|amp|-->){0,40}"#) {
        for (begin, end) in [("", ""), ("<p>", "</p>"), ("<a b='>'>", "</a><script>c</script>"), ("<title>", "</title>")] {
            prop_assert_eq!(html(&format!("{begin}{}{end}", escape(&text))), text.trim());
        }
    }
}
