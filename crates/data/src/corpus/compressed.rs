//! Gzip of several members, with zeros after any of them, as the program `gzip` and Python read it.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

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
        let len = bytes.len();
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        input.consume(zeros);
        if zeros < len {
            return Ok(Some(GzDecoder::new(input)));
        }
        if len == 0 {
            return Ok(None);
        }
    }
}

/// A reader of concatenated zstd frames; skippable frames are skipped.
pub(super) struct ZstdReader<R> {
    inner: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> ZstdReader<R> {
    /// Decodes the content of `inner` from its current position on.
    pub fn new(inner: R) -> Self {
        Self {
            inner,
            decoder: FrameDecoder::new(),
            in_frame: false,
        }
    }

    /// Starts the next frame; `false` at the end of the input.
    fn start_frame(&mut self) -> io::Result<bool> {
        while !self.inner.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.inner) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut (&mut self.inner).take(length.into()), &mut io::sink())?;
                }
                Err(cause) => return Err(io::Error::other(cause)),
            }
        }
        Ok(false)
    }

    /// Decodes blocks until something can be read or the frame ends.
    fn decode(&mut self) -> io::Result<()> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            let step = BlockDecodingStrategy::UptoBlocks(1);
            self.decoder
                .decode_blocks(&mut self.inner, step)
                .map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Compares the checksum of the frame, if it has one.
    fn verify(&self) -> io::Result<()> {
        match (
            self.decoder.get_checksum_from_data(),
            self.decoder.get_calculated_checksum(),
        ) {
            (Some(stored), Some(found)) if stored != found => Err(io::Error::other(format!(
                "checksum {found:08x} instead of {stored:08x}"
            ))),
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame && !self.start_frame()? {
                return Ok(0);
            }
            self.in_frame = true;
            self.decode()?;
            let read = self.decoder.read(out)?;
            if read > 0 || out.is_empty() {
                return Ok(read);
            }
            self.verify()?;
            self.in_frame = false;
        }
    }
}
