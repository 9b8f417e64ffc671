//! Files with a long text at one position and many children beside it.

use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The length of a long text.
pub const LONG: usize = 100_000;

/// A file to translate.
pub struct File {
    pub name: String,
    /// The extension.
    pub kind: &'static str,
    pub bytes: Vec<u8>,
}

/// Text files, one a line: the extension, what precedes the children, a child, and what follows
/// them. `@` marks a text that is long in one of the files, and `#` the number of a child.
const TEXTS: &[[&str; 4]] = &[
    ["txt", "- @ @\t@\n", "a b\n", "@"],
    [
        "html",
        "<div id='@' title='@ b' @=c><!--@--><b class=@>@ @",
        "<p>a b</p>",
        "</b></div>@",
    ],
    [
        "html",
        "<p class='@'><a href='@'>a @",
        "<i>b</i> c<br>",
        "</a></p>",
    ],
    ["html", "<p lang=@>@ &amp;", " a <img alt='b c'> d", "</p>"],
    ["html", "<@><p>@", "<x-y>a </x-y>", "</p></@>"],
    ["html", "<p title='@ a'>@ {{@}}", "b {{c}} ", "</p>"],
    [
        "md",
        "# @\n\n[@]: https://a/@ \"@\"\n\n",
        "- a [b](c) *d* [@]\n",
        "\n@",
    ],
    ["md", "> @ a\n> @b", "\na b", "\n\n@"],
    ["md", "a\n@ b", "\nc d", "\n"],
    ["md", "> <p>@</p>", "<p>a b</p>", "\n"],
    ["md", "[@](@ \"@\") ![@](@) ", "`a` **b** c<br>d ", "\n"],
    ["md", "| @ | b |\n|---|---|\n", "| a b | c |\n", "\n"],
    [
        "srt",
        "1\n00:00:01,000 --> 00:00:02,000 @\n<i class=@>@\n\n",
        "#\n00:00:01,000 --> 00:00:02,000\na b\n\n",
        "",
    ],
    [
        "srt",
        "1\n00:00:01,000 --> 00:00:02,000\n<font color=@>{\\@}@",
        "\n<b>a</b> b",
        "\n",
    ],
    [
        "vtt",
        "WEBVTT @\n\nNOTE @\n\n@\n00:01.000 --> 00:02.000 @\n<c.@>a\n\n",
        "00:01.000 --> 00:02.000\na b\n\n",
        "",
    ],
    [
        "ass",
        "[Script Info]\nTitle: @\n",
        "Dialogue: 0,1,2,D,@,0,0,0,,{\\@}a\\Nb {\\i1}c\n",
        "Comment: @\n",
    ],
    [
        "ass",
        "[Script Info]\nDialogue: 0,1,2,@,@,0,0,0,@,{\\@}@",
        "\\Na b",
        "\n",
    ],
    [
        "po",
        "msgid \"\"\nmsgstr \"Language: @\\n\"\n\n# @\n#. @\n#: @\n#, @\n#| msgid \"@\"\nmsgctxt \"@\"\nmsgid \"@ a\"\nmsgstr \"@\"\n",
        "\nmsgctxt \"#\"\nmsgid \"a b\"\nmsgstr \"\"\n",
        "",
    ],
    [
        "xlf",
        "<xliff version=\"1.2\" a=\"@\"><file source-language=\"en\" target-language=\"de\" original=\"@\"><body id=\"@\"><group id=\"@\" resname=\"@\"><note>@</note><trans-unit id=\"@\" resname=\"@\"><source a=\"@\">@ a</source><target a=\"@\"/><note>@</note></trans-unit>",
        "<trans-unit id=\"#\"><source>a b</source></trans-unit>",
        "</group></body></file></xliff>",
    ],
    [
        "xlf",
        "<xliff version=\"1.2\"><file source-language=\"en\" target-language=\"de\"><body><trans-unit id=\"@\"><source>@<g id=\"@\">",
        "<x id=\"#\"/>a <g id=\"b\">c</g>",
        "</g></source></trans-unit></body></file></xliff>",
    ],
    [
        "xlf",
        "<xliff version=\"2.0\" srcLang=\"en\" trgLang=\"de\"><file id=\"@\"><notes><note>@</note></notes><unit id=\"@\" name=\"@\">",
        "<segment id=\"#\"><source>a b</source></segment>",
        "</unit></file></xliff>",
    ],
    [
        "tmx",
        "<tmx version=\"1.4\" a=\"@\"><header srclang=\"en\" creationtool=\"@\"><note>@</note></header><body><tu tuid=\"@\"><prop type=\"@\">@</prop><tuv xml:lang=\"en\" a=\"@\"><seg>@ a</seg></tuv><tuv xml:lang=\"de\"><seg/></tuv></tu>",
        "<tu tuid=\"#\"><tuv xml:lang=\"en\"><seg>a b</seg></tuv><tuv xml:lang=\"de\"><seg></seg></tuv></tu>",
        "</body></tmx>",
    ],
    [
        "tmx",
        "<tmx version=\"1.4\"><header srclang=\"en\"/><body><tu tuid=\"@\"><tuv xml:lang=\"en\"><seg>a b</seg></tuv>",
        "<tuv xml:lang=\"l#\" a=\"@\"><seg>c</seg></tuv>",
        "<tuv xml:lang=\"de\"><seg/></tuv></tu></body></tmx>",
    ],
    [
        "json",
        "{\"@\": {\"description\": \"@\", \"message\": \"@ a\", \"@\": [\"b c\"",
        ", \"a b\"",
        "]}}",
    ],
    [
        "json",
        "{\"@\": {\"one\": \"@ {{count}}\"",
        ", \"k#\": {\"message\": \"a b\", \"description\": \"c\"}",
        "}}",
    ],
    [
        "json",
        "{\"a\": \"@ {n, plural, =0{@} one{# @} other{b}}\"",
        ", \"k#_one\": \"a {{count}}\", \"k#_other\": \"b\"",
        "}",
    ],
    [
        "json",
        "{\"a\": \"{@, select, b{@}",
        " k#{a b}",
        " other{c}}\"}",
    ],
    [
        "yaml",
        "# @\n@: &@ !!str '@'\nb:\n  \"@\":\n",
        "    k#: a b\n",
        "c: @\n",
    ],
    ["yaml", "@:\n", "- a: b c\n  d: |\n    e f\n", ""],
    ["yaml", "a: {\"@\": b", ", k#: a b", "}\n"],
    ["yaml", "a: >\n  @", "\n  b c", "\n"],
    [
        "properties",
        "# @\n@ = @ a\n@:\\\n  @\n",
        "k# = a b\n",
        "! @\n",
    ],
    ["properties", "@ = @", "\\\n   a b", "\n"],
    [
        "xml",
        "<resources a=\"@\"><!--@--><string name=\"@\" a=\"@\">@ <b class=\"@\">a</b></string><string-array name=\"@\" a=\"@\">",
        "<item>a b</item>",
        "</string-array></resources>",
    ],
    [
        "xml",
        "<resources a=\"@\"><plurals name=\"@\">",
        "<item quantity=\"other\">%d a</item>",
        "</plurals></resources>",
    ],
    [
        "xml",
        "<resources a=\"@\">",
        "<string name=\"k#\">a b</string>",
        "</resources>",
    ],
    [
        "strings",
        "/* @ */\n\"@\" = \"@ a\"; // @\n",
        "\"k#\" = \"a b\";\n",
        "",
    ],
    [
        "resx",
        "<root a=\"@\"><data name=\"@\" a=\"@\"><value>@ a</value><comment>@</comment></data>",
        "<data name=\"k#\"><value>a b</value></data>",
        "</root>",
    ],
    [
        "xcstrings",
        "{\"sourceLanguage\": \"en\", \"a\": \"@\", \"strings\": {\"@\": {\"comment\": \"@\", \"localizations\": {\"de\": {\"stringUnit\": {\"state\": \"new\", \"value\": \"@\"}}}}",
        ", \"a b #\": {}",
        "}}",
    ],
    [
        "xcstrings",
        "{\"sourceLanguage\": \"en\", \"strings\": {\"@ a\": {\"localizations\": {\"en\": {\"variations\": {\"device\": {\"@\": {\"stringUnit\": {\"value\": \"@ b\"}}",
        ", \"k#\": {\"stringUnit\": {\"value\": \"a b\"}}",
        "}}}}}}}",
    ],
    [
        "stringsdict",
        "<plist><dict><key>@</key><dict a=\"@\"><key>NSStringLocalizedFormatKey</key><string>@ a</string>",
        "<key>k#</key><string>a b</string>",
        "</dict></dict></plist>",
    ],
    [
        "ipynb",
        "{\"nbformat\": 4, \"a\": \"@\", \"cells\": [{\"cell_type\": \"markdown\", \"id\": \"@\", \"source\": [\"@ a\"]}",
        ", {\"cell_type\": \"markdown\", \"source\": [\"a b\"]}",
        "]}",
    ],
    [
        "ipynb",
        "{\"nbformat\": 4, \"cells\": [{\"cell_type\": \"markdown\", \"source\": [\"@ a\"",
        ", \"a b\\n\"",
        "]}]}",
    ],
    [
        "ftl",
        "# @\n@ = @ a\n    .@ = @ b\nname = { $n ->\n",
        "   [k#] a b\n",
        "  *[other] c\n }\n",
    ],
    [
        "ftl",
        "@ = { $n ->\n",
        "   [k#] a b\n",
        "  *[other] c\n }\n",
    ],
    ["ftl", "@ = @ a\n", "    .k# = a b\n", ""],
    ["ftl", "a = @", "\n    a { $b } c", "\n"],
];

