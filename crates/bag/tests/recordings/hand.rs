//! Files put together record by record, so that each part can be wrong.
//!
//! Source: the MCAP format specification, "Records".

use mcap::records::op;

/// A file that grows at its end.
#[derive(Debug, Clone)]
pub(crate) struct Hand(pub(crate) Vec<u8>);

/// A record that says the truth about its length.
pub(crate) fn record(opcode: u8, body: &[u8]) -> Vec<u8> {
    lying_record(opcode, body.len() as u64, body)
}

/// A record that says `length`, whatever its body holds.
pub(crate) fn lying_record(opcode: u8, length: u64, body: &[u8]) -> Vec<u8> {
    [&[opcode], &length.to_le_bytes()[..], body].concat()
}

fn text(text: &str) -> Vec<u8> {
    [&u32::try_from(text.len()).unwrap().to_le_bytes()[..], text.as_bytes()].concat()
}

pub(crate) fn schema(id: u16, name: &str, encoding: &str, definition: &str) -> Vec<u8> {
    let body = [&id.to_le_bytes()[..], &text(name), &text(encoding), &text(definition)].concat();
    record(op::SCHEMA, &body)
}

pub(crate) fn channel(id: u16, schema: u16, topic: &str, encoding: &str) -> Vec<u8> {
    let ids = [id.to_le_bytes(), schema.to_le_bytes()].concat();
    record(op::CHANNEL, &[ids, text(topic), text(encoding), vec![0; 4]].concat())
}

/// A message whose sequence and publish time follow from its log time.
pub(crate) fn message(channel: u16, log_time_ns: u64, payload: &[u8]) -> Vec<u8> {
    let fixed = [
        &channel.to_le_bytes()[..],
        &0u32.to_le_bytes(),
        &log_time_ns.to_le_bytes(),
        &log_time_ns.to_le_bytes(),
    ];
    record(op::MESSAGE, &[&fixed.concat()[..], payload].concat())
}

/// The fields of a chunk as they are to stand in the file.
#[derive(Debug, Clone)]
pub(crate) struct HandChunk {
    pub(crate) uncompressed_size: u64,
    pub(crate) crc: u32,
    pub(crate) compression: &'static str,
    pub(crate) stored_size: u64,
    pub(crate) stored: Vec<u8>,
}

impl HandChunk {
    pub(crate) fn plain(records: Vec<u8>) -> Self {
        let size = records.len() as u64;
        let crc = crc32fast::hash(&records);
        Self { uncompressed_size: size, crc, compression: "", stored_size: size, stored: records }
    }

    pub(crate) fn zstd(records: &[u8]) -> Self {
        let stored = zstd::bulk::compress(records, 3).unwrap();
        Self {
            compression: "zstd",
            stored_size: stored.len() as u64,
            stored,
            ..Self::plain(records.to_vec())
        }
    }

    pub(crate) fn record(&self) -> Vec<u8> {
        let body = [
            &[0; 16][..],
            &self.uncompressed_size.to_le_bytes(),
            &self.crc.to_le_bytes(),
            &text(self.compression),
            &self.stored_size.to_le_bytes(),
            &self.stored,
        ];
        record(op::CHUNK, &body.concat())
    }
}

impl Hand {
    pub(crate) fn new() -> Self {
        let header = [text("ros2"), text("by hand")].concat();
        Self([mcap::MAGIC, &record(op::HEADER, &header)].concat())
    }

    /// Appends a record and returns where it starts.
    pub(crate) fn put(&mut self, record: &[u8]) -> u64 {
        let start = self.0.len() as u64;
        self.0.extend_from_slice(record);
        start
    }

    /// A schema and two channels, `/a` as 1 and `/b` as 2.
    pub(crate) fn declare(&mut self) -> &mut Self {
        self.put(&schema(1, "std_msgs/msg/String", "ros2msg", "string data\n"));
        self.put(&channel(1, 1, "/a", "cdr"));
        self.put(&channel(2, 1, "/b", "cdr"));
        self
    }

    /// Ends the data and the file, with an index of these chunks when there are any.
    pub(crate) fn close(mut self, chunks: &[u64]) -> Vec<u8> {
        self.put(&record(op::DATA_END, &[0; 4]));
        let start = self.0.len() as u64;
        for chunk in chunks {
            let fields = [&[0; 16][..], &chunk.to_le_bytes(), &[0; 8 + 4 + 8 + 4 + 8 + 8]];
            self.put(&record(op::CHUNK_INDEX, &fields.concat()));
        }
        self.footer(if chunks.is_empty() { 0 } else { start })
    }

    /// Ends the file with a footer that points anywhere.
    pub(crate) fn footer(mut self, summary_start: u64) -> Vec<u8> {
        let body = [&summary_start.to_le_bytes()[..], &[0; 12]].concat();
        self.put(&record(op::FOOTER, &body));
        self.0.extend_from_slice(mcap::MAGIC);
        self.0
    }
}
