"""Writes recordings of random DDS types, encoded by Cyclone DDS, and what is in them.

    python xcdr.py FOLDER SEED OUT

The types are final, appendable and mutable structs in each other, with optional members, enums,
sequences, arrays of more than one dimension, and strings; the messages are XCDR1 and XCDR2 in both
byte orders. There are no lists of enums: in XCDR2, Cyclone DDS puts a length in front of them, as of
lists of structs, and Fast DDS does not. The lines in OUT are as those of `expected.py`. Cyclone DDS is not to be had for every
Python; without it nothing is written, and this says so.
"""

import json
import math
import random
import struct
import sys
from pathlib import Path
from typing import Optional

from expected import floating, text
from made import SIGNS, START_NS, Recording
from mcap.writer import CompressionType

try:
    from cyclonedds.idl import make_idl_enum, make_idl_struct, types
    from cyclonedds.idl._support import Endianness
except ImportError as error:
    print(f"left out: {error}")
    sys.exit(0)

TYPES = 120
MESSAGES = 2
PRIMITIVES = {
    "boolean": bool,
    "octet": types.byte,
    "char": types.char,
    "int8": types.int8,
    "uint8": types.uint8,
    "short": types.int16,
    "unsigned short": types.uint16,
    "long": types.int32,
    "uint32": types.uint32,
    "long long": types.int64,
    "unsigned long long": types.uint64,
    "float": types.float32,
    "double": types.float64,
    "string": str,
}
BITS = {"int8": 8, "short": 16, "long": 32, "long long": 64}
BITS_UNSIGNED = {
    "octet": 8,
    "uint8": 8,
    "unsigned short": 16,
    "uint32": 32,
    "unsigned long long": 64,
}


class Kind:
    """A type: its IDL text in front and behind a name, that of Cyclone, and its values."""

    def __init__(self, front, behind, cyclone, make):
        self.front, self.behind, self.cyclone, self.make = front, behind, cyclone, make


def primitive(name):
    def make(rng):
        if name == "boolean":
            value = rng.random() < 0.5
            return value, value
        if name == "char":
            value = rng.randrange(1, 128)
            return chr(value), value
        if name == "string":
            value = "".join(rng.choice(SIGNS.replace("\0", "")) for _ in range(rng.randrange(7)))
            return value, text(value)
        if name in ("float", "double"):
            form, size = ("f", 4) if name == "float" else ("d", 8)
            value = struct.unpack(form, rng.randbytes(size))[0]
            value = 0.5 if math.isnan(value) else value
            told = floating(value)
            return value, {"$f32": told} if name == "float" else told
        if name in BITS:
            value = rng.randrange(-(1 << BITS[name] - 1), 1 << BITS[name] - 1)
        else:
            value = rng.randrange(1 << BITS_UNSIGNED[name])
        return value, value

    return Kind(name, "", PRIMITIVES[name], make)


def enumeration(name, rng):
    signs = {f"{name}_{i}": i for i in range(rng.randrange(1, 5))}
    cyclone = make_idl_enum(name, f"gen::{name}", signs)

    def make(rng):
        value = rng.choice(list(cyclone))
        return value, value.value

    definition = f"enum {name} {{ {', '.join(signs)} }};"
    return Kind(f"gen::{name}", "", cyclone, make), definition


def several(make, n, rng):
    made = [make(rng) for _ in range(n)]
    return [value for value, _ in made], [told for _, told in made]


def sequence(of, rng):
    bound = rng.choice([None, None, 5])
    cyclone = types.sequence[of.cyclone, bound] if bound else types.sequence[of.cyclone]
    front = f"sequence<{of.front}, {bound}>" if bound else f"sequence<{of.front}>"
    return Kind(front, "", cyclone, lambda rng: several(of.make, rng.randrange(4), rng))


def array(of, rng):
    n = rng.randrange(1, 4)
    cyclone = types.array[of.cyclone, n]
    return Kind(of.front, f"[{n}]{of.behind}", cyclone, lambda rng: several(of.make, n, rng))


