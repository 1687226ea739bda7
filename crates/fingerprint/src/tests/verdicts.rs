//! Pairs of texts that a person has judged, of tests/data: verdicts.csv and verdicts2.csv were written
//! before the rules, verdicts3.csv by their author before the kinds in it were worked on.

/// The rows of the first file.
pub fn rows() -> Vec<Vec<String>> {
    read(include_str!("../../tests/data/verdicts.csv"))
}

/// The rows of the second file.
pub fn second() -> Vec<Vec<String>> {
    read(include_str!("../../tests/data/verdicts2.csv"))
}

/// The rows of the third file.
pub fn third() -> Vec<Vec<String>> {
    read(include_str!("../../tests/data/verdicts3.csv"))
}

/// The rows of comma-separated values behind the first; quotes may hold commas and line breaks.
fn read(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => (),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    rows.split_off(1)
}
