//! The little of TensorFlow's `event.proto` and `summary.proto` that scalar curves need.

use prost::{Message, Oneof};

/// One entry of an events file.
#[derive(Message)]
pub(super) struct Event {
    /// Seconds since the start of 1970.
    #[prost(double, tag = "1")]
    pub wall_time: f64,
    /// The number of updates done.
    #[prost(int64, tag = "2")]
    pub step: i64,
    /// The content of the entry.
    #[prost(oneof = "What", tags = "3, 5, 7")]
    pub what: Option<What>,
}

/// The content of an entry.
#[derive(Oneof)]
pub(super) enum What {
    /// The version of the file's format; always the first entry.
    #[prost(string, tag = "3")]
    FileVersion(String),
    /// One point on each named curve.
    #[prost(message, tag = "5")]
    Scalars(Summary),
    /// A session starts or ends at this step.
    #[prost(message, tag = "7")]
    Session(SessionLog),
}

/// Points on curves.
#[derive(Message)]
pub(super) struct Summary {
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<Scalar>,
}

/// A point on the curve `tag`.
#[derive(Message)]
pub(super) struct Scalar {
    #[prost(string, tag = "1")]
    pub tag: String,
    /// Written even if it is 0, for which a reader would otherwise find no value.
    #[prost(float, optional, tag = "2")]
    pub simple_value: Option<f32>,
}

#[derive(Message)]
pub(super) struct SessionLog {
    /// 1: the session starts. What an earlier file says of this step and later ones is no longer
    /// valid.
    #[prost(int32, tag = "1")]
    pub status: i32,
}

impl What {
    /// One point on each named curve.
    pub fn scalars(points: &[(&str, f64)]) -> Self {
        let scalar = |&(tag, value): &(&str, f64)| Scalar {
            tag: tag.into(),
            simple_value: Some(value as f32),
        };
        Self::Scalars(Summary { values: points.iter().map(scalar).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(step: i64, what: What) -> Vec<u8> {
        Event { wall_time: 1.5, step, what: Some(what) }.encode_to_vec()
    }

    // The expected bytes are those of `Event(...).SerializeToString()` in Python's tensorboard
    // 2.21.
    const WALL_TIME: &[u8] = &[0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f];

    #[test]
    fn scalars_encode_as_tensorboard_does() {
        let event = encoded(300, What::scalars(&[("train/loss", 4.5), ("lr", 0.25)]));
        let tail = b"\x10\xac\x02\x2a\x1e\x0a\x11\x0a\x0atrain/loss\x15\x00\x00\x90\x40\
                     \x0a\x09\x0a\x02lr\x15\x00\x00\x80\x3e";
        assert_eq!(event, [WALL_TIME, tail].concat());
    }

    #[test]
    fn a_session_start_encodes_as_tensorboard_does() {
        let event = encoded(7, What::Session(SessionLog { status: 1 }));
        assert_eq!(event, [WALL_TIME, b"\x10\x07\x3a\x02\x08\x01"].concat());
    }

    #[test]
    fn a_point_at_zero_is_written() {
        let event = encoded(300, What::scalars(&[("lr", 0.0)]));
        assert!(event.ends_with(b"\x0a\x02lr\x15\0\0\0\0"), "{event:?}");
    }
}