/// Office documents: the extension, what precedes the children, a child, and what follows them, all
/// within one file of the archive.
const OFFICE: &[[&str; 4]] = &[
    [
        "docx",
        "<w:document a=\"@\"><w:p w:a=\"@\"><w:pPr><w:x w:val=\"@\"/></w:pPr><w:r w:b=\"@\"><w:rPr><w:lang w:val=\"@\"/></w:rPr>",
        "<w:t>a b</w:t><w:tab/>",
        "</w:r></w:p></w:document>",
    ],
    [
        "docx",
        "<w:document><w:p><w:hyperlink r:id=\"@\"><w:r><w:rPr><w:lang w:val=\"@\"/></w:rPr><w:t>@ a</w:t>",
        "<w:footnoteReference w:id=\"#\"/><w:t>b </w:t>",
        "</w:r></w:hyperlink></w:p></w:document>",
    ],
    [
        "docx",
        "<w:document><w:p><w:r><w:rPr><w:x a=\"@\"/></w:rPr><w:t>@ a</w:t></w:r>",
        "<w:r><w:t>b c</w:t></w:r><w:bookmarkStart w:name=\"#\"/>",
        "</w:p></w:document>",
    ],
    [
        "docx",
        "<w:document a=\"@\"><w:body b=\"@\">",
        "<w:p><w:r><w:t>a b</w:t></w:r></w:p>",
        "</w:body></w:document>",
    ],
    [
        "pptx",
        "<p:sld a=\"@\"><p:txBody><a:p><a:r><a:rPr lang=\"@\"/>",
        "<a:t>a b</a:t>",
        "</a:r></a:p></p:txBody></p:sld>",
    ],
    [
        "xlsx",
        "<sst a=\"@\"><si><r><rPr><x a=\"@\"/></rPr><t>@ a</t>",
        "<t>b c</t>",
        "</r></si></sst>",
    ],
    ["xlsx", "<sst a=\"@\">", "<si><t>a b</t></si>", "</sst>"],
    [
        "odt",
        "<office:document a=\"@\"><text:p text:style-name=\"@\"><text:span text:style-name=\"@\">@ a",
        "<text:span>b</text:span> c<text:tab/>",
        "</text:span></text:p></office:document>",
    ],
    [
        "odt",
        "<office:document a=\"@\">",
        "<text:p>a b</text:p>",
        "</office:document>",
    ],
    [
        "epub",
        "<html><body class=\"@\"><div id=\"@\"><p id=\"@\">@ a",
        "<i>b</i> c",
        "</p></div></body></html>",
    ],
    [
        "epub",
        "<html><body class=\"@\"><div id=\"@\"><a href=\"@\">",
        "<p>a b</p>",
        "</a></div></body></html>",
    ],
];

