use burnformer_data::corpus::Side;

/// The reasons why one sentence cannot be translated or scored.
#[derive(Debug, thiserror::Error)]
pub enum SentenceError {
    /// A source, or a target to be scored, is too long for the options or the learned positions.
    #[error("the {side} has {length} tokens with </s> but at most {limit} are accepted; split the \
        sentence{}", if *side == Side::Source { ", or let it be truncated" } else { "" })]
    TooLong {
        /// The side of the text.
        side: Side,
        /// The number of its tokens, `</s>` included.
        length: usize,
        /// The largest allowed number of tokens.
        limit: usize,
    },
    /// A forced prefix is longer than a translation may be.
    #[error(
        "the forced prefix has {length} tokens but the length limit is {limit}; shorten the \
        prefix or raise the limit"
    )]
    PrefixTooLong {
        /// The number of tokens of the prefix.
        length: usize,
        /// The largest number of tokens of a translation.
        limit: usize,
    },
    /// A forced prefix holds this id of a special token (padding, `<s>` or `</s>`).
    #[error("the forced prefix holds the special id {0}; give ordinary tokens only")]
    PrefixToken(u32),
    /// A translation cannot contain the terms. The field is the problem and its remedy.
    #[error("{0}")]
    Terms(&'static str),
    /// The terms do not fit into a translation.
    #[error(
        "the prefix and the terms have {length} tokens with </s> but at most {limit} are \
        possible; split the sentence, or ask for fewer terms"
    )]
    TermsTooLong {
        /// The needed number of tokens.
        length: usize,
        /// The largest number of tokens of a translation.
        limit: usize,
    },
    /// An id lies outside the vocabulary.
    #[error(
        "the {side} id {id} is outside the vocabulary of {vocab} tokens; encode with the \
        model's tokeniser"
    )]
    UnknownId {
        /// The side of the id.
        side: Side,
        /// The id.
        id: u32,
        /// The number of tokens in the vocabulary.
        vocab: usize,
    },
    /// The model's output after this number of tokens is NaN or infinite.
    #[error(
        "the model's output after {0} tokens is not finite; the weights are damaged or \
        training diverged"
    )]
    NotFinite(usize),
}
