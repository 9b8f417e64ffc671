//! Translation of any number of lines in bounded memory.

use super::load::Translator;
use super::options::TranslateOptions;
use super::translation::Translation;
use crate::error::InferError;

impl Translator {
    /// Translates `lines` in chunks of `chunk` lines and passes the translations to `write`, one
    /// per line, in order. The memory depends on the size of a chunk, not on the number of lines.
    /// Returns the number of lines.
    ///
    /// Larger chunks are faster, because lines of similar length can be translated together;
    /// smaller chunks deliver their first line sooner.
    ///
    /// # Errors
    /// The errors of `lines` and `write`, and those of [`translate`](Self::translate), with
    /// sentences counted over all lines. The lines before one that cannot be read or translated are
    /// written first.
    pub fn translate_lines<R, E>(
        &self,
        lines: impl IntoIterator<Item = Result<String, R>>,
        chunk: usize,
        options: &TranslateOptions,
        mut write: impl FnMut(Translation) -> Result<(), E>,
    ) -> Result<usize, E>
    where
        E: From<R> + From<InferError>,
    {
        let mut failure = None;
        let mut lines =
            lines.into_iter().map_while(|line| line.map_err(|error| failure = Some(error)).ok());
        let mut done = 0;
        loop {
            let texts: Vec<String> = lines.by_ref().take(chunk.max(1)).collect();
            if texts.is_empty() {
                break;
            }
            let requests = self.requests(&texts, options)?;
            let (hypotheses, error) = self.translate_ids_until_error(requests, options, &|_| ());
            self.texts_of(hypotheses).into_iter().try_for_each(&mut write)?;
            if let Some(error) = error {
                return Err(error.offset(done).into());
            }
            done += texts.len();
        }
        drop(lines);
        match failure {
            Some(error) => Err(error.into()),
            None => Ok(done),
        }
    }
}
