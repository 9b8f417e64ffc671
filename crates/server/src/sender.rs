//! The senders of requests, their keys, and the budgets that they share.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::HeaderMap;
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};
use tokio::time::sleep;

use crate::lock::locked;

/// The sender of a request: its key, or else its address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Sender {
    Key(String),
    Address(IpAddr),
}

impl Sender {
    /// Returns the sender of a request from `address` with this `key`, or `None` if the key is
    /// wrong.
    pub fn of(address: IpAddr, key: Option<String>, keys: &Keys) -> Option<Self> {
        match key.filter(|_| keys.are_required()) {
            Some(key) => keys.allow(&key).then_some(Self::Key(key)),
            None => Some(Self::Address(address)),
        }
    }
}

/// The address of a client whose connection comes from `peer`; in IPv6 its network of 64 bits. Each
/// of the `trusted` proxies appends the address that it sees to `X-Forwarded-For`, so the last
/// address that is not a trusted proxy is right, even if the client itself wrote others before it.
/// If there is a header `Forwarded`, `X-Forwarded-For` is ignored: a proxy that writes the former
/// may pass on the latter as the client sent it.
pub(crate) fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|network| network.contains(address));
    let parts = headers.get_all("x-forwarded-for").iter().rev();
    let mut parts = parts.flat_map(|value| value.to_str().unwrap_or_default().rsplit(','));
    let mut last = peer.to_canonical();
    let is_told = !headers.contains_key("forwarded");
    while is_told && is_trusted(&last) {
        let Some(before) = parts.next().and_then(address) else {
            break;
        };
        last = before;
    }
    match last {
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) >> 64 << 64).into(),
        address => address,
    }
}

/// Reads an address with or without a port, in brackets or without them.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text);
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    Some(bare.parse().ok().or_else(with_port)?.to_canonical())
}

/// Returns whether a sender who holds `held` of a budget may take `more` of the `free` rest: at
/// least as much as it holds must be left to the others. One sender who takes a little at a time
/// therefore gets half of the budget, and each of several as much as is left for the next.
pub(crate) fn may_take(held: usize, more: usize, free: usize) -> bool {
    held + more <= free
}

/// A bounded amount (bytes or requests) that senders share.
pub(crate) struct Budget {
    most: usize,
    taken: Mutex<HashMap<Sender, usize>>,
}

/// A part of a [`Budget`], which is returned when the permit is dropped.
pub(crate) struct Permit {
    budget: Arc<Budget>,
    pub sender: Sender,
    pub amount: usize,
}

/// The time after which a waiting sender tries again.
const AGAIN: Duration = Duration::from_millis(20);

impl Budget {
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            taken: Mutex::default(),
        })
    }

    /// Creates an empty permit of `sender`, which can grow.
    pub fn permit(self: &Arc<Self>, sender: &Sender) -> Permit {
        Permit {
            budget: self.clone(),
            sender: sender.clone(),
            amount: 0,
        }
    }
}

impl Permit {
    /// Returns whether less than half of the budget is left.
    pub fn is_short(&self) -> bool {
        2 * locked(&self.budget.taken).values().sum::<usize>() > self.budget.most
    }

    /// Takes `more` if there is room, and returns whether there was.
    pub fn grow(&mut self, more: usize) -> bool {
        let mut taken = locked(&self.budget.taken);
        let free = self.budget.most - taken.values().sum::<usize>();
        let held = taken.get(&self.sender).copied().unwrap_or_default();
        let grows = may_take(held, more, free);
        if grows && more > 0 {
            taken.insert(self.sender.clone(), held + more);
            self.amount += more;
        }
        grows
    }

    /// Waits until there is room, and takes `more`.
    pub async fn wait(&mut self, more: usize) {
        while !self.grow(more) {
            sleep(AGAIN).await;
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut taken = locked(&self.budget.taken);
        if let Some(held) = taken.get_mut(&self.sender) {
            *held -= self.amount;
            if *held == 0 {
                taken.remove(&self.sender);
            }
        }
    }
}

/// The accepted keys, compared in constant time. If there are none, requests need no key.
pub(crate) struct Keys(Vec<[u8; 32]>);

impl Keys {
    pub fn new(keys: &[String]) -> Self {
        Self(keys.iter().map(|key| Sha256::digest(key).into()).collect())
    }

