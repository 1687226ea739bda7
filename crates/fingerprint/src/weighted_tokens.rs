//! The input of preset `s1`: `token^weight`, separated by single spaces.

use super::error::Error;
use super::simhash::is_weight;

/// Reads the tokens of `text` one by one. Empty text has none; a doubled, leading or trailing
/// space, a missing `^`, an empty token and a weight that is not a number from 0 to 1e100 are errors.
/// The last `^` of a token divides it, so a token may contain the character.
pub fn parse(text: &str) -> impl Iterator<Item = Result<(&str, f64), Error>> {
    let parts = (!text.is_empty()).then(|| text.split(' '));
    parts
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(i, part)| token(i + 1, part))
}

fn token(position: usize, part: &str) -> Result<(&str, f64), Error> {
    let fail = |fault| {
        Err(Error::WeightedToken {
            position,
            found: excerpt(part).to_owned(),
            fault,
        })
    };
    if part.is_empty() {
        return fail("empty, tokens are separated by one space");
    }
    let Some((token, weight)) = part.rsplit_once('^') else {
        return fail("the \"^\" before the weight is missing");
    };
    if token.is_empty() {
        return fail("nothing before the \"^\"");
    }
    match weight.parse::<f64>() {
        Ok(weight) if is_weight(weight) => Ok((token, weight)),
        Ok(_) => fail("the weight is not between 0 and 1e100"),
        Err(_) => fail("the weight is not a number"),
    }
}

/// At most 64 bytes of the token: it may be the whole of a long text.
fn excerpt(part: &str) -> &str {
    &part[..part.floor_char_boundary(64)]
}
