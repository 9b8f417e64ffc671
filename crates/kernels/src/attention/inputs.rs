use burn::tensor::{Bool, Tensor};

/// The operands of [`attention`](crate::attention()): the results of the projections, with the
/// features of the heads side by side.
#[derive(Clone, Debug)]
pub struct AttentionInputs {
    /// The queries, `[batch, query_len, heads·d_k]`.
    pub query: Tensor<3>,
    /// The keys, `[batch, key_len, heads·d_k]`.
    pub key: Tensor<3>,
    /// The values, `[batch, key_len, heads·d_v]`.
    pub value: Tensor<3>,
    /// The number of heads.
    pub heads: usize,
    /// `true` where a query may not see a key, `[batch or 1, heads or 1, query_len or 1, key_len]`;
    /// `None` hides nothing.
    pub hidden: Option<Tensor<4, Bool>>,
}

/// Positions that were appended together to a cache of keys and values.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The keys, `[rows at that time, len, heads·d_k]`.
    pub key: Tensor<3>,
    /// The values, `[rows at that time, len, heads·d_v]`.
    pub value: Tensor<3>,
    /// For each present row, its row in this block. Empty if every row continues itself.
    pub ancestors: Vec<u32>,
}

impl AttentionInputs {
    /// Queries, `[batch, query_len, heads·d_k]`, keys, `[batch, key_len, heads·d_k]`, and values,
    /// `[batch, key_len, heads·d_v]`, without a mask: every query sees every key.
    pub fn new([query, key, value]: [Tensor<3>; 3], heads: usize) -> Self {
        Self {
            query,
            key,
            value,
            heads,
            hidden: None,
        }
    }

    /// Panics if the shapes do not fit together.
    pub(crate) fn check(&self) {
        let heads = self.heads;
        let [batch, query_len, width] = self.query.dims();
        let [_, key_len, value_width] = self.value.dims();
        assert_eq!(
            self.key.dims(),
            [batch, key_len, width],
            "the keys do not fit the queries of shape {:?}",
            self.query.dims()
        );
        let values = self.value.dims()[0];
        assert_eq!(
            values, batch,
            "the values have another batch size than the queries"
        );
        assert!(
            heads > 0 && width.is_multiple_of(heads) && value_width.is_multiple_of(heads),
            "{heads} heads do not divide {width} and {value_width} features",
        );
        let Some(hidden) = self.hidden.as_ref().map(Tensor::dims) else {
            return;
        };
        let scores = [batch, heads, query_len, key_len];
        let fits = (0..3).all(|axis| hidden[axis] == 1 || hidden[axis] == scores[axis]);
        assert!(
            fits && hidden[3] == key_len,
            "mask {hidden:?} over scores {scores:?}",
        );
    }
}

/// Separates the heads, which are side by side in the features of `x` (paper §3.2.2).
///
/// # Shapes
/// `x`: `[batch, len, heads·d]` → `[batch, heads, len, d]`
///
/// # Panics
/// Panics if `heads` does not divide the number of features.
pub fn split_heads(x: Tensor<3>, heads: usize) -> Tensor<4> {
    let [batch, len, width] = x.dims();
    x.reshape([batch, len, heads, width / heads])
        .swap_dims(1, 2)
}

/// Concatenates the features of the heads (paper §3.2.2). This is the inverse of [`split_heads`].
///
/// # Shapes
/// `x`: `[batch, heads, len, d]` → `[batch, len, heads·d]`
pub fn merge_heads(x: Tensor<4>) -> Tensor<3> {
    let [batch, heads, len, d] = x.dims();
    x.swap_dims(1, 2).reshape([batch, len, heads * d])
}
