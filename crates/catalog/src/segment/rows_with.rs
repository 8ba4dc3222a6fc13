//! Which rows of a segment hold a word, or a position in a cell.

use std::{collections::BTreeMap, sync::Arc};

use roaring::RoaringBitmap;
use ros2_memory_index::{
    Cell, Cells, CodecError, TopicWords, WordQuery, cells_near,
    codec::{Decoder, Encoder},
};

use super::postings::{decode_list, encode_list};

/// The words of one topic: for each the rows that hold it.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowsWithWords {
    pub(crate) topic: Arc<str>,
    words: BTreeMap<Arc<str>, RoaringBitmap>,
    /// The rows all of whose words are known.
    known: RoaringBitmap,
}

impl RowsWithWords {
    pub(crate) fn new(topic: Arc<str>) -> Self {
        Self { topic, ..Self::default() }
    }

    /// Adds a row; it is larger than all before.
    pub(crate) fn add(&mut self, row: u32, of: &TopicWords) {
        self.known.insert(row);
        for word in &of.words {
            match self.words.get_mut(word) {
                Some(rows) => rows.insert(row),
                None => self.words.entry(word.clone()).or_default().insert(row),
            };
        }
    }

    pub(crate) fn finish(&mut self) {
        self.known.optimize();
        self.words.values_mut().for_each(|rows| {
            rows.optimize();
        });
    }

    /// The rows of which it is known that no text holds the substring. Costs a look at each word.
    pub(crate) fn without(&self, query: &WordQuery) -> RoaringBitmap {
        let mut may_hold = self.known.clone();
        for part in query.parts() {
            let fitting = self.words.iter().filter(|(word, _)| part.fits(word));
            let rows = fitting.fold(RoaringBitmap::new(), |all, (_, rows)| all | rows);
            may_hold &= rows;
        }
        &self.known - may_hold
    }

    /// The words of each row.
    pub(crate) fn by_row(&self, n_rows: usize) -> Vec<Vec<Arc<str>>> {
        by_row(self.words.iter(), n_rows)
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.bytes(self.topic.as_bytes());
        out.number(self.words.len() as u64);
        for (word, rows) in &self.words {
            out.bytes(word.as_bytes());
            encode_list(out, rows);
        }
        encode_list(out, &self.known);
    }

    pub(crate) fn decode(from: &mut Decoder<'_>) -> Result<Self, CodecError> {
        let topic = from.text()?.into();
        let words = (0..from.count()?)
            .map(|_| Ok((from.text()?.into(), decode_list(from.bytes()?)?)))
            .collect::<Result<_, CodecError>>()?;
        Ok(Self { topic, words, known: decode_list(from.bytes()?)? })
    }
}

/// The positions of one topic: for each cell the rows that have one in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowsWithCells {
    pub(crate) topic: Arc<str>,
    /// Of the position.
    pub(crate) path: Arc<str>,
    cells: BTreeMap<Cell, RoaringBitmap>,
    /// The rows all of whose cells are known.
    known: RoaringBitmap,
}

impl RowsWithCells {
    pub(crate) fn new(topic: Arc<str>, path: Arc<str>) -> Self {
        Self { topic, path, ..Self::default() }
    }

    /// Adds a row; it is larger than all before.
    pub(crate) fn add(&mut self, row: u32, of: &Cells) {
        self.known.insert(row);
        for cell in &of.cells {
            self.cells.entry(*cell).or_default().insert(row);
        }
    }

    pub(crate) fn finish(&mut self) {
        self.known.optimize();
        self.cells.values_mut().for_each(|rows| {
            rows.optimize();
        });
    }

    /// The rows of which it is known that no position lies in a circle.
    pub(crate) fn without(&self, x_m: f64, y_m: f64, radius_m: f64) -> RoaringBitmap {
        let ((left, bottom), (right, top)) = cells_near(x_m, y_m, radius_m);
        let mut near = RoaringBitmap::new();
        for ((_, y), rows) in self.cells.range((left, i32::MIN)..=(right, i32::MAX)) {
            if (bottom..=top).contains(y) {
                near |= rows;
            }
        }
        &self.known - near
    }

    /// The cells of each row.
    pub(crate) fn by_row(&self, n_rows: usize) -> Vec<Vec<Cell>> {
        by_row(self.cells.iter(), n_rows)
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.bytes(self.topic.as_bytes());
        out.bytes(self.path.as_bytes());
        out.number(self.cells.len() as u64);
        for ((x, y), rows) in &self.cells {
            out.0.extend_from_slice(&x.to_le_bytes());
            out.0.extend_from_slice(&y.to_le_bytes());
            encode_list(out, rows);
        }
        encode_list(out, &self.known);
    }

    pub(crate) fn decode(from: &mut Decoder<'_>) -> Result<Self, CodecError> {
        let (topic, path) = (from.text()?.into(), from.text()?.into());
        let cells = (0..from.count()?)
            .map(|_| {
                let cell = (i32::from_le_bytes(from.fixed()?), i32::from_le_bytes(from.fixed()?));
                Ok((cell, decode_list(from.bytes()?)?))
            })
            .collect::<Result<_, CodecError>>()?;
        Ok(Self { topic, path, cells, known: decode_list(from.bytes()?)? })
    }
}

/// What each row holds, in the order of `all`.
fn by_row<'a, T: Clone + 'a>(
    all: impl Iterator<Item = (&'a T, &'a RoaringBitmap)>,
    n_rows: usize,
) -> Vec<Vec<T>> {
    let mut held: Vec<Vec<T>> = vec![Vec::new(); n_rows];
    for (item, rows) in all {
        for row in rows {
            if let Some(of_row) = held.get_mut(row as usize) {
                of_row.push(item.clone());
            }
        }
    }
    held
}
