//! Reading the fields of a request: JSON, or a form of any kind with the same fields.

use std::collections::BTreeSet;

use axum::body::{Bytes, to_bytes};
use axum::extract::multipart::{Multipart, MultipartError};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use percent_encoding::percent_decode;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::Shared;
use super::error::ApiError;
use crate::compute::compute;

/// The most fields of a form beside the texts that the limits allow.
pub(super) const MOST_FIELDS: usize = 64;

/// The fields of a request, from a body of `application/json`, `application/x-www-form-urlencoded`
/// or `multipart/form-data`, or from the query. Fields that the request does not have are refused;
/// if it is `LENIENT`, as clients of LibreTranslate expect, only those whose name is nearly that of
/// one that it has.
pub(crate) struct Fields<T, const LENIENT: bool = false>(pub T);

impl<T, const LENIENT: bool> FromRequest<Shared> for Fields<T, LENIENT>
where
    T: DeserializeOwned + PartialSchema + Send + 'static,
{
    type Rejection = ApiError;

    async fn from_request(mut request: Request, state: &Shared) -> Result<Self, ApiError> {
        if kind(request.headers())?.ends_with("json") {
            let body = std::mem::take(request.body_mut());
            let bytes = to_bytes(body, usize::MAX).await.map_err(unread)?;
            let size = bytes.len();
            if size > 0 {
                let (service, headers) = (state.clone(), request.headers().clone());
                let read = move || {
                    service.check_key(&headers, key(&bytes).as_deref())?;
                    read_json(&bytes, LENIENT)
                };
                return compute(size, read).await?.map(Self);
            }
        }
        let parts = form(request, state.limits.texts + MOST_FIELDS).await?;
        let size = parts.iter().map(|part| part.bytes.len()).sum();
        compute(size, move || read_form(parts, LENIENT)).await?.map(Self)
    }
}

fn unread<E>(_: E) -> ApiError {
    ApiError::body("the body cannot be read", "send it whole")
}

/// The type of a body, in small letters, that of JSON where none is named.
///
/// # Errors
/// If the body is compressed.
fn kind(headers: &HeaderMap) -> Result<String, ApiError> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let coding = text(header::CONTENT_ENCODING).filter(|it| !it.eq_ignore_ascii_case("identity"));
    coding.map_or(Ok(()), |coding| Err(ApiError::content_encoding(coding)))?;
    let kind = text(header::CONTENT_TYPE).unwrap_or("application/json");
    Ok(kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// The key in a body of JSON, of which nothing else is kept.
fn key(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Key {
        api_key: Option<String>,
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    serde_json::from_slice::<Key>(bytes).ok()?.api_key
}

fn read_json<T: DeserializeOwned + PartialSchema>(
    bytes: &[u8],
    lenient: bool,
) -> Result<T, ApiError> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(ApiError::content_encoding("gzip"));
    }
    // RFC 8259 lets readers skip a byte-order mark.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let text =
        std::str::from_utf8(bytes).map_err(|_| ApiError::body("the body is not UTF-8", REMEDY))?;
    let mut json = serde_json::Deserializer::from_str(text);
    let fields = fields(&mut json, lenient)?;
    json.end().map_err(|error| ApiError::body(error.to_string(), REMEDY))?;
    Ok(fields)
}

const REMEDY: &str = "a JSON object, or a form, with the fields that /openapi.json describes";

/// A field of a form or of a query.
#[derive(Default)]
pub(super) struct Part {
    pub name: String,
    pub file_name: String,
    pub bytes: Bytes,
}

impl Part {
    /// The text of the part.
    ///
    /// # Errors
    /// If it is not UTF-8.
    pub fn text(self) -> Result<String, ApiError> {
        String::from_utf8(self.bytes.into()).map_err(|_| {
            let field: String = self.name.chars().take(40).collect();
            let remedy = "encode its text as UTF-8, and its bytes by %, such as %C3%A4 for ä";
            ApiError::bad(&field, format!("the field {field:?} is not UTF-8"), remedy)
        })
    }
}

