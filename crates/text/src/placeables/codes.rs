//! Texts that are code as a whole: patterns of dates, media types, lists of classes, regular
//! expressions, colours and paths.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// Letters of date patterns in Java, Unicode, Moment and .NET.
const DATE_LETTERS: &str = "GyYuUQqMLwWdDEeabBhHkKmsSAzZOvVXxo";

/// Types of media by IANA's registry.
const MEDIA: [&str; 10] = [
    "application",
    "audio",
    "font",
    "haptics",
    "image",
    "message",
    "model",
    "multipart",
    "text",
    "video",
];

/// The longest text that is compared. Longer texts are prose.
const MAX_BYTES: usize = 400;

/// Values of CSS, regular expressions and paths, each as a whole text.
static CODES: LazyLock<RegexSet> = LazyLock::new(|| {
    let css = r"(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color|color-mix|var|calc|min|max|clamp|url|(?:repeating-)?(?:linear|radial|conic)-gradient|translate[XYZ]?|rotate|scale)";
    let arguments = r"\((?:[^;{}]*[\d#,./]|\s*--)[^;{}]*\)";
    RegexSet::new([
        // Colours and lengths.
        r"^#(?:[0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$".to_owned(),
        format!(r"^{css}{arguments}(?:,?\s+{css}{arguments})*$"),
        r"^-?[\d.]+(?:px|r?em|ex|ch|v[hw]|vmin|vmax|pt|fr|deg|ms)(?:\s+(?:-?[\d.]+(?:px|r?em|ex|ch|v[hw]|vmin|vmax|pt|fr|deg|ms|%)?|auto|solid|dashed|dotted|none|#[0-9A-Fa-f]{3,8}))*$".to_owned(),
        // Regular expressions with anchors at both ends, or between slashes with signs.
        r"^\^.*\$$".to_owned(),
        r"^/(?:[^/\s]|\\/)*[\\\[(*+?^$|](?:[^/]|\\/)*/[dgimsuvy]*$".to_owned(),
        // Other regular expressions, without spaces.
        r"^\S*(?:\[[^\]\s]*[A-Za-z0-9]-[A-Za-z0-9][^\]\s]*\](?:[*+?{]|$)|\\[dDwWsSbB](?:[*+?{\\)\]]|$)|\(\?(?:[:=!>]|<[=!A-Za-z])|\.[*+](?:\?|\)|\$))\S*$".to_owned(),
        // Paths of Windows, of servers, and of other systems. A name with a space is a folder, has
        // an extension, or is all in title case.
        r#"^(?:[A-Za-z]:\\|\\\\[^\\/:*?"<>|\s]+\\)(?:[^\\/:*?"<>|]+\\)*(?:[^\\/:*?"<>|\s]*|[^\\/:*?"<>|]+\.\w{1,8}|[\p{Lu}\d][^\\/:*?"<>|\s]*(?: [\p{Lu}\d(][^\\/:*?"<>|\s]*)+)\\?$"#.to_owned(),
        r#"^(?:~|\.{1,2})?/(?:[^\s/:*?"<>|](?:[^/:*?"<>|]*[^\s/:*?"<>|])?/)+(?:[^\s/:*?"<>|]*|[^\s/:*?"<>|][^/:*?"<>|]*\.\w{1,8})$"#.to_owned(),
    ])
    .expect("valid patterns")
});

/// A field of a date pattern, a quoted text in one, or signs between them.
static DATE_PIECE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"'[^']*'|\[[^\[\]]*\]|[A-Za-z]+|[^A-Za-z']+").expect("a valid pattern")
});

/// A media type with parameters.
static MEDIA_TYPE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([a-z]+)/([\w.+*-]+)(?:\s*;\s*[\w-]+=\S+)*$").expect("a valid pattern")
});

/// A name in a list of classes.
static CLASS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[.-]?[a-z][A-Za-z0-9_]*(?:[-:/.][A-Za-z0-9_.\[\]%#]+|--[a-z0-9-]+)*$")
        .expect("a valid pattern")
});

/// Returns whether `text` as a whole is code that only programs read: a pattern of dates
/// (`dd/MM/yyyy`), media types, a list of classes, a regular expression, a colour or a path. One of
/// these within a sentence is not meant.
pub fn is_code(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty()
        && text.len() <= MAX_BYTES
        && !text.contains(['\n', '\r'])
        && (CODES.is_match(text) || is_date(text) || is_media(text) || is_class_list(text))
}

