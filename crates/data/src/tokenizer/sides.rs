//! The tokenisers of the source and of the target.

use std::sync::Arc;

use super::Tokenizer;
use super::error::TokenizerError;
use super::special_ids::SpecialIds;
use crate::error::Result;
use crate::special;

/// The tokenisers of both sides. With a joint vocabulary they are the same tokeniser.
#[derive(Clone, Debug)]
pub struct Tokenizers {
    /// Encodes source sentences.
    pub source: Arc<Tokenizer>,
    /// Encodes target sentences and decodes translations.
    pub target: Arc<Tokenizer>,
}

impl Tokenizers {
    /// Returns one tokeniser for both sides.
    pub fn joint(tokenizer: Tokenizer) -> Self {
        let shared = Arc::new(tokenizer);
        Self {
            source: shared.clone(),
            target: shared,
        }
    }

    /// Returns one tokeniser for each side.
    pub fn separate(source: Tokenizer, target: Tokenizer) -> Self {
        Self {
            source: Arc::new(source),
            target: Arc::new(target),
        }
    }

    /// Returns the special ids for a new model over these vocabularies. If the files name no token
    /// that opens a target, the `<s>` of the target vocabulary is used, or padding if there is
    /// none, as in Marian.
    ///
    /// # Errors
    /// Returns [`TokenizerError::SpecialIdsDiffer`] if padding or the closing token has different
    /// ids on the two sides, because batches and models have a single id for each.
    pub fn special_ids(&self) -> Result<SpecialIds> {
        let source = self.source.special_ids();
        let target = self.target.special_ids();
        let pairs = [
            (special::PAD_TOKEN, source.pad, target.pad),
            (special::EOS_TOKEN, source.eos, target.eos),
        ];
        for (token, source_id, target_id) in pairs {
            if source_id != target_id {
                return Err(TokenizerError::SpecialIdsDiffer {
                    token,
                    source_id,
                    target_id,
                }
                .into());
            }
        }
        let bos = target
            .bos
            .or_else(|| self.target.id(special::BOS_TOKEN))
            .unwrap_or(target.pad);
        Ok(SpecialIds {
            pad: target.pad,
            bos,
            eos: target.eos,
        })
    }

    /// Returns whether both sides share one vocabulary.
    pub fn is_joint(&self) -> bool {
        Arc::ptr_eq(&self.source, &self.target)
    }
}
