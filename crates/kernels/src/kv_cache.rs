use burn::tensor::{Bool, Int, Tensor, TensorData};

use crate::attention::{AttentionInputs, Block, attention};
use crate::dropout::DropoutMask;
#[cfg(feature = "cpu")]
use crate::{op::Target, step_attention::over_blocks};

/// The keys and values of the positions that were decoded so far. Beam search may reorder its rows;
/// there is one row per hypothesis.
///
/// On the CPU, without gradients, neither appending nor reordering copies keys or values: the keys
/// and values of each step stay in place, and each row records the row that it continues. On other
/// devices they are one tensor.
#[derive(Clone, Debug, Default)]
pub struct KvCache {
    blocks: Vec<Block>,
}

impl KvCache {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of positions in the cache.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.key.dims()[1]).sum()
    }

    /// Returns whether the cache holds no position.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends positions: `key` is `[rows, len, heads·d_k]`, `value` is `[rows, len, heads·d_v]`.
    pub fn append(&mut self, key: Tensor<3>, value: Tensor<3>) {
        self.blocks.push(Block {
            key,
            value,
            ancestors: Vec::new(),
        });
        if !self.stays() {
            self.unite();
        }
    }

    /// Forgets all but the last `count` positions.
    pub fn keep_last(&mut self, count: usize) {
        let mut surplus = self.len().saturating_sub(count);
        self.blocks.retain_mut(|block| {
            let len = block.key.dims()[1];
            let forgotten = surplus.min(len);
            surplus -= forgotten;
            if forgotten > 0 && forgotten < len {
                block.forget(forgotten);
            }
            forgotten < len
        });
    }

    /// Reorders the rows: row `i` continues the present row `rows[i]`. A row may be continued
    /// several times or not at all.
    pub fn select(&mut self, rows: &[usize]) {
        for block in &mut self.blocks {
            let ancestors = &block.ancestors;
            block.ancestors = rows
                .iter()
                .map(|&row| ancestors.get(row).copied().unwrap_or(row as u32))
                .collect();
        }
        if !self.stays() {
            self.unite();
        }
    }

    /// Returns the [`attention`] of `query` (`[rows, query_len, heads·d_k]`) to all positions in
    /// the cache: `[rows, query_len, heads·d_v]`.
    ///
    /// # Panics
    /// Panics if the cache is empty, or if shapes do not fit together.
    pub fn attend(
        &self,
        query: Tensor<3>,
        heads: usize,
        hidden: Option<Tensor<4, Bool>>,
        mask: Option<DropoutMask>,
    ) -> Tensor<3> {
        #[cfg(feature = "cpu")]
        if query.dims()[1] == 1
            && hidden.is_none()
            && mask.is_none()
            && Target::without_gradients(&[&query]) == Target::Cpu
        {
            let rows = query.dims()[0];
            assert!(
                self.blocks.iter().all(|block| block.rows() == rows),
                "attention needs one query per row of the cache"
            );
            return over_blocks(query, &self.blocks, heads);
        }
        let (key, value) = self.key_values();
        attention(
            AttentionInputs {
                query,
                key,
                value,
                heads,
                hidden,
            },
            mask,
        )
    }

    /// Returns all positions in the cache, as keys `[rows, len, heads·d_k]` and values
    /// `[rows, len, heads·d_v]`.
    ///
    /// # Panics
    /// Panics if the cache is empty.
    pub fn key_values(&self) -> (Tensor<3>, Tensor<3>) {
        let (keys, values) = self.blocks.iter().map(Block::present).unzip();
        (joined(keys), joined(values))
    }

    /// Returns whether attention can read the blocks without joining them.
    fn stays(&self) -> bool {
        #[cfg(feature = "cpu")]
        return self
            .blocks
            .iter()
            .all(|b| Target::without_gradients(&[&b.key]) == Target::Cpu);
        #[cfg(not(feature = "cpu"))]
        false
    }

    /// Joins all blocks into one.
    fn unite(&mut self) {
        if self.blocks.iter().all(|block| block.ancestors.is_empty()) && self.blocks.len() < 2 {
            return;
        }
        let (key, value) = self.key_values();
        self.blocks = vec![Block {
            key,
            value,
            ancestors: Vec::new(),
        }];
    }
}

impl Block {
    /// Returns the number of present rows.
    #[cfg(feature = "cpu")]
    fn rows(&self) -> usize {
        if self.ancestors.is_empty() {
            self.key.dims()[0]
        } else {
            self.ancestors.len()
        }
    }

    /// Drops the first `count` positions; there are more than `count`.
    fn forget(&mut self, count: usize) {
        for x in [&mut self.key, &mut self.value] {
            let [rows, len, width] = x.dims();
            *x = x.clone().slice([0..rows, count..len, 0..width]);
        }
    }

    /// Returns the keys and values of the present rows.
    fn present(&self) -> (Tensor<3>, Tensor<3>) {
        if self.ancestors.is_empty() {
            return (self.key.clone(), self.value.clone());
        }
        let rows: Vec<i32> = self.ancestors.iter().map(|&row| row as i32).collect();
        let rows = TensorData::new(rows, [self.ancestors.len()]);
        let rows = Tensor::<1, Int>::from_data(rows, &self.key.device());
        (
            self.key.clone().select(0, rows.clone()),
            self.value.clone().select(0, rows),
        )
    }
}

/// Returns the positions of all `parts`, one part after the other.
fn joined(mut parts: Vec<Tensor<3>>) -> Tensor<3> {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    Tensor::cat(parts, 1)
}
