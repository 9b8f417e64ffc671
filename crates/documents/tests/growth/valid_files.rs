//! Valid files of each format with a text at each string position.

use burnformer_documents::Format;

/// A valid file: a beginning, units and an end. Each [`STRING`] in them is a string of the file,
/// and each [`NUMBER`] is the number of the unit.
#[derive(Debug)]
pub struct ValidFile {
    pub format: Format,
    pub before: &'static str,
    pub unit: &'static str,
    pub after: &'static str,
}

const STRING: char = '§';
const NUMBER: char = '¤';

/// The texts that are repeated in a string.
const FILLINGS: [&str; 2] = ["a ", " "];

/// A text repeated in one of a file's strings, the position of the string, and whether it is
/// repeated in the first unit or, with the same length, in each unit.
#[derive(Debug, Default)]
pub struct Filling<'a> {
    text: &'a str,
    position: usize,
    is_in_each: bool,
}

impl ValidFile {
    fn positions(&self) -> usize {
        [self.before, self.unit, self.after]
            .map(|part| part.matches(STRING).count())
            .iter()
            .sum()
    }

    /// Each text at each position.
    pub fn fillings(&self) -> impl Iterator<Item = Filling<'static>> {
        let positions = self.positions();
        FILLINGS.into_iter().flat_map(move |text| {
            (0..positions).flat_map(move |position| {
                [false, true].map(|is_in_each| Filling {
                    text,
                    position,
                    is_in_each,
                })
            })
        })
    }

    /// A file of about `bytes` bytes with this filling.
    pub fn filled(&self, filling: &Filling<'_>, bytes: usize) -> String {
        let repeated = |bytes: usize| filling.text.repeat(bytes / filling.text.len().max(1));
        let [short, long] = [repeated(40), repeated(bytes / 2)];
        let in_first = if filling.is_in_each { &short } else { &long };
        let in_others = if filling.is_in_each { &short } else { "" };
        let mut position = 0;
        let mut out = String::new();
        fill(&mut out, self.before, 0, (filling, in_first), position);
        position += self.before.matches(STRING).count();
        let units = if filling.is_in_each { bytes } else { bytes / 2 };
        let end = out.len().max(bytes / 2) + units.min(bytes / 2);
        for number in 0.. {
            let text = if number == 0 { in_first } else { in_others };
            fill(&mut out, self.unit, number, (filling, text), position);
            if number > 0 && out.len() >= end {
                break;
            }
        }
        position += self.unit.matches(STRING).count();
        fill(&mut out, self.after, 0, (filling, in_first), position);
        out
    }
}

