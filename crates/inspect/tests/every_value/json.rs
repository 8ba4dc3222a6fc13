//! JSON with its numbers as they are written, so that nothing is rounded in between.
//!
//! Source: RFC 8259.

/// A JSON value; its numbers are still text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json<'t> {
    Null,
    Bool(bool),
    Number(&'t str),
    Text(String),
    List(Vec<Self>),
    /// In the order in which they stand there.
    Map(Vec<(String, Self)>),
}

impl<'t> Json<'t> {
    /// Reads one value that fills the text. Text that is not JSON fails the test.
    pub(crate) fn read(text: &'t str) -> Self {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value();
        reader.blanks();
        assert_eq!(reader.at, text.len(), "something behind a value");
        value
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Map(fields) = self else { return None };
        fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Self::Text(text)) => text,
            other => panic!("{name} is {other:?} and no text"),
        }
    }

    /// A whole number, written as number or as text.
    pub(crate) fn number(&self, name: &str) -> u64 {
        let digits = match self.get(name) {
            Some(Self::Number(digits)) => *digits,
            _ => self.text(name),
        };
        digits.parse().unwrap()
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\n', '\t']).len();
    }

    fn eat(&mut self, sign: &str) -> bool {
        self.blanks();
        let is_there = self.rest().starts_with(sign);
        self.at += if is_there { sign.len() } else { 0 };
        is_there
    }

    fn expect(&mut self, sign: &str) {
        let rest = self.rest();
        assert!(self.eat(sign), "{sign} expected in front of {rest:.40}");
    }

    fn value(&mut self) -> Json<'t> {
        self.blanks();
        match self.rest().as_bytes().first() {
            Some(b'{') => self.map(),
            Some(b'[') => self.list(),
            Some(b'"') => Json::Text(self.string()),
            _ if self.eat("null") => Json::Null,
            _ if self.eat("true") => Json::Bool(true),
            _ if self.eat("false") => Json::Bool(false),
            _ => self.number(),
        }
    }

    fn map(&mut self) -> Json<'t> {
        self.expect("{");
        let mut fields = Vec::new();
        while !self.eat("}") {
            if !fields.is_empty() {
                self.expect(",");
                self.blanks();
            }
            let name = self.string();
            self.expect(":");
            fields.push((name, self.value()));
        }
        Json::Map(fields)
    }

    fn list(&mut self) -> Json<'t> {
        self.expect("[");
        let mut items = Vec::new();
        while !self.eat("]") {
            if !items.is_empty() {
                self.expect(",");
            }
            items.push(self.value());
        }
        Json::List(items)
    }

    fn number(&mut self) -> Json<'t> {
        let rest = self.rest();
        let len =
            rest.len() - rest.trim_start_matches(|c: char| "+-.eE0123456789".contains(c)).len();
        assert!(rest[..len].parse::<f64>().is_ok(), "no value: {rest:.40}");
        self.at += len;
        Json::Number(&rest[..len])
    }

    fn string(&mut self) -> String {
        self.expect("\"");
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let len = rest.find(['"', '\\']).unwrap();
            text.push_str(&rest[..len]);
            self.at += len + 1;
            if rest.as_bytes()[len] == b'"' {
                return text;
            }
            text.push(self.escaped());
        }
    }

    /// The character behind a backslash.
    fn escaped(&mut self) -> char {
        let sign = self.rest().chars().next().unwrap();
        self.at += sign.len_utf8();
        match sign {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let mut units = vec![self.unit()];
                if (0xD800..0xDC00).contains(&units[0]) {
                    self.expect("\\u");
                    units.push(self.unit());
                }
                let text = String::from_utf16(&units).unwrap();
                text.chars().next().unwrap()
            }
            plain => plain,
        }
    }

    fn unit(&mut self) -> u16 {
        let digits = &self.rest()[..4];
        self.at += 4;
        u16::from_str_radix(digits, 16).unwrap()
    }
}

#[test]
fn numbers_keep_their_text_and_texts_lose_their_escapes() {
    let read =
        Json::read(r#" {"a": [1, -2.50e-3, null, true], "b": "x\"\\\n\u00e9\ud83d\ude00"} "#);
    let numbers = vec![Json::Number("1"), Json::Number("-2.50e-3"), Json::Null, Json::Bool(true)];
    assert_eq!(read.get("a"), Some(&Json::List(numbers)));
    assert_eq!(read.text("b"), "x\"\\\n\u{e9}\u{1f600}");
    assert_eq!(Json::read("[]"), Json::List(Vec::new()));
    assert_eq!(Json::read("{}"), Json::Map(Vec::new()));
}
