//! Reading a request's body: JSON, or a form with the same fields.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use utoipa::ToSchema;

use super::error::ApiError;
use crate::compute::compute;

/// The fields of a request, from a body of `application/json` or `application/x-www-form-urlencoded`.
pub(crate) struct Fields<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send + 'static> FromRequest<S> for Fields<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let content_type = request.headers().get(header::CONTENT_TYPE);
        let content_type =
            content_type.and_then(|value| value.to_str().ok()).unwrap_or("application/json");
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let form = match kind.as_str() {
            "application/json" => false,
            "application/x-www-form-urlencoded" => true,
            _ => return Err(ApiError::media_type(&kind)),
        };
        let broken = |_| ApiError::body("the body cannot be read", "send it whole");
        let bytes = Bytes::from_request(request, state).await.map_err(broken)?;
        let read = move || if form { read_form(&bytes) } else { read_json(&bytes) };
        compute(0, read).await?.map(Self)
    }
}

fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let remedy = "a JSON object with the fields that /openapi.json describes";
    let text =
        std::str::from_utf8(bytes).map_err(|_| ApiError::body("the body is not UTF-8", remedy))?;
    let mut json = serde_json::Deserializer::from_str(text);
    let fields = fields(&mut json, remedy)?;
    json.end().map_err(|error| ApiError::body(error.to_string(), remedy))?;
    Ok(fields)
}

/// A form's values are texts; a name that comes twice is a list.
fn read_form<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let remedy = "a form with the fields that /openapi.json describes";
    let pairs: Vec<(String, String)> = serde_urlencoded::from_bytes(bytes)
        .map_err(|error| ApiError::body(error.to_string(), remedy))?;
    let mut fields = serde_json::Map::new();
    for (name, value) in pairs {
        match fields.get_mut(&name) {
            None => drop(fields.insert(name, Value::String(value))),
            Some(Value::Array(values)) => values.push(Value::String(value)),
            Some(first) => *first = Value::Array(vec![first.take(), Value::String(value)]),
        }
    }
    self::fields(Value::Object(fields), remedy)
}

/// The fields, or what is wrong with one of them, or which is missing.
fn fields<'de, T: DeserializeOwned>(
    from: impl Deserializer<'de, Error = serde_json::Error>,
    remedy: &str,
) -> Result<T, ApiError> {
    serde_path_to_error::deserialize(from).map_err(|cause| {
        let (path, error) = (cause.path().to_string(), cause.into_inner().to_string());
        let missing = error.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        match (&*path, missing) {
            (".", None) => ApiError::body(error, remedy),
            (".", Some(field)) => ApiError::bad(field, &error, remedy),
            (path, _) => ApiError::bad(path, error, remedy),
        }
    })
}

/// One text, or a list of texts.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Texts {
    /// One text.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl Texts {
    /// The texts, and whether there is one that is no list.
    pub fn into_list(self) -> (Vec<String>, bool) {
        match self {
            Self::One(text) => (vec![text], true),
            Self::Many(texts) => (texts, false),
        }
    }
}

/// A number, also as a text, as forms have it.
pub(crate) fn number<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<usize>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Plain(u64),
        // JSON does not tell 4.0 from 4.
        Decimal(f64),
        Text(String),
    }
    let wrong = || D::Error::custom("expected a whole number from 0");
    let number = match Option::<Number>::deserialize(deserializer).map_err(|_| wrong())? {
        None => return Ok(None),
        Some(Number::Plain(number)) => number,
        Some(Number::Decimal(number)) if number.fract() == 0.0 && (0.0..1e15).contains(&number) => {
            number as u64
        }
        Some(Number::Decimal(_)) => return Err(wrong()),
        Some(Number::Text(text)) if text.is_empty() => return Ok(None),
        Some(Number::Text(text)) => text.parse().map_err(|_| wrong())?,
    };
    usize::try_from(number).map(Some).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Asked {
        q: Texts,
        #[serde(default, deserialize_with = "number")]
        alternatives: Option<usize>,
    }

    #[test]
    fn a_form_and_json_give_the_same_fields() {
        let json: Asked = read_json(br#"{"q": ["a", "b"], "alternatives": 2}"#).unwrap();
        let form: Asked = read_form(b"q=a&q=b&alternatives=2").unwrap();
        for asked in [json, form] {
            assert_eq!(asked.alternatives, Some(2));
            assert_eq!(asked.q.into_list(), (vec!["a".into(), "b".into()], false));
        }
        let one: Asked = read_form("q=Gr%C3%B6%C3%9Fe+hier".as_bytes()).unwrap();
        assert_eq!(one.q.into_list(), (vec!["Größe hier".into()], true));
    }

    #[test]
    fn errors_name_the_field() {
        let error = read_json::<Asked>(br#"{"q": "a", "alternatives": -1}"#).unwrap_err();
        assert!(format!("{error:?}").contains(r#"Some("alternatives")"#), "{error:?}");
        for body in [&b"{"[..], b"[]", b"{} x", b"\xff", br#"{"q": 3}"#, b""] {
            assert!(read_json::<Asked>(body).is_err());
        }
    }
}
