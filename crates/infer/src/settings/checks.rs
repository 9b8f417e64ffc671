//! Checks of the ranges of settings.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::error::{Result, SettingsError};

/// An error for the setting `name`, unless its `value` is at most the `limit` of the setting `most`.
pub(super) fn within(
    name: &'static str,
    value: usize,
    most: &'static str,
    limit: usize,
) -> Result<()> {
    if value <= limit {
        Ok(())
    } else {
        Err(SettingsError::Above {
            name,
            value,
            most,
            limit,
        })
    }
}

/// An error for the setting `name`, unless its `value` is in `range`.
pub(super) fn in_range<T: PartialOrd + Display>(
    name: &'static str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<()> {
    let remedy = format!("between {} and {} are possible", range.start(), range.end());
    check(range.contains(&value), name, &value, &remedy)
}

/// An error for the setting `name`, unless its `value` is above 0 and at most `most`.
pub(super) fn above_zero(name: &'static str, value: f64, most: f64) -> Result<()> {
    let remedy = format!("a number above 0 and at most {most} is needed");
    check(value > 0.0 && value <= most, name, &value, &remedy)
}

/// An error for the setting `name`, unless its `value` is a finite number.
pub(super) fn finite(name: &'static str, value: f64) -> Result<()> {
    check(value.is_finite(), name, &value, "a finite number is needed")
}

/// An error for the setting `name`, unless its `value` is `good`.
pub(crate) fn check(
    good: bool,
    name: &'static str,
    value: &dyn ToString,
    remedy: &str,
) -> Result<()> {
    if good {
        Ok(())
    } else {
        Err(SettingsError::Value {
            name,
            value: value.to_string(),
            remedy: remedy.into(),
        })
    }
}
