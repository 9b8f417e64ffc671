//! A bounded, evenly spread sample of a text of unknown length, taken in one pass without chance.

/// Keeps every `stride`-th line; when the limit is passed, drops every second kept line and doubles the stride.
///
/// The sample spans the whole text (files are often sorted), holds between half the limit and the limit once the text is
/// longer than that, and depends on the text alone.
pub(super) struct Sample {
    lines: Vec<String>,
    chars: usize,
    limit: usize,
    stride: u64,
    seen: u64,
}

impl Sample {
    /// A sample of at most `limit` characters (or one line, if that is longer).
    pub fn new(limit: usize) -> Self {
        Self { lines: Vec::new(), chars: 0, limit, stride: 1, seen: 0 }
    }

    /// Offers the next line.
    pub fn push(&mut self, line: &str) {
        let wanted = self.seen.is_multiple_of(self.stride);
        self.seen += 1;
        if !wanted {
            return;
        }
        self.chars += line.chars().count();
        self.lines.push(line.to_owned());
        while self.chars > self.limit && self.lines.len() > 1 {
            self.thin();
        }
    }

    /// Drops every second line.
    fn thin(&mut self) {
        let mut index = 0;
        self.lines.retain(|_| {
            index += 1;
            index % 2 == 1
        });
        self.chars = self.lines.iter().map(|line| line.chars().count()).sum();
        self.stride *= 2;
    }

    /// The lines kept.
    pub fn into_lines(self) -> Vec<String> {
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(lines: u64, limit: usize) -> Vec<String> {
        let mut sample = Sample::new(limit);
        (0..lines).for_each(|i| sample.push(&format!("{i:05}")));
        sample.into_lines()
    }

    #[test]
    fn a_short_text_is_kept_whole() {
        assert_eq!(sampled(10, 50).len(), 10);
    }

    #[test]
    fn a_long_text_is_thinned_evenly_and_to_the_limit() {
        let lines = sampled(10_000, 500);
        assert!((50..=100).contains(&lines.len()), "{}", lines.len());
        let numbers: Vec<u64> = lines.iter().map(|line| line.parse().unwrap()).collect();
        let stride = numbers[1] - numbers[0];
        assert!(numbers.windows(2).all(|pair| pair[1] - pair[0] == stride));
        assert!(numbers[numbers.len() - 1] > 9_000);
    }
}
