"""Plain data to a safetensors file and back; files that are something else."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ilspace.storage import ModelFileError, read_model, write_model
from ilspace.storage.model_file import checksum
from ilspace.storage.structure import put_together, take_apart

LETTERS = "hHiIqQefd"
NUMBERS = st.sampled_from([*"?bB", *LETTERS, *(f">{each}" for each in LETTERS)]).map(np.dtype)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
TEXTS = st.text(st.characters(), max_size=8)  # lone surrogates too
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
ARRAYS = st.one_of(
    hnp.arrays(NUMBERS, SHAPES),
    hnp.arrays(hnp.unicode_string_dtypes(max_len=5), SHAPES),
    hnp.arrays(object, SHAPES, elements=LEAVES),
    # strided, as slices and transposes are
    hnp.arrays(np.float64, (4, 6)).map(lambda array: array[::-1, ::2].T),
)
SCALARS = NUMBERS.flatmap(lambda dtype: hnp.from_dtype(dtype))
STATES = st.dictionaries(
    TEXTS | st.sampled_from(["$type", "$", "__metadata__", "a/b", "%24", ""]),
    st.recursive(
        LEAVES | ARRAYS | SCALARS,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(TEXTS, inner, max_size=3)
        ),
        max_leaves=8,
    ),
    max_size=4,
)


def assert_same(met, wanted):
    """Equal in type, and bit for bit; NaN is itself, and zeros have signs."""
    if isinstance(wanted, np.ndarray):
        native = wanted.dtype.newbyteorder("=")
        assert isinstance(met, np.ndarray)
        assert (met.dtype, met.shape) == (native, wanted.shape)
        assert met.flags.c_contiguous
        assert met.flags.writeable
        assert met.flags.aligned
        if native.kind == "O":
            assert_same(met.ravel().tolist(), wanted.ravel().tolist())
        else:
            assert met.tobytes() == wanted.astype(native).tobytes()
    elif isinstance(wanted, np.str_):
        assert met == wanted
    elif isinstance(wanted, np.generic):
        assert isinstance(met, np.generic)
        assert_same(np.asarray(met), np.asarray(wanted))
    elif isinstance(wanted, float):
        assert type(met) is float
        assert met.hex() == wanted.hex()
    else:
        assert type(met) is type(wanted)
        if isinstance(wanted, dict):
            assert list(met) == list(wanted)
            met, wanted = list(met.values()), list(wanted.values())
        if isinstance(wanted, list | tuple):
            assert len(met) == len(wanted)
            for one, other in zip(met, wanted, strict=True):
                assert_same(one, other)
        else:
            assert met == wanted


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("models") / "model"


@settings(max_examples=150, deadline=None)
@given(state=STATES)
def test_any_plain_data_comes_back_bit_for_bit(path, state):
    write_model(path, state, kind="Anything")
    kind, back = read_model(path)
    assert kind == "Anything"
    assert_same(back, state)


@settings(max_examples=50, deadline=None)
@given(state=STATES)
def test_the_library_reads_the_same_arrays(path, state):
    write_model(path, state, kind="Anything", training={"rows": 3})
    expected = take_apart(state).tensors
    loaded = safetensors.numpy.load_file(path)
    assert loaded.keys() == expected.keys()
    for name, array in loaded.items():
        assert (array.dtype, array.shape) == (expected[name].dtype, expected[name].shape)
        assert array.tobytes() == expected[name].tobytes()
    with safetensors.safe_open(path, "numpy") as file:
        metadata = file.metadata()
    assert metadata["format"] == "ilspace-model"
    assert json.loads(metadata["training"]) == {"rows": 3}
    strict = json.loads(metadata["state"], parse_constant=lambda name: pytest.fail(name))
    assert isinstance(strict, dict)


def test_equal_models_have_equal_checksums(path):
    def digest(state):
        write_model(path, state, kind="K")
        with safetensors.safe_open(path, "numpy") as file:
            return file.metadata()["sha256"]

    array = np.arange(6.0).reshape(2, 3)
    first = digest({"a": array, "b": 1})
    assert digest({"a": np.asfortranarray(array), "b": 1}) == first
    assert digest({"a": array.astype(">f8"), "b": 1}) == first
    for other in ({"a": array.T, "b": 1}, {"a": array, "b": 2}, {"c": array, "b": 1}):
        assert digest(other) != first
    assert digest({"a": array.reshape(3, 2), "b": 1}) != first


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (object(), TypeError, "/a/0 is a object"),
        ({1: 2}, TypeError, "string keys"),
        (np.zeros(2, complex), TypeError, "complex128: convert"),
        (np.zeros(2, np.longdouble), TypeError, "/a/0"),
        (np.array(["2020"], "M8[D]"), TypeError, "/a/0"),
        (np.array([b"x"]), TypeError, "/a/0"),
        (np.array(["x"], np.dtypes.StringDType()), TypeError, "/a/0"),
        (np.array([object()]), TypeError, "objects"),
        (np.zeros(2**10, "U65536"), ValueError, "array of strings"),
        ("x" * 2**25, ValueError, "more shortly"),
    ],
)
def test_what_cannot_be_read_back_is_not_written(tmp_path, value, error, message):
    with pytest.raises(error, match=message):
        write_model(tmp_path / "model", {"a": [value]}, kind="K")
    assert os.listdir(tmp_path) == []


def test_depth_is_limited_on_both_sides(tmp_path):
    deep: list = []
    for _ in range(40):
        deep = [deep]
    with pytest.raises(ValueError, match="32 levels"):
        write_model(tmp_path / "model", {"a": deep}, kind="K")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"The folder .*nowhere must exist"):
        write_model(tmp_path / "nowhere" / "model", {}, kind="K")


# -- files that are no models --------------------------------------------------------------------

STATE = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False]), "c": [math.nan]}


def build(header, data=b""):
    """A file of this header, an object or the text itself."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def signed(state=None, tensors=None, **metadata):
    """A file whose checksum is right, whatever else is in it."""
    usual = take_apart(STATE)
    tensors = usual.tensors if tensors is None else tensors
    metadata = {
        "format": "ilspace-model",
        "format_version": "2",
        "ilspace_version": "0.1",
        "kind": "K",
        "training": "{}",
        "state": usual.text if state is None else state,
    } | metadata
    metadata["sha256"] = checksum(metadata, tensors)
    return safetensors.numpy.save(tensors, metadata)


