//! How the formats write a plural.

use burnformer_documents::Format;
use regex::Regex;

/// How a file writes a plural.
pub struct Kind {
    pub format: Format,
    pub is_ordinal: bool,
    /// Stands for the number.
    pub number: &'static str,
    /// The beginning and the end of the file, and the text between two arms.
    pub file: [&'static str; 3],
    /// The text before an arm's name, before its text, and after its text.
    pub arm: [&'static str; 3],
    /// If true, the name for the number 0 stays in every language.
    pub has_zero: bool,
}

impl Kind {
    /// The file with these arms.
    pub fn file(&self, arms: &[(&str, String)]) -> String {
        let [before, behind, between] = self.file;
        let [start, middle, end] = self.arm;
        let arms: Vec<String> = arms
            .iter()
            .map(|(name, text): &(&str, String)| {
                // The default of Fluent has a star before it.
                let is_default = self.format == Format::Fluent && *name == "other";
                format!(
                    "{}{start}{name}{middle}{text}{end}",
                    if is_default { "*" } else { "" }
                )
            })
            .collect();
        [before, &arms.join(between), behind].concat()
    }

    /// The arms of `file` by their names.
    pub fn arms(&self, file: &str) -> Vec<(String, String)> {
        let [start, middle, end] = self.arm.map(regex::escape);
        let text = if self.number == "#" {
            "[^{}]*"
        } else {
            "[^\"'<\n]*"
        };
        let name = "(zero|one|two|few|many|other)";
        let pattern = format!(r"(?:^|[\s{{\[*,\}}]){start}{name}{middle}({text}){end}");
        let found = Regex::new(&pattern).unwrap();
        let mut at = 0;
        let mut all = Vec::new();
        while let Some(arm) = found.captures_at(file, at) {
            all.push((arm[1].to_owned(), arm[2].trim().to_owned()));
            at = arm.get(2).unwrap().end();
        }
        all
    }
}

pub fn kinds() -> Vec<Kind> {
    let kind = |format, is_ordinal, number, file, arm, has_zero| Kind {
        format,
        is_ordinal,
        number,
        file,
        arm,
        has_zero,
    };
    let flow = [
        "{\"a\": \"one\", \"files\": {",
        "}, \"b_other\": \"it\"}\n",
        ", ",
    ];
    let list = [
        "en:\n  - title: it\n  - ",
        "\n  - title: \"it\"\n",
        "\n    ",
    ];
    let icu = ["See {n, plural, =0 {none} ", "} now\n", " "];
    let narrow = ["{n,plural,offset:1 =1{a}", "}", ""];
    let arms = ["{n, selectordinal,\n  ", "\n}\n", "\n  "];
    let android = [
        "<resources>\n  <plurals name=\"a\">\n    ",
        "\n  </plurals>\n  <string name=\"b\">it</string>\n</resources>\n",
        "\n    ",
    ];
    let apple = [
        "<plist><dict><key>files</key><dict><key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>\n  ",
        "\n</dict><key>b</key><string>it</string></dict></plist>\n",
        "\n  ",
    ];
    let item = ["<item quantity=\"", "\">", "</item>"];
    let message = ["a = You see { $n ->\n    ", "\n } now\nb = it\n", "\n    "];
    let order = [
        "a = { NUMBER($n, type: \"ordinal\") ->\n    ",
        "\n}\n",
        "\n    ",
    ];
    vec![
        kind(
            Format::Json,
            false,
            "{{count}}",
            flow,
            ["\"", "\": \"", "\""],
            true,
        ),
        kind(
            Format::Json,
            false,
            "{{count}}",
            ["{\n ", "\n}", ",\n "],
            ["\"a_", "\":\"", "\""],
            true,
        ),
        kind(
            Format::Json,
            true,
            "{{count}}",
            ["{", "}", ","],
            ["\"a_ordinal_", "\": \"", "\""],
            true,
        ),
        kind(
            Format::Yaml,
            false,
            "%{count}",
            list,
            ["", ": \"", "\""],
            true,
        ),
        kind(
            Format::Yaml,
            false,
            "%{count}",
            ["", "\n", "\n"],
            ["a_", ": '", "'"],
            true,
        ),
        kind(
            Format::Yaml,
            false,
            "%{count}",
            ["a: {", "}\n", ", "],
            ["", ": \"", "\""],
            true,
        ),
        kind(Format::Android, false, "%1$d", android, item, false),
        kind(
            Format::StringsDict,
            false,
            "%d",
            apple,
            ["<key>", "</key>\n<string>", "</string>"],
            true,
        ),
        kind(
            Format::Fluent,
            false,
            "{ $n }",
            message,
            ["[", "] ", ""],
            false,
        ),
        kind(
            Format::Fluent,
            true,
            "{ $n }",
            order,
            ["[", "]\n        ", ""],
            false,
        ),
        kind(Format::Text, false, "#", icu, ["", " {", "}"], false),
        kind(Format::Text, false, "#", narrow, ["", "{", "}"], false),
        kind(Format::Text, true, "#", arms, ["", " {", "}"], false),
    ]
}
