"""From keypress to the next row on the page of ``ilspace label``, while the model is fitted again.

A browser presses keys on the page itself and waits until the next row is drawn. Needs the extra
test, chromium and chromedriver. ``python perf/labelling.py --rows 10000 --columns 100``
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from selenium import webdriver

PRESS = """
const done = arguments[1], before = document.getElementById("row-title").textContent;
const start = performance.now();
const watch = new MutationObserver(() => {
  if (document.getElementById("row-title").textContent === before) return;
  watch.disconnect();
  const learning = !document.getElementById("learning").hidden;
  requestAnimationFrame(() => done([performance.now() - start, learning]));
});
watch.observe(document.getElementById("row-title"), { childList: true, subtree: true });
document.body.dispatchEvent(new KeyboardEvent("keydown", { key: arguments[0], bubbles: true }));
"""

SHOWN = "return /Row \\d+ of/.test(document.getElementById('row-title').textContent)"
FITTED = "return document.querySelectorAll('#map path').length > 0"


def write_tables(folder, n_rows, n_columns, n_classes=5):
    """Two tables with the same classes, moved and turned."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(n_classes, n_columns))
    paths = []
    for name, n in (("source", 1000), ("target", n_rows)):
        codes = rng.integers(0, n_classes, n)
        rows = 2 * rng.normal(size=(n, n_columns)) + means[codes] + 0.5 * (name == "target")
        table = pd.DataFrame(rows.round(4)).add_prefix("x")
        if name == "source":
            table["class"] = np.array(list("abcde"))[codes]
        paths.append(Path(folder) / f"{name}.csv")
        table.to_csv(paths[-1], index=False)
    return paths


def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


def wait(driver, script, seconds=300):
    start = time.perf_counter()
    while not driver.execute_script(script):
        if time.perf_counter() - start > seconds:
            sys.exit(f"waited too long for: {script}")
        time.sleep(0.2)
    return time.perf_counter() - start


def measure(n_rows, n_columns, n_labels):
    with tempfile.TemporaryDirectory() as folder:
        paths = write_tables(folder, n_rows, n_columns)
        command = [sys.executable, "-m", "ilspace.cli", "label", *map(str, paths)]
        start = time.perf_counter()
        server = subprocess.Popen([*command, "--label", "class"], stderr=subprocess.PIPE, text=True)
        driver = browser()
        try:
            address = re.search(r"http://\S+", server.stderr.readline())[0]
            driver.get(address)
            wait(driver, SHOWN)
            print(f"{n_rows} rows of {n_columns} columns")
            print(f"first row after {time.perf_counter() - start:.1f} s")
            wait(driver, FITTED)
            print(f"first model after {time.perf_counter() - start:.1f} s")
            found = []
            for number in range(n_labels):
                found.append(driver.execute_async_script(PRESS, str(number % 5 + 1)))
                time.sleep(0.3)  # a quick person
            for learning in (False, True):
                times = [each for each, busy in found if busy == learning]
                if times:
                    when = "while it is fitted" if learning else "at rest"
                    middle, late = np.quantile(times, [0.5, 0.95])
                    print(
                        f"keypress to next row, {when}: median {middle:.0f} ms, 95 % {late:.0f} ms"
                    )
                    print(f"    most {max(times):.0f} ms, {len(times)} keys")
        finally:
            driver.quit()
            server.terminate()
            server.communicate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--labels", type=int, default=60)
    arguments = parser.parse_args()
    measure(arguments.rows, arguments.columns, arguments.labels)
