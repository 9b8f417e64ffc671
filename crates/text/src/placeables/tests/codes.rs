//! Texts that are code as a whole, and prose like them.

use crate::{is_code, is_translatable};

#[test]
fn whole_values_that_only_programs_read_are_code() {
    let mut missed = Vec::new();
    for text in [
        // Dates: Java, ICU, Moment, .NET.
        "dd/MM/yyyy",
        "yyyy-MM-dd",
        "EEEE, d MMMM yyyy",
        "d. MMMM y",
        "hh:mm a",
        "HH:mm:ss",
        "MM/DD/YYYY",
        "dddd, Do MMMM YYYY",
        "yyyy-MM-dd'T'HH:mm:ssZ",
        "YYYY-MM-DDTHH:mm:ssZ",
        "yyyyMMdd",
        "MMMM",
        "d 'de' MMMM 'de' yyyy",
        "yyyy年M月d日",
        "dd.MM.yy",
        // Media types.
        "text/html",
        "image/*",
        "application/vnd.ms-excel",
        "text/html; charset=utf-8",
        "image/png, image/jpeg",
        "image/png,.jpg",
        "audio/x-wav",
        // Classes.
        "btn btn-primary",
        "fa fa-home",
        "col-md-6 text-center",
        "md:flex p-4",
        "card card__title",
        "container mx-auto p-4",
        "btn btn--large is-active",
        // Regular expressions.
        "^[a-z0-9]+$",
        r"^\d{5}$",
        r"/^\w+@\w+$/i",
        "[A-Za-z]{2,}",
        r"(\d+)x(\d+)",
        "^[A-Z][a-z]+ [A-Z]$",
        r"\S+@\S+\.\S+",
        "(?:a|b)c",
        "(.*)foo",
        // Values of CSS.
        "#fff",
        "#FF8800",
        "rgb(0, 0, 0)",
        "rgba(255,255,255,.5)",
        "hsl(120deg 75% 25%)",
        "var(--main)",
        "1px solid #ccc",
        "10px 20px",
        "1.5em",
        "linear-gradient(to right, #fff, #000)",
        // Paths.
        r"C:\Program Files\App\app.exe",
        r"C:\Program Files",
        r"D:\My Documents\letters old\",
        r"\\server\My Share\a b.txt",
        "/usr/local/My App/bin",
        "/home/anna/My Files/letter one.txt",
        "~/My Documents/a.txt",
        "./My Files/x",
    ] {
        missed.extend((!is_code(text) || is_translatable(text)).then_some(text));
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn prose_is_no_code() {
    let mut taken = Vec::new();
    for text in [
        "",
        "Mad",
        "a",
        "Amd",
        "mm",
        "Da",
        "add",
        "Hmm",
        "All day",
        "d",
        "me",
        "a day",
        "Day/Month/Year",
        "Text/Image",
        "audio/video",
        "text/image",
        "and/or",
        "message/messages",
        "he/she, it",
        "well-known fact",
        "follow-up sign-in",
        "top-10 songs",
        ".net framework",
        "covid-19 test",
        "step step",
        "e-mail address",
        "sign-in page",
        "er--sie kommt",
        "costs $5^",
        "See [a-z] here",
        "100% solid",
        "color(s)",
        "scale(s)",
        "min(utes)",
        "5 pt",
        "Danke.*",
        "/help shows the help",
        "/etc/hosts is a file",
        "/start and /stop",
        r"C:\Windows is full",
        "/ or /",
        "#hash tag",
        "5 em",
        "Write a.b",
        "x: y",
    ] {
        taken.extend(is_code(text).then_some(text));
    }
    assert!(taken.is_empty(), "{taken:?}");
}

/// The text is read once by each pattern.
#[test]
fn long_texts_are_prose() {
    for piece in ["dd/", "a-1 ", r"\d+", "/a", "#f", "rgb("] {
        assert!(!is_code(&piece.repeat(100_000)));
    }
}
