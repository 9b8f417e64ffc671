//! Divides the beam among hypotheses by what their terms still need.

use crate::search::live::Extension;

/// Leaves of `extensions` those that live on, at most `rows`, and those that close, best first.
///
/// Those that need equally many tokens for their terms form a bank, and each bank gets its share of
/// the rows. Those that close compete with those that need no more tokens: one may close if it is
/// among the best `closing` of these.
pub(crate) fn choose(extensions: &mut Vec<Extension>, rows: usize, closing: usize, eos: u32) {
    // Stable: of equals, the better parent's comes first.
    extensions.sort_by(|a, b| b.total.total_cmp(&a.total));
    let banks = extensions.iter().map(|extension| extension.left + 1).max().unwrap_or(0);
    let mut sizes = vec![0; banks];
    for extension in extensions.iter().filter(|extension| extension.token != eos) {
        sizes[extension.left] += 1;
    }
    let mut shares = share(&sizes, rows);
    let mut complete = 0;
    extensions.retain(|extension| {
        complete += usize::from(extension.left == 0);
        if extension.token == eos {
            return complete <= closing;
        }
        let share = &mut shares[extension.left];
        let kept = *share > 0;
        *share -= usize::from(kept);
        kept
    });
}

/// How many of `rows` each bank gets, given the number of its hypotheses. All banks get the same
/// number, at most one row per hypothesis. The rows that are left go to the banks whose hypotheses
/// need the fewest tokens.
fn share(sizes: &[usize], rows: usize) -> Vec<usize> {
    let mut shares = vec![0; sizes.len()];
    let mut free = rows.min(sizes.iter().sum());
    while free > 0 {
        for (share, _) in
            shares.iter_mut().zip(sizes).filter(|(share, size)| **share < **size).take(free)
        {
            *share += 1;
            free -= 1;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extension(token: u32, left: usize, total: f64) -> Extension {
        Extension { parent: 0, token, log_prob: total, total, left }
    }

    #[test]
    fn banks_share_the_rows_and_small_ones_leave_theirs_to_others() {
        assert_eq!(share(&[9, 9], 8), [4, 4]);
        assert_eq!(share(&[9, 9, 9], 8), [3, 3, 2]);
        assert_eq!(share(&[1, 9, 0, 9], 8), [1, 4, 0, 3]);
        assert_eq!(share(&[9, 9, 9], 2), [1, 1, 0]);
        assert_eq!(share(&[1, 2], 8), [1, 2]);
        assert!(share(&[], 8).is_empty());
    }

    #[test]
    fn the_best_of_each_bank_live_on() {
        let mut all: Vec<Extension> = (3..9).map(|id| extension(id, 1, -f64::from(id))).collect();
        all.extend([extension(3, 0, -20.0), extension(4, 0, -19.0), extension(5, 0, -30.0)]);
        choose(&mut all, 4, 8, 2);
        let kept: Vec<_> = all.iter().map(|one| (one.token, one.left)).collect();
        assert_eq!(kept, [(3, 1), (4, 1), (4, 0), (3, 0)]);
    }

    #[test]
    fn an_end_competes_with_what_needs_nothing() {
        let mut all = vec![extension(3, 1, -1.0), extension(3, 0, -2.0), extension(2, 0, -3.0)];
        choose(&mut all, 4, 1, 2);
        assert!(all.iter().all(|one| one.token != 2), "only the best one may close");
        all.push(extension(2, 0, -1.5));
        choose(&mut all, 4, 1, 2);
        assert_eq!(all[1].token, 2);
    }
}
