//! The part that an element plays for the text around it.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The part that an element plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Divides text: the text before it and the text in it are two blocks.
    Block,
    /// Stands within text.
    Inline,
    /// Stands within text and has no content.
    Void,
    /// Stands within text and is not translated.
    Code,
    /// Divides text and is not translated.
    Preformatted,
    /// Shows no text of the document, or a text that is not for translation.
    Hidden,
}

impl Role {
    /// Returns whether an element that says `translate` about itself stays unchanged.
    pub(super) fn keeps(self, translate: Option<bool>) -> bool {
        match self {
            Self::Hidden => true,
            Self::Preformatted | Self::Code => translate != Some(true),
            Self::Void => false,
            Self::Block | Self::Inline => translate == Some(false),
        }
    }
}

/// The kinds of elements, with their names in lower case.
static KINDS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let lines = include_str!("tags.txt")
        .lines()
        .filter_map(|line| line.split_once(": "));
    lines
        .map(|(kind, names)| (kind, names.split(' ').collect()))
        .collect()
});

/// Returns whether elements called `name`, in lower case, are of `kind`: a role, `empty` (one tag),
/// or `closes itself` (the next block ends them).
pub(super) fn is(kind: &str, name: &str) -> bool {
    KINDS.get(kind).is_some_and(|names| names.contains(&name))
}

/// The role of elements called `name`, in lower case.
pub(super) fn role(name: &str) -> Role {
    match name {
        _ if is("block", name) => Role::Block,
        _ if is("void", name) => Role::Void,
        _ if is("code", name) => Role::Code,
        _ if is("preformatted", name) => Role::Preformatted,
        _ if is("hidden", name) => Role::Hidden,
        _ => Role::Inline,
    }
}
