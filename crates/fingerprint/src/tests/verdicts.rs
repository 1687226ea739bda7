//! Pairs of texts that a person has judged, of tests/data/verdicts.csv.

/// The rows of comma-separated values behind the first; quotes may hold commas and line breaks.
pub fn rows() -> Vec<Vec<String>> {
    let text = include_str!("../../tests/data/verdicts.csv");
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
