use crate::dropout::DropoutMask;

/// The input of a norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Input {
    /// x.
    Alone,
    /// x + y.
    Sum,
    /// x + dropout(y).
    Dropped(DropoutMask),
}

impl Input {
    /// Returns whether y takes part.
    pub(super) fn has_y(self) -> bool {
        self != Self::Alone
    }

    /// The dropout of y.
    pub(super) fn mask(self) -> Option<DropoutMask> {
        match self {
            Self::Dropped(mask) => Some(mask),
            Self::Alone | Self::Sum => None,
        }
    }
}
