use super::Problem;

/// One token and the line it stands on, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) line: usize,
    /// Whether nothing stands between it and the token before it.
    pub(super) is_joined: bool,
    pub(super) kind: Kind<'t>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind<'t> {
    /// A name or a keyword.
    Word(&'t str),
    /// A number, as it is written.
    Number(&'t str),
    /// A text or character in quotes; what it says changes nothing on the wire.
    Quoted,
    /// `::`
    Scope,
    /// Any other sign.
    Sign(u8),
}

/// Splits a text into tokens. Comments, lines of the preprocessor and the lines between the
/// blocks of `ros2idl` are left out.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Problem> {
    let mut lexer = Lexer { text, at: 0, line: 1, is_line_start: true };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

/// No name in use comes near it; longer ones would be multiplied by the types that they stand in.
const MAX_NAME_LEN: usize = 256;

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    is_line_start: bool,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Result<Option<Token<'t>>, Problem> {
        let end_of_last = self.at;
        loop {
            let rest = self.rest();
            let Some(first) = rest.first() else { return Ok(None) };
            match first {
                b'\n' => {
                    self.at += 1;
                    self.line += 1;
                    self.is_line_start = true;
                }
                first if first.is_ascii_whitespace() => self.at += 1,
                b'#' if self.is_line_start => self.skip_line(),
                b'=' if self.is_line_start && rest.starts_with(b"===") => self.skip_line(),
                b'I' if self.is_line_start && rest.starts_with(b"IDL:") => self.skip_line(),
                b'/' if rest.starts_with(b"//") => self.skip_line(),
                b'/' if rest.starts_with(b"/*") => self.skip_block()?,
                _ => {
                    self.is_line_start = false;
                    let (line, is_joined) = (self.line, self.at == end_of_last);
                    let kind = self.kind()?;
                    return Ok(Some(Token { line, is_joined, kind }));
                }
            }
        }
    }

    fn skip_line(&mut self) {
        self.at += self.rest().iter().take_while(|byte| **byte != b'\n').count();
    }

    fn skip_block(&mut self) -> Result<(), Problem> {
        let end = self.rest().windows(2).skip(2).position(|pair| pair == b"*/");
        let len = end.ok_or((self.line, "a comment that does not end"))? + 4;
        self.pass(len);
        Ok(())
    }

    /// Moves over `len` bytes, counting lines.
    fn pass(&mut self, len: usize) {
        let passed = self.rest().get(..len).unwrap_or_default();
        self.line += passed.split(|byte| *byte == b'\n').count().saturating_sub(1);
        self.at += len;
    }

    fn kind(&mut self) -> Result<Kind<'t>, Problem> {
        let line = self.line;
        let rest = self.rest();
        let first = rest.first().copied().unwrap_or_default();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let kind = match first {
            b'"' | b'\'' => {
                let len = quoted_len(rest, first).ok_or((line, "a text that does not end"))?;
                self.pass(len);
                Kind::Quoted
            }
            b':' if rest.starts_with(b"::") => {
                self.at += 2;
                Kind::Scope
            }
            first if first.is_ascii_digit() || first == b'.' => {
                let len = number_len(rest);
                let number = self.text.get(self.at..self.at + len).unwrap_or_default();
                self.at += len;
                Kind::Number(number)
            }
            first if is_word(&first) => {
                let len = rest.iter().take_while(|byte| is_word(byte)).count();
                if len > MAX_NAME_LEN {
                    return Err((line, "a name that is too long"));
                }
                let word = self.text.get(self.at..self.at + len).unwrap_or_default();
                self.at += len;
                Kind::Word(word)
            }
            sign if sign.is_ascii_graphic() => {
                self.at += 1;
                Kind::Sign(sign)
            }
            _ => return Err((line, "a character that IDL does not have")),
        };
        Ok(kind)
    }
}

/// The length of a quoted text with its quotes, a backslash escaping the byte behind it.
fn quoted_len(rest: &[u8], quote: u8) -> Option<usize> {
    let mut is_escaped = false;
    let inside = rest.iter().skip(1).position(|byte| {
        let ends = *byte == quote && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    })?;
    Some(inside + 2)
}

/// The length of a number, its exponent's sign included.
fn number_len(rest: &[u8]) -> usize {
    let mut last = 0u8;
    let is_hex = rest.starts_with(b"0x") || rest.starts_with(b"0X");
    rest.iter()
        .take_while(|byte| {
            let is_exponent_sign =
                matches!(byte, b'+' | b'-') && matches!(last, b'e' | b'E') && !is_hex;
            last = **byte;
            byte.is_ascii_alphanumeric() || **byte == b'.' || is_exponent_sign
        })
        .count()
}
