//! The time of this run: the only module that asks the clock.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// The day, in UTC.
pub(crate) fn today() -> Date {
    now().to_zoned(TimeZone::UTC).date()
}
