//! Which bytes a text has, found in one pass: most of what [`crate::same`] looks for in a text is not there.

/// A bit for each byte that occurs.
pub struct Bytes([u64; 4]);

impl Bytes {
    pub fn of(text: &str) -> Self {
        let mut bits = [0; 4];
        for byte in text.bytes() {
            bits[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
        Self(bits)
    }

    /// Whether one of these occurs.
    pub fn have(&self, any: &[u8]) -> bool {
        any.iter()
            .any(|byte| self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1)
    }
}
