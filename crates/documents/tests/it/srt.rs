//! Subtitles.

use crate::common::{identity, reverse, translate, upper};
use burnformer_documents::{Format, Sentence, Translated};

const SUBTITLES: &str = "1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>Hello there,</i>\r\nmy good friend.\r\n\r\n\
    2\r\n00:00:03,000 --> 00:00:04,000 X1:1\r\n{\\an8}- Hi!\r\n- Bye!\r\n\r\n\
    3\r\n00:00:05,000 --> 00:00:06,000\r\n\r\n\
    4\r\n00:00:07,000 --> 00:00:08,000\r\n♪ 12 ♪\r\n5\r\n00:00:09,000 --> 00:00:10,000\r\nI <3 you";

#[test]
fn subtitles_come_back_byte_for_byte_if_nothing_changes() {
    assert_eq!(translate(SUBTITLES, Format::Srt, &identity), SUBTITLES);
}

#[test]
fn numbers_times_tags_and_lines_stay() {
    let expected = SUBTITLES
        .replace("Hello there,", "HELLO THERE,")
        .replace("my good friend.", "MY GOOD FRIEND.")
        .replace("Hi!", "HI!")
        .replace("Bye!", "BYE!")
        .replace("I <3 you", "I <3 YOU");
    assert_eq!(translate(SUBTITLES, Format::Srt, &upper), expected);
}

#[test]
fn a_subtitle_keeps_its_number_of_lines() {
    let text = "1\n00:00:01,000 --> 00:00:02,000\none two three\nfour five <b>six</b>\n";
    assert_eq!(
        translate(text, Format::Srt, &reverse),
        "1\n00:00:01,000 --> 00:00:02,000\n<b>six</b> five four\nthree two one\n"
    );
}

#[test]
fn a_translation_cannot_bring_tags_or_lines_in() {
    let model = |_: &Sentence| Translated { text: "<b>\n\n{\\an1} x".into(), links: Vec::new() };
    let text = "1\n00:00:01,000 --> 00:00:02,000\nword\n";
    assert_eq!(
        translate(text, Format::Srt, &model),
        "1\n00:00:01,000 --> 00:00:02,000\n‹b>  (\\an1} x\n"
    );
}
