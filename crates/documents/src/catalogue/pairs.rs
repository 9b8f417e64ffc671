//! Files of key-value pairs: Java properties and Apple strings files.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::message::{BrokenCatalogue, Message, Result};
use super::spelling::{Spelling, unescaped};
use crate::json_tree::check;
use crate::words::regex;

/// White space and comments, a key, the separator, a value, and the end of the pair.
type Grammar = [Regex; 5];

/// Java properties. Keys and values may contain escaped characters and line ends.
static PROPERTIES: LazyLock<Grammar> = LazyLock::new(|| {
    [
        r"^(?:[ \t\f]*(?:[#!][^\r\n]*)?(?:\r\n?|\n))*(?:[ \t\f]*(?:[#!][^\r\n]*)?\z)?[ \t\f]*",
        r"^(?:\\\r\n|\\(?s:.)|[^\\ \t\f\r\n:=])*",
        r"^[ \t\f]*[:=]?[ \t\f]*",
        r"^(?:\\\r\n|\\(?s:.)|[^\\\r\n])*",
        r"^\\?(?:\r\n?|\n|\z)",
    ]
    .map(regex)
});
/// Apple strings files. Some strings are words without quotes.
static STRINGS: LazyLock<Grammar> = LazyLock::new(|| {
    let string = r#"^(?s:"(?:\\.|[^"\\])*"|[\w.$/:-]+)"#;
    [
        r"^(?s:\s|//[^\n]*|/\*.*?\*/)*",
        string,
        r"^\s*=\s*",
        string,
        r"^\s*;",
    ]
    .map(regex)
});
/// A parameter of a Java message.
static PARAMETER: LazyLock<Regex> = LazyLock::new(|| regex(r"\{\d+(?:,[^{}]*)?\}"));

/// Reads the texts of a properties file.
pub(super) fn properties(text: &str) -> Result<Vec<Message>> {
    // Every line is a pair, also in a file of another format.
    let is_xml = text.trim_start().starts_with('<');
    if is_xml || text.trim_start().starts_with('{') && check(text).is_ok() {
        let fault =
            "the file is XML or JSON, and no properties of Java; name its format with --format";
        return Err(BrokenCatalogue::at(text, 0, fault));
    }
    let is_ascii = text.is_ascii();
    let mut all = pairs(
        text,
        &PROPERTIES,
        &Spelling::Property {
            is_ascii,
            doubles: false,
        },
        "",
    )?;
    // A single apostrophe in a message with parameters shows that MessageFormat is not used.
    if !all.iter().any(|it: &Message| {
        PARAMETER.is_match(&it.source) && it.source.replace("''", "").contains('\'')
    }) {
        for message in all.iter_mut().filter(|it| PARAMETER.is_match(&it.source)) {
            message.source = message.source.replace("''", "'");
            message.slot.spelling = Spelling::Property {
                is_ascii,
                doubles: true,
            };
        }
    }
    Ok(all)
}

/// Reads the texts of a strings file.
pub(super) fn strings(text: &str) -> Result<Vec<Message>> {
    let fault = "here is no `\"key\" = \"text\";`; end the one before with `\";`, and write \\\" \
        within a string; `plutil -lint FILE` shows more, and `plutil -convert json -o NEW.json \
        FILE` makes JSON of a property list";
    pairs(text, &STRINGS, &Spelling::Apple, fault)
}

/// The characters of NextStep's encoding from 0x80 on, in which Apple writes octal numbers.
const NEXT_STEP: &str = concat!(
    "\u{a0}ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖÙÚÛÜÝÞµ×÷",
    "©¡¢£⁄¥ƒ§¤’“«‹›ﬁﬂ®–†‡·¦¶•‚„”»…‰¬¿",
    "¹ˋ´ˆ˜¯˘˙¨²˚¸³˝˛ˇ—±¼½¾àáâãäåçèéêë",
    "ìÆíªîïðñŁØŒºòóôõöæùúûıüýłøœßþÿ\u{fffd}\u{fffd}",
);
/// An escape of an Apple string.
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| regex(r"\\(?s:([0-7]{1,3})|(.))"));

/// Returns an Apple string with escapes by Unicode's numbers in place of those that only Apple has:
/// octal numbers and control characters.
fn with_numbers(value: &str) -> Cow<'_, str> {
    ESCAPE.replace_all(value, |found: &Captures<'_>| {
        let octal = found.get(1).map(|digits| digits.as_str());
        let octal = octal.and_then(|digits| u32::from_str_radix(digits, 8).ok());
        let letter = found.get(2).map_or("", |letter| letter.as_str());
        let code = match (octal.map(|number| number & 0xff), letter) {
            (Some(number @ 0x80..), _) => NEXT_STEP
                .chars()
                .nth(number as usize - 0x80)
                .map_or(0xfffd, u32::from),
            (Some(number), _) => number,
            (None, "a") => 0x07,
            (None, "b") => 0x08,
            (None, "v") => 0x0b,
            (None, "f") => 0x0c,
            (None, _) => return found[0].to_owned(),
        };
        format!("\\U{code:04x}")
    })
}

/// Reads the pairs of `text`. Anything else in it is the error `fault`.
fn pairs(text: &str, grammar: &Grammar, spelling: &Spelling, fault: &str) -> Result<Vec<Message>> {
    let mut all = Vec::new();
    let mut at = 0;
    let [space, parts @ ..] = grammar;
    loop {
        at += space.find(&text[at..]).map_or(0, |space| space.len());
        if at == text.len() {
            return Ok(all);
        }
        let mut end = at;
        let [Some(key), Some(_), Some(mut range), Some(_)] =
            parts.each_ref().map(&mut |regex: &Regex| {
                let found = regex.find(&text[end..])?;
                end += found.len();
                Some(end - found.len()..end)
            })
        else {
            return Err(BrokenCatalogue::at(text, at, fault));
        };
        at = end;
        if *spelling == Spelling::Apple {
            if !text[range.clone()].starts_with('"') {
                continue;
            }
            range = range.start + 1..range.end - 1;
        }
        let broken = "`\\u` has not four hexadecimal digits behind it; write a backslash as `\\\\`";
        let value = &text[range.clone()];
        let value = match spelling {
            Spelling::Apple => with_numbers(value),
            _ => Cow::Borrowed(value),
        };
        let source =
            unescaped(&value).ok_or_else(|| BrokenCatalogue::at(text, range.start, broken))?;
        let key = text[key].trim_matches('"').to_owned();
        all.push(Message::text(key, range, source, spelling.clone()));
    }
}
