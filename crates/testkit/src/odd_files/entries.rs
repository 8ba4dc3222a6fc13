//! The entries themselves.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
};

use super::{Made, ODD_TOPICS, OddFile, OddMessage, OddPlace, damage::whole_messages};
use crate::{
    bags::{Compression, Layout, TestChannel, TestMessage, bag_bytes},
    content::{Content, Kind},
    mcap_bytes::{
        Span,
        records::{MAGIC, lying_record, op, record, text},
        spans,
    },
    payload::ByteOrder,
    prng::Prng,
};

/// Messages in each odd bag.
const MESSAGES: u64 = 12;

/// Writes all odd entries into `place.dir` and says what each is.
///
/// Some are readable by root alone, or for root not at all different from a bag; the lists of what
/// may be served hold either way.
///
/// # Errors
///
/// When an entry cannot be made.
pub fn write_odd_files(place: &OddPlace<'_>) -> io::Result<Vec<OddFile>> {
    let mut maker = Maker { place: *place, made: Vec::new() };
    maker.foreign_files()?;
    maker.cut_bags()?;
    maker.bad_ends()?;
    maker.bad_records()?;
    maker.odd_names()?;
    maker.not_files()?;
    maker.links()?;
    Ok(maker.made)
}

struct Maker<'a> {
    place: OddPlace<'a>,
    made: Vec<OddFile>,
}

/// A whole bag that an entry is then made from.
struct OddBag {
    bytes: Vec<u8>,
    topic: String,
    recorded: Vec<OddMessage>,
}

