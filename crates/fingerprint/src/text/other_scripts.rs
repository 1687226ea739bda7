//! Letters of languages that are written in two scripts: traditional Han characters as simplified
//! ones (OpenCC), and Cyrillic letters of Serbian as Latin ones. The normal form and [`crate::same`] ask,
//! character by character. What a character becomes does not become anything else.

/// The Han characters of two bytes in UTF-16 that the list speaks of.
const FIRST: u32 = 0x3400;
const LAST: u32 = 0x9fff;

/// For each of them its simplified form; 0 for a character that is one itself. The compiler reads the
/// list, so that all processes share the table.
static SIMPLIFIED: [u16; (LAST - FIRST + 1) as usize] =
    simplified_of_list(include_str!("lists/han_simplified.txt").as_bytes());

/// Bytes of one character of the list, and of a line.
const CHARACTER: usize = 3;
const LINE: usize = 2 * CHARACTER + 1;

const fn simplified_of_list(list: &[u8]) -> [u16; (LAST - FIRST + 1) as usize] {
    let mut table = [0; (LAST - FIRST + 1) as usize];
    let mut at = 0;
    while at < list.len() {
        if list[at] == b'#' {
            while list[at] != b'\n' {
                at += 1;
            }
            at += 1;
            continue;
        }
        let character = code_point(list, at);
        table[(character - FIRST) as usize] = code_point(list, at + CHARACTER) as u16;
        at += LINE;
    }
    table
}

const fn code_point(utf8: &[u8], at: usize) -> u32 {
    (utf8[at] as u32 & 0xf) << 12 | (utf8[at + 1] as u32 & 0x3f) << 6 | utf8[at + 2] as u32 & 0x3f
}

/// The simplified form of a traditional Han character; any other character is its own.
pub(crate) fn simplified(c: char) -> char {
    let place = u32::from(c).wrapping_sub(FIRST);
    if place > LAST - FIRST {
        return c;
    }
    match SIMPLIFIED[place as usize] {
        0 => c,
        form => char::from_u32(u32::from(form)).unwrap_or(c),
    }
}

/// The Latin letters of a small Cyrillic one of Serbian (Serbian-Latin of CLDR, without accents, as the
/// folded form has them); None for a letter that Serbian does not have.
pub(crate) fn serbian_latin(c: char) -> Option<&'static str> {
    Some(match c {
        'а' => "a",
        'б' => "b",
        'в' => "v",
        'г' => "g",
        'д' | 'ђ' => "d",
        'е' => "e",
        'ж' | 'з' => "z",
        'и' => "i",
        'ј' => "j",
        'к' => "k",
        'л' => "l",
        'љ' => "lj",
        'м' => "m",
        'н' => "n",
        'њ' => "nj",
        'о' => "o",
        'п' => "p",
        'р' => "r",
        'с' | 'ш' => "s",
        'т' => "t",
        'ћ' | 'ц' | 'ч' => "c",
        'у' => "u",
        'ф' => "f",
        'х' => "h",
        'џ' => "dz",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::scripts::is_han;

    #[test]
    fn traditional_characters_meet_their_simplified_forms() {
        for (traditional, expected) in [
            ("臺灣 台灣 颱風", "台湾 台湾 台风"),
            ("乾淨 後面 頭髮 發現", "干净 后面 头发 发现"),
            ("這裡 這裏 妳們", "这里 这里 你们"),
            ("简体 カナ abc é", "简体 カナ abc é"),
        ] {
            let found: String = traditional.chars().map(simplified).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_simplified_form_stays_as_it_is() {
        let all = || ('\0'..=char::MAX).filter(|c| simplified(*c) != *c);
        assert!(all().count() > 2900);
        assert!(all().all(|c| is_han(c) && is_han(simplified(c))));
        assert!(all().all(|c| simplified(simplified(c)) == simplified(c)));
    }

    #[test]
    fn serbian_in_both_scripts() {
        let latin = |text: &str| -> String {
            let letters = text
                .chars()
                .map(|c| serbian_latin(c).map_or(c.to_string(), String::from));
            letters.collect()
        };
        assert_eq!(latin("љубав и џеп"), "ljubav i dzep");
        assert_eq!(latin("ђак, шума, чаша"), "dak, suma, casa");
        assert_eq!(
            serbian_latin('я')
                .or(serbian_latin('ы'))
                .or(serbian_latin('a')),
            None
        );
    }
}
