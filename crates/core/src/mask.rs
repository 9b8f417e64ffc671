//! Boolean masks over attention scores; `true` hides (paper §3.2.3).
//!
//! Masks have shape `[batch or 1, 1, query_len or 1, key_len]` and combine with `bool_or`.

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};

/// Mask that hides the padding of `ids`: `[batch, len]` → `[batch, 1, 1, len]`.
pub fn padding_mask(ids: &Tensor<2, Int>, pad: u32) -> Tensor<4, Bool> {
    let [batch, len] = ids.dims();
    ids.clone()
        .equal_scalar(pad as i64)
        .reshape([batch, 1, 1, len])
}

/// Mask that hides the `</s>` of `ids`, except at the first position, so that a source without
/// other tokens has something to attend to: `[batch, len]` → `[batch, 1, 1, len]`.
pub fn end_mask(ids: &Tensor<2, Int>, eos: u32) -> Tensor<4, Bool> {
    let [batch, len] = ids.dims();
    let positions = Tensor::<1, Int>::arange(0..len as i64, &ids.device());
    let later = positions
        .greater_scalar(0)
        .reshape([1, 1, 1, len])
        .expand([batch, 1, 1, len]);
    padding_mask(ids, eos).bool_and(later)
}

/// Mask that hides later positions, `[1, 1, query_len, past + query_len]`. The first query is at
/// position `past`, after `past` keys that are already in the cache.
pub fn look_ahead_mask(past: usize, query_len: usize, device: &Device) -> Tensor<4, Bool> {
    position_mask(past, query_len, device, |query, key| key > query)
}

pub(crate) fn position_mask(
    past: usize,
    query_len: usize,
    device: &Device,
    hidden: impl Fn(usize, usize) -> bool,
) -> Tensor<4, Bool> {
    let key_len = past + query_len;
    let mut values = Vec::with_capacity(query_len * key_len);
    for query in past..key_len {
        values.extend((0..key_len).map(|key| hidden(query, key)));
    }
    Tensor::from_data(TensorData::new(values, [1, 1, query_len, key_len]), device)
}

/// Returns the `indices` of rows, as a tensor on `device`.
pub(crate) fn row_ids(indices: &[usize], device: &Device) -> Tensor<1, Int> {
    let ids: Vec<i32> = indices.iter().map(|&index| index as i32).collect();
    Tensor::from_data(TensorData::new(ids, [indices.len()]), device)
}

/// Makes a tensor of token ids on `device`; `ids` holds it row by row.
///
/// The ids are checked here, on the host, because a GPU does not report an id outside the
/// vocabulary: it reads other memory at that index.
///
/// # Panics
/// Panics if an id is not below `vocab`, or if `ids` does not have the number of elements of
/// `shape`.
pub fn token_ids<const D: usize>(
    ids: &[u32],
    shape: [usize; D],
    vocab: usize,
    device: &Device,
) -> Tensor<D, Int> {
    if let Some(index) = ids.iter().position(|&id| id as usize >= vocab) {
        panic!(
            "id {} at index {index} of {shape:?} is not below vocab {vocab}",
            ids[index]
        );
    }
    let ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
    Tensor::from_data(TensorData::new(ids, shape), device)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(mask: Tensor<4, Bool>) -> Vec<bool> {
        mask.into_data().iter::<bool>().collect()
    }

    #[test]
    fn padding_is_hidden() {
        let ids = Tensor::<2, Int>::from_ints([[5, 2, 0], [5, 6, 2]], &Device::default());
        assert_eq!(
            bits(padding_mask(&ids, 0)),
            [false, false, true, false, false, false]
        );
    }

    #[test]
    fn the_end_is_hidden_except_at_the_first_position() {
        let ids = Tensor::<2, Int>::from_ints([[5, 2, 0], [2, 0, 0]], &Device::default());
        assert_eq!(
            bits(end_mask(&ids, 2)),
            [false, true, false, false, false, false]
        );
    }

    #[test]
    fn later_positions_are_hidden_also_with_a_past() {
        let device = Device::default();
        assert_eq!(
            bits(look_ahead_mask(0, 2, &device)),
            [false, true, false, false]
        );
        assert_eq!(
            bits(look_ahead_mask(1, 2, &device)),
            [false, false, true, false, false, false]
        );
    }

    #[test]
    fn token_ids_are_row_major() {
        let ids = token_ids(&[4, 0, 6, 1, 2, 6], [2, 3], 7, &Device::default());
        assert_eq!(
            ids.into_data().iter::<i64>().collect::<Vec<_>>(),
            [4, 0, 6, 1, 2, 6]
        );
    }

    #[test]
    #[should_panic(expected = "id 7 at index 2 of [1, 3] is not below vocab 7")]
    fn an_id_outside_of_the_vocabulary_panics() {
        token_ids(&[4, 0, 7], [1, 3], 7, &Device::default());
    }
}
