use burn::tensor::{Bool, Tensor};

/// Panics if the shapes of an attention do not fit together.
pub(crate) fn shapes(
    query: &Tensor<3>,
    key: &Tensor<3>,
    value: &Tensor<3>,
    heads: usize,
    hidden: Option<&Tensor<4, Bool>>,
) {
    let [batch, query_len, width] = query.dims();
    let [_, key_len, value_width] = value.dims();
    assert_eq!(
        key.dims(),
        [batch, key_len, width],
        "the keys do not fit the queries, whose shape is {:?}",
        query.dims()
    );
    assert_eq!(value.dims()[0], batch, "the values have another batch size than the queries");
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
