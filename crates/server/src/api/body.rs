//! Reads the fields of a request from JSON or from a form of any kind with the same fields.

use axum::body::{Bytes, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::http::header::AsHeaderName;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::error::{ApiError, Result};
use super::form::{self, Part, unread, urlencoded};
use super::limits::{check_count, check_json, check_text};
use super::{Client, Shared};
use crate::compute::{Price, compute};
use crate::sender::Sender;
use crate::settings::Limits;

/// The maximum number of fields of a form besides the texts that the limits allow.
pub(super) const MAX_FIELDS: usize = 64;

/// The fields of a request, from a body of `application/json`, `application/x-www-form-urlencoded`
/// or `multipart/form-data`, or from the query. Unknown fields are refused.
pub(crate) struct Fields<T>(pub Client, pub T);

/// [`Fields`] of which only a misspelt known name is refused: clients of LibreTranslate and DeepL
/// send others.
pub(crate) struct LenientFields<T>(pub Client, pub T);

impl<T> FromRequest<Shared> for Fields<T>
where
    T: DeserializeOwned + PartialSchema + Send + 'static,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &Shared) -> Result<Self> {
        let (client, fields) = read(request, state, false).await?;
        Ok(Self(client, fields))
    }
}

impl<T> FromRequest<Shared> for LenientFields<T>
where
    T: DeserializeOwned + PartialSchema + Send + 'static,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &Shared) -> Result<Self> {
        let (client, fields) = read(request, state, true).await?;
        Ok(Self(client, fields))
    }
}

/// Reads the client and the fields of `request`.
async fn read<T>(request: Request, service: &Shared, lenient: bool) -> Result<(Client, T)>
where
    T: DeserializeOwned + PartialSchema + Send + 'static,
{
    let limits = service.limits;
    let most = limits.texts + MAX_FIELDS;
    let read = move |content| match content {
        Content::Json(bytes) => read_json(&bytes, &limits, lenient),
        Content::Form(parts) => read_form(parts, most, &limits, lenient),
    };
    open(request, service, most, read).await
}

/// The body of a request and its query, before its fields are read.
pub(super) enum Content {
    Json(Bytes),
    Form(Vec<Part>),
}

impl Content {
    /// The API key. Nothing else of a JSON body is kept.
    fn key(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Key {
            api_key: Option<String>,
        }
        match self {
            Self::Json(bytes) => {
                serde_json::from_slice::<Key>(without_mark(bytes))
                    .ok()?
                    .api_key
            }
            Self::Form(parts) => parts
                .iter()
                .find(|part| part.name == KEY)?
                .clone()
                .text()
                .ok(),
        }
    }
}

/// Checks the API key of `request`, and returns its client and the result of `read` for its
/// content. A form may have at most `most` fields.
///
/// # Errors
/// Returns an error if the content type is unknown, if the body is compressed or if the key is
/// wrong, and the errors of `read`.
pub(super) async fn open<T: Send + 'static>(
    request: Request,
    service: &Shared,
    most: usize,
    read: impl FnOnce(Content) -> Result<T> + Send + 'static,
) -> Result<(Client, T)> {
    let kind = kind(request.headers())?;
    let (head, body) = request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.map_err(unread)?;
    let sender = head.extensions.get::<Sender>().cloned();
    let sender = sender.expect("a sender, which is told with every request");
    let known = sender.clone();
    let service = service.clone();
    compute(&sender, Price::of_bytes(bytes.len()), move |_| {
        let content = if kind.ends_with("json") && !bytes.is_empty() {
            Content::Json(bytes)
        } else {
            Content::Form(form::read(&head, &kind, bytes, most)?)
        };
        let sender = match known {
            // A known key in the head would be the sender.
            Sender::Address(address) if service.keys.are_required() => {
                let key = content.key().unwrap_or_default();
                Sender::of(address, Some(key), &service.keys).ok_or_else(ApiError::key)?
            }
            known => known,
        };
        Ok((Client { service, sender }, read(content)?))
    })
    .await?
}

/// The name of the field for the API key.
const KEY: &str = "api_key";

