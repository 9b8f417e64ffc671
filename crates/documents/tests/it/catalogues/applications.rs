//! Resource files of .NET and notebooks, judged by other readers.

use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Value, json};

use crate::common::{translate, upper};
use burnformer_documents::{Catalogue, Format};

/// Attributes and names of data in a resource file, and whether its value is a text.
const DATA: [(&str, &str, bool); 12] = [
    ("Title", "", true),
    ("$this.Text", " xml:space=\"preserve\"", true),
    ("label1.ToolTip", " xml:space=\"preserve\"", true),
    ("Plain", " type=\"System.String\"", true),
    ("Named", " type=\"System.String, mscorlib\"", true),
    ("&gt;&gt;label1.Name", "", false),
    (">>label1.Parent", " xml:space=\"preserve\"", false),
    (
        "Size",
        " type=\"System.Drawing.Size, System.Drawing\"",
        false,
    ),
    ("Yes", " type=\"System.Boolean, mscorlib\"", false),
    (
        "Icon",
        " mimetype=\"application/x-microsoft.net.object.binary.base64\"",
        false,
    ),
    (
        "Logo",
        " type=\"System.Resources.ResXFileRef, System.Windows.Forms\"",
        false,
    ),
    (
        "Null",
        " type=\"System.Resources.ResXNullRef, System.Windows.Forms\"",
        false,
    ),
];

/// Values of data, as a file writes them and as readers see them.
const VALUES: [(&str, &str); 6] = [
    ("one text", "one text"),
    (
        "one &amp; two &lt;b&gt;here&lt;/b&gt;",
        "one & two <b>here</b>",
    ),
    ("<![CDATA[a <i>b</i> &amp; c]]>", "a <i>b</i> &amp; c"),
    ("one {0} of {1:N2}", "one {0} of {1:N2}"),
    ("  one\n two  \n", "  one\n two  \n"),
    ("naïve text “here”", "naïve text “here”"),
];

/// The names and values of the data of a resource file, as quick-xml reads it.
fn values(text: &str) -> Vec<(String, String)> {
    let mut reader = Reader::from_str(text);
    let mut name = String::new();
    let mut value = None;
    let mut all = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) if tag.name().as_ref() == "data" => {
                let found = tag.try_get_attribute("name").unwrap().unwrap();
                name = quick_xml::escape::unescape(&found.value).unwrap().into();
            }
            Event::Start(tag) if tag.name().as_ref() == "value" => value = Some(String::new()),
            Event::End(tag) if tag.name().as_ref() == "value" => {
                let value = value.take().unwrap().replace("\r\n", "\n");
                all.push((name.clone(), value));
            }
            Event::Eof => return all,
            event => {
                let Some(value) = &mut value else { continue };
                match event {
                    Event::Text(text) => *value += &text,
                    Event::CData(text) => *value += &text,
                    Event::GeneralRef(name) => {
                        *value += &quick_xml::escape::unescape(&format!("&{};", &*name)).unwrap();
                    }
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn only_the_texts_of_a_resource_file_change() {
    for newline in ["\n", "\r\n"] {
        for (written, shown) in VALUES {
            let data = DATA.iter().map(|(name, attributes, _)| {
                format!("<data name=\"{name}\"{attributes}>\n<value>{written}</value><comment>one note</comment></data>\n")
            });
            let head = "<resheader name=\"version\"><value>one text</value></resheader>\n";
            let text = ["<root>\n", head, &data.collect::<String>(), "</root>\n"].concat();
            let text = text.replace('\n', newline);
            let found = translate(&text, Format::Resx, &upper);
            let all = values(&found);
            assert_eq!(all[0].1, "one text");
            assert_eq!(all.len(), 1 + DATA.len());
            for ((name, value), (key, _, is_text)) in all[1..].iter().zip(DATA) {
                assert_eq!(*name, key.replace("&gt;", ">"));
                let upper = shown.to_ascii_uppercase();
                let upper = ["b", "i"].iter().fold(upper, |text, tag| {
                    let capital = tag.to_uppercase();
                    text.replace(&format!("<{capital}>"), &format!("<{tag}>"))
                        .replace(&format!("</{capital}>"), &format!("</{tag}>"))
                });
                let expected = if is_text { &*upper } else { shown };
                let expected = expected.replace("&AMP;", "&amp;");
                assert_eq!(*value, expected, "{name}");
            }
            assert_eq!(found.matches("one note").count(), DATA.len());
        }
    }
}

#[test]
fn only_the_markdown_cells_of_a_notebook_change() {
    let lines = [
        "# One *title*\n",
        "\n",
        "one `code` “here” \\ \"two\"\n",
        "- a \u{1f600}",
    ];
    let sources = [
        json!(lines),
        json!(lines.concat()),
        json!([lines.concat()]),
        json!(["one line"]),
        json!(["one line\n", ""]),
    ];
    for source in &sources {
        let cell = |kind: &str| json!({"cell_type": kind, "metadata": {"name": "one note"}, "source": source});
        let cells = ["markdown", "code", "raw", "markdown"].map(cell);
        let files = [
            json!({"nbformat": 4, "nbformat_minor": 4, "metadata": {"title": "one note"}, "cells": cells}),
            json!({"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}),
        ];
        for (file, path) in files.iter().zip(["/cells", "/worksheets/0/cells"]) {
            for text in [
                file.to_string(),
                serde_json::to_string_pretty(file).unwrap(),
            ] {
                let mut found: Value =
                    serde_json::from_str(&translate(&text, Format::Notebook, &upper)).unwrap();
                for number in [0, 3] {
                    let new = found
                        .pointer_mut(&format!("{path}/{number}/source"))
                        .unwrap();
                    let joined = |value: &Value| match value {
                        Value::Array(lines) => {
                            let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
                            let (_, but_last) = lines.split_last().unwrap();
                            assert!(
                                but_last.iter().all(|line| line.ends_with('\n')),
                                "{lines:?}"
                            );
                            lines.concat()
                        }
                        value => value.as_str().unwrap().to_owned(),
                    };
                    assert_eq!(new.is_array(), source.is_array());
                    let expected = joined(source)
                        .to_ascii_uppercase()
                        .replace("`CODE`", "`code`");
                    assert_eq!(joined(new), expected);
                    *new = source.clone();
                }
                assert_eq!(&found, file, "nothing else has changed");
            }
        }
    }
    let text =
        json!({"nbformat": 4, "cells": [{"cell_type": "markdown", "id": "a", "source": []}]});
    let all = Catalogue::read(&text.to_string(), Format::Notebook, [None; 2]).unwrap();
    assert!(all.messages.is_empty());
}
