//! The time for time stamps, in UTC, so that logs of different machines can be compared.

use std::time::{SystemTime, UNIX_EPOCH};

/// The time now as `2026-01-31T23:59:59Z` (RFC 3339); the start of 1970 if the clock of the machine
/// shows an earlier time.
pub fn time_stamp() -> String {
    utc(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
}

/// Formats seconds since the start of 1970.
fn utc(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / 86400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The year, month and day of a day that is counted from 1970-01-01.
///
/// This is Howard Hinnant's `civil_from_days`: years begin in March, so that the leap day is the
/// last day of its year, and repeat every 146,097 days (400 years).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_are_those_of_the_calendar() {
        // Seconds from `date -u -d <stamp> +%s` (GNU coreutils).
        let known = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_709_210_096, "2024-02-29T12:34:56Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, stamp) in known {
            assert_eq!(utc(seconds), stamp);
        }
    }
}