class Types:
    """Types as they come; later ones may hold earlier ones."""

    def __init__(self, rng):
        self.rng, self.structs, self.enums, self.texts = rng, [], [], []

    def kind(self, depth=0):
        draw = self.rng.random()
        if draw < 0.15 and self.structs:
            return self.rng.choice(self.structs[-12:])
        if draw < 0.2 and not depth:
            return self.rng.choice(self.enums)
        if draw < 0.35 and depth < 2:
            # A sequence of arrays has no text without a typedef.
            of = self.kind(depth + 1)
            return sequence(of, self.rng) if not of.behind else of
        if draw < 0.5 and depth < 2:
            return array(self.kind(depth + 1), self.rng)
        return primitive(self.rng.choice(list(PRIMITIVES)))

    def add_struct(self, name):
        rng = self.rng
        extensibility = rng.choice(["final", "appendable", "mutable"])
        members, lines, annotations = {}, [], {}
        ids = rng.sample(range(300), 8) if rng.random() < 0.5 else None
        for i in range(rng.randrange(1, 7)):
            kind, member, notes = self.kind(), f"m{i}", ""
            is_optional = rng.random() < 0.2
            if ids and extensibility == "mutable":
                annotations[member] = {"id": ids[i]}
                notes += f"@id({ids[i]}) "
            notes += "@optional " if is_optional else ""
            members[member] = kind, is_optional
            lines.append(f"        {notes}{kind.front} {member}{kind.behind};")
        cyclone = make_idl_struct(
            name,
            f"gen.{name}",
            {
                member: Optional[kind.cyclone] if is_optional else kind.cyclone
                for member, (kind, is_optional) in members.items()
            },
            field_annotations=annotations or None,
        )
        cyclone.__idl_annotations__["extensibility"] = extensibility

        def make(rng):
            made = {}
            for member, (kind, is_optional) in members.items():
                is_absent = is_optional and rng.random() < 0.4
                made[member] = (None, None) if is_absent else kind.make(rng)
            value = cyclone(**{member: value for member, (value, _) in made.items()})
            return value, {member: told for member, (_, told) in made.items()}

        head = f"@{extensibility}" if rng.random() < 0.5 else f"@extensibility({extensibility.upper()})"
        self.texts.append("\n".join([f"    {head}", f"    struct {name} {{", *lines, "    };"]))
        self.structs.append(Kind(f"gen::{name}", "", cyclone, make))

    def add_enum(self, name):
        kind, definition = enumeration(name, self.rng)
        self.texts.append("    " + definition)
        self.enums.append(kind)


def main():
    folder, rng = Path(sys.argv[1]), random.Random(int(sys.argv[2]))
    made = Types(rng)
    for i in range(5):
        made.add_enum(f"E{i}")
    with open(sys.argv[3], "w") as out:
        for version in (1, 2):
            name = f"xcdr{version}.mcap"
            recording = Recording(folder / name, "ros2", CompressionType.ZSTD)
            for i in range(TYPES):
                if version == 1:
                    made.add_struct(f"T{i}")
                kind = made.structs[i]
                # Everything in front of a type, as a recorder that sees one type writes it.
                upto = made.texts[: len(made.enums) + i + 1]
                definition = "module gen {\n" + "\n".join(upto) + "\n};\n"
                for order in (Endianness.Little, Endianness.Big):
                    topic = f"/{kind.front}/{order.name}"
                    payloads, first = [], recording.n
                    for n in range(MESSAGES):
                        value, told = kind.make(rng)
                        payload = value.serialize(endianness=order, use_version_2=version == 2)
                        payloads.append(payload)
                        time = START_NS + (first + n) * 1_000_003
                        line = {
                            "file": name,
                            "topic": topic,
                            "log_time_ns": time,
                            "publish_time_ns": time - 7,
                            "sequence": first + n,
                            "value": told,
                        }
                        out.write(json.dumps(line, allow_nan=False) + "\n")
                    recording.topic(topic, (kind.front, "omgidl", definition), "cdr", payloads)
            recording.close()


if __name__ == "__main__":
    main()