/// For each kind, the archive's file with the text, and a file that identifies the kind.
const MAINS: [(&str, &str, &str); 5] = [
    ("docx", "word/document.xml", "word/document.xml"),
    ("pptx", "ppt/slides/slide1.xml", "ppt/presentation.xml"),
    ("xlsx", "xl/sharedStrings.xml", "xl/workbook.xml"),
    ("odt", "content.xml", "content.xml"),
    ("epub", "a.xhtml", "META-INF/container.xml"),
];

/// Creates a document of this `kind` with the XML `start`, `child` repeated `times`, and an end.
pub fn office(kind: &'static str, start: &str, child: &str, times: usize) -> File {
    let xml = start.to_string() + &child.repeat(times);
    let bytes = archive(kind, &format!("<a>{xml}</a>"));
    let name = format!("{kind} {start} {}", &child[..child.len().min(20)]);
    File { name, kind, bytes }
}

fn archive(kind: &str, xml: &str) -> Vec<u8> {
    let known = MAINS.iter().find(|(known, ..)| *known == kind);
    let (_, text, main) = known.expect("the kind of an office document");
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let files = [(*text, xml), (*main, "<a/>")];
    let count = if text == main { 1 } else { 2 };
    for (name, content) in &files[..count] {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Fills `parts`: the mark `@` number `position` becomes a word of `length` letters, and the others
/// one letter. The child is repeated `times`.
fn filled(parts: &[&str; 3], position: usize, [length, times]: [usize; 2]) -> String {
    let [start, child, end] = parts;
    let letters = |seen: usize| "y".repeat(if seen == position { length } else { 1 });
    let mut seen = 0;
    let mut out = String::new();
    for (index, part) in start.split('@').enumerate() {
        if index > 0 {
            out += &letters(seen);
            seen += 1;
        }
        out += part;
    }
    for number in 0..times {
        out += &child.replace('#', &number.to_string()).replace('@', "y");
    }
    for (index, part) in end.split('@').enumerate() {
        if index > 0 {
            out += &letters(seen);
            seen += 1;
        }
        out += part;
    }
    out
}

/// Returns a file for each position of each format, with a text of this `length` there and so many
/// children.
pub fn files(length: usize, times: usize) -> impl Iterator<Item = File> {
    let rows = TEXTS.iter().chain(OFFICE);
    rows.flat_map(move |[kind, start, child, end]| {
        let parts = [*start, *child, *end];
        let count = start.matches('@').count() + end.matches('@').count();
        (0..count.max(1)).map(move |position| {
            let text = filled(&parts, position, [length, times]);
            let is_office = MAINS.iter().any(|(known, ..)| known == kind);
            let bytes = if is_office {
                archive(kind, &text)
            } else {
                text.into_bytes()
            };
            File {
                name: format!("{kind}, position {position} of {start} {child}"),
                kind,
                bytes,
            }
        })
    })
}

/// Files of the smallest parts that a format has.
const SMALLEST: &[[&str; 4]] = &[
    ["txt", "", "a\n", ""],
    ["txt", "", "a\t", ""],
    ["txt", "", "{a}", ""],
    ["txt", "", "1 ", "a"],
    ["html", "", "<p>a", ""],
    ["html", "", "<x>", "a"],
    ["html", "", "a<x>", ""],
    ["html", "", "a. ", ""],
    ["html", "", "a&lt;", ""],
    ["md", "", "a\n\n", ""],
    ["md", "", "*a* ", ""],
    ["md", "", "`a`", ""],
    ["srt", "", "0:0-->0:0\na\n", ""],
    ["ass", "", "Dialogue:,,,,,,,,,a\n", ""],
    ["po", "", "msgctxt\"#\"\nmsgid\"a\"\nmsgstr\"\"\n", ""],
    ["json", "[0", ",\"ab\"", "]"],
    ["yaml", "", "- ab\n", ""],
    ["properties", "", "a b\n", ""],
    ["xml", "<resources>", "<string>ab</string>", "</resources>"],
    ["strings", "", "a=\"ab\";", ""],
    ["ftl", "", "a=ab\n", ""],
    ["docx", "<w:p>", "<w:t>a</w:t>", "</w:p>"],
    ["docx", "<w:p><w:t>a</w:t>", "<a/>", "</w:p>"],
    ["xlsx", "<sst>", "<si><t>a</t></si>", "</sst>"],
    ["odt", "<a>", "<text:p>a</text:p>", "</a>"],
    ["odt", "<text:p>", "a<b/>", "</text:p>"],
    ["epub", "<a>", "<p>a</p>", "</a>"],
    ["epub", "<p>", "<i>a</i>", "</p>"],
    ["epub", "<p>a", "<b/>", "</p>"],
];

/// Files of so many of the smallest parts.
pub fn plain(times: usize) -> impl Iterator<Item = File> {
    SMALLEST.iter().map(move |[kind, start, child, end]| {
        let text = filled(&[*start, *child, *end], 0, [1, times]);
        let is_office = MAINS.iter().any(|(known, ..)| known == kind);
        let bytes = if is_office {
            archive(kind, &text)
        } else {
            text.into_bytes()
        };
        let name = format!("{kind}, many of {child:?}");
        File { name, kind, bytes }
    })
}
