//! The key of a row in progress, for the messages: [`super`] keeps it beside the row, and
//! [`super::near`] returns it with those to wait for. It has a fixed size, since it lies in memory
//! that all sessions share.

/// Words of a key.
pub(super) const KEY: usize = 5;

/// The key of a row as text, cut to 39 bytes; empty where it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key(pub(super) [u64; KEY]);

impl Key {
    /// The first byte has the length.
    const ROOM: usize = KEY * 8 - 1;

    /// Takes the key from its text, which may be longer.
    pub fn new(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(Self::ROOM)];
        let mut bytes = [0; KEY * 8];
        bytes[0] = text.len() as u8;
        bytes[1..][..text.len()].copy_from_slice(text.as_bytes());
        let word = |i: usize| std::array::from_fn(|byte| bytes[i * 8 + byte]);
        Self(std::array::from_fn(|i| u64::from_le_bytes(word(i))))
    }

    /// Returns the text that is left of the key.
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        let length = usize::from(bytes[0]).min(Self::ROOM);
        String::from_utf8_lossy(&bytes[1..][..length]).into_owned()
    }
}
