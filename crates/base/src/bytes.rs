//! Numbers in a row of bytes, in the processor's byte order: on pages and in temporary files. Pure.

#![forbid(unsafe_code)]

/// Reads two bytes at `at`.
#[inline]
pub fn get_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

/// Reads four bytes at `at`.
#[inline]
pub fn get_u32(bytes: &[u8], at: usize) -> u32 {
    let mut b = [0; 4];
    b.copy_from_slice(&bytes[at..at + 4]);
    u32::from_ne_bytes(b)
}

/// Reads eight bytes at `at`.
#[inline]
pub fn get_u64(bytes: &[u8], at: usize) -> u64 {
    let mut b = [0; 8];
    b.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(b)
}

/// Writes two bytes at `at`.
#[inline]
pub fn put_u16(bytes: &mut [u8], at: usize, v: u16) {
    bytes[at..at + 2].copy_from_slice(&v.to_ne_bytes());
}

/// Writes four bytes at `at`.
#[inline]
pub fn put_u32(bytes: &mut [u8], at: usize, v: u32) {
    bytes[at..at + 4].copy_from_slice(&v.to_ne_bytes());
}

/// Writes eight bytes at `at`.
#[inline]
pub fn put_u64(bytes: &mut [u8], at: usize, v: u64) {
    bytes[at..at + 8].copy_from_slice(&v.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses need not be aligned, and neighbours stay as they are.
    #[test]
    fn what_is_written_is_read() {
        let mut bytes = [0xff; 17];
        put_u16(&mut bytes, 1, 0x0102);
        put_u32(&mut bytes, 3, 0x0304_0506);
        put_u64(&mut bytes, 7, 0x0708_090a_0b0c_0d0e);
        assert_eq!(get_u16(&bytes, 1), 0x0102);
        assert_eq!(get_u32(&bytes, 3), 0x0304_0506);
        assert_eq!(get_u64(&bytes, 7), 0x0708_090a_0b0c_0d0e);
        assert_eq!((bytes[0], bytes[15], bytes[16]), (0xff, 0xff, 0xff));
    }
}
