//! The score that fits texts that are not of one language, or hardly of any.

use burnformer_metrics::WritingSystem::{self, Chinese, Korean, Spaced, Unspaced};

const ENGLISH: &str = "The committee adopted the proposal on 3 May, despite objections.";
const GERMAN: &str = "Der Ausschuss nahm den Vorschlag am 3. Mai an, trotz der Einwände.";
const CHINESE: &str = "委员会通过了该提案，尽管有人反对。";
const JAPANESE: &str = "委員会は反対にもかかわらず提案を採択した。";
const KOREAN: &str = "위원회는 반대에도 불구하고 제안을 채택했다.";
const THAI: &str = "คณะกรรมการได้รับรองข้อเสนอเมื่อวันที่ 3";

#[test]
fn unusual_texts_have_their_writing_system() {
    for (expected, name, lines) in [
        (Spaced, "nothing", &[][..]),
        (Spaced, "empty lines", &["", "", ""]),
        (Spaced, "white space", &["   ", "\u{3000}", "\u{a0}"]),
        (Spaced, "digits", &["3 14 159", "1,000.5", "−7", "٣٫١٤"]),
        (Spaced, "emoji", &["😀 😃", "👩\u{200D}💻", "❤\u{FE0F} 🇩🇪"]),
        (
            Spaced,
            "markup",
            &["<p class=\"x\">The <b>house</b>&nbsp;is &amp; was.</p>"],
        ),
        (
            Chinese,
            "markup around Chinese",
            &["<p>委员会<b>通过</b>了该提案，尽管有人反对。</p>"],
        ),
        (Spaced, "Cherokee", &["ᎣᏏᏲ ᏙᎯᏧ ᎠᏂᏣᎳᎩ"]),
        (
            Spaced,
            "romanised Japanese",
            &["Iinkai wa 3-nichi ni teian o saitaku shita."],
        ),
        (
            Spaced,
            "Vietnamese",
            &["Ủy ban đã thông qua đề xuất vào ngày 3 tháng 5."],
        ),
        (
            Spaced,
            "Persian with non-joiners",
            &["این کتاب\u{200C}ها را می\u{200C}خواهم."],
        ),
        (Spaced, "letters of full width", &["ＡＢＣ　ｘｙｚ"]),
        (
            Spaced,
            "fillers of Hangul between letters",
            &["a\u{3164}\u{115F}\u{3164}b \u{FFA0}c"],
        ),
        (
            Spaced,
            "Chinese in words",
            &["委员会 通过 了 该 提案 ， 尽管 有人 反对 。"],
        ),
        (Chinese, "one line", &["你好吗？"]),
        (Spaced, "one line of an acronym", &["OK"]),
        (
            Chinese,
            "Traditional Chinese with names",
            &["台積電（TSMC）的張忠謀與Tim Cook在加州會面，討論A17晶片。"],
        ),
        (Chinese, "Cantonese", &["佢哋喺度做緊嘢，你哋去邊度呀？"]),
        (
            Unspaced,
            "Japanese in kana alone",
            &["きょうはいいてんきですね。"],
        ),
        (Unspaced, "kana of half width", &["ｱﾘｶﾞﾄｳ ｺﾞｻﾞｲﾏｽ"]),
        (
            Unspaced,
            "katakana names",
            &["コンピュータ・アーキテクチャ"],
        ),
        (
            Korean,
            "Korean with Han",
            &["大韓民國의 國會가 그 法을 通過시켰다고 합니다."],
        ),
        (
            Korean,
            "Korean with acronyms",
            &["NASA와 ESA가 JWST를 발사했다고 밝혔습니다."],
        ),
        (Unspaced, "Lao", &["ຄະນະກຳມະການໄດ້ຮັບຮອງຂໍ້ສະເໜີ"]),
        (Unspaced, "Khmer", &["គណៈកម្មាធិការបានអនុម័តសំណើនៅថ្ងៃទី៣"]),
        (Unspaced, "Burmese", &["ကော်မတီသည် အဆိုပြုချက်ကို အတည်ပြုခဲ့သည်။"]),
        (Unspaced, "Tibetan", &["ཚོགས་ཆུང་གིས་གྲོས་འཆར་ཆོག་མཆན་སྤྲད་པ་རེད།"]),
        (
            Unspaced,
            "Thai with invisible spaces",
            &["ฉัน\u{200B}ชอบ\u{200B}กิน\u{200B}ข้าว"],
        ),
        (Korean, "German and Korean", &[GERMAN, KOREAN]),
        (Unspaced, "English and Thai", &[ENGLISH, THAI]),
        (Unspaced, "Chinese and Japanese", &[CHINESE, JAPANESE]),
    ] {
        assert_eq!(WritingSystem::of(lines), expected, "{name}");
    }
}

/// Half of the lines decide although a line of Chinese has fewer letters than one of English.
#[test]
fn half_of_the_lines_decide_the_script() {
    for (line, expected) in [
        (CHINESE, Chinese),
        (JAPANESE, Unspaced),
        (KOREAN, Korean),
        (THAI, Unspaced),
    ] {
        for count in [49, 50, 51] {
            let lines: Vec<&str> = std::iter::repeat_n(line, count)
                .chain(vec![ENGLISH; 100 - count])
                .collect();
            assert_eq!(WritingSystem::of(&lines), expected, "{count} % {line}");
        }
        let few = [vec![line; 2], vec![ENGLISH; 98]].concat();
        assert_eq!(WritingSystem::of(&few), Spaced, "{line}");
        assert_eq!(
            WritingSystem::of(&[line.repeat(4000)]),
            expected,
            "one long line"
        );
    }
}
