"""Names of the files that a job leaves behind."""

PREDICTIONS = "predictions.csv"
MODEL = "model.safetensors"
REPORT = "report.html"
SUMMARY = "summary.json"
