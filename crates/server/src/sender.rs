//! Senders of requests, their keys, and the budgets that they share.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::http::HeaderMap;
use ipnet::IpNet;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};
use tokio::sync::oneshot;

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

/// Returns the address of the client behind the connection from `peer`; for IPv6, its /64 network.
///
/// Each of the `trusted` proxies appends the address that it sees to `X-Forwarded-For`. The last
/// address that is not a trusted proxy is therefore the client, even if the client itself wrote
/// others before it. If there is a `Forwarded` header, `X-Forwarded-For` is ignored: a proxy that
/// writes the former may pass on the latter as the client sent it.
pub(crate) fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let parts = headers.get_all("x-forwarded-for").iter().rev();
    let mut parts = parts.flat_map(|value| value.to_str().unwrap_or_default().rsplit(','));
    let mut last = peer.to_canonical();
    let is_told = !headers.contains_key("forwarded");
    while is_told && trusted.iter().any(|network| network.contains(&last)) {
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

/// Parses an address with or without a port, in brackets or without them.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text);
    Some(
        bare.parse()
            .ok()
            .or_else(|| text.parse().ok().map(|address: SocketAddr| address.ip()))?
            .to_canonical(),
    )
}

/// Returns whether a sender that holds `held` of a budget may take `more` of the `free` rest. At
/// least as much as it holds must be left to the others. A single sender that takes a little at a
/// time therefore gets half of the budget, and each of several gets as much as is left for the
/// next.
pub(crate) fn may_take(held: usize, more: usize, free: usize) -> bool {
    held + more <= free
}

/// A bounded amount (bytes or requests) that senders share.
pub(crate) struct Budget {
    most: usize,
    shares: Mutex<Shares>,
}

#[derive(Default)]
struct Shares {
    taken: HashMap<Sender, usize>,
    /// In order of arrival.
    waiting: Vec<Wish>,
}

/// A sender that waits for `more`, and the channel for its permit.
struct Wish {
    sender: Sender,
    more: usize,
    reply: oneshot::Sender<Permit>,
}

/// A share of a [`Budget`]. Dropping the permit returns it.
pub(crate) struct Permit {
    budget: Arc<Budget>,
    pub sender: Sender,
    pub amount: usize,
}

impl Shares {
    fn all_taken(&self) -> usize {
        self.taken.values().sum()
    }

    /// Takes `more` for `sender` if there is room in a budget of `most`, and returns whether there
    /// was.
    fn take(&mut self, sender: &Sender, more: usize, most: usize) -> bool {
        let held = self.taken.get(sender).copied().unwrap_or_default();
        let is_taken = more == 0 || may_take(held, more, most - self.all_taken());
        if is_taken && more > 0 {
            self.taken.insert(sender.clone(), held + more);
        }
        is_taken
    }

    fn give_back(&mut self, sender: &Sender, amount: usize) {
        let Some(held) = self.taken.get_mut(sender) else {
            return;
        };
        *held -= amount;
        if *held == 0 {
            self.taken.remove(sender);
        }
    }
}

impl Budget {
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            shares: Mutex::default(),
        })
    }

    /// Creates an empty permit of `sender`, which can grow.
    pub fn permit(self: &Arc<Self>, sender: &Sender) -> Permit {
        self.with(sender, 0)
    }

    fn with(self: &Arc<Self>, sender: &Sender, amount: usize) -> Permit {
        Permit {
            budget: self.clone(),
            sender: sender.clone(),
            amount,
        }
    }

    /// Grants the waiting requests that fit now: first to the senders that hold least, and for each
    /// sender in order of arrival.
    fn hand_out(self: &Arc<Self>, shares: &mut Shares) {
        let taken = &shares.taken;
        shares.waiting.retain(|wish| !wish.reply.is_closed());
        shares
            .waiting
            .sort_by_key(|wish| taken.get(&wish.sender).copied().unwrap_or_default());
        for wish in std::mem::take(&mut shares.waiting) {
            if !shares.take(&wish.sender, wish.more, self.most) {
                shares.waiting.push(wish);
                continue;
            }
            let permit = self.with(&wish.sender, wish.more);
            if let Err(mut permit) = wish.reply.send(permit) {
                // The receiver is gone. Dropping a permit with an amount would lock the shares
                // again.
                shares.give_back(&permit.sender, permit.amount);
                permit.amount = 0;
            }
        }
    }
}

