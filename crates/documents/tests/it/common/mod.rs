//! Translators for tests.
#![allow(dead_code, reason = "each test program uses some")]

use burnformer_documents::{Document, Format, Link, PendingSentence, Translated};

/// A function that translates a sentence.
pub type Model<'a> = &'a dyn Fn(&PendingSentence) -> Translated;

/// The document in English, translated by `model`; sentences of up to 400 bytes fit.
pub fn translate(text: &str, format: Format, model: Model<'_>) -> String {
    translate_rounds(text, format, model).0
}

/// The translation and the number of rounds.
pub fn translate_rounds(text: &str, format: Format, model: Model<'_>) -> (String, usize) {
    translate_into(text, format, None, model)
}

/// Translates into the language `target`, if given, and returns the number of rounds.
pub fn translate_into(
    text: &str,
    format: Format,
    target: Option<&str>,
    model: Model<'_>,
) -> (String, usize) {
    let fits = |sentence: &str| sentence.len() <= 400;
    let mut document = Document::try_parse(text, format, [Some("en"), target], &[], &fits)
        .unwrap_or_else(|_| Document::parse(text, format, Some("en"), &fits));
    for round in 0.. {
        let pending = document.pending();
        if pending.is_empty() {
            return (document.finish(), round);
        }
        assert!(round < 2, "a third round");
        for sentence in &pending {
            assert_eq!(sentence.text.trim(), sentence.text);
            assert!(!sentence.text.is_empty());
        }
        document.accept(pending.iter().map(model).collect());
    }
    unreachable!()
}

/// Every sentence stays, each word linked to itself.
pub fn identity(sentence: &PendingSentence) -> Translated {
    let text = sentence.text.clone();
    let links = words(&text)
        .map(|(at, word)| link(at, word.len(), at, word.len()))
        .collect();
    Translated { text, links }
}

/// Every letter in upper case; as long as the source.
pub fn upper(sentence: &PendingSentence) -> Translated {
    Translated {
        text: sentence.text.to_ascii_uppercase(),
        ..identity(sentence)
    }
}

/// Reverses the words; punctuation stays in place.
pub fn reverse(sentence: &PendingSentence) -> Translated {
    let source = &sentence.text;
    let ranges: Vec<(usize, &str)> = words(source).collect();
    let mut text = String::new();
    let mut links = Vec::new();
    let mut at = 0;
    for (&(start, old), &(from, new)) in ranges.iter().zip(ranges.iter().rev()) {
        text.push_str(&source[at..start]);
        links.push(link(from, new.len(), text.len(), new.len()));
        text.push_str(new);
        at = start + old.len();
    }
    text.push_str(&source[at..]);
    Translated { text, links }
}

/// Without the alignment.
pub fn unlinked(translated: Translated) -> Translated {
    Translated {
        links: Vec::new(),
        ..translated
    }
}

fn link(source: usize, source_len: usize, target: usize, target_len: usize) -> Link {
    Link {
        source: source..source + source_len,
        target: target..target + target_len,
    }
}

/// Runs of letters, digits and combining marks.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = text.as_ptr() as usize;
    let is_in_word = |c| burnformer_text::is_in_word(c) || burnformer_text::is_unspaced(c);
    text.split(move |c: char| !(c.is_alphanumeric() || is_in_word(c) || c == '\''))
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - start, word))
}

/// Attributes that can be translated.
pub const TEXTS: [&str; 8] = [
    "alt",
    "title",
    "placeholder",
    "label",
    "value",
    "content",
    "aria-label",
    "aria-description",
];

/// Tags and comments as the tokeniser of the HTML standard sees them, sorted.
pub fn markup(html: &str) -> Vec<String> {
    let mut emitter = html5gum::DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let mut all = Vec::new();
    for token in html5gum::Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        let span = match token {
            html5gum::Token::StartTag(tag) => {
                let is_text = |name: &str| TEXTS.contains(&name);
                let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
                if tag.attributes.keys().any(|key| is_text(&name(key))) {
                    let others = tag
                        .attributes
                        .iter()
                        .filter(|(key, _)| !is_text(&name(key)));
                    let others: Vec<String> = others
                        .map(|(key, value)| name(key) + "=" + &name(value))
                        .collect();
                    all.push(format!("{} {others:?}", name(&tag.name)));
                    continue;
                }
                tag.span
            }
            html5gum::Token::EndTag(tag) => tag.span,
            html5gum::Token::Comment(comment) => comment.span,
            html5gum::Token::Doctype(doctype) => doctype.span,
            _ => continue,
        };
        all.push(html[span.start..span.end].to_string());
    }
    all.sort();
    all
}
