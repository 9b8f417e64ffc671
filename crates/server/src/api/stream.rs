//! Translations as server-sent events, part by part.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::stream::{self, Stream};
use serde::Serialize;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use utoipa::ToSchema;

use super::body::Fields;
use super::error::{ApiError, Errors, Result};
use super::v1::{SentencesRequest, SentencesResponse, translated};
use crate::queue::Watcher;

/// A part of a translation: the data of an event without a name.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Part {
    /// The index of the sentence in the request.
    pub sentence: usize,
    /// The text that follows the parts before. It is never taken back.
    pub text: String,
}

/// A message from the translation of a request.
enum Message {
    /// The settled beginning of the translation of a sentence, by its index.
    Settled(usize, String),
    End(Result<SentencesResponse>),
}

/// Translates single sentences and sends each part of a translation as soon as it is settled. All
/// parts of a sentence together are its best translation. A greedy search (`beam` 1) settles each
/// token. The event `done` ends the answer with what `/v1/sentences` returns; `error` ends it
/// with the problem.
#[utoipa::path(post, path = "/v1/stream", tag = "v1", request_body = SentencesRequest,
    responses((status = 200, body = Part, content_type = "text/event-stream"), Errors))]
pub(crate) async fn stream(
    Fields(client, request): Fields<SentencesRequest>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let (sender, mut messages) = unbounded_channel();
    let mut sent = vec![String::new(); request.sentences.len()];
    tokio::spawn(async move {
        let settled = sender.clone();
        let watcher: Watcher = Arc::new(move |sentence, text| {
            // Without a receiver, the work is cancelled below.
            let _ = settled.send(Message::Settled(sentence, text.into()));
        });
        tokio::select! {
            () = sender.closed() => {}
            found = translated(&client, request, Some(watcher)) => {
                let _ = sender.send(Message::End(found));
            }
        }
    });
    let first = match messages.recv().await {
        Some(Message::End(Err(error))) => return Err(error),
        Some(first) => events(first, &mut sent),
        None => return Err(ApiError::failed("internal error; please report it")),
    };
    let rest = Rest {
        events: first,
        messages,
        sent,
    };
    Ok(Sse::new(stream::unfold(rest, next)).keep_alive(KeepAlive::default()))
}

/// What is still to be sent.
struct Rest {
    events: VecDeque<Event>,
    messages: UnboundedReceiver<Message>,
    /// The sent beginning of each translation.
    sent: Vec<String>,
}

/// The next event, and what is to be sent after it; `None` after the last.
async fn next(mut rest: Rest) -> Option<(Result<Event, Infallible>, Rest)> {
    loop {
        if let Some(event) = rest.events.pop_front() {
            return Some((Ok(event), rest));
        }
        let message = rest.messages.recv().await?;
        rest.events = events(message, &mut rest.sent);
    }
}

/// The events for `message`. `sent` has the sent beginning of each translation.
fn events(message: Message, sent: &mut [String]) -> VecDeque<Event> {
    let mut events = VecDeque::new();
    match message {
        Message::Settled(sentence, text) => events.extend(part(sentence, &text, sent)),
        Message::End(Ok(response)) => {
            for (sentence, found) in response.sentences.iter().enumerate() {
                let best = found.first().map(|best| &*best.text);
                events.extend(part(sentence, best.unwrap_or_default(), sent));
            }
            events.push_back(event("done", &response));
        }
        Message::End(Err(error)) => events.push_back(event("error", &error.into_body())),
    }
    events
}

/// The event for what `text`, the translation of `sentence`, has after the sent text; `None` if it
/// has nothing.
fn part(sentence: usize, text: &str, sent: &mut [String]) -> Option<Event> {
    let more = text.strip_prefix(&*sent[sentence])?;
    if more.is_empty() {
        return None;
    }
    let part = Part {
        sentence,
        text: more.into(),
    };
    sent[sentence] = text.into();
    Some(event("", &part))
}

fn event(name: &str, data: &impl Serialize) -> Event {
    let event = if name.is_empty() {
        Event::default()
    } else {
        Event::default().event(name)
    };
    event.json_data(data).expect("the data is JSON")
}
