//! Reads zstd with any number of frames and verifies checksums.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// A reader of concatenated zstd frames; skippable frames are skipped.
pub(super) struct ZstdReader<R> {
    inner: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> ZstdReader<R> {
    /// Decodes the content of `inner` from its current position on.
    pub fn new(inner: R) -> Self {
        Self { inner, decoder: FrameDecoder::new(), in_frame: false }
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
            self.decoder.decode_blocks(&mut self.inner, step).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Compares the checksum of the frame, if it has one.
    fn verify(&self) -> io::Result<()> {
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(stored), Some(found)) if stored != found => {
                Err(io::Error::other(format!("checksum {found:08x} instead of {stored:08x}")))
            }
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