def parts(content):
    stop = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:stop]), content[stop:]


def changed(**entries):
    """The usual file with changed entries of the tensor `/a`."""
    header, data = parts(signed())
    header["/a"] |= entries
    return build(header, data)


def renamed(old, new):
    header, data = parts(signed())
    header[new] = header.pop(old)
    return build(header, data)


FLAWS = {
    "empty": (b"", "cut off"),
    "short": (b"\x10\0\0", "cut off"),
    "no header": (b"\0" * 8, "not valid JSON"),
    "length beyond the file": (b"\xff" * 8 + b"{}", "cut off"),
    "length a little beyond the file": ((9).to_bytes(8, "little") + b"{}", "cut off"),
    "zip": (b"PK\x03\x04" + b"\0" * 40, "cut off"),
    "pickle": (b"\x80\x04\x95\x0b\0\0\0\0\0\0\0\x8c\x07builtins\x94.", "cut off"),
    "not text": (build(b"\xff\xfe{}"), "not text"),
    "not JSON": (build(b"{'a': 1}"), "not valid JSON"),
    "no object": (build([1]), "not a JSON object"),
    "deep": (build(b"[" * 10_000), "deeply"),
    "many": (build(b"[" + b"{}," * 600_000 + b"1]"), "524288 objects"),
    "digits": (build(b"9" * 10_000), "not valid JSON"),
    "NaN": (build(b'{"a": NaN}'), "NaN, which is not JSON"),
    "key twice": (build(b'{"a": 1, "a": 1}'), "a key twice"),
    "no metadata": (build({}), "something else wrote it"),
    "metadata of numbers": (build({"__metadata__": {"format": 1}}), "something else wrote it"),
    "another program's": (safetensors.numpy.save({"w": np.ones(3)}, {"format": "pt"}), "format="),
    "later": (
        signed(format_version="3", ilspace_version="9.8", extra=""),
        "ilspace 9.8 in format 3, and this version reads format 2: upgrade ilspace.",
    ),
    "earlier": (
        signed(format_version="1", ilspace_version="0.0.1"),
        "ilspace 0.0.1 in format 1, and this version reads format 2: fit the model again",
    ),
    "earlier, of another layout": (
        signed(format_version="1", ilspace_version="0.0.1", extra=""),
        "in format 1, and this version reads format 2: fit the model again",
    ),
    "version": (signed(format_version="1.0"), "'1.0'"),
    "version zero": (signed(format_version="0"), "incomplete"),
    "version in other digits": (signed(format_version="²"), "format_version"),
    "more metadata": (signed(extra="1"), "of no meaning"),
    "cut": (signed()[:-1], "should take"),
    "longer": (signed() + b"\0", "should take"),
    "edited number": (signed()[:-1] + b"\1", "checksum"),
    "edited kind": (signed().replace(b'"kind":"K"', b'"kind":"L"'), "checksum"),
    "edited state": (signed().replace(b"nan", b"inf"), "checksum"),
    "edited shape": (changed(shape=[3, 2]), "checksum"),
    "edited type": (changed(dtype="I64"), "checksum"),
    "shape of another size": (changed(shape=[2, 2]), "/a has an impossible"),
    "huge shape": (changed(shape=[2**31, 2**31]), "/a has an impossible"),
    "huge empty shape": (changed(shape=[2**62, 2**62, 0], data_offsets=[0, 0]), "impossible"),
    "negative shape": (changed(shape=[-2, -3]), "/a has an impossible"),
    "shape of truths": (changed(shape=[True] * 6), "/a has an impossible"),
    "unknown type": (changed(dtype="BF16"), "/a has an impossible"),
    "unknown entry": (changed(more=1), "/a has an impossible"),
    "offsets outside": (changed(data_offsets=[2**40, 2**40 + 48]), "does not begin"),
    "offsets inside another": (changed(data_offsets=[2**31, 2**31 + 48]), "does not begin"),
    "overlap": (changed(data_offsets=[1, 49]), "does not begin"),
    "negative offsets": (changed(data_offsets=[-48, 0]), "/a has an impossible"),
    "offsets of truths": (changed(shape=[0], data_offsets=[True, True]), "/a has an impossible"),
    "name": (renamed("/a", "/z"), "checksum"),
    "bad boolean": (signed(tensors=take_apart(STATE).tensors)[:-2] + b"\2\0", "neither true nor"),
    "state not JSON": (signed("{"), "not valid JSON"),
    "state no dictionary": (signed("[]", {}), "not a dictionary"),
    "array not there": (signed('{"x": {"$type": "tensor"}}', {}), "/x does not match"),
    "array not used": (signed("{}"), "uses the array /a"),
    "array for scalar": (
        signed('{"a": {"$type": "scalar"}}', {"/a": np.ones(2)}),
        "/a does not match",
    ),
    "unknown $type": (signed('{"a": {"$type": "code"}}', {}), "/a does not match"),
    "dollar in a key": (signed('{"$a": 1}', {}), "unknown $ key"),
    "more in a $type": (signed('{"a": {"$type": "float", "value": "nan", "x": 1}}', {}), "/a does"),
    "other float": (signed('{"a": {"$type": "float", "value": "1"}}', {}), "/a does not match"),
    "large number": (signed('{"a": 1e999}', {}), "too large"),
    "deep state": (signed('{"a": ' + "[" * 40 + "]" * 40 + "}", {}), "32 levels"),
    "wide strings": (
        signed('{"a": {"$type": "strings", "width": 1000000000, "shape": [0], "items": []}}', {}),
        "/a does not match",
    ),
    "width of truth": (
        signed('{"a": {"$type": "strings", "width": true, "shape": [1], "items": ["x"]}}', {}),
        "/a does not match",
    ),
    "narrow strings": (
        signed('{"a": {"$type": "strings", "width": 1, "shape": [1], "items": ["xy"]}}', {}),
        "/a does not match",
    ),
    "strings of another shape": (
        signed('{"a": {"$type": "strings", "width": 1, "shape": [2], "items": ["x"]}}', {}),
        "/a does not match",
    ),
    "objects of objects": (
        signed('{"a": {"$type": "objects", "shape": [1], "items": [[]]}}', {}),
        "/a does not match",
    ),
}


