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

fn lines(markup: Markup, text: &str) -> Vec<String> {
    let stripped = strip(markup, text, &mut || {}).unwrap();
    let lines = stripped.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

#[test]
fn a_mail_is_what_its_sender_wrote() {
    for mail in [
        "The lamp is out.\nPlease fix it.",
        "The lamp is out.\n> When?\nPlease fix it.\n-- \nLena Fox\nMill Street 4",
        "The lamp is out.\nPlease fix it.\n\nOn Wed, Jun 5, 2024 at 3:02 PM Lena Fox <l@x.org>\nwrote:\n> Which lamp?\n> L.",
        "The lamp is out.\nPlease fix it.\n\nAm 5.6.2024 schrieb Lena Fox:\n\n> Which lamp?\n",
        "The lamp is out.\r\nPlease fix it.\r\n\r\n-----Original Message-----\r\nFrom: Lena\r\nWhich lamp?",
        "The lamp is out.\nPlease fix it.\n\nVon: Lena\nGesendet: Mittwoch\nBetreff: Lampe\n\nWelche?",
        "The lamp is out.\nPlease fix it.\n\nSent from my phone\n\nThis e-mail and any attachments are confidential.",
        "The lamp is out. [image: logo.png]\nPlease fix it.{{footer}}",
    ] {
        let own = lines(Markup::Mail, mail);
        assert_eq!(own, ["The lamp is out.", "Please fix it."], "{mail}");
    }
    for mail in [
        "> Which lamp?\n> L.",
        "From: Lena\nSubject: Lamp\nIt is out.",
        "-- \nLena",
        "The set {{a}, {b}} is 1 << 2 and 100 %% sure: see https://x.org/?q=lamp",
        "a -- b\n--\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17",
    ] {
        let kept: Vec<_> = mail.lines().map(|line| line.trim().to_owned()).collect();
        assert_eq!(lines(Markup::Mail, mail), kept);
    }
    assert_eq!(
        lines(
            Markup::Mail,
            "See https://x.org/a?utm_source=n&id=7&FBCLID=q and http://x.org/?gclid=1"
        ),
        ["See https://x.org/a?id=7 and http://x.org/"]
    );
}

#[test]
fn subtitles_are_what_is_spoken() {
    for text in [
        "1\n00:00:01,000 --> 00:00:02,500\nThe <i>lamp</i> is out.\n\n2\n00:00:03,000 --> 00:00:04,000\n{\\an8}5 < 6, she said.\n",
        "\u{feff}WEBVTT - lamp\nKind: captions\n\nNOTE\nby L.\n\nintro\n00:01.000 --> 00:02.500 line:0\nThe <c.x>lamp</c> is out.\n\n00:03.000 --> 00:04.000\n5 < 6, she said.",
        "{25}{100}The lamp is out.\r\n{110}{120}5 < 6, she said.",
    ] {
        let spoken = lines(Markup::Subtitles, text);
        assert_eq!(spoken, ["The lamp is out.", "5 < 6, she said."], "{text}");
    }
}

/// Each quotation reads the lines above it that are empty, and takes all but one away.
#[test]
fn quotations_between_empty_lines() {
    let mail = format!("a\n{}b", "\n\n>q\n".repeat(200_000));
    assert_eq!(lines(Markup::Mail, &mail), ["a", "b"]);
}

proptest! {
    /// Whatever a text is, something is left of a mail, and nothing is made up.
    #[test]
    fn what_is_left_is_of_the_text(text in "([>\\-<{}%\\[\\]:?&= \\n]|a|--|-->|\\{\\{|From:|Subject:|wrote:|http://|utm_x){0,40}") {
        for markup in [Markup::Mail, Markup::Subtitles] {
            let left = strip(markup, &text, &mut || {}).unwrap();
            let letters = |text: &str| text.matches('a').count();
            prop_assert!(letters(&left) <= letters(&text));
            prop_assert!(markup == Markup::Subtitles || left.trim().is_empty() == text.trim().is_empty());
        }
    }
}
