/// The type in which the factors of a product are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// That of the tensors.
    Float32,
    BFloat16,
}
