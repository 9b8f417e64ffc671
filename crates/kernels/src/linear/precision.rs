/// The type in which the factors of a product are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// Float32, the type of the tensors.
    Float32,
    BFloat16,
}
