"""Writes recordings of every message type that `rosbags` knows, with random values.

    python made.py FOLDER SEED [IDL_FOLDER]

The same types stand there in each form that a definition can have in an MCAP file: `ros2msg` in
both byte orders, `ros1msg`, `ros2idl` as `rosidl` writes it, and `omgidl` as DDS Recorder does;
besides, JSON. `IDL_FOLDER` holds `PACKAGE/TYPE.idl` files that others generated.
"""

import json
import random
import re
import struct
import sys
from pathlib import Path

import numpy
from mcap.writer import CompressionType, Writer
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_idl, get_typestore

FILLER = "structure_needs_at_least_one_member"
START_NS = 1_750_000_000_000_000_000
MESSAGES = 3
SEPARATOR = "=" * 80
# No lone surrogates, since they are in no UTF-8.
SIGNS = 'abcXYZ 019_/\\"\'$\n\t\x00\x7f\u00e9\u65e5\u672c\U0001f600'
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
IDL = {
    "bool": "boolean",
    "byte": "octet",
    "char": "uint8",
    "float32": "float",
    "float64": "double",
    "string": "string",
}
OMG = {
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "long",
    "uint32": "unsigned long",
    "int64": "long long",
    "uint64": "unsigned long long",
}


class Values:
    """Random values of the types of a store."""

    def __init__(self, store, rng):
        self.store, self.rng = store, rng

    def message(self, name):
        fields = {}
        for (field, kind), attribute in zip(
            self.store.fielddefs[name][1], self.store.types[name].__dataclass_fields__
        ):
            fields[attribute] = 0 if field == FILLER else self.value(kind)
        return self.store.types[name](**fields)

    def value(self, kind):
        node, inner = kind
        if node == Nodetype.NAME:
            return self.message(inner)
        if node == Nodetype.BASE:
            return self.scalar(*inner)
        element, size = inner
        if node == Nodetype.SEQUENCE:
            longest = 4 if element[0] == Nodetype.NAME else 40
            size = self.rng.choice([0, 1, 2, min(size or longest, longest)])
        items = [self.value(element) for _ in range(size)]
        if element[0] == Nodetype.BASE and element[1][0] != "string":
            kinds = {"bool": "bool", "byte": "int8", "char": "uint8"}
            return numpy.array(items, dtype=kinds.get(element[1][0], element[1][0]))
        return items

    def scalar(self, base, bound=0):
        rng = self.rng
        if base == "string":
            size = rng.choice([0, 1, 2, 3, 4, 5, min(bound or 30, 30)])
            return "".join(rng.choice(SIGNS) for _ in range(size))
        if base == "bool":
            return rng.random() < 0.5
        if base in ("float32", "float64"):
            form, size = ("f", 4) if base == "float32" else ("d", 8)
            special = [0.0, -0.0, 0.1, 1e-310, float("inf"), float("-inf"), float("nan")]
            if rng.random() < 0.3:
                return struct.unpack(form, struct.pack(form, rng.choice(special)))[0]
            return struct.unpack(form, rng.randbytes(size))[0]
        base = {"byte": "int8", "char": "uint8"}.get(base, base)
        bits = BITS[base.removeprefix("u")]
        low, high = (0, 2**bits - 1) if base[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return rng.choice([low, high, 0, rng.randint(low, high), rng.randint(0, 9)])


class Recording:
    """One file; every message is a moment later than the last."""

    def __init__(self, path, profile, compression):
        self.file = path.open("wb")
        self.writer = Writer(self.file, chunk_size=64 << 10, compression=compression)
        self.writer.start(profile=profile, library="")
        self.n = 0

    def topic(self, topic, schema, encoding, payloads):
        name, form, text = schema
        schema_id = self.writer.register_schema(name, form, text.encode())
        channel = self.writer.register_channel(topic, encoding, schema_id)
        for payload in payloads:
            time = START_NS + self.n * 1_000_003
            self.writer.add_message(channel, time, bytes(payload), time - 7, self.n)
            self.n += 1

    def close(self):
        self.writer.finish()
        self.file.close()


def dependencies(store, name, known):
    """The types in a type, each behind those it has fields of."""
    for _, (node, inner) in store.fielddefs[name][1]:
        kind = (node, inner) if node in (Nodetype.NAME, Nodetype.BASE) else inner[0]
        if kind[0] == Nodetype.NAME and kind[1] not in known:
            dependencies(store, kind[1], known)
    if name not in known:
        known.append(name)
    return known


def fields(store, name):
    """The fields of a definition: name, type, kind of list and its size."""
    for field, (node, inner) in store.fielddefs[name][1]:
        if node in (Nodetype.NAME, Nodetype.BASE):
            yield field, (node, inner), None, 0
        else:
            yield field, inner[0], node, inner[1]


def rosidl(store, name):
    """A type as the ROS 2 generator of IDL files writes it."""
    package, _, short = name.split("/")
    typedefs, members, includes = [], [], []
    for field, (node, inner), kind, size in fields(store, name):
        if node == Nodetype.NAME:
            includes.append(f'#include "{inner}.idl"')
            text = inner.replace("/", "::")
        else:
            text = IDL.get(inner[0], inner[0])
            text += f"<{inner[1]}>" if inner[1] else ""
        if kind == Nodetype.SEQUENCE:
            text = f"sequence<{text}, {size}>" if size else f"sequence<{text}>"
        elif kind == Nodetype.ARRAY:
            alias = text.replace("::", "__").replace("<", "_").replace(">", "_")
            if node == Nodetype.NAME:
                typedefs.append(f"    typedef {text} {alias};")
                text = alias
            typedefs.append(f"    typedef {text} {alias}__{size}[{size}];")
            text = f"{alias}__{size}"
        members.append(f'      @verbatim (language="comment", text="a {short}")\n      {text} {field};\n')
    lines = ["// generated", *dict.fromkeys(includes), "", f"module {package} {{", "  module msg {"]
    lines += [*dict.fromkeys(typedefs), f"    struct {short} {{", *members, "    };", "  };", "};"]
    return "\n".join(lines) + "\n"


def omgidl(store, name):
    """A type as DDS Recorder writes it."""
    package, _, short = name.split("/")
    members = []
    for field, (node, inner), kind, size in fields(store, name):
        if node == Nodetype.NAME:
            other, _, type_name = inner.split("/")
            text = f"{other}::msg::dds_::{type_name}_"
        else:
            text = OMG.get(inner[0], IDL.get(inner[0], inner[0]))
            text += f"<{inner[1]}>" if inner[1] else ""
        if kind == Nodetype.SEQUENCE:
            text = f"sequence<{text}, {size}>" if size else f"sequence<{text}>"
        elif kind == Nodetype.ARRAY:
            field = f"{field}[{size}]"
        members.append(f"                {text} {field};")
    return "\n".join(
        [
            f"module {package}\n{{\n    module msg\n    {{\n        module dds_\n        {{",
            f"            @extensibility(FINAL)\n            struct {short}_\n            {{",
            *members,
            "            };\n        };\n    };\n};\n\n",
        ]
    )


def write_ros2(folder, rng):
    store = get_typestore(Stores.ROS2_JAZZY)
    values = Values(store, rng)
    little = Recording(folder / "ros2msg_little.mcap", "ros2", CompressionType.ZSTD)
    big = Recording(folder / "ros2msg_big.mcap", "ros2", CompressionType.LZ4)
    interfaces = Recording(folder / "ros2idl.mcap", "ros2", CompressionType.NONE)
    dds = Recording(folder / "omgidl.mcap", "ros2", CompressionType.ZSTD)
    for name in sorted(store.fielddefs):
        text, _ = store.generate_msgdef(name, ros_version=2)
        messages = [values.message(name) for _ in range(MESSAGES)]
        payloads = [store.serialize_cdr(it, name, little_endian=True) for it in messages]
        little.topic(f"/{name}", (name, "ros2msg", text), "cdr", payloads)
        swapped = [store.serialize_cdr(it, name, little_endian=False) for it in messages]
        big.topic(f"/{name}", (name, "ros2msg", text), "cdr", swapped)
        inner = dependencies(store, name, [])[::-1]
        text = "".join(f"{SEPARATOR}\nIDL: {it}\n{rosidl(store, it)}" for it in inner)
        interfaces.topic(f"/{name}", (name, "ros2idl", text), "cdr", payloads)
        text = "".join(omgidl(store, it) for it in inner[::-1])
        mangled = name.replace("/msg/", "::msg::dds_::") + "_"
        dds.topic(f"rt/{name}", (mangled, "omgidl", text), "cdr", swapped)
    for recording in (little, big, interfaces, dds):
        recording.close()


def write_ros1(folder, rng):
    store = get_typestore(Stores.ROS1_NOETIC)
    values = Values(store, rng)
    recording = Recording(folder / "ros1msg.mcap", "ros1", CompressionType.LZ4)
    # Times are no messages of their own in ROS 1; what rosbags has for them is of ROS 2.
    for name in sorted(it for it in store.fielddefs if not it.startswith("builtin_interfaces/")):
        text, _ = store.generate_msgdef(name, ros_version=1)
        payloads = [store.serialize_ros1(values.message(name), name) for _ in range(MESSAGES)]
        short = name.replace("/msg/", "/")
        recording.topic(f"/{name}", (short, "ros1msg", text), "ros1", payloads)
    recording.close()


def write_generated(folder, idl_folder, rng):
    store = get_typestore(Stores.EMPTY)
    texts = {}
    for path in sorted(idl_folder.glob("*/*.idl")):
        if "wstring" not in (text := path.read_text()):
            texts[f"{path.parent.name}/msg/{path.stem}"] = text
    shared = get_typestore(Stores.ROS2_JAZZY)
    types = {name: kind for name, kind in shared.fielddefs.items() if name not in texts}
    for text in texts.values():
        types.update(get_types_from_idl(re.sub(r"^#.*", "", text, flags=re.M)))
    store.register(types)
    values = Values(store, rng)
    recording = Recording(folder / "ros2idl_of_others.mcap", "ros2", CompressionType.ZSTD)
    for name in texts:
        inner = dependencies(store, name, [])[::-1]
        parts = [(it, texts.get(it) or rosidl(store, it)) for it in inner]
        text = "".join(f"{SEPARATOR}\nIDL: {it}\n{part}" for it, part in parts)
        payloads = [store.serialize_cdr(values.message(name), name) for _ in range(MESSAGES)]
        recording.topic(f"/{name}", (name, "ros2idl", text), "cdr", payloads)
    recording.close()


def write_json(folder, rng):
    recording = Recording(folder / "json.mcap", "", CompressionType.ZSTD)

    def document():
        doubles = [struct.unpack("d", rng.randbytes(8))[0] for _ in range(20)]
        doubles = [number for number in doubles if abs(number) < 1e308]
        return {
            "doubles": doubles + [rng.uniform(-1000, 1000) for _ in range(20)],
            "whole": [0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1, rng.randint(-99, 99)],
            "text": "".join(rng.choice(SIGNS) for _ in range(9)),
            "nested": [{"a": None, "b": [True, False, []]}, {}],
        }

    documents = [json.dumps(document()).encode() for _ in range(50)]
    recording.topic("/json", ("Random", "jsonschema", '{"type": "object"}'), "json", documents)
    spaced = [json.dumps(document(), indent=2, ensure_ascii=False).encode() for _ in range(5)]
    recording.topic("/json/schemaless", ("Plain", "", ""), "json", spaced)
    recording.close()


def main():
    folder, rng = Path(sys.argv[1]), random.Random(int(sys.argv[2]))
    write_ros2(folder, rng)
    write_ros1(folder, rng)
    write_json(folder, rng)
    if len(sys.argv) > 3:
        write_generated(folder, Path(sys.argv[3]), rng)


if __name__ == "__main__":
    main()
