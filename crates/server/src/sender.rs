//! The senders of requests, and the room that they share.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::HeaderMap;
use tokio::time::sleep;

use crate::auth::Keys;
use crate::lock::locked;

/// The sender of a request: its key, or else its address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Sender {
    Key(String),
    Address(IpAddr),
}

impl Sender {
    /// The sender of a request with these `headers` and this key in its head; `None` if the key is
    /// wrong.
    pub fn of(peer: IpAddr, headers: &HeaderMap, key: Option<String>, keys: &Keys) -> Option<Self> {
        match key.filter(|_| keys.are_required()) {
            Some(key) => keys.allow(&key).then_some(Self::Key(key)),
            None => Some(Self::at(peer, headers)),
        }
    }

    /// The sender without a key, of whose address in IPv6 the network of 64 bits counts. A proxy on
    /// this machine tells it at the end of `X-Forwarded-For`.
    pub fn at(peer: IpAddr, headers: &HeaderMap) -> Self {
        let told = headers.get_all("x-forwarded-for").iter().next_back();
        let told =
            told.and_then(|value| value.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
        Self::Address(match told.filter(|_| peer.is_loopback()).unwrap_or(peer).to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) >> 64 << 64).into(),
            address => address,
        })
    }
}

/// Returns whether a sender who holds `held` of a room, of which `free` is left, may take `more`:
/// not more than it leaves to the others. So one sender has half of a room at most, and each of
/// several as much as is left for the next.
pub(crate) fn may_take(held: usize, more: usize, free: usize) -> bool {
    held + more <= free
}

/// Room that senders share.
pub(crate) struct Room {
    most: usize,
    taken: Mutex<HashMap<Sender, usize>>,
}

/// A part of a [`Room`], which is free again when it is dropped.
pub(crate) struct Share {
    room: Arc<Room>,
    pub sender: Sender,
    pub amount: usize,
}

/// The time after which a waiting sender looks for room again.
const AGAIN: Duration = Duration::from_millis(20);

impl Room {
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default() })
    }

    /// Nothing yet, for `sender` to take more.
    pub fn share(self: &Arc<Self>, sender: &Sender) -> Share {
        Share { room: self.clone(), sender: sender.clone(), amount: 0 }
    }
}

impl Share {
    /// Returns whether less than half of the room is left.
    pub fn is_short(&self) -> bool {
        2 * locked(&self.room.taken).values().sum::<usize>() > self.room.most
    }

    /// Takes `more`, and tells whether there is room.
    pub fn grow(&mut self, more: usize) -> bool {
        let mut taken = locked(&self.room.taken);
        let free = self.room.most - taken.values().sum::<usize>();
        let held = taken.get(&self.sender).copied().unwrap_or_default();
        let grows = may_take(held, more, free);
        if grows && more > 0 {
            taken.insert(self.sender.clone(), held + more);
            self.amount += more;
        }
        grows
    }

    /// Takes `more` when there is room.
    pub async fn wait(&mut self, more: usize) {
        while !self.grow(more) {
            sleep(AGAIN).await;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = locked(&self.room.taken);
        if let Some(held) = taken.get_mut(&self.sender) {
            *held -= self.amount;
            if *held == 0 {
                taken.remove(&self.sender);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(number: u8) -> Sender {
        Sender::Address([10, 0, 0, number].into())
    }

    fn take(room: &Arc<Room>, sender: &Sender, amount: usize) -> Option<Share> {
        let mut share = room.share(sender);
        share.grow(amount).then_some(share)
    }

    #[test]
    fn every_sender_leaves_room_to_the_next() {
        let room = Room::new(1000);
        let fill = |number| {
            let sender = sender(number);
            std::iter::from_fn(|| take(&room, &sender, 1)).collect::<Vec<_>>()
        };
        let all: Vec<_> = (0..5).map(fill).collect();
        let sizes: Vec<usize> = all.iter().map(Vec::len).collect();
        assert_eq!(sizes, [500, 250, 125, 63, 31], "half of what is left");
        drop(all);
        assert!(room.taken.lock().unwrap().is_empty(), "what nobody has any more is free");
        assert!(take(&room, &sender(1), 1000).is_some() && take(&room, &sender(1), 1001).is_none());
    }

    #[test]
    fn a_sender_is_an_address_or_a_network() {
        let headers = |told: &[&'static str]| {
            let told = told.iter().map(|told| {
                let name = axum::http::HeaderName::from_static("x-forwarded-for");
                (name, axum::http::HeaderValue::from_static(told))
            });
            told.collect::<HeaderMap>()
        };
        let at =
            |peer: &str, told: &[&'static str]| Sender::at(peer.parse().unwrap(), &headers(told));
        let is = |address: &str| Sender::Address(address.parse().unwrap());
        assert_eq!(at("127.0.0.1", &[]), is("127.0.0.1"));
        assert_eq!(at("::ffff:10.0.0.1", &[]), is("10.0.0.1"));
        assert_eq!(at("2001:db8::1:2:3:4", &[]), is("2001:db8::"));
        assert_eq!(at("::1", &["1.1.1.1", "2.2.2.2, 3.3.3.3"]), is("3.3.3.3"));
        assert_eq!(at("127.0.0.1", &["unknown"]), is("127.0.0.1"));
        assert_eq!(at("10.0.0.1", &["3.3.3.3"]), is("10.0.0.1"), "anybody can say so");
    }
}
