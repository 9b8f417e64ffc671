//! The roles of HTML elements.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The role of an element in the text around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Divides text: the text before it and inside it are two blocks.
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
    /// Shows its content only to some readers: where a program cannot show the element itself, or
    /// where scripts copy it.
    Fallback,
    /// Stands within text and says how to read it, as in ruby. It ends at the next one.
    Annotation,
}

impl Role {
    /// Returns whether an element with this `translate` attribute stays unchanged.
    pub(super) fn keeps(self, translate: Option<bool>) -> bool {
        match self {
            Self::Hidden => true,
            Self::Preformatted | Self::Code | Self::Annotation => translate != Some(true),
            Self::Void => false,
            Self::Block | Self::Inline | Self::Fallback => translate == Some(false),
        }
    }
}

/// The element names of each kind, in lower case.
static KINDS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let lines = include_str!("tags.txt")
        .lines()
        .filter_map(|line| line.split_once(": "));
    lines
        .map(|(kind, names)| (kind, names.split(' ').collect()))
        .collect()
});

/// Returns whether the element `name`, in lower case, is of `kind`: a role, `empty` (no end tag),
/// or `closes itself` (ended by the next block).
pub(super) fn is(kind: &str, name: &str) -> bool {
    KINDS.get(kind).is_some_and(|names| names.contains(&name))
}

/// Returns the role of the element `name`, in lower case.
pub(super) fn role(name: &str) -> Role {
    match name {
        _ if is("block", name) => Role::Block,
        _ if is("void", name) => Role::Void,
        _ if is("code", name) => Role::Code,
        _ if is("preformatted", name) => Role::Preformatted,
        _ if is("hidden", name) => Role::Hidden,
        _ if is("fallback", name) => Role::Fallback,
        _ if is("annotation", name) => Role::Annotation,
        _ => Role::Inline,
    }
}