/// Returns whether `text` is a pattern of a date or time: fields with signs or quoted text between
/// them. One field must have several letters, because a single letter can be a word.
fn is_date(text: &str) -> bool {
    let mut fields = 0;
    let mut is_long = false;
    for piece in DATE_PIECE.find_iter(text).map(|found| found.as_str()) {
        if piece.starts_with(|c: char| c.is_ascii_alphabetic()) {
            if !is_field(piece) {
                return false;
            }
            fields += piece.as_bytes().chunk_by(u8::eq).count();
            is_long |= piece.len() > 1;
        } else if !piece.starts_with(['\'', '[']) && piece.contains(is_word) {
            return false;
        }
    }
    is_long && fields > 1 && text.contains(['y', 'Y', 'M', 'd', 'D', 'H', 'h', 'm'])
        || fields == 1 && is_long_run(text)
}

/// Returns whether `c` belongs to a word, unlike the signs of years, months and hours in Chinese,
/// Japanese and Korean patterns.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() && !"年月日時时分秒년월일시분초".contains(c)
}

/// Returns whether `piece` is a field (`MMM`, and `Do` of Moment) or several, such as `yyyyMMdd`.
/// The sign before a time and the zone after it have one letter.
fn is_field(piece: &str) -> bool {
    let mut runs = piece.as_bytes().chunk_by(u8::eq);
    let has_one = runs.clone().count() == 1;
    matches!(piece, "Do" | "Qo" | "Mo" | "Wo" | "do")
        || runs.all(|run| {
            let is_known = DATE_LETTERS.contains(char::from(run[0]));
            is_known && (run.len() > 1 || has_one) || !has_one && b"TZXz".contains(&run[0])
        })
}

/// Returns whether `text` is a single field of at least three letters, as `MMMM` or `yyyy`.
fn is_long_run(text: &str) -> bool {
    let first = text.as_bytes()[0];
    text.len() > 2 && b"yYMdDEHhms".contains(&first) && text.bytes().all(|byte| byte == first)
}

/// Returns whether `text` is a list of media types or their file extensions.
fn is_media(text: &str) -> bool {
    let mut has_type = false;
    let mut all = text.split(',').map(str::trim);
    all.all(|item| {
        let is_type = is_media_type(item);
        has_type |= is_type;
        is_type || is_extension(item)
    }) && has_type
}

fn is_media_type(item: &str) -> bool {
    MEDIA_TYPE.captures(item).is_some_and(|found| {
        MEDIA.contains(&&found[1]) && !MEDIA.contains(&found[2].trim_end_matches('s'))
    })
}

fn is_extension(item: &str) -> bool {
    item.strip_prefix('.')
        .is_some_and(|name| !name.is_empty() && name.chars().all(char::is_alphanumeric))
}

/// Returns whether `text` is a list of classes of a page: names in small letters, some of which
/// continue another (`btn btn-primary`) or have a number, a state or a part (`p-4`, `md:flex`,
/// `card__title`).
fn is_class_list(text: &str) -> bool {
    let names: Vec<&str> = text.split_ascii_whitespace().collect();
    if names.len() < 2 || !names.iter().all(|name| CLASS.is_match(name)) {
        return false;
    }
    let mut certain = 0;
    let mut hyphens = 0;
    for name in &names {
        let (first, _) = name.split_once('-').unwrap_or_default();
        let continues = !first.is_empty() && names.contains(&first);
        certain += usize::from(continues) + usize::from(has_number_state_or_part(name));
        hyphens += usize::from(name.contains('-'));
    }
    certain > 0 && 2 * (certain + hyphens) >= names.len()
}

fn has_number_state_or_part(name: &str) -> bool {
    let short = name.split('-').next().unwrap_or_default();
    let rest = &name[short.len()..];
    let has_number = rest.ends_with(|c: char| c.is_ascii_digit())
        && (short.len() <= 2 || rest.matches('-').count() > 1);
    let has_state = name.contains(':') && !name.ends_with(':') || name.starts_with("is-");
    has_number || has_state || name.contains("__")
}
