/// The function that follows a matrix product, in the same pass as the bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epilogue {
    /// No function.
    None,
    /// ReLU: the larger of 0 and each number. NaN stays NaN, and −0 stays −0.
    Relu,
}
