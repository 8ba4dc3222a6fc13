"""Reads random payloads of the test kit with Cyclone DDS and compares the values.

Reads a file of one JSON object a line:

    enums     pairs of a name and its enumerators, which are pairs of a name and a number
    structs   the message type last: name, extensibility, and fields, which are a name, a type as
              an expression, whether it is optional, and an id or null
    value     {"fields": [...]} for a structure, {"items": [...]} for a list, {"bits": [8, n]} for
              a float of so many bytes, null for what is missing
    payloads  pairs of the name of a layout and the bytes in hexadecimal

Prints how many payloads were compared, by layout, as one JSON object; ends with 1 at the first
difference.
"""

from __future__ import annotations

import json
import struct
import sys
import types
from collections import Counter
from enum import Enum

from cyclonedds.idl import IdlStruct

PRELUDE = """
from dataclasses import dataclass
from typing import Optional
import cyclonedds.idl as idl
import cyclonedds.idl.annotations as annotations
import cyclonedds.idl.types as idl_types
"""


def source(case):
    lines = [PRELUDE]
    for name, enumerators in case['enums']:
        lines.append(f'class {name}(idl.IdlEnum, typename="demo.{name}", default="{enumerators[0][0]}"):')
        lines += [f'    {enumerator} = {number}' for enumerator, number in enumerators]
    for name, extensibility, fields in case['structs']:
        lines += [
            f'@annotations.{extensibility}',
            '@dataclass',
            f'class {name}(idl.IdlStruct, typename="demo.{name}"):',
        ]
        for field, kind, is_optional, member_id in fields:
            lines.append(f'    {field}: {f"Optional[{kind}]" if is_optional else kind}')
            if member_id is not None:
                lines.append(f'    annotations.member_id("{field}", {member_id})')
    return '\n'.join(lines)


def is_same(read, wanted):
    if isinstance(wanted, dict) and 'bits' in wanted:
        width, bits = wanted['bits']
        value = struct.unpack('<f' if width == 4 else '<d', bits.to_bytes(width, 'little'))[0]
        both_nan = read != read and value != value
        return isinstance(read, float) and (both_nan or struct.pack('<d', read) == struct.pack('<d', value))
    if isinstance(read, IdlStruct):
        fields = [getattr(read, name) for name in read.__dataclass_fields__]
        return len(fields) == len(wanted['fields']) and all(map(is_same, fields, wanted['fields']))
    if isinstance(wanted, dict):
        items = list(read)
        return len(items) == len(wanted['items']) and all(map(is_same, items, wanted['items']))
    if isinstance(read, Enum):
        return read.value == wanted
    if isinstance(read, str) and isinstance(wanted, int):
        return len(read) == 1 and ord(read) == wanted
    return type(read) is type(wanted) and read == wanted


def main(path):
    counts = Counter()
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file):
            case = json.loads(line)
            module = types.ModuleType('random_types')
            sys.modules['random_types'] = module
            # Annotations must not stay text, as they do in this file.
            exec(compile(source(case), 'random_types', 'exec', dont_inherit=True), module.__dict__)
            root = getattr(module, case['structs'][-1][0])
            for layout, payload in case['payloads']:
                try:
                    read = root.deserialize(bytes.fromhex(payload))
                    is_right = is_same(read, case['value'])
                except Exception as error:
                    read, is_right = repr(error), False
                if not is_right:
                    print(f'case {number}, {layout}: {payload}\nis {case["value"]}\nread as {read}')
                    print(source(case))
                    return 1
                counts[layout] += 1
    print(json.dumps(counts))
    return 0


sys.exit(main(sys.argv[1]))
