use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// What the next line of a stream is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// A line without its end, borrowed from the reader. The last one may lack its newline.
    Whole(&'a [u8]),
    /// A line over the limit; it was skipped.
    TooLong,
    /// The stream ended.
    End,
}

/// Reads lines of at most a given length, and never holds more of one.
pub(crate) struct LineReader<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    limit: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(input: R, limit: usize) -> Self {
        Self { input: BufReader::new(input), line: Vec::new(), limit }
    }

    /// Reads the next line.
    ///
    /// # Errors
    ///
    /// What the stream said.
    pub(crate) async fn next(&mut self) -> io::Result<Line<'_>> {
        self.line.clear();
        let mut is_too_long = false;
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(match (is_too_long, self.line.is_empty()) {
                    (true, _) => Line::TooLong,
                    (false, true) => Line::End,
                    (false, false) => Line::Whole(&self.line),
                });
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let part = end.and_then(|end| available.get(..end)).unwrap_or(available);
            if self.line.len().saturating_add(part.len()) > self.limit {
                is_too_long = true;
                // A line this long should not keep its memory until the end.
                self.line = Vec::new();
            }
            if !is_too_long {
                self.line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.input.consume(taken);
            if end.is_some() {
                return Ok(if is_too_long { Line::TooLong } else { Line::Whole(&self.line) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], limit: usize) -> Vec<String> {
        let mut reader = LineReader::new(input, limit);
        let mut out = Vec::new();
        loop {
            match reader.next().await.unwrap() {
                Line::Whole(line) => out.push(String::from_utf8(line.to_vec()).unwrap()),
                Line::TooLong => out.push("(too long)".into()),
                Line::End => return out,
            }
        }
    }

    #[tokio::test]
    async fn a_line_at_the_limit_is_whole_and_one_over_it_is_skipped() {
        assert_eq!(lines(b"four\nfives\nsix\n", 4).await, ["four", "(too long)", "six"]);
    }

    #[tokio::test]
    async fn the_last_line_needs_no_newline() {
        assert_eq!(lines(b"a\nb", 4).await, ["a", "b"]);
        assert_eq!(lines(b"a\nfives", 4).await, ["a", "(too long)"]);
    }

    #[tokio::test]
    async fn a_line_much_longer_than_the_buffer_is_skipped_once() {
        let mut input = vec![b'x'; 100_000];
        input.extend_from_slice(b"\nnext\n");
        assert_eq!(lines(&input, 20_000).await, ["(too long)", "next"]);
    }
}
