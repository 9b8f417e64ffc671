//! Whole documents.

use crate::bad_input_translate::translate;
use crate::common::{stderr, stdout};

#[test]
fn a_document_keeps_its_markup_whatever_the_model_says() {
    let page = b"<!DOCTYPE html>\n<p class='x'>eins <b>zwei</b> drei.</p><script>eins < zwei</script>\r\n<p>{name} vier\xff <img src=a>";
    let output = translate(&["--format", "html", "--language", "de"], page);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("not UTF-8"));
    let tags = [
        "<!DOCTYPE html>\n<p class='x'>",
        "<b>",
        "</b>",
        "</p><script>eins < zwei</script>\r\n<p>",
        "{name}",
        "<img src=a>",
    ];
    for tag in tags {
        assert_eq!(text.matches(tag).count(), 1, "{tag} in {text}");
    }
}

#[test]
fn a_document_without_text_comes_back_as_it_is() {
    for format in ["text", "html", "markdown", "srt"] {
        for document in ["", "\n", "12\r\n\n", "***"] {
            let output = translate(&["--format", format], document.as_bytes());
            assert_eq!(stdout(&output), document);
        }
    }
}

#[test]
fn options_for_lines_are_refused_for_documents() {
    for option in ["--json", "--nbest=2"] {
        assert_eq!(
            translate(&["--format", "text", option], b"eins")
                .status
                .code(),
            Some(2)
        );
    }
    assert_eq!(
        translate(&["--language", "de"], b"eins").status.code(),
        Some(2)
    );
}
