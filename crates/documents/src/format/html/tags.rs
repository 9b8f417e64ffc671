//! The part that an element plays for the text around it.

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
    /// Returns whether an element that says `translate` about itself stays as it is.
    pub(super) fn keeps(self, translate: Option<bool>) -> bool {
        match self {
            Self::Hidden => true,
            Self::Preformatted | Self::Code => translate != Some(true),
            Self::Void => false,
            Self::Block | Self::Inline => translate == Some(false),
        }
    }
}

/// The role of elements called `name`, in lower case.
pub(super) fn role(name: &str) -> Role {
    match name {
        "script" | "style" | "svg" | "math" | "template" | "textarea" | "noscript" | "iframe"
        | "xmp" | "noembed" | "noframes" | "plaintext" | "object" | "canvas" | "audio"
        | "video" => Role::Hidden,
        "pre" | "listing" => Role::Preformatted,
        // The last are those of XLIFF, TMX and Android.
        "code" | "kbd" | "samp" | "var" | "tt" | "ph" | "bpt" | "ept" | "it" | "ut" | "xliff:g" => {
            Role::Code
        }
        "br" | "img" | "input" | "wbr" | "area" | "embed" | "param" | "source" | "track" => {
            Role::Void
        }
        "address" | "article" | "aside" | "base" | "blockquote" | "body" | "button" | "caption"
        | "center" | "col" | "colgroup" | "dd" | "details" | "dialog" | "dir" | "div" | "dl"
        | "dt" | "fieldset" | "figcaption" | "figure" | "footer" | "form" | "frame"
        | "frameset" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "head" | "header" | "hgroup"
        | "hr" | "html" | "label" | "legend" | "li" | "link" | "main" | "menu" | "meta" | "nav"
        | "ol" | "optgroup" | "option" | "p" | "search" | "section" | "select" | "summary"
        | "table" | "tbody" | "td" | "tfoot" | "th" | "thead" | "title" | "tr" | "ul" => {
            Role::Block
        }
        _ => Role::Inline,
    }
}

/// Returns whether the end tag of `name` may be left out, because the next block ends the element.
pub(super) fn closes_itself(name: &str) -> bool {
    matches!(name, "p" | "li" | "dt" | "dd" | "td" | "th" | "tr" | "option" | "optgroup")
}

/// Returns whether the element is one tag only.
pub(super) fn is_empty(name: &str) -> bool {
    role(name) == Role::Void || matches!(name, "base" | "col" | "frame" | "hr" | "link" | "meta")
}
