"""Load many damaged models in a process that may not take much memory; a script.

``python fuzz.py FOLDER N_FILES SEED`` prints what came of it as JSON. Damage is done on three
levels, so that each layer of checks is reached: to the bytes of the archive; to its schema; and to
the arrays, in an archive that is whole.
"""

import io
import json
import random
import resource
import sys
import time
import traceback
import warnings
import zipfile
from collections import Counter
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd

import ilspace
from ilspace.estimators.saving import ModelFileError

HEADROOM = 2**30
"""Memory that loading may take on top of what the process has."""

LONGEST = 20.0
"""Seconds that a file may take."""

NASTY = [
    *(None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63, -(2**63), 10**30, 0.0, -0.0, 0.5, 1e308),
    *("", "x", "nan", "auto", "ILSClassifier", "os", "system", "builtins", "a" * 1000, "\ud800"),
    *("ObjectNode", "FunctionNode", "TypeNode", "JsonNode", "NdArrayNode", "[1", "null", "1e999"),
    *([], {}, [[]], [0, 0], [2**31, 2**31], [None] * 3, {"": 0}, "10000000000", "-1", "[]", "{}"),
]


def parts_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {each: archive.read(each) for each in archive.namelist()}, archive.comment


def archive_of(parts, comment):
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = comment
        for name, part in parts.items():
            archive.writestr(name, part)
    return output.getvalue()


def damage_bytes(rng, content, other):
    content = bytearray(content)
    place, length = rng.randrange(len(content)), rng.choice([1, 2, 8, 64, 1000])
    match rng.randrange(7):
        case 0:
            for _ in range(rng.choice([1, 1, 2, 8])):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        case 1:
            del content[place:]
        case 2:
            content += rng.randbytes(length)
        case 3:
            content[place : place + length] = rng.randbytes(length)
        case 4:
            del content[place : place + length]
        case 5:
            start = rng.randrange(len(other))
            content[place:place] = other[start : start + length]
        case 6:
            content[place:] = other[place:]
    return bytes(content)


def nodes(tree):
    """Every container and key of a tree."""
    listed = list(tree.items() if isinstance(tree, dict) else enumerate(tree))
    for key, value in listed:
        yield tree, key
        if isinstance(value, dict | list):
            yield from nodes(value)


def damage_tree(rng, tree):
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        places = list(nodes(tree))
        if not places:
            return
        (holder, key), (other, other_key) = rng.choice(places), rng.choice(places)
        match rng.randrange(5):
            case 0 | 1:
                holder[key] = deepcopy(rng.choice(NASTY))
            case 2:
                del holder[key]
            case 3:  # copies, as a tree may not contain itself
                holder[key] = deepcopy(other[other_key])
            case 4 if isinstance(holder, dict):
                holder[rng.choice(["x", "__class__", "__loader__", f"{key}x"])] = holder.pop(key)
            case _:
                one, two = deepcopy(holder[key]), deepcopy(other[other_key])
                holder[key], other[other_key] = two, one


def damage_schema(rng, content, _):
    parts, comment = parts_of(content)
    schema = json.loads(parts["schema.json"])
    damage_tree(rng, schema)
    return archive_of(parts | {"schema.json": json.dumps(schema).encode()}, comment)


def damage_array(rng, array, other):
    match rng.randrange(8):
        case 0:
            return other
        case 1:
            return array.T
        case 2:
            return array[: rng.randrange(3)] if array.ndim else array
        case 3:
            return array.reshape(-1)
        case 4:
            return np.broadcast_to(array, (2, *array.shape))
        case 5 if array.dtype.kind in "fiu":
            with np.errstate(all="ignore"):
                return array.astype(rng.choice(["f4", "f8", "i4", "i8", "u1", "bool", "U3"]))
        case 6 if array.dtype.kind in "fiu":
            value = [0, 1, 100, 10**9, -1] if array.dtype.kind == "i" else [0, 1, 100]
            with np.errstate(all="ignore"):
                return np.full(array.shape, rng.choice(value)).astype(array.dtype)
        case 7 if array.dtype.names:
            array = array.copy()
            name = rng.choice(array.dtype.names)
            place = rng.randrange(max(1, len(array)))
            with np.errstate(all="ignore"):
                array[name][place] = np.array(rng.choice([0, 1, 5, 10**6, -2])).astype(
                    array.dtype[name]
                )
            return array
    return np.zeros((), array.dtype)


def damage_arrays(rng, content, _):
    parts, comment = parts_of(content)
    names = [each for each in parts if each.endswith(".npy")]
    arrays = {each: np.load(io.BytesIO(parts[each])) for each in names}
    for _ in range(rng.choice([1, 1, 2])):
        name = rng.choice(names)
        output = io.BytesIO()
        damaged = damage_array(rng, arrays[name], arrays[rng.choice(names)])
        np.save(output, np.asarray(damaged, order="C"))
        parts[name] = output.getvalue()
    return archive_of(parts, comment)


def use(model):
    """Ask a model that was loaded for predictions of new rows."""
    if hasattr(model, "plan_"):
        rows = pd.DataFrame({each: [1.5, None, 0.5] for each in model.plan_.target})
    else:
        width = model.n_target_features_in_
        rows = np.linspace(-1, 1, 4 * width).reshape(4, width)
    repr(model.predict(rows) if hasattr(model, "predict") else model.transform(rows))


def attempt(path):
    try:
        model = ilspace.load(path)
    except ModelFileError as error:
        flaw = str(error).partition(", but ")[2]
        assert flaw
        assert len(flaw) <= 200
        return "refused", flaw
    try:
        use(model)
    except Exception as error:  # a model that is no good may say so, but not crash
        return "loaded", f"answers {type(error).__name__}"
    return "loaded", ""


def main(folder, n_files, seed):
    warnings.simplefilter("ignore")  # numbers that overflow are no news here
    good = [path.read_bytes() for path in sorted(folder.glob("*.skops"))]
    for path in sorted(folder.glob("*.skops")):  # all libraries are there before memory is limited
        use(ilspace.load(path))
    rng = random.Random(seed)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + HEADROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    outcomes, flaws, wrong = Counter(), Counter(), []
    for count in range(n_files):
        damage = rng.choice([damage_bytes, damage_schema, damage_arrays])
        content = damage(rng, rng.choice(good), rng.choice(good))
        damaged = folder / f"damaged-{count}"  # a new one: to cut an old one is slow on some disks
        damaged.write_bytes(content)
        began = time.monotonic()
        try:
            outcome, flaw = attempt(damaged)
            assert time.monotonic() - began < LONGEST
        except BaseException:
            wrong.append(f"{count} {damage.__name__}\n{traceback.format_exc()}")
        else:
            outcomes[f"{damage.__name__} {outcome}"] += 1
            flaws[" ".join(flaw.split()[:4])] += 1
        finally:
            damaged.unlink()
    sys.stdout.write(json.dumps({"outcomes": outcomes, "flaws": flaws, "wrong": wrong[:10]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
