"""What Python's readers find in every MCAP file of a folder, message by message, as JSON lines.

    python expected.py FOLDER OUT

The records come from `mcap`'s stream reader, in file order, so that a file which ends early gives
what stands in front. Values come from `rosbags` by the definition that the file carries; where
`rosbags` does not take the definition, from `mcap-ros2-support`; JSON from `json`.

Lines are of three kinds:

    {"file", "stopped"}                       where the reader gave up, and what it said
    {"file", "topic", "count", "undecoded"}   messages without a value, and why
    {"file", "topic", "log_time_ns", "publish_time_ns", "sequence", "value"}

A value holds fields alone, no constants of its type. What JSON does not tell apart is tagged:

    {"$f32": number or list}   singles, as the double that equals each
    {"$bytes": base64}         arrays of bytes
    {"$chars": base64}         arrays of `char` of an IDL file
    "$nan", "$inf", "$-inf"    numbers that are not finite; other texts that start with a dollar
                               get one more in front

Where these decoders differ from what the types mean, this mends it:

- `byte` is an octet in ROS 2; `rosbags` reads it signed, which is right for ROS 1 alone.
- A field that is a Python keyword is read under its name with an underscore behind.
- An empty message has `structure_needs_at_least_one_member`, since C has no empty struct; it says
  nothing, and is left out.
- The times of ROS 1 have unsigned seconds and its durations signed nanoseconds; `rosbags` reads
  both as those of ROS 2.
- The definition of a service's events is its request and its response with `---` between; the
  type of the messages is put together here as `rosidl` does.
- `rosbags` does not take the `#include` lines that `rosidl` writes; they are left out here.
- DDS Recorder puts `fastdds/` in front of the names of definitions, and has types without a
  package; both get names that the parsers take.
- `mcap-ros2-support` reads `char` and the seconds of a `Time` with the wrong sign; nothing read
  through it may have those.
"""

import base64
import io
import json
import keyword
import math
import re
import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy
import zstandard
from mcap.exceptions import McapError
from mcap.records import Channel, Message, Schema
from mcap.stream_reader import StreamReader
from mcap_ros2._dynamic import generate_dynamic
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

BYTES = ("uint8", "byte", "char")
SEPARATOR = "=" * 80 + "\n"
FILLER = "structure_needs_at_least_one_member"
SHARED = (
    "builtin_interfaces/msg/Time",
    "builtin_interfaces/msg/Duration",
    "service_msgs/msg/ServiceEventInfo",
)


class Undecodable(Exception):
    pass


def floating(number):
    if math.isnan(number):
        return "$nan"
    if math.isinf(number):
        return "$inf" if number > 0 else "$-inf"
    return number


def text(value):
    return "$" + value if value.startswith("$") else value


