//! The little of TensorFlow's `event.proto` and `summary.proto` that scalar curves need, encoded by hand:
//!
//! ```text
//! Event      { double wall_time = 1; int64 step = 2; oneof { string file_version = 3; Summary summary = 5; SessionLog session_log = 7; } }
//! Summary    { repeated Value value = 1; }   Value { string tag = 1; float simple_value = 2; }
//! SessionLog { enum status = 1 { START = 1 } }
//! ```

/// One entry of an events file.
pub(super) struct Event<'a> {
    /// Seconds since the start of 1970.
    pub(super) wall_time: f64,
    /// The number of updates done.
    pub(super) step: u64,
    /// The content of the entry.
    pub(super) what: What<'a>,
}

/// The content of an entry.
pub(super) enum What<'a> {
    /// The version of the file's format; always the first entry.
    FileVersion(&'a str),
    /// A session starts at this step. What an earlier file says of this step and later ones is no longer valid.
    SessionStart,
    /// One point on each named curve.
    Scalars(&'a [(&'a str, f64)]),
}

impl Event<'_> {
    /// The event's bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_key(&mut out, 1, Wire::Fixed64);
        out.extend_from_slice(&self.wall_time.to_le_bytes());
        put_key(&mut out, 2, Wire::Varint);
        put_varint(&mut out, self.step);
        match self.what {
            What::FileVersion(version) => put_bytes(&mut out, 3, version.as_bytes()),
            What::Scalars(scalars) => put_bytes(&mut out, 5, &summary(scalars)),
            What::SessionStart => put_bytes(&mut out, 7, &session_start()),
        }
        out
    }
}

fn summary(scalars: &[(&str, f64)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (tag, value) in scalars {
        let mut scalar = Vec::new();
        put_bytes(&mut scalar, 1, tag.as_bytes());
        put_key(&mut scalar, 2, Wire::Fixed32);
        scalar.extend_from_slice(&(*value as f32).to_le_bytes());
        put_bytes(&mut out, 1, &scalar);
    }
    out
}

fn session_start() -> Vec<u8> {
    let mut out = Vec::new();
    put_key(&mut out, 1, Wire::Varint);
    put_varint(&mut out, 1);
    out
}

/// The layout of a field's value (the wire types of protocol buffers).
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
    Fixed32 = 5,
}

fn put_key(out: &mut Vec<u8>, field: u64, wire: Wire) {
    put_varint(out, field << 3 | wire as u64);
}

fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_key(out, field, Wire::Bytes);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Encodes a number in seven bits per byte, the lowest bits first. The top bit says that more bytes follow.
fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(step: u64, what: What<'_>) -> Vec<u8> {
        Event { wall_time: 1.5, step, what }.encode()
    }

    // The expected bytes are those of `Event(...).SerializeToString()` in Python's tensorboard 2.21.
    const WALL_TIME: &[u8] = &[0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f];

    #[test]
    fn scalars_encode_as_tensorboard_does() {
        let event = encoded(300, What::Scalars(&[("train/loss", 4.5), ("lr", 0.25)]));
        let tail = b"\x10\xac\x02\x2a\x1e\x0a\x11\x0a\x0atrain/loss\x15\x00\x00\x90\x40\
                     \x0a\x09\x0a\x02lr\x15\x00\x00\x80\x3e";
        assert_eq!(event, [WALL_TIME, tail].concat());
    }

    #[test]
    fn a_session_start_encodes_as_tensorboard_does() {
        let event = encoded(7, What::SessionStart);
        assert_eq!(event, [WALL_TIME, b"\x10\x07\x3a\x02\x08\x01"].concat());
    }

    #[test]
    fn long_numbers_take_as_many_bytes_as_they_need() {
        let of = |value| {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            out
        };
        assert_eq!(of(127), [0x7f]);
        assert_eq!(of(128), [0x80, 0x01]);
        assert_eq!(of(u64::MAX), [[0xff; 9].as_slice(), &[0x01]].concat());
    }
}
