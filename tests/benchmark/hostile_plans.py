"""Plans that make no sense, each in its own way; text, or bytes where it is none."""

BASE = """
dataset = "office-caltech"
features = "surf"
preprocessing = ["l1-zscore"]
setting = "unsupervised"
trials = 2
transfers = ["AW"]
[[method]]
name = "SA"
estimator = "SubspaceAlignment"
"""

FIELD = """
kind = "field"
trials = 1
settings = ["none"]
groups = { tables = ["heart/cleveland-va"] }
[[method]]
name = "committee"
estimator = "TableClassifier"
parameters = { method = "committee" }
"""


def changed(old, new, plan=BASE):
    """A plan with one of its lines replaced."""
    assert old in plan
    return plan.replace(old, new)


def at_top(line, plan=BASE):
    """A plan with one more entry."""
    return f"{line}\n{plan}"


HOSTILE = {
    "empty": "",
    "not-toml": "a = = 1",
    "not-utf-8": BASE.encode() + b"# \xff\xfe\n",
    "zeros": b"\0" * 100,
    "nested-lists": at_top("title = " + "[" * 5000 + "]" * 5000),
    "nested-tables": at_top("x." * 5000 + "y = 1"),
    "misspelt-parameter": f"{BASE}parameters = {{ n_componentz = 3 }}",
    "parameters-no-table": f"{BASE}parameters = 3",
    "parameters-list": f'{BASE}parameters = ["n_components"]',
    "parameter-a-date": f"{BASE}parameters = {{ n_components = 2020-01-01 }}",
    "nested-parameter-unknown": f"{BASE}parameters = {{ a__b = 3 }}",
    "trials-a-word": changed("trials = 2", 'trials = "many"'),
    "trials-negative": changed("trials = 2", "trials = -1"),
    "trials-zero": changed("trials = 2", "trials = 0"),
    "trials-half": changed("trials = 2", "trials = 1.5"),
    "trials-true": changed("trials = 2", "trials = true"),
    "trials-huge": changed("trials = 2", "trials = 9223372036854775807"),
    "trials-of-a-method": f'{BASE}trials = "few"',
    "preprocessing-unknown": changed('"l1-zscore"', '"l1-zscorn"'),
    "preprocessing-empty": changed('["l1-zscore"]', "[]"),
    "preprocessing-a-word": changed('["l1-zscore"]', '"l1-zscore"'),
    "preprocessing-numbers": changed('["l1-zscore"]', "[1, 2]"),
    "dataset-unknown": changed('"office-caltech"', '"office-coltech"'),
    "dataset-a-number": changed('"office-caltech"', "3"),
    "features-unknown": changed('"surf"', '"serf"'),
    "features-a-list": changed('"surf"', '["surf"]'),
    "setting-a-list": changed('"unsupervised"', '["unsupervised"]'),
    "setting-unknown": changed('"unsupervised"', '"supervised"'),
    "transfer-unknown": changed('["AW"]', '["XY"]'),
    "transfer-empty": changed('["AW"]', '[""]'),
    "transfers-empty": changed('["AW"]', "[]"),
    "transfers-numbers": changed('["AW"]', "[1]"),
    "transfers-a-word": changed('["AW"]', '"AW"'),
    "transfer-of-three": changed('["AW"]', '["A-W-D"]'),
    "columns-numbers": at_top("columns = [1]"),
    "columns-a-number": at_top("columns = 1"),
    "method-a-word": "method = 'SA'\n" + BASE.partition("[[method]]")[0],
    "method-a-list": "method = ['SA']\n" + BASE.partition("[[method]]")[0],
    "method-empty": "method = []\n" + BASE.partition("[[method]]")[0],
    "method-a-table": BASE.replace("[[method]]", "[method]"),
    "method-twice": BASE + BASE[BASE.index("[[method]]") :],
    "estimator-unknown": changed('"SubspaceAlignment"', '"SubspaceAlignmunt"'),
    "estimator-a-number": changed('"SubspaceAlignment"', "7"),
    "estimator-attribute": changed('"SubspaceAlignment"', '"SubspaceAlignment.__init__"'),
    "estimator-maker": changed('"SubspaceAlignment"', '"SubspaceAlignment.nothing"'),
    "name-a-number": changed('"SA"', "7"),
    "name-empty": changed('"SA"', '""'),
    "selection-a-list": f"{BASE}selection = []",
    "grid-without-choice": f"{BASE}grid = {{ n_components = [1, 2] }}",
    "grid-a-number": f'{BASE}selection = "oracle"\ngrid = 3',
    "title-a-number": at_top("title = 3"),
    "paper-a-number": at_top("paper = 3"),
    "kind-unknown": at_top('kind = "fields"'),
    "kind-a-list": at_top('kind = ["field"]'),
    "field-empty": 'kind = "field"',
    "field-groups-a-list": changed('{ tables = ["heart/cleveland-va"] }', "[]", FIELD),
    "field-group-a-word": changed('["heart/cleveland-va"]', '"heart/cleveland-va"', FIELD),
    "field-pair-a-number": changed('["heart/cleveland-va"]', "[1]", FIELD),
    "field-pair-unknown": changed("heart/cleveland-va", "heart/cleveland-vo", FIELD),
    "field-dataset-unknown": changed("heart/cleveland-va", "hart/cleveland-va", FIELD),
    "field-settings-a-number": changed('["none"]', "3", FIELD),
    "field-setting-a-number": changed('["none"]', "[3]", FIELD),
    "field-setting-unknown": changed('["none"]', '["nune"]', FIELD),
    "field-trials-a-word": changed("trials = 1", 'trials = "many"', FIELD),
    "field-trials-zero": changed("trials = 1", "trials = 0", FIELD),
    "field-method-a-word": "method = 'SA'\n" + FIELD.partition("[[method]]")[0],
    "field-method-empty": "method = []\n" + FIELD.partition("[[method]]")[0],
    "field-misspelt-parameter": changed('method = "committee"', "methud = 1", FIELD),
    "field-method-unknown": changed('"committee" }', '{ estimator = "Comittee" } }', FIELD),
    "field-estimates-a-word": f'{FIELD}estimates = "no"',
    "field-estimates-of-a-constant": changed(
        'estimator = "TableClassifier"\nparameters = { method = "committee" }',
        'estimator = "ConstantAnswer"\nestimates = true',
        FIELD,
    ),
    "field-groups-of-a-method": f"{FIELD}groups = 3",
    "field-group-of-a-method-unknown": f'{FIELD}groups = ["chairs"]',
    "field-name-a-number": changed('"committee"\nest', "7\nest", FIELD),
    "field-references-a-number": at_top("references = 3", FIELD),
    "field-reference-unknown": at_top('references = ["linear"]', FIELD),
}