class Typed:
    """Values of one type of `rosbags` as JSON."""

    def __init__(self, store, name, is_ros1, is_idl):
        self.store, self.name, self.is_ros1, self.is_idl = store, name, is_ros1, is_idl

    def __call__(self, data):
        read = self.store.deserialize_ros1 if self.is_ros1 else self.store.deserialize_cdr
        return self.message(read(data, self.name), self.name)

    def message(self, message, name):
        fields = {}
        for field, kind in self.store.fielddefs[name][1]:
            if field == FILLER:
                continue
            plain = field[:-1] if field.endswith("_") and keyword.iskeyword(field[:-1]) else field
            attribute = f"{plain}_" if keyword.iskeyword(plain) else field
            fields[plain] = self.value(getattr(message, attribute), kind)
        if self.is_ros1 and name == "builtin_interfaces/msg/Time":
            fields["sec"] &= 0xFFFFFFFF
        if self.is_ros1 and name == "builtin_interfaces/msg/Duration":
            fields["nanosec"] -= (fields["nanosec"] & 0x80000000) << 1
        return fields

    def value(self, value, kind):
        node, inner = kind
        if node == Nodetype.NAME:
            return self.message(value, inner)
        if node == Nodetype.BASE:
            return self.scalar(value, inner[0])
        (of, element), _ = inner
        if of == Nodetype.NAME:
            return [self.message(item, element) for item in value]
        return self.list(value, element[0])

    def scalar(self, value, base):
        if base == "string":
            return text(value)
        if base == "bool":
            return bool(value)
        if base == "float32":
            return {"$f32": floating(float(value))}
        if base == "float64":
            return floating(float(value))
        if base == "byte" and not self.is_ros1:
            return int(value) & 0xFF
        if base == "char" and self.is_idl:
            return {"$chars": base64.b64encode(bytes([value & 0xFF])).decode()}
        return int(value)

    def list(self, values, base):
        if base == "string":
            return [text(value) for value in values]
        if base in BYTES and not (base == "byte" and self.is_ros1):
            octets = numpy.asarray(values).astype(numpy.uint8).tobytes()
            tag = "$chars" if base == "char" and self.is_idl else "$bytes"
            return {tag: base64.b64encode(octets).decode()}
        numbers = numpy.asarray(values).tolist()
        if base in ("float32", "float64"):
            numbers = [floating(number) for number in numbers]
        elif base == "bool":
            numbers = [bool(number) for number in numbers]
        return {"$f32": numbers} if base == "float32" else numbers


def untyped(value):
    """A value of `mcap-ros2-support`."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float):
        return floating(value)
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bytes": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, (list, tuple)) or type(value).__name__ == "array":
        return [untyped(item) for item in value]
    return {name: untyped(item) for name, item in vars(value).items()}


def plain_json(value):
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float):
        return floating(value)
    if isinstance(value, list):
        return [plain_json(item) for item in value]
    if isinstance(value, dict):
        return {name: plain_json(item) for name, item in value.items()}
    return value


def types_of_msg(name, definition):
    """The types of a concatenated definition, and the name of the first."""
    root = name if "/" in name else f"plain/msg/{name}"
    root = root if root.count("/") == 2 else root.replace("/", "/msg/", 1)
    if "/srv/" in root:
        return types_of_events(root, definition)
    folder = root.rsplit("/", 1)[0]

    def header(match):
        other = match[1].removeprefix("fastdds/")
        return "MSG: " + (other if "/" in other else f"{folder}/{other}")

    definition = re.sub(r"^MSG: (\S+)", header, definition.replace("\r\n", "\n"), flags=re.M)
    definition = re.sub(r"^=+$", SEPARATOR.strip(), definition, flags=re.M)
    first, *others = definition.split(SEPARATOR)
    types = dict(msg_types(first, root))
    for other in others:
        header, _, body = other.partition("\n")
        types.update(msg_types(body, header.removeprefix("MSG: ").strip()))
    return types, root


def types_of_events(root, definition):
    package, _, name = root.split("/")
    service = name.removesuffix("_Event")
    if name == service or definition.count("---\n") != 1:
        raise Undecodable(f"no definition of the events of a service: {root}")
    folder = f"{package}_srv/msg"
    types = {}
    for part, body in zip(("Request", "Response"), definition.split("---\n")):
        types.update(get_types_from_msg(body, f"{folder}/{service}_{part}"))
    event = (
        "service_msgs/ServiceEventInfo info\n"
        f"{service}_Request[<=1] request\n{service}_Response[<=1] response\n"
    )
    types.update(get_types_from_msg(event, f"{folder}/{name}"))
    return types, f"{folder}/{name}"


@lru_cache(maxsize=None)
def idl_types(text):
    return get_types_from_idl(text)


@lru_cache(maxsize=None)
def msg_types(text, name):
    return get_types_from_msg(text, name)


def types_of_idl(name, definition):
    definition = re.sub(r"^#.*", "", definition.replace("\r\n", "\n"), flags=re.M)
    parts = re.split(r"^=+\nIDL: \S+\n", definition, flags=re.M)
    root = name.replace("::", "/")
    types = {}
    for part in filter(str.strip, parts):
        if "/" not in root:
            part = "module plain { module msg {\n" + part + "\n}; };"
        types.update(idl_types(part))
    return types, root if "/" in root else f"plain/msg/{root}"


def typed(schema, definition):
    is_idl = schema.encoding in ("ros2idl", "omgidl")
    types, root = (types_of_idl if is_idl else types_of_msg)(schema.name, definition)
    store, shared = get_typestore(Stores.EMPTY), get_typestore(Stores.ROS2_JAZZY)
    missing = {name: shared.fielddefs[name] for name in SHARED if name not in types}
    store.register(missing | types)
    is_ros1 = schema.encoding == "ros1msg"
    return Typed(store, root, is_ros1, is_idl)


def dynamic(schema, definition):
    if re.search(r"^\s*(char|time|duration|builtin_interfaces)\b", definition, flags=re.M):
        raise Undecodable("mcap-ros2-support reads char and Time with the wrong sign")
    decode = generate_dynamic(schema.name, definition)[schema.name]
    return lambda data: untyped(decode(data))


def is_empty(name):
    """Whether a type of this name has no fields; the text of others was left out."""
    return name.endswith("/Empty")


MADE = {}


def decoders(channel, schema):
    """The ways to read a channel's messages, the best first."""
    if channel.message_encoding == "json":
        return [lambda data: plain_json(json.loads(data))]
    known = {"cdr": ("ros2msg", "ros2idl", "omgidl"), "ros1": ("ros1msg",)}
    encodings = known.get(channel.message_encoding, ())
    if schema is None or schema.encoding not in encodings:
        encoding = schema.encoding if schema else ""
        raise Undecodable(f"message encoding {channel.message_encoding!r}, schema {encoding!r}")
    definition = schema.data.decode()
    if not definition.strip() and schema.encoding == "ros2msg" and not is_empty(schema.name):
        raise Undecodable("the definition is empty")
    key = (schema.name, schema.encoding, definition)
    if key not in MADE:
        ways, problems = [], []
        for make in (typed, dynamic):
            try:
                ways.append(make(schema, definition))
                break
            except Exception as error:  # what a parser raises is its own affair
                problems.append(f"{make.__name__}: {type(error).__name__}: {error}"[:200])
            if schema.encoding != "ros2msg":
                break
        MADE[key] = (ways, "; ".join(problems))
    ways, problems = MADE[key]
    if not ways:
        raise Undecodable(problems)
    return ways