/// The API key in the head of a request: from `Authorization: Bearer KEY` or `DeepL-Auth-Key KEY`,
/// or else from the query.
pub(crate) fn key_of_head(head: &Parts) -> Option<String> {
    let value = header_text(&head.headers, header::AUTHORIZATION);
    let bearer = value.and_then(|value| value.split_once(' '));
    let bearer = bearer.filter(|(scheme, _)| {
        let scheme = scheme.to_ascii_lowercase();
        ["bearer", "deepl-auth-key"].contains(&scheme.as_str())
    });
    let mut query = urlencoded(head.uri.query().unwrap_or_default().as_bytes());
    bearer
        .map(|(_, key)| key.trim().to_owned())
        .or_else(|| query.find(|part| part.name == KEY)?.text().ok())
}

/// The value of a header, if it is text.
pub(super) fn header_text(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The content type of a body in lower case; JSON if there is none.
///
/// # Errors
/// Returns an error if the body is compressed.
fn kind(headers: &HeaderMap) -> Result<String> {
    let coding = header_text(headers, header::CONTENT_ENCODING).map(str::trim);
    let coding = coding.filter(|coding| !coding.eq_ignore_ascii_case("identity"));
    if let Some(coding) = coding {
        return Err(ApiError::content_encoding(coding));
    }
    let kind = header_text(headers, header::CONTENT_TYPE).unwrap_or("application/json");
    Ok(kind
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase())
}

/// `bytes` without a byte order mark. RFC 8259 allows parsers to ignore it.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

fn read_json<T: DeserializeOwned + PartialSchema>(
    bytes: &[u8],
    limits: &Limits,
    lenient: bool,
) -> Result<T> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(ApiError::content_encoding("gzip"));
    }
    let text = std::str::from_utf8(without_mark(bytes));
    let text = text.map_err(|_| ApiError::body("the body is not UTF-8", REMEDY))?;
    check_json(text, limits)?;
    let mut json = serde_json::Deserializer::from_str(text);
    let fields = fields(&mut json, lenient)?;
    json.end()
        .map_err(|error| ApiError::body(error.to_string(), REMEDY))?;
    Ok(fields)
}

const REMEDY: &str = "a JSON object, or a form, with the fields that /openapi.json describes";

/// Reads the fields of a form. A name that occurs twice, or that ends in brackets as PHP writes
/// them (`q[]`, `q[0]`), is a list.
pub(super) fn read_form<T: DeserializeOwned + PartialSchema>(
    parts: Vec<Part>,
    most: usize,
    limits: &Limits,
    lenient: bool,
) -> Result<T> {
    form::check_count(&parts, most)?;
    let mut all = Map::new();
    for part in parts {
        let name = part.name.clone();
        let bare = name
            .strip_suffix(']')
            .and_then(|name| name.rsplit_once('['));
        let bare = bare.filter(|(_, index)| index.bytes().all(|c| c.is_ascii_digit()));
        let field = bare.map_or(&*name, |(bare, _)| bare);
        let value = part.text()?;
        check_text(field, &value, limits)?;
        match (all.get_mut(field), bare) {
            (None, Some((bare, _))) => drop(all.insert(bare.into(), vec![value].into())),
            (None, None) => drop(all.insert(name, value.into())),
            (Some(Value::Array(values)), _) => values.push(value.into()),
            (Some(first), _) => *first = vec![first.take(), value.into()].into(),
        }
    }
    for (name, value) in &all {
        let count = value.as_array().map_or(1, Vec::len);
        check_count(name, count, limits)?;
    }
    fields(Value::Object(all), lenient)
}

