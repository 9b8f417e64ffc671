use burn::tensor::{Device, Int, Tensor, TensorData};

/// Makes a tensor of token ids on `device`; `ids` holds it row by row.
///
/// The ids are checked here, on the host, because a GPU does not report an id outside the
/// vocabulary: it reads whatever is in memory at that index.
///
/// # Panics
/// If an id is not below `vocab`, or if the number of ids is not that of `shape`.
pub fn token_ids<const D: usize>(
    ids: &[u32],
    shape: [usize; D],
    vocab: usize,
    device: &Device,
) -> Tensor<D, Int> {
    if let Some(index) = ids.iter().position(|&id| id as usize >= vocab) {
        panic!("id {} at index {index} of {shape:?} is not below vocab {vocab}", ids[index]);
    }
    let ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
    Tensor::from_data(TensorData::new(ids, shape), device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_ids_are_those_given_row_after_row() {
        let ids = token_ids(&[4, 0, 6, 1, 2, 6], [2, 3], 7, &Device::default());
        assert_eq!(ids.into_data().iter::<i64>().collect::<Vec<_>>(), [4, 0, 6, 1, 2, 6]);
    }

    #[test]
    #[should_panic(expected = "id 7 at index 2 of [1, 3] is not below vocab 7")]
    fn a_token_outside_of_the_vocabulary_never_reaches_the_device() {
        token_ids(&[4, 0, 7], [1, 3], 7, &Device::default());
    }
}