@pytest.mark.parametrize("name", FLAWS)
def test_a_flaw_is_named(tmp_path, name):
    content, message = FLAWS[name]
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_file_of_the_first_format_is_refused_in_one_sentence():
    """A model that format 1 was written for, by the version that wrote it."""
    path = Path(__file__).with_name("format-1.safetensors")
    with safetensors.safe_open(path, "numpy") as file:
        assert file.metadata()["format_version"] == "1"
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    assert str(caught.value) == (
        f"The file {path} must be an intact model of ilspace, but it was written by ilspace "
        "0.1.0.dev0 in format 1, and this version reads format 2: fit the model again and save it "
        "with this version."
    )


def test_the_first_format_with_the_next_number_is_refused_as_later(tmp_path):
    old = Path(__file__).with_name("format-1.safetensors").read_bytes()
    path = tmp_path / "model"
    path.write_bytes(old.replace(b'"format_version":"1"', b'"format_version":"3"'))
    with pytest.raises(ModelFileError, match="0.1.0.dev0 in format 3, .* 2: upgrade ilspace.$"):
        read_model(path)


def test_the_file_that_the_flaws_start_from_is_good(tmp_path):
    (tmp_path / "model").write_bytes(signed())
    assert_same(read_model(tmp_path / "model"), ("K", STATE))