impl Permit {
    /// Returns whether less than half of the budget is left.
    pub fn is_short(&self) -> bool {
        2 * self.budget.shares.lock().all_taken() > self.budget.most
    }

    /// Takes `more` if there is room, and returns whether there was.
    pub fn grow(&mut self, more: usize) -> bool {
        let is_taken = self
            .budget
            .shares
            .lock()
            .take(&self.sender, more, self.budget.most);
        if is_taken {
            self.amount += more;
        }
        is_taken
    }

    /// Waits until there is room, and takes `more`.
    pub async fn wait(&mut self, more: usize) {
        let (reply, taken) = oneshot::channel();
        {
            let mut shares = self.budget.shares.lock();
            let sender = self.sender.clone();
            shares.waiting.push(Wish {
                sender,
                more,
                reply,
            });
            self.budget.hand_out(&mut shares);
        }
        let mut taken = taken.await.expect("whoever waits has a turn");
        self.amount += std::mem::take(&mut taken.amount);
    }

    /// Gives back what is beyond `amount`.
    pub fn shrink(&mut self, amount: usize) {
        let unused = self.amount.saturating_sub(amount);
        self.amount -= unused;
        self.give_back(unused);
    }

    fn give_back(&self, amount: usize) {
        let mut shares = self.budget.shares.lock();
        shares.give_back(&self.sender, amount);
        self.budget.hand_out(&mut shares);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.amount > 0 {
            self.give_back(self.amount);
        }
    }
}

/// The accepted API keys, compared in constant time. If there are none, requests need no key.
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
    fn every_sender_leaves_room_for_the_next() {
        let budget = Budget::new(1000);
        let all: Vec<_> = (0..5)
            .map(|number| {
                let sender = sender(number);
                std::iter::from_fn(|| take(&budget, &sender, 1)).collect::<Vec<_>>()
            })
            .collect();
        let sizes: Vec<usize> = all.iter().map(Vec::len).collect();
        assert_eq!(sizes, [500, 250, 125, 63, 31], "half of what is left");
        drop(all);
        assert!(
            budget.shares.lock().taken.is_empty(),
            "what nobody has any more is free"
        );
        assert!(
            take(&budget, &sender(1), 1000).is_some() && take(&budget, &sender(1), 1001).is_none()
        );
    }

    #[tokio::test]
    async fn room_goes_to_the_smallest_sender_first_then_in_order_of_arrival() {
        let budget = Budget::new(100);
        let mut all = take(&budget, &sender(9), 100).unwrap();
        let (done, mut order) = tokio::sync::mpsc::unbounded_channel();
        let mut tasks = tokio::task::JoinSet::new();
        for (number, name) in [(1, "first"), (1, "second"), (2, "other"), (2, "gone")] {
            let mut permit = budget.permit(&sender(number));
            let done = done.clone();
            let task = tasks.spawn(async move {
                permit.wait(20).await;
                done.send(name).unwrap();
                permit
            });
            while budget.shares.lock().waiting.is_empty() || name == "gone" {
                tokio::task::yield_now().await;
                if name == "gone" {
                    task.abort();
                    break;
                }
            }
            tokio::task::yield_now().await;
        }
        all.shrink(60);
        assert_eq!(order.recv().await, Some("first"));
        all.shrink(40);
        assert_eq!(order.recv().await, Some("other"));
        drop(all);
        assert_eq!(order.recv().await, Some("second"));
        drop(tasks);
        while budget.permit(&sender(1)).is_short() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_cancelled_wait_takes_nothing() {
        let budget = Budget::new(100);
        let all = take(&budget, &sender(9), 100).unwrap();
        {
            let mut permit = budget.permit(&sender(1));
            let wait = permit.wait(50);
            let gone = tokio::time::timeout(std::time::Duration::from_millis(10), wait).await;
            assert!(gone.is_err());
        }
        drop(all);
        assert!(budget.shares.lock().taken.is_empty());
        assert!(take(&budget, &sender(2), 100).is_some());
    }

    /// The client of a connection from `peer` with these headers.
    fn at(peer: &str, trusted: &[&str], headers: &[(&'static str, &str)]) -> String {
        let trusted: Vec<IpNet> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        let headers = headers
            .iter()
            .map(|(name, value): &(&'static str, &str)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_str(value).unwrap(),
                )
            })
            .collect();
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
    fn every_form_of_a_trusted_proxy_header_gives_the_client() {
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
            // Every proxy on the way is trusted, or the header has no address.
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
    fn forged_headers_do_not_change_the_client() {
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
