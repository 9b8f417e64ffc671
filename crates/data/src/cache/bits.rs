//! A list of bits.

/// Bits in bytes, the first in the lowest bit of the first byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    /// Reads `len` bits from `bytes`.
    pub fn from_bytes(bytes: Vec<u8>, len: usize) -> Self {
        Self { bytes, len }
    }

    /// Returns the bytes; the last one is filled up with zeros.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a bit.
    pub fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(8) {
            self.bytes.push(0);
        }
        let last = self.bytes.last_mut().expect("a byte was pushed");
        *last |= u8::from(bit) << (self.len % 8);
        self.len += 1;
    }

    /// Returns the bit `index`; false beyond the end.
    pub fn get(&self, index: usize) -> bool {
        index < self.len && self.bytes[index / 8] >> (index % 8) & 1 == 1
    }
}

impl FromIterator<bool> for Bits {
    fn from_iter<I: IntoIterator<Item = bool>>(all: I) -> Self {
        let mut bits = Self::default();
        all.into_iter().for_each(|bit| bits.push(bit));
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_as_they_were_written() {
        for len in 0..40 {
            let given: Vec<bool> = (0..len).map(|index| index * index % 3 == 1).collect();
            let bits: Bits = given.iter().copied().collect();
            let read = Bits::from_bytes(bits.as_bytes().to_vec(), len);
            assert_eq!(bits.as_bytes().len(), len.div_ceil(8));
            assert_eq!((0..len).map(|i| read.get(i)).collect::<Vec<_>>(), given);
            assert!(!read.get(len));
        }
    }
}