    /// Returns whether a key is needed.
    pub fn are_required(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns whether requests with `key` are allowed. The time is the same for every wrong key,
    /// because the digests of all keys are compared in full.
    pub fn allow(&self, key: &str) -> bool {
        let digest: [u8; 32] = Sha256::digest(key).into();
        let found = self
            .0
            .iter()
            .fold(Choice::from(0), |found, known| found | known.ct_eq(&digest));
        !self.are_required() || bool::from(found)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn sender(number: u8) -> Sender {
        Sender::Address([10, 0, 0, number].into())
    }

    fn take(budget: &Arc<Budget>, sender: &Sender, amount: usize) -> Option<Permit> {
        let mut permit = budget.permit(sender);
        permit.grow(amount).then_some(permit)
    }

    #[test]
    fn every_sender_leaves_room_to_the_next() {
        let budget = Budget::new(1000);
        let fill = |number| {
            let sender = sender(number);
            std::iter::from_fn(|| take(&budget, &sender, 1)).collect::<Vec<_>>()
        };
        let all: Vec<_> = (0..5).map(fill).collect();
        let sizes: Vec<usize> = all.iter().map(Vec::len).collect();
        assert_eq!(sizes, [500, 250, 125, 63, 31], "half of what is left");
        drop(all);
        assert!(
            budget.taken.lock().unwrap().is_empty(),
            "what nobody has any more is free"
        );
        assert!(
            take(&budget, &sender(1), 1000).is_some() && take(&budget, &sender(1), 1001).is_none()
        );
    }

    /// The client of a connection from `peer` with these headers.
    fn at(peer: &str, trusted: &[&str], headers: &[(&'static str, &str)]) -> String {
        let header = |(name, value): &(&'static str, &str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            )
        };
        let trusted: Vec<IpNet> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        let headers = headers.iter().map(header).collect();
        client(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    const XFF: &str = "x-forwarded-for";
    const PROXIES: [&str; 3] = ["::1/128", "10.0.0.0/8", "fd00::/8"];

    #[test]
    fn a_client_is_an_address_or_a_network() {
        for (peer, client) in [
            ("127.0.0.1", "127.0.0.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8::1:2:3:4", "2001:db8::"),
        ] {
            assert_eq!(at(peer, &[], &[]), client);
        }
    }

    #[test]
    fn trusted_proxies_tell_their_clients_however_they_write_them() {
        for (headers, client) in [
            (vec![(XFF, "192.0.2.3")], "192.0.2.3"),
            (
                vec![(XFF, "1.1.1.1"), (XFF, "2.2.2.2, 192.0.2.3")],
                "192.0.2.3",
            ),
            (vec![(XFF, "1.1.1.1, 192.0.2.3, 10.9.9.9")], "192.0.2.3"),
            (
                vec![(XFF, "192.0.2.3"), (XFF, "fd00::7,10.9.9.9")],
                "192.0.2.3",
            ),
            (vec![(XFF, "192.0.2.3:4711")], "192.0.2.3"),
            (vec![(XFF, "2001:db8::1:2:3:4")], "2001:db8::"),
            (vec![(XFF, "[2001:db8::1:2:3:4]:80")], "2001:db8::"),
            (vec![(XFF, "::ffff:192.0.2.3")], "192.0.2.3"),
            // Every proxy on the way is trusted, or no address is given.
            (vec![(XFF, "10.1.1.1, 10.2.2.2")], "10.1.1.1"),
            (vec![(XFF, "unknown")], "10.0.0.1"),
            (vec![(XFF, "9.9.9.9, unknown, 10.2.2.2")], "10.2.2.2"),
            (vec![(XFF, "")], "10.0.0.1"),
            (
                vec![(XFF, "192.0.2.3"), ("forwarded", "for=192.0.2.3")],
                "10.0.0.1",
            ),
            (vec![("forwarded", "for=192.0.2.3")], "10.0.0.1"),
        ] {
            assert_eq!(at("10.0.0.1", &PROXIES, &headers), client, "{headers:?}");
        }
    }

    #[test]
    fn a_client_that_lies_gains_nothing() {
        for lie in ["7.7.7.7", "10.0.0.9", "::1", "127.0.0.1"] {
            let headers = [(XFF, lie)];
            assert_eq!(
                at("192.0.2.9", &PROXIES, &headers),
                "192.0.2.9",
                "without a proxy"
            );
            assert_eq!(
                at("127.0.0.1", &PROXIES, &headers),
                "127.0.0.1",
                "none is trusted"
            );
            let added = format!("{lie}, 192.0.2.9");
            assert_eq!(at("10.0.0.1", &PROXIES, &[(XFF, &added)]), "192.0.2.9");
        }
    }

    #[test]
    fn only_a_known_key_opens_a_server_with_keys() {
        let keys = Keys::new(&["one".into(), "two".into()]);
        assert!(keys.allow("one") && keys.allow("two"));
        assert!(!keys.allow("three") && !keys.allow(""));
        assert!(Keys::new(&[]).allow("") && Keys::new(&[]).allow("any"));
    }
}