impl Maker<'_> {
    fn foreign_files(&mut self) -> Made {
        let mut noise = Prng::new(40);
        let random: Vec<u8> = (0..512).flat_map(|_| noise.next_u64().to_le_bytes()).collect();
        let lfs = "version https://git-lfs.github.com/spec/v1\n\
                   oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n\
                   size 12345678\n";
        let html = "<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n";
        self.junk("empty.mcap", "an empty file", b"")?;
        self.junk("text.mcap", "plain text", b"notes about the run\n")?;
        self.junk("html.mcap", "a page of a failed download", html.as_bytes())?;
        self.junk("lfs.mcap", "a pointer of a large-file store", lfs.as_bytes())?;
        self.junk("zeros.mcap", "only zeros", &[0; 4_096])?;
        self.junk("random.mcap", "random bytes", &random)?;
        self.junk(
            "core.mcap",
            "a core dump",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0\x3e\0",
        )?;
        self.junk("one_byte.mcap", "a single byte", b"\x89")?;
        self.junk("half_magic.mcap", "half of the magic", b"\x89MCA")?;
        self.junk("magic.mcap", "the magic and no more", &MAGIC)?;
        self.junk("two_magics.mcap", "both magics and nothing between", &[MAGIC, MAGIC].concat())?;
        self.junk("not_a_database.db3", "text named as a database", b"SELECT 1;\n")?;
        self.junk(
            "database_head.db3",
            "the head of a database",
            b"SQLite format 3\0\x10\0\x01\x01",
        )?;
        self.junk("ros1_head.bag", "the first line of a ROS 1 bag", b"#ROSBAG V2.0\n")?;
        self.junk("broken_run/metadata.yaml", "broken YAML", b"rosbag2_bagfile_information: [{\n")?;
        self.junk("notes.txt", "a file of another name", b"hello\n")
    }

    fn cut_bags(&mut self) -> Made {
        let none = Layout { chunk_bytes: 200, ..Layout::default() };
        let layouts = [
            ("plain", none),
            ("zstd", Layout { compression: Compression::Zstd, ..none }),
            ("lz4", Layout { compression: Compression::Lz4, ..none }),
            ("loose", Layout { chunked: false, ..none }),
        ];
        for (name, layout) in layouts {
            for eighth in 1..8 {
                let bag = self.bag(&format!("cut_{name}_{eighth}"), &layout)?;
                let cut = bag.bytes.len() * eighth / 8;
                self.cut(&format!("cut_{name}_{eighth}.mcap"), "cut somewhere", bag, cut)?;
            }
            let bag = self.bag(&format!("no_end_{name}"), &layout)?;
            let cut = bag.bytes.len() - MAGIC.len();
            self.cut(&format!("no_end_{name}.mcap"), "without the last magic", bag, cut)?;
        }
        let bag = self.bag("active", &none)?;
        let cut = bag.bytes.len() / 2;
        self.cut("active.mcap.active", "cut while it was being written", bag, cut)
    }

    fn bad_ends(&mut self) -> Made {
        let layout = Layout { chunk_bytes: 200, ..Layout::default() };
        for (name, what, filler) in [
            ("zero_tail", "zeros from the end of the data on", 0),
            ("ones_tail", "bytes of ones from the end of the data on", 0xFF),
            ("noise_tail", "text from the end of the data on", b'#'),
        ] {
            let mut bag = self.bag(name, &layout)?;
            let cut = end_of_data(&bag.bytes);
            bag.bytes.truncate(cut);
            bag.bytes.resize(cut + 5_000, filler);
            let whole = bag.recorded.len();
            self.keep(format!("{name}.mcap"), what, bag, whole)?;
        }
        let mut bag = self.bag("after_end", &layout)?;
        bag.bytes.extend_from_slice(&[0xAB; 300]);
        let whole = bag.recorded.len();
        self.keep("after_end.mcap", "bytes after the last magic", bag, whole)?;

        let mut bag = self.bag("footer_outside", &layout)?;
        let footer = bag.bytes.len() - MAGIC.len() - 20;
        overwrite(&mut bag.bytes, footer, &(1_u64 << 40).to_le_bytes());
        self.keep("footer_outside.mcap", "a footer that points behind the file", bag, 0)?;

        let mut bag = self.bag("footer_self", &layout)?;
        let at = (footer_start(&bag.bytes) as u64).to_le_bytes();
        let footer = bag.bytes.len() - MAGIC.len() - 20;
        overwrite(&mut bag.bytes, footer, &at);
        self.keep("footer_self.mcap", "a footer that points at itself", bag, 0)?;

        let mut bag = self.bag("wrong_magic", &layout)?;
        overwrite(&mut bag.bytes, 4, b"?");
        self.keep("wrong_magic.mcap", "a wrong byte in the first magic", bag, 0)
    }

    /// Each follows on a few whole messages, which a reader may still serve.
    fn bad_records(&mut self) -> Made {
        let gib_64 = (64_u64 << 30).to_le_bytes();
        let chunk = |size: [u8; 8], compression: &str, stored: u64| {
            let mut content = [0_u8; 16].to_vec();
            content.extend_from_slice(&size);
            content.extend_from_slice(&[0; 4]);
            content.extend(text(compression));
            content.extend_from_slice(&stored.to_le_bytes());
            content.extend_from_slice(&[0x28, 0xB5, 0x2F, 0xFD]);
            record(op::CHUNK, &content)
        };
        let small = 64_u64.to_le_bytes();
        let long_schema = [&[1, 0], &u32::MAX.to_le_bytes()[..], b"std_msgs"].concat();
        self.bad_record(
            "length_max",
            "a message of 2^64-1 bytes",
            &lying_record(op::MESSAGE, u64::MAX, b"x"),
        )?;
        self.bad_record(
            "length_63",
            "a header of 2^63 bytes",
            &lying_record(op::HEADER, 1 << 63, b"x"),
        )?;
        self.bad_record(
            "length_tib",
            "a chunk of 2^40 bytes",
            &lying_record(op::CHUNK, 1 << 40, &[0; 40]),
        )?;
        self.bad_record("bomb", "a chunk that inflates to 64 GiB", &chunk(gib_64, "zstd", 4))?;
        self.bad_record("bomb_lz4", "an lz4 chunk of 64 GiB", &chunk(gib_64, "lz4", 4))?;
        self.bad_record("bomb_none", "a plain chunk of 64 GiB", &chunk(gib_64, "", 4))?;
        self.bad_record("stored_max", "2^64-1 stored bytes", &chunk(small, "zstd", u64::MAX))?;
        self.bad_record("bad_frame", "a chunk that does not inflate", &chunk(small, "zstd", 4))?;
        self.bad_record("compression", "an unknown compression", &chunk(small, "rar", 4))?;
        self.bad_record("name_max", "a name of 2^32-1 bytes", &record(op::SCHEMA, &long_schema))?;
        self.bad_record("short", "a message record of 3 bytes", &record(op::MESSAGE, b"abc"))?;
        self.bad_record("opcode_0", "a record of opcode zero", &record(0, b""))
    }

    fn odd_names(&mut self) -> Made {
        let layout = Layout::default();
        let long = format!("{}.mcap", "n".repeat(250));
        for (path, what, name) in [
            (long.as_str(), "a name of 255 bytes", "long_name"),
            ("b\u{f6}gen_\u{65e5}\u{672c}.mcap", "a name beyond ASCII", "unicode"),
            ("%2e%2e%2fup.mcap", "a name with escapes", "percent"),
            ("two words.mcap", "a name with a space", "space"),
        ] {
            let bag = self.bag(name, &layout)?;
            let whole = bag.recorded.len();
            self.keep(path, what, bag, whole)?;
        }
        let not_text = OsStr::from_bytes(b"not_\xff_text.mcap");
        for (path, what, name) in [
            (OsStr::new(".hidden.mcap"), "a hidden file", "hidden"),
            (OsStr::new("new\nline.mcap"), "a name of two lines", "newline"),
            (not_text, "a name that is not text", "not_text"),
            (OsStr::new("copy.mcap.part"), "a copy in progress, by its name", "part"),
        ] {
            let bag = self.bag(name, &layout)?;
            self.keep(path, what, bag, 0)?;
        }
        Ok(())
    }

    fn not_files(&mut self) -> Made {
        let path = self.place.dir.join("folder.mcap");
        fs::create_dir(path)?;
        self.note("folder.mcap", "a folder named as a bag");

        let path = self.place.dir.join("pipe.mcap");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0)?;
        self.note("pipe.mcap", "a FIFO, whose opening blocks");

        // The name stays when the listener closes.
        drop(UnixListener::bind(self.place.dir.join("socket.mcap"))?);
        self.note("socket.mcap", "a socket");

        let bag = self.bag("locked", &Layout::default())?;
        self.keep("locked.mcap", "a file that nobody may read", bag, 0)?;
        let locked = self.place.dir.join("locked.mcap");
        fs::set_permissions(locked, fs::Permissions::from_mode(0o000))
    }

    fn links(&mut self) -> Made {
        let dir = self.place.dir;
        let bag = self.bag("outside", &Layout::default())?;
        let far = self.place.outside.join("far.mcap");
        fs::write(&far, &bag.bytes)?;
        for (path, what, target) in [
            ("link_out.mcap", "a link to a bag outside", far.as_path()),
            ("link_dir", "a link to a folder outside", self.place.outside),
            ("link_loop.mcap", "a link to itself", Path::new("link_loop.mcap")),
            ("link_up", "a link to the directory itself", dir),
            ("link_none.mcap", "a link to nothing", Path::new("gone.mcap")),
            ("link_device.mcap", "a link to an endless device", Path::new("/dev/zero")),
        ] {
            symlink(target, dir.join(path))?;
            self.note(path, what);
        }
        // Nothing of it may be served, so its list is empty; a test that finds the topic has
        // found a way out of the directory.
        if let Some(link) = self.made.iter_mut().find(|odd| odd.path == Path::new("link_out.mcap"))
        {
            link.topic = bag.topic;
        }
        Ok(())
    }

    /// A bag with a topic of its own, its times spread over the range of the place.
    fn bag(&self, name: &str, layout: &Layout) -> io::Result<OddBag> {
        let topic = format!("{ODD_TOPICS}{name}");
        let (first_ns, last_ns) = (self.place.first_ns, self.place.last_ns);
        let step_ns = (last_ns - first_ns) / MESSAGES;
        let recorded: Vec<OddMessage> = (0..MESSAGES)
            .map(|n| OddMessage {
                log_time_ns: first_ns + n * step_ns,
                text: format!("message {n} of {name}, and some words to fill the chunk"),
            })
            .collect();
        let messages: Vec<TestMessage> = (0..)
            .zip(&recorded)
            .map(|(sequence, message)| TestMessage {
                channel: 1,
                log_time_ns: message.log_time_ns,
                publish_time_ns: message.log_time_ns,
                sequence,
                payload: Content::Text(message.text.clone()).payload(ByteOrder::Little, 0),
            })
            .collect();
        let channel = TestChannel {
            id: 1,
            topic: topic.clone(),
            type_name: Kind::Text.type_name().to_owned(),
            definition: Kind::Text.definition().to_owned(),
            latched: false,
        };
        Ok(OddBag { bytes: bag_bytes(&[channel], &messages, layout)?, topic, recorded })
    }

    fn bad_record(&mut self, name: &str, what: &'static str, bad: &[u8]) -> Made {
        let mut bag = self.bag(name, &Layout { chunked: false, ..Layout::default() })?;
        let whole: Vec<Span> = spans(&bag.bytes)
            .into_iter()
            .filter(|span| span.opcode == op::MESSAGE)
            .take(3)
            .collect();
        bag.bytes.truncate(whole.last().map_or(0, |span| span.end));
        bag.bytes.extend_from_slice(bad);
        bag.recorded.truncate(whole.len());
        self.keep(format!("{name}.mcap"), what, bag, 0)
    }

    fn cut(&mut self, path: &str, what: &'static str, mut bag: OddBag, cut: usize) -> Made {
        let whole = whole_messages(&bag.bytes, cut);
        bag.bytes.truncate(cut);
        self.keep(path, what, bag, whole)
    }

    fn keep(
        &mut self,
        path: impl AsRef<Path>,
        what: &'static str,
        bag: OddBag,
        must_serve: usize,
    ) -> Made {
        let path = path.as_ref().to_owned();
        fs::write(self.place.dir.join(&path), &bag.bytes)?;
        let OddBag { topic, recorded, .. } = bag;
        self.made.push(OddFile { path, what, topic, recorded, must_serve });
        Ok(())
    }

    fn junk(&mut self, path: &str, what: &'static str, bytes: &[u8]) -> Made {
        let full = self.place.dir.join(path);
        if let Some(folder) = full.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::File::create(full)?.write_all(bytes)?;
        self.note(path, what);
        Ok(())
    }

    fn note(&mut self, path: &str, what: &'static str) {
        self.made.push(OddFile {
            path: PathBuf::from(path),
            what,
            topic: String::new(),
            recorded: Vec::new(),
            must_serve: 0,
        });
    }
}

/// Where the record that ends the data section begins.
fn end_of_data(file: &[u8]) -> usize {
    start_of(file, op::DATA_END)
}

fn footer_start(file: &[u8]) -> usize {
    start_of(file, op::FOOTER)
}

fn start_of(file: &[u8], opcode: u8) -> usize {
    spans(file).iter().find(|span| span.opcode == opcode).map_or(file.len(), |span| span.start)
}

fn overwrite(file: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = file.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}