/// Deserializes the fields, or returns an error that names the wrong, missing or misspelt field.
fn fields<'de, T: DeserializeOwned + PartialSchema>(
    from: impl Deserializer<'de, Error = serde_json::Error>,
    lenient: bool,
) -> Result<T> {
    let mut known = None;
    let mut unknown = None;
    let fields = serde_path_to_error::deserialize(serde_ignored::Deserializer::new(
        from,
        &mut |path: serde_ignored::Path| {
            let known: &Vec<String> = known.get_or_insert_with(names::<T>);
            unknown = unknown
                .take()
                .or_else(|| misspelt(&path.to_string(), known, lenient));
        },
    ));
    if let Some(error) = unknown {
        return Err(error);
    }
    fields.map_err(|cause| {
        let path = cause.path().to_string();
        let error = cause.into_inner().to_string();
        let missing = error
            .strip_prefix("missing field `")
            .and_then(|rest| rest.split('`').next());
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

/// The name of a field in lower case, without `_` and `-`.
fn plain(name: &str) -> String {
    name.replace(['_', '-'], "").to_lowercase()
}

/// The error for a field that is not among the `known` ones. If `lenient`, only a misspelt name is
/// an error: one that differs from a known field in at most a third of its letters, ignoring case
/// and `_`.
fn misspelt(name: &str, known: &[String], lenient: bool) -> Option<ApiError> {
    const MAX_LENGTH: usize = 30;
    let near = known
        .iter()
        .filter(|_| name.len() <= MAX_LENGTH)
        .map(|known| (strsim::osa_distance(&plain(name), &plain(known)), known))
        .filter(|(distance, known)| *distance <= known.len() / 3)
        .min();
    let meant = near.map(|(_, known)| format!("; did you mean {known}?"));
    if lenient && meant.is_none() {
        return None;
    }
    let name: String = name.chars().take(MAX_LENGTH).collect();
    let error = format!("the field {name:?} is unknown{}", meant.unwrap_or_default());
    Some(ApiError::bad(
        &name,
        error,
        format!("one of {}", known.join(", ")),
    ))
}

/// Whether a request has one text, or a list of texts. Its answer has the same shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    One,
    Many,
}

/// One text, or a list of texts.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "one text or a list of texts is expected")]
pub(crate) enum Texts {
    /// One text.
    One(String),
    /// Several texts.
    Many(Vec<String>),
}

impl Texts {
    /// The shape of the answer.
    pub fn shape(&self) -> Shape {
        match self {
            Self::One(_) => Shape::One,
            Self::Many(_) => Shape::Many,
        }
    }

    /// Returns the texts.
    pub fn into_list(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

/// Deserializes a number, also from a string, as forms send it.
pub(crate) fn number<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<usize>, D::Error> {
    let number = match Value::deserialize(deserializer)? {
        Value::Null => return Ok(None),
        Value::String(text) if text.is_empty() => return Ok(None),
        Value::String(text) => text.parse::<u32>().ok().map(f64::from),
        // JSON does not distinguish 4.0 from 4.
        value => value
            .as_f64()
            .filter(|it| it.fract() == 0.0 && (0.0..1e15).contains(it)),
    };
    let number = number.map(|number| number as usize);
    number
        .ok_or_else(|| D::Error::custom("expected a whole number from 0"))
        .map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, utoipa::ToSchema)]
    struct TextsRequest {
        q: Texts,
        #[serde(default, deserialize_with = "number")]
        alternatives: Option<usize>,
        api_key: Option<String>,
    }

    fn form(query: &str, sent: &[u8]) -> Result<TextsRequest, ApiError> {
        let mut request = Request::new(axum::body::Body::empty());
        *request.uri_mut() = format!("/?{query}").parse().unwrap();
        let (head, _) = request.into_parts();
        let parts = form::read(
            &head,
            "application/x-www-form-urlencoded",
            sent.to_vec().into(),
            10,
        )?;
        read_form(parts, 10, &Limits::default(), true)
    }

    fn texts(asked: TextsRequest) -> (Vec<String>, Shape) {
        let shape = asked.q.shape();
        (asked.q.into_list(), shape)
    }

    #[test]
    fn a_form_a_query_and_json_give_the_same_fields() {
        let list = ["a", "b"].map(String::from).to_vec();
        for asked in [
            read_json(
                br#"{"q": ["a", "b"], "alternatives": 2}"#,
                &Limits::default(),
                false,
            ),
            read_json(
                "\u{feff}{\"q\": [\"a\", \"b\"], \"alternatives\": 2.0}".as_bytes(),
                &Limits::default(),
                true,
            ),
            form("", b"q=a&q=b&alternatives=2"),
            form("", b"q%5B%5D=a&q[]=b&alternatives=2"),
            form("", b"q[0]=a&q[1]=b&&alternatives=2&"),
            form("q=a&q=b", b"q=c&alternatives=2"),
            form("q=a&q=b&alternatives=2", b""),
        ] {
            let asked = asked.unwrap();
            assert_eq!((asked.alternatives, &asked.api_key), (Some(2), &None));
            assert_eq!(texts(asked), (list.clone(), Shape::Many));
        }
        for (sent, text) in [
            ("q=Gr%C3%B6%C3%9Fe+hier", "Größe hier"),
            ("q=Größe%20hier&alternatives=", "Größe hier"),
            // Browsers keep a % that encodes nothing. So does the parser.
            ("q=100%&x=y", "100%"),
            ("q=50% %zz", "50% %zz"),
            ("q=a=b", "a=b"),
            ("q=", ""),
            ("q", ""),
        ] {
            assert_eq!(
                texts(form("", sent.as_bytes()).unwrap()),
                (vec![text.into()], Shape::One)
            );
        }
        assert_eq!(
            texts(form("", b"q[]=a").unwrap()),
            (vec!["a".into()], Shape::Many)
        );
    }

    #[test]
    fn errors_name_the_field() {
        let json = |body: &[u8]| {
            read_json::<TextsRequest>(body, &Limits::default(), false)
                .map(drop)
                .unwrap_err()
        };
        let error = json(br#"{"q": "a", "alternatives": -1}"#);
        assert!(
            format!("{error:?}").contains(r#"Some("alternatives")"#),
            "{error:?}"
        );
        for body in [
            &b"{"[..],
            b"[]",
            b"{} x",
            b"\xff",
            br#"{"q": 3}"#,
            b"",
            b"null",
        ] {
            json(body);
        }
        for (error, needle) in [
            (
                json(br#"{"q": 3}"#),
                "one text or a list of texts is expected",
            ),
            (
                json(br#"{"q": ["a", null]}"#),
                "one text or a list of texts is expected",
            ),
            (json(b"{}"), "Invalid request: missing q parameter"),
            (json(b"\x1f\x8b\x08"), "gzip"),
            (
                form("", b"q=%E4").unwrap_err(),
                "the field \\\"q\\\" is not UTF-8",
            ),
            (
                form("", b"q=\xe4").unwrap_err(),
                "the field \\\"q\\\" is not UTF-8",
            ),
            (form("", b"q=%C3&q=%BC").unwrap_err(), "not UTF-8"),
            (form("q=%ff", b"").unwrap_err(), "not UTF-8"),
            (
                form("", &b"q=&".repeat(11)).unwrap_err(),
                "more than the 10 fields",
            ),
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
                read_json::<TextsRequest>(body.as_bytes(), &Limits::default(), true).unwrap_err(),
                read_json::<TextsRequest>(body.as_bytes(), &Limits::default(), false).unwrap_err(),
                form("", sent.as_bytes()).unwrap_err(),
                form(&sent, b"").unwrap_err(),
            ] {
                assert!(
                    format!("{error:?}").contains(&format!("did you mean {meant}?")),
                    "{error:?}"
                );
            }
        }
        // Clients of LibreTranslate send fields that we do not have.
        for name in ["secret", "s", "lang", "source", "x".repeat(99).as_str()] {
            let body = format!(r#"{{"q": "a", "{name}": {{"a": [1]}}}}"#);
            read_json::<TextsRequest>(body.as_bytes(), &Limits::default(), true).unwrap();
            let error =
                read_json::<TextsRequest>(body.as_bytes(), &Limits::default(), false).unwrap_err();
            let text = format!("{error:?}");
            assert!(
                text.contains("is unknown\"") && text.contains("alternatives"),
                "{text}"
            );
        }
    }
}
