//! Builds a cache file. Memory holds one chunk of the text at a time.

use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use burnformer_files::Temporary;
use sha2::{Digest, Sha256};

use super::bits::Bits;
use super::header::{HEADER_BYTES, Header, Width};
use crate::clean::{Cleaner, CleaningSettings};
use crate::cleaning_report::CleaningReport;
use crate::corpus::{LinePair, ParallelReader};
use crate::error::{DataError, Result};
use crate::hash::{Key, hex};
use crate::tokenizer::Tokenizers;
use crate::write::{temporary, unwritable};

/// Number of pairs that are tokenised at a time. Together with [`CHUNK_BYTES`] it bounds the
/// memory.
const CHUNK_PAIRS: usize = 8192;
/// Bytes of text that are tokenised at a time.
const CHUNK_BYTES: usize = 4 << 20;

/// Reads, tokenises and cleans `corpus` into a cache file at `path`. `each` is called with every
/// pair of the text, and `progress` with the number of lines done.
///
/// # Errors
/// Returns an error for the first bad line, [`DataError::NothingLeft`] if no pair is kept, and
/// [`DataError::Unwritable`] if the file cannot be written.
pub(crate) fn build(
    path: &Path,
    key: &Key,
    mut corpus: ParallelReader,
    tokenizers: &Tokenizers,
    cleaning: &CleaningSettings,
    each: &mut dyn FnMut(&LinePair),
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let largest = tokenizers
        .source
        .vocab_size()
        .max(tokenizers.target.vocab_size());
    let mut writer = Writer::create([temporary(path)?, temporary(path)?], Width::of(largest))
        .map_err(unwritable(path))?;
    writer.documents = corpus.has_documents().then(Bits::default);
    let mut cleaner = Cleaner::new(cleaning);
    loop {
        let chunk = next_chunk(&mut corpus)?;
        if chunk.is_empty() {
            break;
        }
        chunk.iter().for_each(&mut *each);
        append(&mut writer, &mut cleaner, tokenizers, &chunk).map_err(unwritable(path))?;
        progress(cleaner.report.read);
    }
    if cleaner.report.kept == 0 {
        return Err(DataError::NothingLeft(Box::new(cleaner.report)));
    }
    let file = writer
        .finish(key, &cleaner.report)
        .map_err(unwritable(path))?;
    file.publish(path).map_err(unwritable(path))
}

fn next_chunk(corpus: &mut ParallelReader) -> Result<Vec<LinePair>> {
    let mut chunk = Vec::new();
    let mut bytes = 0;
    while chunk.len() < CHUNK_PAIRS && bytes < CHUNK_BYTES {
        let Some(pair) = corpus.next_pair()? else {
            break;
        };
        bytes += pair.source.len() + pair.target.len();
        chunk.push(pair);
    }
    Ok(chunk)
}

/// Tokenises a chunk in parallel, then cleans and writes its pairs in order.
fn append(
    writer: &mut Writer,
    cleaner: &mut Cleaner,
    tokenizers: &Tokenizers,
    chunk: &[LinePair],
) -> io::Result<()> {
    let sources: Vec<&str> = chunk.iter().map(|pair| &*pair.source).collect();
    let targets: Vec<&str> = chunk.iter().map(|pair| &*pair.target).collect();
    let sources = tokenizers.source.encode_batch(&sources);
    let targets = tokenizers.target.encode_batch(&targets);
    for ((pair, source), target) in chunk.iter().zip(&sources).zip(&targets) {
        let is_kept = cleaner.keeps(pair, source.len(), target.len());
        if is_kept {
            writer.push(source)?;
            writer.push(target)?;
        }
        writer.mark(pair, is_kept);
    }
    Ok(())
}

/// A cache file that is being written.
struct Writer {
    file: BufWriter<Temporary>,
    /// The length of each sentence, 4 bytes each, until their offsets are written after the tokens.
    lengths: BufWriter<Temporary>,
    body: Sha256,
    width: Width,
    sentences: u64,
    tokens: u64,
    scratch: Vec<u8>,
    /// For each pair, whether it continues the document of the pair before it; `None` in a text
    /// that is not divided into documents.
    documents: Option<Bits>,
    /// If true, the last pair that was read is in the file.
    was_kept: bool,
}

impl Writer {
    fn create(files: [Temporary; 2], width: Width) -> io::Result<Self> {
        let [mut file, lengths] = files.map(|file| BufWriter::with_capacity(1 << 18, file));
        file.write_all(&[0; HEADER_BYTES])?;
        Ok(Self {
            file,
            lengths,
            body: Sha256::new(),
            width,
            sentences: 0,
            tokens: 0,
            scratch: Vec::new(),
            documents: None,
            was_kept: false,
        })
    }

    /// Appends one sentence.
    fn push(&mut self, ids: &[u32]) -> io::Result<()> {
        self.scratch.clear();
        self.width.write(ids, &mut self.scratch);
        self.body.update(&self.scratch);
        self.sentences += 1;
        self.tokens += ids.len() as u64;
        self.lengths.write_all(&(ids.len() as u32).to_le_bytes())?;
        self.file.write_all(&self.scratch)
    }

    /// Notes whether `pair` continues a document. A pair that is dropped divides its document:
    /// nothing before it is context of what follows.
    fn mark(&mut self, pair: &LinePair, is_kept: bool) {
        if is_kept && let Some(documents) = &mut self.documents {
            documents.push(self.was_kept && !pair.begins);
        }
        self.was_kept = is_kept;
    }

    /// Appends the offsets of all sentences and of the end.
    fn write_offsets(&mut self) -> io::Result<()> {
        self.lengths.flush()?;
        let mut lengths = self.lengths.get_ref().handle()?;
        lengths.rewind()?;
        let mut lengths = BufReader::with_capacity(1 << 18, lengths);
        let mut offset = 0_u64;
        let mut length = [0; 4];
        for sentence in 0..=self.sentences {
            self.body.update(offset.to_le_bytes());
            self.file.write_all(&offset.to_le_bytes())?;
            if sentence < self.sentences {
                lengths.read_exact(&mut length)?;
                offset += u64::from(u32::from_le_bytes(length));
            }
        }
        Ok(())
    }

    /// Appends the offsets, and writes the header.
    fn finish(mut self, key: &Key, report: &CleaningReport) -> io::Result<Temporary> {
        let counts = [self.sentences / 2, self.tokens];
        let mut header = Header::new(self.width, counts, report.clone(), key);
        self.body.update(&[0; 8][..header.zeros()]);
        self.write_offsets()?;
        if let Some(documents) = &self.documents {
            header.has_documents = true;
            self.body.update(documents.as_bytes());
            self.file.write_all(documents.as_bytes())?;
        }
        self.body.update(serde_json::to_vec(report)?);
        header.body_hash = hex(&self.body.finalize());
        let mut file = self.file.into_inner().map_err(|error| error.into_error())?;
        file.handle()?.rewind()?;
        file.write_all(&header.to_bytes())?;
        Ok(file)
    }
}
