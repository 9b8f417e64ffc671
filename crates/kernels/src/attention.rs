use burn::tensor::{Bool, Tensor};

use crate::{DropoutMask, twin};

/// Multi-head scaled dot-product attention (paper §3.2): `softmax(Q·Kᵀ/√d_k)·V` in every head, on
/// the projections as they come out of their matrix products, heads side by side.
///
/// `hidden` is `true` where a query may not see a key. A query that sees no key gets context 0 and
/// finite gradients. `mask` drops weights, as the elements of `[batch, heads, query_len, key_len]`.
///
/// Fused: no head is copied apart, the weights are the only product that is kept, and the batch is
/// worked on in parallel. In 16 bits only the two products are: scores are widened before the softmax.
///
/// # Shapes
/// - `query`: `[batch, query_len, heads·d_k]`
/// - `key`: `[batch, key_len, heads·d_k]`, `value`: `[batch, key_len, heads·d_v]`
/// - `hidden`: `[batch or 1, heads or 1, query_len or 1, key_len]`
/// - → `[batch, query_len, heads·d_v]`
///
/// # Panics
/// If the shapes do not fit together.
pub fn attention(
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    heads: usize,
    hidden: Option<Tensor<4, Bool>>,
    mask: Option<DropoutMask>,
) -> Tensor<3> {
    check(&query, &key, &value, heads, hidden.as_ref());
    #[cfg(feature = "flex")]
    if crate::flex::cover([&query, &key, &value]) {
        return crate::flex::attention::fused(query, key, value, heads, hidden, mask);
    }
    #[cfg(feature = "cube")]
    if crate::cube::attention::covers([&query, &key, &value], heads) {
        return crate::cube::attention::fused(query, key, value, heads, hidden, mask);
    }
    twin::attention(query, key, value, heads, hidden, mask)
}

pub(crate) fn check(
    query: &Tensor<3>,
    key: &Tensor<3>,
    value: &Tensor<3>,
    heads: usize,
    hidden: Option<&Tensor<4, Bool>>,
) {
    let [batch, query_len, width] = query.dims();
    let [_, key_len, value_width] = value.dims();
    assert_eq!(key.dims(), [batch, key_len, width], "keys of queries {:?}", query.dims());
    assert_eq!(value.dims()[0], batch, "batch of the values");
    assert!(
        heads > 0 && width.is_multiple_of(heads) && value_width.is_multiple_of(heads),
        "{heads} heads do not divide {width} and {value_width} features",
    );
    if let Some(hidden) = hidden {
        let [b, h, q, k] = hidden.dims();
        let fits = |given, size| given == 1 || given == size;
        assert!(
            fits(b, batch) && fits(h, heads) && fits(q, query_len) && k == key_len,
            "mask {:?} over scores {:?}",
            hidden.dims(),
            [batch, heads, query_len, key_len],
        );
    }
}
