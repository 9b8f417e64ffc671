use burn::tensor::{Tensor, TensorData};

/// Rotary positions (Su et al., 2021): rotates features i and i + d/2 of each of `heads` heads by
/// position / base^(2i/d). These are the pairs of Llama and GPT-NeoX; RoFormer's own pairs are
/// neighbours. The first position is `start`.
///
/// # Shapes
/// `x`: `[batch, len, heads·d]` → the same shape
pub fn rotate(x: Tensor<3>, heads: usize, base: f64, start: usize) -> Tensor<3> {
    let [batch, len, width] = x.dims();
    let half = width / heads / 2;
    assert_eq!(heads * half * 2, width, "{heads} heads of {width} features are no pairs");
    let frequencies: Vec<f64> =
        (0..half).map(|pair| base.powf(-(pair as f64) / half as f64)).collect();
    let angles: Vec<f64> = (start..start + len)
        .flat_map(|position| frequencies.iter().map(move |frequency| position as f64 * frequency))
        .collect();
    let table = |of: fn(f64) -> f64| {
        let values: Vec<f32> = angles.iter().map(|&angle| of(angle) as f32).collect();
        Tensor::<5>::from_data(TensorData::new(values, [1, len, 1, 1, half]), &x.device())
    };
    let (cos, sin) = (table(f64::cos), table(f64::sin));
    let pairs = x.reshape([batch, len, heads, 2, half]);
    let [first, second] = [0, 1].map(|index| pairs.clone().narrow(3, index, 1));
    let rotated = vec![
        first.clone() * cos.clone() - second.clone() * sin.clone(),
        second * cos + first * sin,
    ];
    Tensor::cat(rotated, 3).reshape([batch, len, width])
}