/// The fields of the query, and those of the body that it lacks, at most `most`.
pub(super) async fn form(request: Request, most: usize) -> Result<Vec<Part>, ApiError> {
    let kind = kind(request.headers())?;
    let query = request.uri().query().unwrap_or_default().to_owned();
    let query: Vec<Part> = urlencoded(query.as_bytes()).take(most + 1).collect();
    let mut parts = if kind == "multipart/form-data" {
        multipart(request, most).await?
    } else {
        let bytes = to_bytes(request.into_body(), usize::MAX).await.map_err(unread)?;
        if kind != "application/x-www-form-urlencoded" && !bytes.is_empty() {
            return Err(ApiError::media_type(&kind));
        }
        urlencoded(&bytes).take(most + 1).collect()
    };
    let names: BTreeSet<&str> = query.iter().map(|part| part.name.as_str()).collect();
    parts.retain(|part| !names.contains(&*part.name));
    parts.extend(query);
    parts.get(most).map_or(Ok(()), |part| {
        let message = format!("more than the {most} fields allowed");
        Err(ApiError::bad(&part.name, message, "send less at a time"))
    })?;
    Ok(parts)
}

async fn multipart(request: Request, most: usize) -> Result<Vec<Part>, ApiError> {
    let parts = Multipart::from_request(request, &()).await;
    let wrong = |_| ApiError::media_type("multipart/form-data without its boundary");
    let (mut parts, mut all) = (parts.map_err(wrong)?, Vec::new());
    let broken = |error: MultipartError| ApiError::body(error.body_text(), "send the form whole");
    while let Some(part) = parts.next_field().await.map_err(broken)?.filter(|_| all.len() <= most) {
        let names = [part.name(), part.file_name()];
        let [name, file_name] = names.map(|name| name.unwrap_or_default().to_owned());
        all.push(Part { name, file_name, bytes: part.bytes().await.map_err(broken)? });
    }
    Ok(all)
}

/// The fields of a form of `application/x-www-form-urlencoded`.
fn urlencoded(text: &[u8]) -> impl Iterator<Item = Part> {
    text.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
        let mut sides = pair.splitn(2, |&byte| byte == b'=').map(|side| {
            let spaced: Vec<u8> = side.iter().map(|&c| if c == b'+' { b' ' } else { c }).collect();
            percent_decode(&spaced).collect::<Vec<u8>>()
        });
        let [name, value] = [(); 2].map(|()| sides.next().unwrap_or_default());
        let name = String::from_utf8_lossy(&name).into_owned();
        Part { name, bytes: value.into(), ..Part::default() }
    })
}

/// The fields of a form. A name that comes twice, or that ends in brackets as PHP writes them
/// (`q[]`, `q[0]`), has a list.
fn read_form<T: DeserializeOwned + PartialSchema>(
    parts: Vec<Part>,
    lenient: bool,
) -> Result<T, ApiError> {
    let mut all = Map::new();
    for part in parts {
        let name = part.name.clone();
        let bare = name.strip_suffix(']').and_then(|name| name.rsplit_once('['));
        let bare = bare.filter(|(_, index)| index.bytes().all(|c| c.is_ascii_digit()));
        let value = part.text()?;
        match (all.get_mut(bare.map_or(&*name, |(bare, _)| bare)), bare) {
            (None, Some((bare, _))) => drop(all.insert(bare.into(), vec![value].into())),
            (None, None) => drop(all.insert(name, value.into())),
            (Some(Value::Array(values)), _) => values.push(value.into()),
            (Some(first), _) => *first = vec![first.take(), value.into()].into(),
        }
    }
    fields(Value::Object(all), lenient)
}