def test_a_pipe_and_a_folder_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer
    for name in ("pipe", "."):
        with pytest.raises(ModelFileError, match="not a file"):
            read_model(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "nothing")


def test_a_file_that_shrinks_while_it_is_read(tmp_path, monkeypatch):
    (tmp_path / "model").write_bytes(signed()[:-10])
    size = len(signed())
    whole = os.stat_result((0, 0, 0, 0, 0, 0, size, 0, 0, 0))
    monkeypatch.setattr(os, "fstat", lambda _: whole)
    with pytest.raises(ModelFileError, match="became shorter"):
        read_model(tmp_path / "model")


def test_an_error_travels_between_processes(tmp_path):
    import pickle

    error = ModelFileError("it is blue", remedy="paint it", path=tmp_path)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.slow
def test_reading_a_text_that_grows_in_memory_stays_small(tmp_path):
    """The densest headers of the largest length, in a process that may not take 1 GB."""
    if not Path("/proc/self/status").exists():
        pytest.skip("peak memory is read where Linux tells it")
    fillings = {
        "objects": '{"":0},' * 500_000,
        "texts": '"ab",' * (2**25 // 8),
        "numbers": "1.5," * (2**25 // 5),
    }
    for name, filling in fillings.items():
        state = '{"a": [' + filling + "0]}"
        (tmp_path / name).write_bytes(signed(state, {}))
        assert (tmp_path / name).stat().st_size < 2**25 + 8
    script = """
import re, sys
from pathlib import Path
from ilspace.storage import read_model
for path in sys.argv[1:]:
    read_model(Path(path))
# not ru_maxrss, which begins with the memory of the process that started this one
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""
    paths = [str(tmp_path / name) for name in fillings]
    ended = subprocess.run(
        [sys.executable, "-c", script, *paths], capture_output=True, text=True, check=True
    )
    assert int(ended.stdout) * 1024 < 10**9


def test_put_together_is_the_inverse_of_take_apart():
    assert_same(put_together(take_apart(STATE)), STATE)
