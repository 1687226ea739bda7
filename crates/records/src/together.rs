//! What two columns share together: a common name says little, a common date of birth does too,
//! but few rows have both. [`super::frequencies`] and the search of stored records ask here which
//! two values of a row may make candidates, so that both find the same pairs. A value with a rare
//! feature makes none, since that feature makes them already.

use simhash_fingerprint::hash::city64;

/// Columns of which values make keys: a row with values in all of them has 120 keys.
pub const COLUMNS: u32 = 16;

/// Two values that, if they did not depend on each other, more than this times `rare` rows would have
/// together, make no key.
const EXPECTED: f64 = 4.0;

/// The value of a column of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The same for values with the same features.
    pub hash: u64,
    /// The number of the column, from 0.
    pub column: u32,
    /// How many records have its rarest feature: at least as many as have the value.
    pub frequency: u32,
}

/// Calls `each` with every two values of a row that make candidates if at most `rare` of all `records`
/// have both.
pub fn for_each_two(
    values: &[Value],
    records: u32,
    rare: usize,
    mut each: impl FnMut(&Value, &Value),
) {
    let is_common = |v: &&Value| v.column < COLUMNS && v.frequency as usize > rare;
    let most = EXPECTED * rare as f64 * f64::from(records);
    for (i, b) in values.iter().enumerate().filter(|(_, v)| is_common(v)) {
        for a in values[..i].iter().filter(is_common) {
            if f64::from(a.frequency) * f64::from(b.frequency) <= most {
                each(a, b);
            }
        }
    }
}

/// Returns the hash of each column of a row that has a value, by features with their columns, which come in
/// the order of columns.
pub fn value_hashes(features: &[(u64, u32)]) -> Vec<(u32, u64)> {
    let of_columns = features.chunk_by(|a, b| a.1 == b.1);
    let hash = |of_column: &[(u64, u32)]| {
        let column = of_column[0].1;
        let mixed = of_column
            .iter()
            .fold(u64::from(column), |hash, (feature, _)| mix(hash, *feature));
        (column, mixed)
    };
    of_columns.map(hash).collect()
}

/// Returns a hash with one more feature of a value.
pub fn mix(hash: u64, feature: u64) -> u64 {
    (hash ^ feature)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
}

/// Returns what two values are together; those of other columns are another key.
pub fn key(a: &Value, b: &Value) -> u64 {
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&a.hash.to_le_bytes());
    bytes[8..16].copy_from_slice(&b.hash.to_le_bytes());
    bytes[16..20].copy_from_slice(&a.column.to_le_bytes());
    bytes[20..].copy_from_slice(&b.column.to_le_bytes());
    city64(&bytes)
}