/// The fields, or what is wrong with one of them, or which is missing or misspelt.
fn fields<'de, T: DeserializeOwned + PartialSchema>(
    from: impl Deserializer<'de, Error = serde_json::Error>,
    lenient: bool,
) -> Result<T, ApiError> {
    let (mut known, mut unknown) = (None, None);
    let mut ignored = |path: serde_ignored::Path| {
        let known: &Vec<String> = known.get_or_insert_with(names::<T>);
        unknown = unknown.take().or_else(|| misspelt(&path.to_string(), known, lenient));
    };
    let from = serde_ignored::Deserializer::new(from, &mut ignored);
    let fields = serde_path_to_error::deserialize(from);
    if let Some(error) = unknown {
        return Err(error);
    }
    fields.map_err(|cause| {
        let (path, error) = (cause.path().to_string(), cause.into_inner().to_string());
        let missing = error.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        match (&*path, missing) {
            (".", None) => ApiError::body(error, REMEDY),
            (".", Some(field)) => ApiError::missing(field),
            (path, _) => ApiError::bad(path, error, REMEDY),
        }
    })
}

/// The names of the fields of a request.
fn names<T: PartialSchema>() -> Vec<String> {
    match T::schema() {
        RefOr::T(Schema::Object(object)) => object.properties.into_keys().collect(),
        _ => Vec::new(),
    }
}

/// The error for a field that is none of `known`; if that is `lenient`, only where it is nearly one
/// of them: as far from it as a third of its letters at most, in any case, with or without `_`.
fn misspelt(name: &str, known: &[String], lenient: bool) -> Option<ApiError> {
    const LONGEST: usize = 30;
    let plain = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let distance = |known: &String| strsim::osa_distance(&plain(name), &plain(known));
    let near = known.iter().filter(|_| name.len() <= LONGEST).map(|known| (distance(known), known));
    let near = near.filter(|(distance, known)| *distance <= known.len() / 3).min();
    let meant = near.map(|(_, known)| format!("; did you mean {known}?"));
    if lenient && meant.is_none() {
        return None;
    }
    let name: String = name.chars().take(LONGEST).collect();
    let error = format!("the field {name:?} is unknown{}", meant.unwrap_or_default());
    Some(ApiError::bad(&name, error, format!("one of {}", known.join(", "))))
}

