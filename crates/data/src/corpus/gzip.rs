//! Gzip of several members, with zeros after any of them, as the program `gzip` and Python read it.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// A reader of decompressed gzip. Padding of zeros, which tapes and block devices add, is skipped.
pub(super) struct GzipReader<R>(Option<GzDecoder<R>>);

impl<R: BufRead> GzipReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self(Some(GzDecoder::new(input)))
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.0 {
            let count = decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let input = self.0.take().map(GzDecoder::into_inner);
            self.0 = input.map(next_member).transpose()?.flatten();
        }
        Ok(0)
    }
}

/// Skips zero bytes, and returns the decoder of the member after them; `None` at the end of the
/// input.
fn next_member<R: BufRead>(mut input: R) -> io::Result<Option<GzDecoder<R>>> {
    loop {
        let bytes = input.fill_buf()?;
        let (len, zeros) = (bytes.len(), bytes.iter().take_while(|&&byte| byte == 0).count());
        input.consume(zeros);
        if zeros < len {
            return Ok(Some(GzDecoder::new(input)));
        }
        if len == 0 {
            return Ok(None);
        }
    }
}
