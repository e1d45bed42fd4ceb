"""Files to features: order, broken ones, batches, what is kept."""

import json

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")

from ilspace.images import PictureError, embed_files, make_backbone  # noqa: E402
from ilspace.images.backbones import Pixels  # noqa: E402
from ilspace.images.cache import FeatureCache  # noqa: E402


class Counting(Pixels):
    """Mean and maximum of a picture; counts the pictures it has seen."""

    is_slow = True

    def __init__(self):
        super().__init__(4)
        self.seen = []

    def features(self, batch):
        self.seen.append(len(batch))
        flat = batch.reshape(len(batch), -1)
        return np.stack([flat.mean(axis=1), flat.max(axis=1)], axis=1)


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{i}.png" for i in range(7)]
    for i, path in enumerate(paths):
        Image.new("L", (9, 9), 10 * i).save(path)
    paths[3].write_bytes(b"broken")
    return [*paths, tmp_path / "gone.png"]


def together(blocks):
    blocks = list(blocks)
    return (
        np.concatenate([each.positions for each in blocks]).tolist(),
        np.concatenate([each.features for each in blocks if len(each.positions)]),
        [each for block in blocks for each in block.broken],
    )


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_rows_are_in_order_and_broken_ones_named(files, batch_size):
    counts = []
    positions, features, broken = together(
        embed_files(
            files, Counting(), batch_size=batch_size, on_count=lambda *now: counts.append(now)
        )
    )
    assert positions == [0, 1, 2, 4, 5, 6]
    assert features.tolist() == [[10.0 * i, 10.0 * i] for i in positions]
    assert [each.position for each in broken] == [3, 7]
    assert broken[0].reason == "not a picture"
    assert "no such file" in broken[1].reason
    assert counts[-1] == (8, 8)


def test_no_batch_is_larger_than_asked_for(files):
    backbone = Counting()
    list(embed_files(files, backbone, batch_size=2))
    assert max(backbone.seen) == 2


def test_what_was_interrupted_goes_on_where_it_stopped(files, tmp_path):
    backbone = Counting()
    blocks = embed_files(files, backbone, cache=tmp_path / "cache", batch_size=2)
    next(blocks)
    blocks.close()
    assert sum(backbone.seen) == 2
    again = Counting()
    positions, features, _ = together(embed_files(files, again, cache=tmp_path / "cache"))
    assert sum(again.seen) == 4  # six intact, two known
    assert features.tolist() == [[10.0 * i, 10.0 * i] for i in positions]


def test_features_follow_the_content_of_a_file_not_its_name(files, tmp_path):
    cache = tmp_path / "cache"
    list(embed_files(files, Counting(), cache=cache))
    moved = files[1].rename(tmp_path / "moved.png")
    Image.new("L", (9, 9), 99).save(files[2])
    backbone = Counting()
    _, features, _ = together(embed_files([moved, files[2]], backbone, cache=cache))
    assert backbone.seen == [1]
    assert features.tolist() == [[10.0, 10.0], [99.0, 99.0]]


def test_another_model_knows_nothing_of_it(files, tmp_path):
    with FeatureCache(tmp_path, "one") as one, FeatureCache(tmp_path, "other") as other:
        one.put([b"a"], np.ones((1, 2), np.float32))
        assert list(one.get([b"a", b"b"])) == [b"a"]
        assert other.get([b"a"]) == {}


def test_a_damaged_cache_is_made_anew(tmp_path):
    with FeatureCache(tmp_path, "one") as cache:
        cache.put([b"a"], np.ones((1, 2), np.float32))
    cache.path.write_bytes(b"no database, but long enough to be taken for one" * 50)
    with FeatureCache(tmp_path, "one") as cache:
        assert cache.get([b"a"]) == {}


def test_a_cache_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PictureError, match="--cache"):
        FeatureCache(tmp_path / "file", "one")


def test_features_that_are_no_numbers_are_refused(files):
    class Flawed(Counting):
        def features(self, batch):
            return super().features(batch) * np.nan

    with pytest.raises(PictureError, match="finite"):
        list(embed_files(files, Flawed()))


# -- backbones by name ----------------------------------------------------------------------------


@pytest.mark.parametrize(("side", "name"), [(8, "pixels"), (32, "pixels")])
def test_small_pictures_are_described_by_their_pixels(tmp_path, side, name):
    Image.new("L", (side, side)).save(tmp_path / "a.png")
    assert make_backbone("auto", [tmp_path / "a.png"]).name == name


