//! Whatever a translation memory answers, the written file can be read, with the same keys and the
//! answer as text.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use burnformer_documents::{Catalogue, Document, Format, Remembered};

/// Files with [`MESSAGES`] messages each: the name of a kind, the extension, a beginning, a message
/// and an end. `¤` is the number of the message.
const FILES: [(&str, Format, [&str; 3]); 20] = [
    (
        "po",
        Format::Po,
        [
            "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\"\n\n",
            "msgctxt \"k¤\"\nmsgid \"Text ¤ here\"\nmsgstr \"\"\n\n",
            "",
        ],
    ),
    (
        "xliff",
        Format::Xliff,
        [
            "<xliff version=\"1.2\"><file source-language=\"en\" target-language=\"de\" datatype=\"x\" original=\"a\"><body>",
            "<trans-unit id=\"k¤\"><source>Text ¤ here</source></trans-unit>\n",
            "</body></file></xliff>",
        ],
    ),
    (
        "tmx",
        Format::Tmx,
        [
            "<tmx version=\"1.4\"><header srclang=\"en\"/><body>",
            "<tu tuid=\"k¤\"><tuv xml:lang=\"en\"><seg>Text ¤ here</seg></tuv><tuv xml:lang=\"de\"><seg/></tuv></tu>\n",
            "</body></tmx>",
        ],
    ),
    (
        "json",
        Format::Json,
        ["{", "\"k¤\": \"Text ¤ here\",\n", "\"z\": 1}"],
    ),
    ("yaml", Format::Yaml, ["de:\n", "  k¤: Text ¤ here\n", ""]),
    (
        "yaml",
        Format::Yaml,
        ["{de: {", "k¤: Text ¤ here, ", "z: 1}}"],
    ),
    (
        "yaml",
        Format::Yaml,
        ["de:\n", "  k¤: 'Text ¤ here' # note\n", ""],
    ),
    (
        "yaml",
        Format::Yaml,
        ["de:\n", "  k¤: |- # note\n    Text ¤ here\n", ""],
    ),
    (
        "yaml",
        Format::Yaml,
        ["de:\n", "  k¤: >-\n      Text ¤ here\n\n", ""],
    ),
    (
        "properties",
        Format::Properties,
        ["# é\n", "k¤ = Text ¤ here\n", ""],
    ),
    (
        "android",
        Format::Android,
        [
            "<resources>",
            "<string name=\"k¤\">Text ¤ here</string>\n",
            "</resources>",
        ],
    ),
    (
        "strings",
        Format::Strings,
        ["", "\"k¤\" = \"Text ¤ here\";\n", ""],
    ),
    (
        "qt",
        Format::Qt,
        [
            "<TS language=\"de\"><context><name>de</name>",
            "<message><source>Text ¤ here</source><comment>k¤</comment></message>\n",
            "</context></TS>",
        ],
    ),
    (
        "resx",
        Format::Resx,
        [
            "<root>",
            "<data name=\"k¤\" xml:space=\"preserve\"><value>Text ¤ here</value></data>\n",
            "</root>",
        ],
    ),
    (
        "xcstrings",
        Format::XcStrings,
        [
            "{\"sourceLanguage\": \"en\", \"strings\": {\"a\": {\"localizations\": {\"de\": {}}}",
            ", \"k¤\": {\"localizations\": {\"en\": {\"stringUnit\": {\"state\": \"new\", \"value\": \"Text ¤ here\"}}}}",
            "}}",
        ],
    ),
    (
        "stringsdict",
        Format::StringsDict,
        [
            "<plist><dict><key>a</key><dict><key>NSStringLocalizedFormatKey</key><string>1</string></dict>",
            "<key>k¤</key><string>Text ¤ here</string>\n",
            "</dict></plist>",
        ],
    ),
    (
        "ipynb",
        Format::Notebook,
        [
            "{\"nbformat\": 4, \"nbformat_minor\": 5, \"metadata\": {}, \"cells\": [",
            "{\"cell_type\": \"markdown\", \"id\": \"k¤\", \"metadata\": {}, \"source\": [\n\"Text \",\n\"¤ here\"]},\n",
            "{\"cell_type\": \"raw\", \"id\": \"z\", \"metadata\": {}, \"source\": []}]}",
        ],
    ),
    (
        "ipynb",
        Format::Notebook,
        [
            "{\"nbformat\": 4, \"nbformat_minor\": 5, \"metadata\": {}, \"cells\": [",
            "{\"cell_type\": \"markdown\", \"id\": \"k¤\", \"metadata\": {}, \"source\": \"Text ¤ here\"},\n",
            "{\"cell_type\": \"raw\", \"id\": \"z\", \"metadata\": {}, \"source\": []}]}",
        ],
    ),
    ("fluent", Format::Fluent, ["", "k¤ = Text ¤ here\n", ""]),
    (
        "fluent",
        Format::Fluent,
        ["", "k¤ =\n        Text ¤ here\n", ""],
    ),
];

const MESSAGES: usize = 50;