/// Writes `part` with `text` at the position of `filling`. The part's first string is at `position`
/// in the file.
fn fill(
    out: &mut String,
    part: &str,
    number: usize,
    (filling, text): (&Filling<'_>, &str),
    mut position: usize,
) {
    for c in part.chars() {
        match c {
            STRING => {
                if position == filling.position {
                    *out += text;
                }
                position += 1;
            }
            NUMBER => *out += &number.to_string(),
            c => out.push(c),
        }
    }
}

pub const VALID_FILES: &[ValidFile] = &[
    ValidFile {
        format: Format::Po,
        before: "#§\nmsgid \"\"\nmsgstr \"\"\n\"Language: §\\n\"\n\"X-Name: §\\n\"\n\"Plural-Forms: nplurals=2; plural=(n != 1);§\\n\"\n\n",
        unit: "#. §\n#: a§\n#, c-format§\n#| msgid \"§\"\nmsgctxt \"b§\"\nmsgid \"One §file ¤\"\nmsgid_plural \"Some §files\"\nmsgstr[0] \"§\"\nmsgstr[1] \"§\"\n\n",
        after: "#~ msgid \"§\"\n",
    },
    ValidFile {
        format: Format::Xliff,
        before: "<?xml version=\"1.0\"?><!--§--><xliff version=\"1.2\" a=\"§\"><file source-language=\"en\" b=\"§\"><body translate=\"yes\" a=\"§\">",
        unit: "<trans-unit id=\"a§¤\"><!--x§--><source a=\"§\">Read §this <g id=\"1\" c=\"§\">now</g></source><target a=\"§\">§</target><note>§</note></trans-unit>",
        after: "</body><!--§--></file></xliff>",
    },
    ValidFile {
        format: Format::Xliff,
        before: "<xliff version=\"2.0\" srcLang=\"en\" a=\"§\"><file id=\"§\" translate=\"yes\"><group a=\"§\"><unit id=\"u\" b=\"§\">",
        unit: "<segment id=\"a§¤\" a=\"§\"><source>Read §this</source></segment>\n",
        after: "</unit></group></file></xliff>",
    },
    ValidFile {
        format: Format::Tmx,
        before: "<tmx version=\"1.4\"><header srclang=\"en\" a=\"§\"/><body a=\"§\">",
        unit: "<tu a=\"§\" tuid=\"¤§\"><note>§</note><tuv xml:lang=\"en\" a=\"§\"><seg>Read §this</seg></tuv><tuv xml:lang=\"de§\"><seg>§</seg></tuv></tu>",
        after: "</body></tmx>",
    },
    // A language with many segments.
    ValidFile {
        format: Format::Tmx,
        before: "<tmx version=\"1.4\"><header srclang=\"en\"/><body><tu a=\"§\"><tuv xml:lang=\"de\"><seg/></tuv><tuv a=\"§\" xml:lang=\"en§\">",
        unit: "<seg>Read §this</seg>",
        after: "</tuv></tu></body></tmx>",
    },
    ValidFile {
        format: Format::Json,
        before: "{\"@@locale\": \"§\", \"b§\": {",
        unit: "\"a§¤\": \"Read §this\", \"d¤_one\": \"One §file\", \"d¤_other\": \"Some §files\",\n",
        after: "\"§\": \"§\"}}",
    },
    // Notes beside a message.
    ValidFile {
        format: Format::Json,
        before: "{\"b§\": {\"message\": \"Read §this\",",
        unit: "\"description\": \"Some §note\", \"placeholders\": {\"§one\": \"One file\", \"other\": \"§Some files\"},",
        after: "\"§\": \"§\"}}",
    },
    ValidFile {
        format: Format::Json,
        before: "[",
        unit: "{\"message\": \"Read §this\", \"description\": \"A §note\"}, [\"{n, plural, one {One§} other {# §files}}\"],",
        after: "\"§\"]",
    },
    ValidFile {
        format: Format::Yaml,
        before: "# §\nen: # §\n",
        unit: "  ? \"a§¤\"\n  : &b¤ !!str Read §this # §\n  c¤: \"Read §that\"\n  d¤: 'Read §that'\n  e¤:\n    one: One §file\n    other: Some §files\n  f¤: |\n    Some §lines\n    here\n  g¤: >-\n    Some §lines\n    here\n",
        after: "# §\n",
    },
    // Everything is on one line.
    ValidFile {
        format: Format::Yaml,
        before: "{b: \"§\", en: {",
        unit: "\"a§¤\": Read §this, c¤: \"Read §that\", d¤: {one: One §file, other: Some §files}, ",
        after: "z: [\"§\"]}}",
    },
    ValidFile {
        format: Format::Yaml,
        before: "[\"§\", ",
        unit: "Read §this, 'Read §that', \"Read §those\", ",
        after: "\"§\"]",
    },
    ValidFile {
        format: Format::Properties,
        before: "# §\n",
        unit: "! §\na§¤ = Read §this {0} isn''t \\\n   §\n\n",
        after: "# §",
    },
    ValidFile {
        format: Format::Strings,
        before: "/* § */\n",
        unit: "// §\n\"a§¤\" = \"Read §this\"; /* § */ b.¤ = \"Read §that\";",
        after: "// §",
    },
    ValidFile {
        format: Format::Android,
        before: "<!--§--><resources a=\"§\">",
        unit: "<!--§--><string name=\"a§¤\" b=\"§\">Read §this</string><plurals name=\"§\" c=\"§\"><item quantity=\"one\">One §file</item><item a=\"§\" quantity=\"other\">Some §files</item></plurals>",
        after: "<!--§--></resources>",
    },
    ValidFile {
        format: Format::Fluent,
        before: "# §\n",
        unit: "# §\na¤ = Read §this\n    .b = Read §that\nc¤ = { $n ->\n    [one] One §file\n   *[other]\n       Some §files\n}\n",
        after: "# §\n",
    },
    ValidFile {
        format: Format::Resx,
        before: "<!--§--><root a=\"§\"><resheader name=\"§\"><value>§</value></resheader>",
        unit: "<!--§--><data name=\"a§¤\" xml:space=\"preserve\"><value>Read §this</value><comment>§</comment></data><data name=\"&gt;&gt;b§\" type=\"§\"><value>§</value></data>",
        after: "<!--§--></root>",
    },
    ValidFile {
        format: Format::XcStrings,
        before: "{\"sourceLanguage\": \"en\", \"a\": \"§\", \"strings\": {\"§\": {\"localizations\": {\"de\": {}}}",
        unit: ", \"Read §this ¤\": {\"comment\": \"§\", \"localizations\": {\"en\": {\"variations\": {\"plural\": {\"one\": {\"stringUnit\": {\"state\": \"§\", \"value\": \"One §file\"}}, \"other\": {\"stringUnit\": {\"value\": \"Some §files\"}}}}}}}",
        after: "}, \"version\": \"§\"}",
    },
    // Many devices of a string.
    ValidFile {
        format: Format::XcStrings,
        before: "{\"sourceLanguage\": \"en\", \"strings\": {\"§\": {\"localizations\": {\"de\": {\"variations\": {\"device\": {\"a\": {\"stringUnit\": {\"state\": \"new\", \"value\": \"\"}}}}}, \"en\": {\"variations\": {\"device\": {\"a\": {}",
        unit: ", \"b§¤\": {\"stringUnit\": {\"value\": \"Read §this\"}}",
        after: "}}}}}}}",
    },
    // Many languages of a string.
    ValidFile {
        format: Format::XcStrings,
        before: "{\"sourceLanguage\": \"en\", \"strings\": {\"Read §this\": {\"localizations\": {\"de\": {}",
        unit: ", \"x§¤\": {\"stringUnit\": {\"state\": \"translated\", \"value\": \"§\"}}",
        after: "}}}}",
    },
    ValidFile {
        format: Format::StringsDict,
        before: "<plist a=\"§\"><dict><key>§</key><dict><key>NSStringLocalizedFormatKey</key><string>§</string>",
        unit: "<!--§--><key>a§¤</key><dict><key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string><key>one</key><string>One §file</string><key>other</key><string>Some §files</string></dict>",
        after: "</dict></dict></plist>",
    },
    ValidFile {
        format: Format::Notebook,
        before: "{\"nbformat\": 4, \"a\": \"§\", \"cells\": [",
        unit: "{\"cell_type\": \"markdown\", \"id\": \"a§¤\", \"source\": [\"# Read §this\\n\", \"\\n\", \"and *§that*\"]}, {\"cell_type\": \"code\", \"source\": \"§\"}, ",
        after: "{}]}",
    },
    // Many lines of a cell.
    ValidFile {
        format: Format::Notebook,
        before: "{\"nbformat\": 4, \"cells\": [{\"cell_type\": \"markdown\", \"source\": [",
        unit: "\"Read §this\\n\", \"\\n\", ",
        after: "\"§\"]}]}",
    },
    // Many arms and attributes.
    ValidFile {
        format: Format::Fluent,
        before: "# §\n-d = Some §name\na = Read §this\n",
        unit: "    .b¤ = Read §that { $n }\n",
        after: "# §\n",
    },
    ValidFile {
        format: Format::Ass,
        before: "[Script Info]\nTitle: §\n\n[Events]\nFormat: Layer, Start, End, §Style, Text\n",
        unit: "Comment: §\nDialogue: 0,0:00:01.00,0:00:02.00,§,{\\i1}Read §this{\\i0}§\\Nnow §\n",
        after: "; §",
    },
    ValidFile {
        format: Format::Srt,
        before: "WEBVTT §\n\nNOTE §\n\n",
        unit: "a§¤\n00:00:¤ --> 00:00:02,000 §\n<v §>Read §this\nnow §\n\n",
        after: "NOTE §\n",
    },
    ValidFile {
        format: Format::Html,
        before: "<!doctype html><html a=\"§\"><head><title>A §title</title><style>§</style><script>§</script></head><body a=\"§\">",
        unit: "<!--§--><p id=\"§\" title=\"Some §text\">Read §this <a href=\"§\" b=\"§\">now §</a></p>",
        after: "<pre>§</pre></body></html>",
    },
    ValidFile {
        format: Format::Markdown,
        before: "---\ntitle: §\n---\n\n# Read §this\n\n",
        unit: "Read §this [now §](http://a.b/§ \"A §title\") `§`\n\n- Read §that\n\n| a | b |\n|---|---|\n| Read §this | §now |\n\n```§\ncode §\n```\n\n",
        after: "[a]: http://a.b/§ \"§\"\n",
    },
];