def test_without_a_backbone_it_is_said_what_to_install(tmp_path, monkeypatch):
    Image.new("L", (40, 33)).save(tmp_path / "a.png")
    monkeypatch.setattr("ilspace.images.backbones.find_spec", lambda name: None)
    with pytest.raises(PictureError, match=r"40 pixels .*ilspace\[images\].*--backbone"):
        make_backbone("auto", [tmp_path / "a.png"])


@pytest.mark.parametrize(
    ("name", "reason"),
    [("pixels:1", "between 2 and 64"), ("resnet", "choose one"), ("no.onnx", "check the path")],
)
def test_names_that_mean_nothing_are_refused(name, reason):
    with pytest.raises(PictureError, match=reason):
        make_backbone(name)


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "timm", None)
    with pytest.raises(ImportError, match=r"ilspace\[timm\]"):
        make_backbone("timm:resnet18")


def test_pixels_are_those_of_the_reduced_picture(tmp_path):
    values = np.arange(16, dtype=np.uint8).reshape(4, 4)
    Image.fromarray(values).save(tmp_path / "a.png")
    (found,) = embed_files([tmp_path / "a.png"], make_backbone("pixels:4"))
    assert found.features.tolist() == [values.ravel().tolist()]


# -- models ---------------------------------------------------------------------------------------


def tiny_model(path, *, side: int | str = 6, output="mean", batch="n"):
    """Write a model whose features are the mean of each colour, or the picture itself."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, number = onnx.helper, onnx.TensorProto.FLOAT
    kind = "GlobalAveragePool" if output == "mean" else "Identity"
    graph = helper.make_graph(
        [helper.make_node(kind, ["pictures"], ["features"])],
        "tiny",
        [helper.make_tensor_value_info("pictures", number, [batch, 3, side, side])],
        [helper.make_tensor_value_info("features", number, None)],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return str(path)


@pytest.mark.parametrize("output", ["mean", "places"])
@pytest.mark.parametrize("batch", ["n", 2])
def test_features_of_an_onnx_model(tmp_path, output, batch):
    """Means of colours by another road; places of a map of features are averaged."""
    model = tiny_model(tmp_path / "m.onnx", output=output, batch=batch)
    colours = [(255, 0, 51), (0, 255, 102), (10, 20, 30)]
    files = [tmp_path / f"{i}.png" for i in range(3)]
    for colour, file in zip(colours, files, strict=True):
        Image.new("RGB", (20, 11), colour).save(file)
    (found,) = embed_files(files, make_backbone(model))
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    by_hand = [(np.array(each) / 255 - mean) / std for each in colours]
    np.testing.assert_allclose(found.features, by_hand, atol=1e-5)


def test_a_file_beside_the_model_says_how_pictures_are_prepared(tmp_path):
    model = tiny_model(tmp_path / "m.onnx", side="side")
    before = make_backbone(model)
    config = {"image_mean": [0, 0, 0], "image_std": [1, 1, 1], "size": {"shortest_edge": 12}}
    config |= {"crop_size": {"height": 10, "width": 10}}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(config))
    backbone = make_backbone(model)
    assert backbone.prepare(Image.new("RGB", (30, 20), "white")).tolist() == [[[1.0] * 10] * 10] * 3
    assert backbone.key != before.key
    (tmp_path / "preprocessor_config.json").write_text('{"image_mean": "grey"}')
    with pytest.raises(PictureError, match="preprocessor_config"):
        make_backbone(model)


def test_the_middle_of_a_picture_is_seen(tmp_path):
    """A wide one, of which the left third is black and the right one white, is grey."""
    model = tiny_model(tmp_path / "m.onnx", side=16)
    picture = Image.new("RGB", (90, 30), (128, 128, 128))
    picture.paste("black", (0, 0, 24, 30))
    picture.paste("white", (66, 0, 90, 30))
    seen = make_backbone(model).prepare(picture)
    assert len(np.unique(seen.round(4))) == 3  # one number per colour


def test_a_model_that_takes_something_else_is_refused(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"no model")
    pytest.importorskip("onnxruntime")
    with pytest.raises(PictureError, match="cannot be loaded"):
        make_backbone(str(tmp_path / "m.onnx"))
