use anyhow::{Result, ensure};
use burn::tensor::{Bool, Device, Int, Tensor};
use burnformer_core::{look_ahead_mask, padding_mask, window_mask};
use burnformer_view::{AttentionMatrix, HeadGrid};

use super::output::Output;

/// Arguments of `plot masks`.
#[derive(clap::Args)]
pub struct Masks {
    /// Number of positions
    #[arg(long, default_value_t = 8)]
    length: usize,
    /// Number of padded positions among them
    #[arg(long, default_value_t = 2)]
    padding: usize,
    /// Radius r of the window: |i − j| ≤ r
    #[arg(long, default_value_t = 1)]
    window: usize,
    #[command(flatten)]
    output: Output,
}

/// Four masks over the same positions. Where all scores are equal, a query divides its weight among
/// the keys that it sees.
pub fn masks(args: Masks) -> Result<()> {
    let Masks { length, padding, window, output } = args;
    ensure!((1..=64).contains(&length), "--length {length}: it must be from 1 to 64");
    ensure!(padding < length, "--padding {padding}: it must be below --length {length}");
    let device = Device::flex();
    let is_padding = |position| i64::from(position >= length - padding);
    let ids: Vec<i64> = (0..length).map(is_padding).collect();
    let hidden_padding =
        padding_mask(&Tensor::<1, Int>::from_ints(&ids[..], &device).unsqueeze(), 1);
    let later = look_ahead_mask(0, length, &device);
    let map = |name: &str, mask: Tensor<4, Bool>| (name.to_string(), weights(mask, length));
    let maps = vec![
        map("padding", hidden_padding.clone()),
        map("look-ahead", later.clone()),
        map("both", later.bool_or(hidden_padding)),
        map(&format!("window of {window}"), window_mask(0, length, window, &device)),
    ];
    let token = |position| {
        if is_padding(position) == 1 { "<pad>".into() } else { (position + 1).to_string() }
    };
    let tokens: Vec<String> = (0..length).map(token).collect();
    let caption = "With equal scores, a query divides its weight among the keys that it sees";
    let grid = HeadGrid::of_maps("Masks of attention", [&tokens, &tokens], vec![maps]);
    output.save(&grid.with_caption(caption))
}

/// The weights of equal scores under `mask`, `[1, 1, query_len or 1, key_len]`; NaN where it hides
/// a key.
fn weights(mask: Tensor<4, Bool>, length: usize) -> AttentionMatrix {
    let hidden: Vec<bool> =
        mask.expand([1, 1, length, length]).into_data().iter::<bool>().collect();
    let row = |row: &[bool]| {
        let share = 1.0 / row.iter().filter(|&&hidden| !hidden).count() as f32;
        row.iter().map(|&hidden| if hidden { f32::NAN } else { share }).collect::<Vec<_>>()
    };
    AttentionMatrix::new(length, hidden.chunks(length).flat_map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_shared_among_the_keys_that_are_seen() {
        let weights = weights(look_ahead_mask(0, 3, &Device::flex()), 3);
        let rows: Vec<&[f32]> = weights.rows().collect();
        assert_eq!(rows[1][..2], [0.5, 0.5]);
        assert!(rows[1][2].is_nan() && rows[0][1].is_nan() && !rows[2][2].is_nan());
    }
}
