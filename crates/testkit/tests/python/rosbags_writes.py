"""Serializes random messages with rosbags and compares the bytes with those of the test kit.

Reads a file of one JSON object a line:

    name   of the message type, as package/msg/Name
    types  pairs of a name and its fields, each a name and a description: ["base", name, bound],
           ["name", name], ["array", description, count] or ["sequence", description, bound]
    msg    the definition as a concatenated message file
    idl    IDL files that define the same, may be empty
    value  a list of the fields' values; floats as the integers of their bits
    le, be, ros1  the bytes in hexadecimal

Prints how much was compared as one JSON object; ends with 1 at the first difference.
"""

from __future__ import annotations

import json
import struct
import sys

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import get_types_from_idl, get_types_from_msg
from rosbags.typesys import store as store_module
from rosbags.typesys.store import Typestore

# Compiled for each type, and not used here.
for unused in (
    'generate_deserialize_cdr',
    'generate_deserialize_ros1',
    'generate_cdr_to_ros1',
    'generate_ros1_to_cdr',
):
    if hasattr(store_module, unused):
        setattr(store_module, unused, lambda *_args, **_options: None)

BITS = {'float32': ('<I', '<f', np.uint32, np.float32), 'float64': ('<Q', '<d', np.uint64, np.float64)}
WIDTHS = {'bool': np.bool_, 'byte': np.uint8, 'char': np.uint8}


def described(description):
    kind, inner, *rest = description
    if kind == 'base':
        return (Nodetype.BASE, (inner, rest[0]))
    if kind == 'name':
        return (Nodetype.NAME, inner)
    node = Nodetype.ARRAY if kind == 'array' else Nodetype.SEQUENCE
    return (node, (described(inner), rest[0]))


def in_idl(fields):
    def renamed(description):
        node, inner = description
        if node == Nodetype.BASE:
            return (node, ('uint8', 0)) if inner[0] == 'char' else description
        if node == Nodetype.NAME:
            return description
        return (node, (renamed(inner[0]), inner[1]))

    filler = [('structure_needs_at_least_one_member', (Nodetype.BASE, ('uint8', 0)))]
    return [(name, renamed(description)) for name, description in fields] or filler


def built(store, types, description, value):
    kind, inner, *_ = description
    if kind == 'name':
        fields = types[inner]
        values = [built(store, types, field[1], item) for field, item in zip(fields, value, strict=True)]
        return store.types[inner](*values)
    if kind in ('array', 'sequence'):
        if inner[0] != 'base' or inner[1] == 'string':
            return [built(store, types, inner, item) for item in value]
        name = inner[1]
        if name in BITS:
            _, _, bits, floats = BITS[name]
            return np.array(value, dtype=bits).view(floats)
        if name == 'byte':
            value = [item & 0xFF for item in value]
        return np.array(value, dtype=WIDTHS.get(name) or np.dtype(name))
    if inner in BITS:
        from_bits, to_float, _, _ = BITS[inner]
        return struct.unpack(to_float, struct.pack(from_bits, value))[0]
    if inner == 'byte' and value > 127:
        return value - 256
    return value


def without_constants(types):
    return {name: fields for name, (_, fields) in types.items()}


def main(path):
    counts = {'le': 0, 'be': 0, 'ros1': 0, 'msg': 0, 'idl': 0, 'bytes': 0}
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file):
            case = json.loads(line)
            name = case['name']
            types = dict(case['types'])
            typesdict = {
                key: ([], [(field, described(description)) for field, description in fields])
                for key, fields in types.items()
            }
            # Types that are built into ROS 1 are in no text.
            parsed = without_constants(get_types_from_msg(case['msg'], name))
            for key, fields in without_constants(typesdict).items():
                is_built_in = key.startswith('builtin_interfaces/')
                if parsed.get(key, fields if is_built_in else None) != fields:
                    print(f'case {number}: {key} is {fields}, read as {parsed.get(key)}\n{case["msg"]}')
                    return 1
            counts['msg'] += 1
            read = {}
            for text in case['idl']:
                # rosbags knows no preprocessor, and takes `>>` for a shift.
                text = '\n'.join(line for line in text.split('\n') if not line.startswith('#'))
                text = text.replace('>>', '> >')
                read.update(without_constants(get_types_from_idl(text)))
            for key, fields in without_constants(typesdict).items():
                wanted = in_idl(fields)
                if read and read.get(key) != wanted:
                    print(f'case {number}: {key} is {wanted}, read as {read.get(key)}\n{case["idl"]}')
                    return 1
            counts['idl'] += bool(read)

            store = Typestore()
            store.register(typesdict)
            message = built(store, types, ['name', name], case['value'])
            for kind, serialized in (
                ('le', store.serialize_cdr(message, name, little_endian=True)),
                ('be', store.serialize_cdr(message, name, little_endian=False)),
                ('ros1', store.serialize_ros1(message, name)),
            ):
                if serialized.hex() != case[kind]:
                    print(f'case {number}, {kind}: rosbags writes\n{serialized.hex()}\nnot\n{case[kind]}')
                    print(f'{case["msg"]}\n{message}')
                    return 1
                counts[kind] += 1
                counts['bytes'] += len(serialized)
    print(json.dumps(counts))
    return 0


sys.exit(main(sys.argv[1]))