/// Parts of answers that mean something in a format, or that a reader changes or refuses.
const PARTS: &[&str] = &[
    "a",
    "Press ",
    "}",
    "{",
    "{ $x }",
    "{$",
    "{\"",
    "\"}",
    "{{",
    "%s",
    "'",
    "\"",
    "\\",
    "\\n",
    "\\u00e9",
    "\\U00e9",
    "\\x41",
    "\n",
    "\n\n",
    "\n ",
    "\n  b",
    "\t",
    " ",
    "  ",
    "\r",
    "\r\n",
    "\0",
    "\u{1}",
    "\u{b}",
    "\u{c}",
    "\u{1b}",
    "\u{1c}",
    "\u{1f}",
    "\u{7f}",
    "\u{85}",
    "\u{9f}",
    "\u{a0}",
    "\u{ad}",
    "\u{2028}",
    "\u{2029}",
    "\u{200b}",
    "\u{202e}",
    "\u{feff}",
    "\u{fdd1}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{1fffe}",
    "👩",
    "é",
    "日本",
    "<",
    ">",
    "<b>",
    "</b>",
    "<b",
    "<1>",
    "</1>",
    "<!--",
    "-->",
    "--",
    "]]>",
    "<![CDATA[",
    "<?",
    "?>",
    "&",
    "&amp;",
    "&#0;",
    "&x;",
    "#",
    " #",
    "# ",
    ": ",
    ":",
    "- ",
    "-",
    "? ",
    "?",
    "| ",
    ">",
    ">-",
    "[",
    "]",
    ",",
    "*",
    "*a",
    "&a",
    "!",
    "!!str ",
    "@",
    "`",
    "%",
    "=",
    "<<",
    "~",
    "0x1F",
    "1_000",
    "12:30:00",
    "1e3",
    "1.5",
    "0o7",
    "0b1",
    "017",
    ".inf",
    ".NaN",
    "2001-01-01",
    "2001-01-01 10:00:00",
    "yes",
    "No",
    "on",
    "y",
    "null",
    "True",
    "---",
    "...",
    "\n---\n",
    "\n...\n",
    "\n# ",
    "\n.a = ",
    "\n[b] ",
    "\n*[c]",
    "\n}",
    "\nk1 = x",
    "\n- ",
    "\nb: c",
    ";",
    "\";",
    "//",
    "/*",
    "*/",
    "!",
    "\\\n",
    "$",
    "msgid \"\"",
    "\"\nmsgid \"x",
    "NaN",
    "Infinity",
    "+1",
    "-1",
    "0",
];

/// A generator of numbers below a limit (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// An answer of one to five parts that is not empty.
    fn answer(&mut self) -> String {
        loop {
            let count = 1 + self.below(5);
            let answer: String = (0..count).map(|_| PARTS[self.below(PARTS.len())]).collect();
            // A text keeps the white space around its source.
            let answer = answer.trim();
            if !answer.is_empty() {
                return answer.into();
            }
        }
    }
}

/// Returns a file of each kind with its messages translated by a memory, and the answers.
fn answered(seed: u64) -> Vec<(&'static str, Format, String, Vec<String>)> {
    let mut random = Random(seed * 2 + 1);
    let mut all = Vec::new();
    for (kind, format, [before, message, after]) in FILES {
        let messages: String = (0..MESSAGES)
            .map(|number: usize| message.replace('¤', &number.to_string()))
            .collect();
        let answers: Vec<String> = (0..MESSAGES).map(|_| random.answer()).collect();
        let sources = (0..MESSAGES).map(|number| format!("Text {number} here"));
        let memory: HashMap<String, &String> = sources.zip(&answers).collect();
        let text = [before, &messages, after].concat();
        let document = Document::try_parse(&text, format, [Some("en"), None], &[], &|_| true);
        let document = document
            .unwrap()
            .with_known_translations(&|source: &str, _: &str| {
                memory.get(source.trim()).map(|answer| Remembered {
                    text: answer.to_string(),
                    is_sure: true,
                })
            });
        assert!(document.pending().is_empty(), "{kind}");
        all.push((kind, format, document.finish(), answers));
    }
    all
}

/// The text that a file of this format can hold in place of `answer`.
fn held(answer: &str, format: Format) -> String {
    answer.replace(
        |c: char| match format {
            Format::Xliff | Format::Tmx | Format::Qt | Format::Resx | Format::StringsDict => {
                c.is_control() && c < ' ' && !"\n\t\r".contains(c)
                    || matches!(c, '\u{fffe}' | '\u{ffff}')
            }
            Format::Po => c == '\0',
            _ => false,
        },
        "\u{fffd}",
    )
}

#[test]
fn a_file_is_read_again_with_the_answers_of_a_memory() {
    for seed in 0..15 {
        for (kind, format, text, answers) in answered(seed) {
            let catalogue = Catalogue::read(&text, format, [None; 2])
                .unwrap_or_else(|error| panic!("{kind}, {error}\n{text}"));
            let found: Vec<_> = catalogue
                .messages
                .iter()
                .filter(|message: &&burnformer_documents::Message| {
                    message
                        .context
                        .to_string()
                        .trim_start_matches("de.")
                        .trim_start_matches('.')
                        .starts_with('k')
                })
                .collect();
            assert_eq!(found.len(), answers.len(), "{kind}\n{text}");
            // Its lines are joined, and signs stand in strings. Other programs judge them.
            if format == Format::Fluent {
                continue;
            }
            for (message, answer) in found.iter().zip(&answers) {
                let text = if format.has_translations() {
                    &message.target
                } else {
                    &message.source
                };
                assert_eq!(
                    text.trim(),
                    held(answer, format).trim(),
                    "{kind} {answer:?}"
                );
            }
        }
    }
}

/// Writes files with 10,000 answers to the folder `OUT`, each with its answers, for
/// `benches/judge_answers.py`.
#[test]
#[ignore = "needs a folder"]
fn other_programs_read_the_answers_of_a_memory() {
    let out = PathBuf::from(std::env::var_os("OUT").expect("OUT is a folder"));
    fs::create_dir_all(&out).unwrap();
    for seed in 100..115 {
        for (number, (kind, _, text, answers)) in answered(seed).into_iter().enumerate() {
            let name = out.join(format!("{seed}-{number}.{kind}"));
            fs::write(&name, text).unwrap();
            let answers = serde_json::to_vec(&answers).unwrap();
            fs::write(name.with_added_extension("json"), answers).unwrap();
        }
    }
}
