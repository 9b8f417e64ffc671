//! The pieces of a SentencePiece model: field 1 in each field 1 of its protocol buffer message.

/// The pieces in the order of their ids; `None` if `bytes` are not such a model.
pub(super) fn pieces(bytes: &[u8]) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (field, value, after) = field(rest)?;
        rest = after;
        if let (1, Some(piece)) = (field, value) {
            found.push(text(piece)?);
        }
    }
    (!found.is_empty()).then_some(found)
}

fn text(mut piece: &[u8]) -> Option<String> {
    while !piece.is_empty() {
        let (field, value, after) = field(piece)?;
        piece = after;
        if let (1, Some(text)) = (field, value) {
            return String::from_utf8(text.to_vec()).ok();
        }
    }
    None
}

/// The number of a field, its bytes if it has any, and the bytes that follow.
type Field<'a> = (u64, Option<&'a [u8]>, &'a [u8]);

/// Splits off the first field.
fn field(bytes: &[u8]) -> Option<Field<'_>> {
    let (tag, rest) = varint(bytes)?;
    let fixed = |len: usize| Some((tag >> 3, None, rest.get(len..)?));
    match tag & 7 {
        0 => varint(rest).map(|(_, rest)| (tag >> 3, None, rest)),
        1 => fixed(8),
        5 => fixed(4),
        2 => {
            let (len, rest) = varint(rest)?;
            let len = usize::try_from(len).ok()?;
            Some((tag >> 3, Some(rest.get(..len)?), &rest[len..]))
        }
        _ => None,
    }
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (place, &byte) in bytes.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7f).checked_shl(7 * place as u32)?;
        if byte < 0x80 {
            return Some((number, &bytes[place + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_read_and_other_bytes_refused() {
        // Two pieces with a score, then a field of another kind.
        let mut model = Vec::new();
        for piece in ["</s>", "▁a"] {
            let mut inner = vec![0x0a, piece.len() as u8];
            inner.extend(piece.as_bytes());
            inner.extend([0x15, 0, 0, 0, 0]);
            model.extend([0x0a, inner.len() as u8]);
            model.extend(inner);
        }
        model.extend([0x12, 1, 0]);
        assert_eq!(pieces(&model).unwrap(), ["</s>", "▁a"]);
        assert_eq!(pieces(b"vocab: 1\n"), None);
        for len in 1..model.len() {
            let _ = pieces(&model[..len]);
        }
    }
}