/// One text, or a list of texts.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "one text or a list of texts is expected")]
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
    use axum::body::Body;
    use futures_util::FutureExt;

    use super::*;

    #[derive(Debug, Deserialize, utoipa::ToSchema)]
    struct Asked {
        q: Texts,
        #[serde(default, deserialize_with = "number")]
        alternatives: Option<usize>,
        api_key: Option<String>,
    }

    fn form(query: &str, sent: &[u8]) -> Result<Asked, ApiError> {
        let mut request = Request::new(Body::from(sent.to_vec()));
        *request.uri_mut() = format!("/?{query}").parse().unwrap();
        let form_type = "application/x-www-form-urlencoded".parse().unwrap();
        request.headers_mut().insert(header::CONTENT_TYPE, form_type);
        let parts = super::form(request, 10).now_or_never().unwrap()?;
        read_form(parts, true)
    }

    fn texts(asked: Asked) -> (Vec<String>, bool) {
        asked.q.into_list()
    }

    #[test]
    fn a_form_a_query_and_json_give_the_same_fields() {
        let list = ["a", "b"].map(String::from).to_vec();
        for asked in [
            read_json(br#"{"q": ["a", "b"], "alternatives": 2}"#, false),
            read_json("\u{feff}{\"q\": [\"a\", \"b\"], \"alternatives\": 2.0}".as_bytes(), true),
            form("", b"q=a&q=b&alternatives=2"),
            form("", b"q%5B%5D=a&q[]=b&alternatives=2"),
            form("", b"q[0]=a&q[1]=b&&alternatives=2&"),
            form("q=a&q=b", b"q=c&alternatives=2"),
            form("q=a&q=b&alternatives=2", b""),
        ] {
            let asked = asked.unwrap();
            assert_eq!((asked.alternatives, &asked.api_key), (Some(2), &None));
            assert_eq!(texts(asked), (list.clone(), false));
        }
        for (sent, text) in [
            ("q=Gr%C3%B6%C3%9Fe+hier", "Größe hier"),
            ("q=Größe%20hier&alternatives=", "Größe hier"),
            // As browsers do, a % that encodes nothing is kept.
            ("q=100%&x=y", "100%"),
            ("q=50% %zz", "50% %zz"),
            ("q=a=b", "a=b"),
            ("q=", ""),
            ("q", ""),
        ] {
            assert_eq!(texts(form("", sent.as_bytes()).unwrap()), (vec![text.into()], true));
        }
        assert_eq!(texts(form("", b"q[]=a").unwrap()), (vec!["a".into()], false));
    }

    #[test]
    fn errors_name_the_field() {
        let json = |body: &[u8]| read_json::<Asked>(body, false).map(drop).unwrap_err();
        let error = json(br#"{"q": "a", "alternatives": -1}"#);
        assert!(format!("{error:?}").contains(r#"Some("alternatives")"#), "{error:?}");
        for body in [&b"{"[..], b"[]", b"{} x", b"\xff", br#"{"q": 3}"#, b"", b"null"] {
            json(body);
        }
        for (error, needle) in [
            (json(br#"{"q": 3}"#), "one text or a list of texts is expected"),
            (json(br#"{"q": ["a", null]}"#), "one text or a list of texts is expected"),
            (json(b"{}"), "Invalid request: missing q parameter"),
            (json(b"\x1f\x8b\x08"), "gzip"),
            (form("", b"q=%E4").unwrap_err(), "the field \\\"q\\\" is not UTF-8"),
            (form("", b"q=\xe4").unwrap_err(), "the field \\\"q\\\" is not UTF-8"),
            (form("", b"q=%C3&q=%BC").unwrap_err(), "not UTF-8"),
            (form("q=%ff", b"").unwrap_err(), "not UTF-8"),
            (form("", &b"q=&".repeat(11)).unwrap_err(), "more than the 10 fields"),
        ] {
            assert!(format!("{error:?}").contains(needle), "{error:?}");
        }
    }

    #[test]
    fn a_misspelt_field_is_refused_with_the_nearest_name() {
        // Transposed, left out, added, replaced letters, and other ways to join words.
        for (name, meant) in [
            ("alternative", "alternatives"),
            ("alternatvies", "alternatives"),
            ("Alternatives", "alternatives"),
            ("apikey", "api_key"),
            ("apiKey", "api_key"),
            ("api-key", "api_key"),
            ("api_keys", "api_key"),
            ("Q", "q"),
        ] {
            let body = format!(r#"{{"q": "a", "{name}": 1}}"#);
            let sent = format!("q=a&{name}=1");
            for error in [
                read_json::<Asked>(body.as_bytes(), true).unwrap_err(),
                read_json::<Asked>(body.as_bytes(), false).unwrap_err(),
                form("", sent.as_bytes()).unwrap_err(),
                form(&sent, b"").unwrap_err(),
            ] {
                assert!(
                    format!("{error:?}").contains(&format!("did you mean {meant}?")),
                    "{error:?}"
                );
            }
        }
        // LibreTranslate's clients send fields that we do not have.
        for name in ["secret", "s", "lang", "source", "x".repeat(99).as_str()] {
            let body = format!(r#"{{"q": "a", "{name}": {{"a": [1]}}}}"#);
            read_json::<Asked>(body.as_bytes(), true).unwrap();
            let error = read_json::<Asked>(body.as_bytes(), false).unwrap_err();
            let text = format!("{error:?}");
            assert!(text.contains("is unknown\"") && text.contains("alternatives"), "{text}");
        }
    }
}
