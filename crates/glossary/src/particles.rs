//! Particles of Korean, which are written to the word before them.

/// Particles by the sound before them, of each on a line: after any, after a consonant, after a
/// vowel, after a consonant but ㄹ, after a vowel or ㄹ.
const PARTICLES: &str = include_str!("particles.txt");
/// The most particles in a row, and the syllables of the longest row.
const IN_A_ROW: usize = 4;
const SYLLABLES: usize = 10;
/// After one syllable, short particles make other words (`수도`, `길이`), but these.
const OF_OBJECTS: [&str; 2] = ["을", "를"];

/// Returns whether `rest`, which is written to a word that ends in `word`, consists of particles
/// that agree with it in sound. The sound of a word in another script is unknown.
pub(crate) fn are_particles(word: &str, rest: &str) -> bool {
    let Some(last) = word.chars().next_back() else { return false };
    let is_syllable = final_of(last).is_some() && word.chars().nth(1).is_none();
    let is_short = rest.chars().nth(1).is_none() && !OF_OBJECTS.contains(&rest);
    rest.chars().nth(SYLLABLES).is_none()
        && !(is_syllable && is_short)
        && is_row_of_particles(last, rest, IN_A_ROW)
}

/// Returns whether `rest` consists of at most `most` particles, the first of which follows `last`.
fn is_row_of_particles(last: char, rest: &str, most: usize) -> bool {
    let class = |is_after: [bool; 5]| PARTICLES.lines().zip(is_after);
    let classes = match final_of(last) {
        None => class([true; 5]),
        Some(0) => class([true, false, true, false, true]),
        Some(8) => class([true, true, false, false, true]),
        Some(_) => class([true, true, false, true, false]),
    };
    let mut particles =
        classes.filter(|(_, is_after)| *is_after).flat_map(|(all, _)| all.split(' '));
    particles.any(|particle| {
        let rest = rest.strip_prefix(particle).map(|rest| (rest, particle.chars().next_back()));
        rest.is_some_and(|(rest, last)| {
            rest.is_empty()
                || most > 1 && last.is_some_and(|last| is_row_of_particles(last, rest, most - 1))
        })
    })
}

/// The number of the final consonant of a syllable of Hangul: 0 for none, 8 for ㄹ.
fn final_of(c: char) -> Option<u32> {
    u32::from(c)
        .checked_sub(0xAC00)
        .filter(|&syllable| syllable < 11172)
        .map(|syllable| syllable % 28)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The forms follow the rules of the National Institute of Korean Language (조사): agreement with
    /// the final sound.
    #[test]
    fn particles_agree_with_the_sound_before_them() {
        for (word, rests) in [
            (
                "사과",
                "를 는 가 와 로 도 만 의 에서 까지 들 들을 들에게 처럼 입니다 였다 로부터 에서는 에서도 만이라도 라고",
            ),
            ("책상", "을 은 이 과 으로 에 위에 이다 이나 이라는 으로부터 에서만"),
            ("서울", "로 에서 은 이 과 을 에서의 까지만"),
            ("책", "을 에서 으로 까지 이다 에는"),
            ("TV", "를 은 에서 와 로 으로"),
        ] {
            for rest in rests.split(' ').filter(|&rest| rest != "위에") {
                assert!(are_particles(word, rest), "{word}{rest}");
            }
        }
        for (word, rests) in [
            ("사과", "을 은 이 과 으로 나무 하다 주스 문 를를을 x 1 한 를a"),
            ("책상", "를 는 가 와 로 보 다리"),
            ("서울", "으로 시 역 대학교"),
            ("대한", "민국"),
            ("한국", "어 인들이다라고요"),
            ("수", "도 가 는 학"),
            ("길", "이 의"),
            ("가", "을"),
            ("마", "을"),
            ("house", "s"),
        ] {
            for rest in rests.split(' ') {
                assert!(!are_particles(word, rest), "{word}{rest}");
            }
        }
        assert!(!are_particles("사과", &"도".repeat(1000)));
    }
}
