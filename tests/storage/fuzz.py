"""Load many damaged files in a process that may not take much memory; a script.

``python fuzz.py FOLDER N_FILES SEED`` prints what came of it as JSON. Damage is done on three
levels, so that each layer of checks is reached: to the bytes; to the header; and to the content of
a file whose layout and checksum are then made right again.
"""

import json
import random
import resource
import sys
import traceback
import warnings
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

import ilspace
from ilspace.estimators.persistence import estimator_of, state_of
from ilspace.storage import ModelFileError
from ilspace.storage.model_file import checksum
from ilspace.storage.structure import DTYPES

HEADROOM = 2**29
"""Memory that loading may take on top of what the process has."""

NASTY = [
    *(None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63, -(2**63), 10**30, 0.0, -0.0, 0.5, 1e308),
    *("", "x", "nan", "auto", "ILSClassifier", "ILSTransformer", "F64", "a" * 1000, "\ud800"),
    *([], {}, [[]], [0, 0], [2**31, 2**31], [2**62, 0], [-1], [1] * 40, {"": 0}, [None] * 3),
    *({"$type": each} for each in ("tensor", "scalar", "float", "tuple", "strings", "objects", 0)),
    {"$type": "float", "value": "nan"},
    {"$type": "float", "value": "-inf"},
    {"$type": "tuple", "items": [1.0, 1.0, 1.0, 1.0]},
    {"$type": "strings", "width": 10**9, "shape": [0], "items": []},
    {"$type": "strings", "width": 1, "shape": [3], "items": ["a", "b", "c"]},
    {"$type": "objects", "shape": [3], "items": [None, 1, "x"]},
    {"$type": "objects", "shape": [10**9, 0], "items": []},
]


def parse(content):
    stop = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:stop]), content[stop:]


def build(header, data):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


# -- damage to bytes -----------------------------------------------------------------------------


def damage_bytes(rng, content, other):
    content = bytearray(content)
    # half of the time in the header, which is the smaller part
    end = 8 + int.from_bytes(content[:8], "little") if rng.random() < 0.5 else len(content)
    place, length = rng.randrange(end), rng.choice([1, 2, 8, 64, 1000])
    match rng.randrange(8):
        case 0:
            for _ in range(rng.choice([1, 1, 2, 8])):
                content[rng.randrange(end)] ^= 1 << rng.randrange(8)
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
        case 7:
            size = rng.choice([0, 1, 7, 2**16, 2**25, 2**32, 2**63, 2**64 - 1, end - 9, end])
            content[:8] = (size % 2**64).to_bytes(8, "little")
    return bytes(content)


# -- damage to JSON ------------------------------------------------------------------------------


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
                holder[rng.choice(["x", "$x", "$type", f"{key}x", "../x"])] = holder.pop(key)
            case _:
                one, two = deepcopy(holder[key]), deepcopy(other[other_key])
                holder[key], other[other_key] = two, one


def damage_header(rng, content, _):
    header, data = parse(content)
    match rng.randrange(4):
        case 0 | 1:
            metadata = header.pop("__metadata__")
            damage_tree(rng, header)
            header["__metadata__"] = metadata
        case 2:
            one, other = rng.sample([name for name in header if name[0] == "/"], 2)
            header[one], header[other] = header[other], header[one]
        case 3:
            metadata = header["__metadata__"]
            key = rng.choice(list(metadata))
            metadata[key] = rng.choice([*NASTY, metadata[key][:-1], metadata[key] + " ", "1", "3"])
    return build(header, data)


# -- damage to content, signed -------------------------------------------------------------------


def damage_array(rng, array, other):
    match rng.randrange(9):
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
        case 5:
            with np.errstate(all="ignore"):
                return array.astype(rng.choice(list(DTYPES.values())))
        case 6:
            return np.full_like(array, rng.choice([0, 1, 100]))
        case 7 if array.dtype.kind == "f":
            return np.full_like(array, rng.choice([np.nan, np.inf, -np.inf, -1, 1e30]))
        case 8 if array.dtype.kind == "i":
            return np.full_like(array, rng.choice([-1, np.iinfo(array.dtype).max]))
    return np.zeros((), array.dtype)


def damage_content(rng, content, _):
    header, data = parse(content)
    metadata = header.pop("__metadata__")
    tensors: dict[str, Any] = {
        name: np.frombuffer(data[slice(*each["data_offsets"])], DTYPES[each["dtype"]]).reshape(
            each["shape"]
        )
        for name, each in header.items()
    }
    if rng.random() < 0.5:
        state = json.loads(metadata["state"])
        damage_tree(rng, state)
        metadata["state"] = json.dumps(state)
    else:
        for _ in range(rng.choice([1, 1, 2])):
            name = rng.choice(list(tensors))
            tensors[name] = damage_array(rng, tensors[name], tensors[rng.choice(list(tensors))])
    if rng.random() < 0.1:
        metadata["kind"] = rng.choice(["ILSClassifier", "ILSTransformer", "x", "os.system"])
    tensors = {name: np.asarray(each, order="C") for name, each in tensors.items()}
    metadata["sha256"] = checksum(metadata, tensors)
    return safetensors.numpy.save(tensors, metadata)


# -- the run -------------------------------------------------------------------------------------


def use(model):
    """Ask a model that was loaded all that it can answer."""
    for domain, width in (
        ("source", model.n_features_in_),
        ("target", model.n_target_features_in_),
    ):
        rows = np.linspace(-1, 1, 4 * width).reshape(4, width)
        assert model.transform(rows, domain).shape == (4, model.n_components_)
        if hasattr(model, "predict"):
            assert set(model.predict(rows, domain).tolist()) <= set(model.classes_.tolist())
            probability = model.predict_proba(rows, domain)
            assert probability.shape == (4, len(model.classes_))
            assert not np.isnan(probability).any()
        if hasattr(model, "nearest"):
            assert not np.isnan(model.nearest(rows, domain)[2]).any()
    assert len(model.get_feature_names_out()) == model.n_components_
    repr(model)


def attempt(path):
    try:
        model = ilspace.load(path)
    except ModelFileError as error:
        return "refused", error.flaw
    use(model)
    use(estimator_of(state_of(model)))  # what loads can be saved again
    return "loaded", ""


def main(folder, n_files, seed):
    warnings.simplefilter("ignore")  # numbers that overflow are no news here
    good = [path.read_bytes() for path in sorted(folder.glob("*.safetensors"))]
    rng = random.Random(seed)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + HEADROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    outcomes, flaws, wrong = Counter(), Counter(), []
    for count in range(n_files):
        damage = rng.choice([damage_bytes, damage_header, damage_content, damage_content])
        content = damage(rng, rng.choice(good), rng.choice(good))
        damaged = folder / f"damaged-{count}"  # a new one: to cut an old one is slow on some disks
        damaged.write_bytes(content)
        try:
            outcome, flaw = attempt(damaged)
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