def read_file(path, name, out):
    def say(line):
        out.write(json.dumps({"file": name, **line}, allow_nan=False) + "\n")

    stored = path.read_bytes()
    if path.name.endswith(".zstd"):
        stored = zstandard.ZstdDecompressor().stream_reader(stored).read()
    schemas, channels, undecoded = {}, {}, Counter()
    try:
        for record in StreamReader(io.BytesIO(stored)).records:
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                channels[record.id] = record
            elif isinstance(record, Message):
                channel = channels[record.channel_id]
                try:
                    decode = decoders(channel, schemas.get(channel.schema_id))[0]
                    value = decode(record.data)
                except Undecodable as why:
                    undecoded[channel.topic, str(why)] += 1
                    continue
                except Exception as error:  # what a decoder raises is its own affair
                    undecoded[channel.topic, f"{type(error).__name__}: {error}"[:200]] += 1
                    continue
                say(
                    {
                        "topic": channel.topic,
                        "log_time_ns": record.log_time,
                        "publish_time_ns": record.publish_time,
                        "sequence": record.sequence,
                        "value": value,
                    }
                )
    except (McapError, EOFError) as error:
        say({"stopped": f"{type(error).__name__}: {error}"})
    for (topic, why), count in undecoded.items():
        say({"topic": topic, "count": count, "undecoded": why})


def main():
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    found = [*folder.rglob("*.mcap"), *folder.rglob("*.mcap.zstd")]
    with target.open("w") as out:
        for path in sorted(found):
            read_file(path, path.relative_to(folder).as_posix(), out)


if __name__ == "__main__":
    main()
