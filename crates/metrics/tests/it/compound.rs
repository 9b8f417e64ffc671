//! The paper's measure against the Perl scripts it is made of.

use std::path::Path;

use crate::common::{read, strings};
use burnformer_metrics::{CompoundBleu, Metric, MosesLanguage, References, as_strs};

/// Expected lines: the fixture's corpus `system` through mosesdecoder (commit e344528) with perl
/// 5.36: `tokenizer.perl -l LANG` and `perl -ple 's{(\S)-(\S)}{$1 ##AT##-##AT## $2}g'` on both
/// sides, then `multi-bleu.perl`.
#[test]
fn scores_are_those_of_the_perl_scripts() {
    let fixture =
        read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sacrebleu.json"));
    let corpus = &fixture["corpora"]["system"];
    let (hypotheses, references) =
        (strings(&corpus["hypotheses"]), [strings(&corpus["references"][0])]);
    let line = |language| {
        let references = References::new(&references);
        let score = CompoundBleu { language }.evaluate(&as_strs(&hypotheses), &references).unwrap();
        format!("BLEU = {:.2} {}", score.value, score.verbose)
    };
    let english =
        "BLEU = 62.33 91.2/75.8/64.9/53.8 (BP = 0.889 ratio = 0.895 hyp_len = 68 ref_len = 76)";
    let german =
        "BLEU = 62.03 91.3/76.2/65.5/54.7 (BP = 0.878 ratio = 0.885 hyp_len = 69 ref_len = 78)";
    assert_eq!(line(MosesLanguage::English), english);
    assert_eq!(line(MosesLanguage::German), german);
}
