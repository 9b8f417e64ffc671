//! Whether an answer is a translation, or a refusal with a reason.

use serde_json::Value;

/// The statuses with which a request may be refused.
const REFUSALS: [u16; 8] = [400, 403, 404, 408, 413, 414, 415, 503];
/// The reason for the status 500 if a model is damaged.
const DAMAGED: &str = "cannot be loaded";

/// Returns what is wrong with an answer.
pub fn fault(status: u16, text: &str) -> Option<String> {
    if status < 400 {
        return None;
    }
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    let reason = body["error"].as_str().or(body["message"].as_str());
    let is_allowed = match reason {
        Some(reason) if status == 500 => reason.contains(DAMAGED),
        Some(reason) => REFUSALS.contains(&status) && reason.contains(' '),
        None => false,
    };
    (!is_allowed).then(|| format!("{status} {text}"))
}
