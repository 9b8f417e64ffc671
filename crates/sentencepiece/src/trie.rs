//! A prefix tree over bytes.

/// The mark of a node without a value.
const NONE: u32 = u32::MAX;

/// A map from byte strings to numbers, with lookup byte by byte.
///
/// Nodes are numbered level by level, so that the children of a node are adjacent and in the order
/// of their bytes. This takes nine bytes per node, and at most one node for each byte of the
/// strings. A double array, which is a little faster, has no such bound.
#[derive(Clone, Debug)]
pub struct Trie {
    /// The byte that leads to each node.
    labels: Vec<u8>,
    /// The first child and the value of each node. The last child of a node is the one before the
    /// first child of the next node.
    nodes: Vec<(u32, u32)>,
    /// The children of the root, indexed by their bytes; 0 if there is none.
    root: Box<[u32; 256]>,
}

/// A node of a [`Trie`].
pub type Node = u32;
/// The root, the start of every string.
pub const ROOT: Node = 0;

impl Trie {
    /// Builds a trie of `keys`, which must be sorted, distinct and not empty.
    pub fn new(keys: &[(&[u8], u32)]) -> Self {
        let count = count_nodes(keys);
        let mut trie = Self {
            labels: Vec::with_capacity(count),
            nodes: Vec::with_capacity(count + 1),
            root: Box::new([0; 256]),
        };
        trie.labels.push(0);
        // The keys below each node of one level, and of the next.
        let all = 0..keys.len();
        let mut level = Vec::from([all]);
        let mut next = Vec::new();
        let mut depth = 0;
        while !level.is_empty() {
            for below in level.drain(..) {
                trie.add_node(keys, below, depth, &mut next);
            }
            std::mem::swap(&mut level, &mut next);
            depth += 1;
        }
        trie.nodes.push((trie.labels.len() as u32, NONE));
        for child in trie.nodes[0].0..trie.nodes[1].0 {
            trie.root[trie.labels[child as usize] as usize] = child;
        }
        trie
    }

    fn add_node(
        &mut self,
        keys: &[(&[u8], u32)],
        mut below: std::ops::Range<usize>,
        depth: usize,
        next: &mut Vec<std::ops::Range<usize>>,
    ) {
        let ends_here = !below.is_empty() && keys[below.start].0.len() == depth;
        let value = if ends_here { keys[below.start].1 } else { NONE };
        below.start += usize::from(ends_here);
        self.nodes.push((self.labels.len() as u32, value));
        while !below.is_empty() {
            let label = keys[below.start].0[depth];
            let group = keys[below.clone()].partition_point(|(key, _)| key[depth] == label);
            self.labels.push(label);
            next.push(below.start..below.start + group);
            below.start += group;
        }
    }

    /// Returns the child of `node` for `byte`.
    #[inline]
    pub fn step(&self, node: Node, byte: u8) -> Option<Node> {
        if node == ROOT {
            let child = self.root[byte as usize];
            return (child != 0).then_some(child);
        }
        let node = node as usize;
        let first = self.nodes[node].0 as usize;
        let labels = &self.labels[first..self.nodes[node + 1].0 as usize];
        let index = if labels.len() <= 8 {
            labels.iter().position(|&label| label == byte)?
        } else {
            labels.binary_search(&byte).ok()?
        };
        Some((first + index) as u32)
    }

    /// Returns the number of the string that ends at `node`.
    #[inline]
    pub fn value(&self, node: Node) -> Option<u32> {
        let value = self.nodes[node as usize].1;
        (value != NONE).then_some(value)
    }

    /// Returns the descendant of `node` reached by `bytes`.
    #[inline]
    pub fn walk(&self, node: Node, bytes: &[u8]) -> Option<Node> {
        bytes
            .iter()
            .try_fold(node, |node, &byte| self.step(node, byte))
    }

    /// Returns the number of `key`.
    pub fn get(&self, key: &[u8]) -> Option<u32> {
        self.value(self.walk(ROOT, key)?)
    }

    /// Returns the length of the longest key that is a prefix of `text`, among the `max` shortest
    /// such keys.
    pub fn longest_prefix(&self, text: &[u8], max: usize) -> Option<usize> {
        let mut node = ROOT;
        let mut match_count = 0;
        let mut longest = None;
        for (at, &byte) in text.iter().enumerate() {
            let Some(next) = self.step(node, byte) else {
                break;
            };
            node = next;
            if self.value(node).is_some() {
                match_count += 1;
                longest = Some(at + 1);
            }
            if match_count == max {
                break;
            }
        }
        longest
    }
}

/// Returns the number of nodes: one for the root, and one for each byte of a key that it does not
/// share with the key before it.
fn count_nodes(keys: &[(&[u8], u32)]) -> usize {
    let mut count = 1;
    let mut last: &[u8] = &[];
    for &(key, _) in keys {
        let shared = last.iter().zip(key).take_while(|(a, b)| a == b).count();
        count += key.len() - shared;
        last = key;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    proptest::proptest! {
        #[test]
        fn inserted_keys_are_found_and_nothing_else(
            strings in proptest::collection::btree_set("[a-c\u{e9}]{1,4}", 0..40),
            asked in proptest::collection::vec("[a-c\u{e9}]{0,5}", 40),
        ) {
            let numbers: BTreeMap<&str, u32> = strings.iter().map(String::as_str).zip(7..).collect();
            let keys: Vec<(&[u8], u32)> =
                numbers.iter().map(|(text, number)| (text.as_bytes(), *number)).collect();
            let trie = Trie::new(&keys);
            proptest::prop_assert_eq!(trie.labels.len(), count_nodes(&keys));
            for text in asked.iter().chain(&strings) {
                proptest::prop_assert_eq!(trie.get(text.as_bytes()), numbers.get(text.as_str()).copied());
                let prefixes: Vec<usize> = (1..=text.len())
                    .filter(|&end| text.is_char_boundary(end) && numbers.contains_key(&text[..end]))
                    .collect();
                let longest = |most: usize| prefixes.iter().copied().take(most).next_back();
                proptest::prop_assert_eq!(trie.longest_prefix(text.as_bytes(), 64), longest(64));
                proptest::prop_assert_eq!(trie.longest_prefix(text.as_bytes(), 1), longest(1));
            }
        }
    }
}
