//! The TFRecord framing: length, checksum of the length, data, checksum of the data, all
//! little-endian.

/// `data` in the frame of a record.
pub(super) fn framed(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut record = Vec::with_capacity(data.len() + 16);
    record.extend_from_slice(&length);
    record.extend_from_slice(&masked_crc(&length).to_le_bytes());
    record.extend_from_slice(data);
    record.extend_from_slice(&masked_crc(data).to_le_bytes());
    record
}

/// CRC-32C, rotated and increased by a constant, so that checksums of data that contains checksums
/// stay reliable (TensorFlow, `crc32c.h`).
fn masked_crc(data: &[u8]) -> u32 {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The records of a file, each checked against its checksums.
    pub(in super::super) fn unframed(mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        while let Some((length, rest)) = bytes.split_first_chunk::<8>() {
            let (length_crc, rest) = rest.split_first_chunk::<4>().unwrap();
            assert_eq!(u32::from_le_bytes(*length_crc), masked_crc(length));
            let (data, rest) = rest.split_at(u64::from_le_bytes(*length) as usize);
            let (data_crc, rest) = rest.split_first_chunk::<4>().unwrap();
            assert_eq!(u32::from_le_bytes(*data_crc), masked_crc(data));
            records.push(data.to_vec());
            bytes = rest;
        }
        assert!(bytes.is_empty(), "{} bytes after the last record", bytes.len());
        records
    }

    #[test]
    fn checksums_are_masked_crc32c() {
        // The check value of CRC-32C, and what `masked_crc32c` of Python's tensorboard 2.21 makes
        // of it.
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(masked_crc(b"123456789"), 0xc78a_b0e5);
    }

    #[test]
    fn records_of_any_length_come_back() {
        let records = [b"".to_vec(), b"a".to_vec(), vec![7; 1000]];
        let bytes = records.iter().flat_map(|record| framed(record)).collect::<Vec<_>>();
        assert_eq!(bytes.len(), 1001 + 3 * 16);
        assert_eq!(unframed(&bytes), records);
    }
}
