//! Fields, notes and readings stay whole.

use super::*;

/// The code and the result of each field in the order of their ends, and whether all fields are
/// whole.
fn fields_of(xml: &str) -> (Vec<[String; 2]>, bool) {
    let mut all = Vec::new();
    let mut open: Vec<([String; 2], usize)> = Vec::new();
    let mut is_whole = true;
    for piece in xml.split('<') {
        let (tag, text) = piece.split_once('>').unwrap_or_default();
        if tag.contains("\"begin\"") {
            open.push(Default::default());
        } else if tag.contains("\"separate\"") {
            is_whole &= open.last().is_some_and(|(_, side)| *side == 0);
            open.last_mut().unwrap().1 = 1;
        } else if tag.contains("\"end\"") {
            all.push(open.pop().unwrap().0);
        } else if let Some((sides, side)) = open.last_mut() {
            let is_code = tag == "w:instrText";
            is_whole &= !(is_code && *side == 1);
            sides[*side] += text;
        }
    }
    (all, is_whole && open.is_empty())
}

/// LibreOffice 7.4 loses all text behind a field that has no end.
#[test]
fn a_field_of_word_is_never_torn_from_its_result() {
    let text = |text: &str| format!("<w:t xml:space=\"preserve\">{text}</w:t>");
    let mark = |kind: &str| format!("<w:fldChar w:fldCharType=\"{kind}\"/>");
    let run = |inside: &str| format!("<w:r>{inside}</w:r>");
    let codes = [
        "PAGE",
        "NUMPAGES",
        "PAGEREF _Toc1 \\h",
        "MERGEFIELD Name",
        "REF x",
        "DATE",
        "SEQ Figure",
        "FORMTEXT",
        "HYPERLINK \"a\"",
        "TOC \\o",
        "XE \"dog\"",
    ];
    let parts = |code: &str, result: &str| {
        let code = format!("<w:instrText>{code}</w:instrText>");
        [
            mark("begin"),
            code,
            mark("separate"),
            text(result),
            mark("end"),
        ]
    };
    for (code, result, shape) in codes.iter().flat_map(|code| {
        ["7", "two words", ""]
            .into_iter()
            .flat_map(move |result| (0..5).map(move |shape| (code, result, shape)))
    }) {
        let field = match shape {
            // A run for each part, and one run for all.
            0 => parts(code, result).map(|part| run(&part)).concat(),
            1 => run(&parts(code, result).concat()),
            // A field in the code, and a field in the result.
            2 | 3 => {
                let inner = parts("MERGEFIELD Inner", "m")
                    .map(|part| run(&part))
                    .concat();
                let mut parts = parts(code, result).map(|part| run(&part));
                parts[shape - 1].push_str(&inner);
                parts.concat()
            }
            // The field ends in the next paragraph.
            _ => parts(code, result)[..4]
                .iter()
                .map(|part| run(part))
                .collect(),
        };
        let field = |number: usize| {
            if number == 2 && shape == 4 {
                run(&mark("end"))
            } else {
                field.clone()
            }
        };
        let paragraph = |number: usize| {
            let [before, after] = ["the dog on ", " of many small houses"].map(|it| run(&text(it)));
            format!("<w:p>{before}{}{after}</w:p>", field(number))
        };
        let xml = format!("<w:document>{}{}</w:document>", paragraph(1), paragraph(2));
        let found = reversed_part(OfficeKind::Docx, "word/document.xml", &xml);
        let (before, after) = (fields_of(&xml), fields_of(&found));
        assert!(before.1 && after.1, "{code} {shape}: {found}");
        if shape < 4 && !code.starts_with(['H', 'T']) {
            assert_eq!(after.0, before.0, "{code} {shape}: {found}");
        }
        let codes = |fields: &[[String; 2]]| {
            fields
                .iter()
                .map(|field| field[0].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(codes(&after.0), codes(&before.0), "{code} {shape}: {found}");
        assert!(found.contains("HOUSES") && found.contains("DOG"), "{found}");
    }
}

#[test]
fn fields_notes_and_readings_stay_whole_in_every_program() {
    use OfficeKind::{Docx, Epub, OpenDocument, Pptx, Xlsx};
    let open = "<d><style:style style:name=\"T1\"><style:text-properties style:text-position=\"super 58%\"/></style:style><text:p>";
    for (kind, name, before, unit, after) in [
        (
            Docx,
            "word/document.xml",
            "<d><w:p><w:r><w:t>the dog sees </w:t></w:r>",
            "<w:fldSimple w:instr=\" PAGE \"><w:r><w:t>two words</w:t></w:r></w:fldSimple>",
            "<w:r><w:t> here</w:t></w:r></w:p></d>",
        ),
        (
            Docx,
            "word/document.xml",
            "<d><w:p><w:r><w:t>the dog sleeps.</w:t></w:r>",
            "<w:r><w:rPr><w:vertAlign w:val=\"superscript\"/></w:rPr><w:t xml:space=\"preserve\">1</w:t></w:r>",
            "<w:r><w:t> the cat too.</w:t></w:r></w:p></d>",
        ),
        (
            Pptx,
            "ppt/slides/slide1.xml",
            "<d><a:p><a:r><a:t>the dog sees </a:t></a:r>",
            "<a:fld id=\"x\"><a:rPr/><a:t>two words</a:t></a:fld>",
            "<a:r><a:t> here</a:t></a:r></a:p></d>",
        ),
        (
            Pptx,
            "ppt/slides/slide1.xml",
            "<d><a:p><a:r><a:t>the dog sleeps.</a:t></a:r>",
            "<a:r><a:rPr baseline=\"30000\"/><a:t>1</a:t></a:r>",
            "<a:r><a:t> the cat too.</a:t></a:r></a:p></d>",
        ),
        (
            Xlsx,
            "xl/sharedStrings.xml",
            "<sst><si><r><t>the dog sleeps.</t></r>",
            "<r><rPr><vertAlign val=\"superscript\"/></rPr><t xml:space=\"preserve\">1</t></r>",
            "<r><t> the cat too.</t></r></si></sst>",
        ),
        (
            OpenDocument,
            "content.xml",
            open,
            "<text:bookmark-ref text:ref-name=\"x\">two words</text:bookmark-ref>",
            " seen by the dog here</text:p></d>",
        ),
        (
            OpenDocument,
            "content.xml",
            open,
            "<field:fieldmark-start field:type=\"x\"/><text:span>two</text:span><field:fieldmark-separator/>words<field:fieldmark-end/>",
            "<text:s/>seen by the dog here</text:p></d>",
        ),
        (
            OpenDocument,
            "content.xml",
            open,
            "<text:span text:style-name=\"T1\">1</text:span>",
            " the cat too sleeps</text:p></d>",
        ),
        (
            Epub,
            "a.xhtml",
            "<html><body><p>the dog sleeps.",
            "<sup><a href=\"#n\">1</a></sup>",
            " the cat too.</p></body></html>",
        ),
        (
            Epub,
            "a.xhtml",
            "<html><body><p>the dog sleeps.",
            "<a href=\"#n\">[1]</a>",
            " the cat too.</p></body></html>",
        ),
        (
            Epub,
            "a.xhtml",
            "<html><body><section>the dog reads ",
            "<span translate=\"no\">two words</span>",
            " here</section></body></html>",
        ),
        (
            Epub,
            "a.xhtml",
            "<html><body><p>the dog reads ",
            "<svg><title>a b</title><text>c d</text></svg>",
            " here</p></body></html>",
        ),
        (
            Epub,
            "a.xhtml",
            "<html><body><p>the dog reads <ruby>so",
            "<rp>(</rp><rt>kan ji</rt><rp>)</rp>",
            "</ruby> here</p></body></html>",
        ),
        (
            Epub,
            "a.xhtml",
            "<html><head><title>a b</title>",
            "<script>var a = 'b c';</script>",
            "</head><body><p translate=\"no\">d e</p></body></html>",
        ),
    ] {
        let found = reversed_part(kind, name, &format!("{before}{unit}{after}"));
        assert!(found.contains(unit), "{unit}\n{found}");
        assert!(!found.contains("the "), "{found}");
        let letters = |xml: &str| {
            let text = xml
                .split('<')
                .filter_map(|piece| Some(piece.split_once('>')?.1));
            let mut all: Vec<char> = text
                .flat_map(|text| text.to_uppercase().chars().collect::<Vec<_>>())
                .filter(|c| !c.is_whitespace())
                .collect();
            all.sort_unstable();
            all
        };
        assert_eq!(
            letters(&found),
            letters(&format!("{before}{unit}{after}")),
            "{found}"
        );
    }
}
