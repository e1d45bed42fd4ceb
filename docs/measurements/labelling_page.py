"""The picture of docs/user_guide/label.md, and how right the model is after each few labels.

``python docs/measurements/labelling_page.py FOLDER`` writes two tables of handwritten digits
(scikit-learn's, and MNIST's with a picture each) into a new folder, labels 30 rows on the page of
``ilspace label`` in a browser, with their true labels, and keeps what the page looks like then.
Needs the extras demo, label and test, chromium and chromedriver.
"""

from __future__ import annotations

import argparse
import base64
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from ilspace.datasets import load_digit_pair
from ilspace.labelling.job import open_job
from ilspace.labelling.learner import Learner, Task

N_SOURCE, N_TARGET, N_LABELS = 600, 1000, 30
PICTURE = Path(__file__).resolve().parents[1] / "_static" / "labelling.webp"


def write_tables(folder: Path) -> np.ndarray:
    """Write the files and the pictures; the true labels of the target."""
    (digits, mnist), (_, whole) = load_digit_pair(), load_digit_pair(pool=False)
    rng = np.random.default_rng(0)
    here, there = (
        rng.permutation(len(digits.y))[:N_SOURCE],
        rng.permutation(len(mnist.y))[:N_TARGET],
    )
    names = [f"pixel{i:02d}" for i in range(digits.X.shape[1])]
    source = pd.DataFrame(digits.X[here], columns=names)
    source.assign(digit=digits.y[here]).to_csv(folder / "scans.csv", index=False)
    target = pd.DataFrame(mnist.X[there].round(3), columns=names)
    (folder / "pictures").mkdir()
    paths = [f"pictures/{i:04d}.png" for i in range(N_TARGET)]
    for path, pixels in zip(paths, whole.X[there], strict=True):
        image = Image.fromarray((255 - pixels).astype(np.uint8).reshape(28, 28))
        image.resize((168, 168)).save(folder / path)
    target.insert(0, "picture", paths)
    target.to_csv(folder / "letters.csv", index=False)
    return mnist.y[there].astype(str)


def open_browser() -> webdriver.Chrome:
    """Start a browser that nobody sees."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


def label_rows(browser: webdriver.Chrome, truth: np.ndarray) -> None:
    """Label rows by their keys, and print the estimate after each fit."""
    wait = WebDriverWait(browser, 300, poll_frequency=0.1)

    def text(name: str) -> str:
        return browser.find_element(By.ID, name).text

    def rest() -> None:
        wait.until(lambda _: text("accuracy") != "–" and not text("learning"))
        sys.stdout.write(f"{text('progress')}: {text('accuracy')} {text('interval')}\n")

    rest()
    for number in range(1, N_LABELS + 1):
        title = text("row-title")
        found = re.search(r"Row (\d+) of", title)
        key = truth[int(found[1]) - 1] if found else "s"
        browser.find_element(By.TAG_NAME, "body").send_keys(key)
        wait.until(lambda _, before=title: text("row-title") != before)
        if number % 10 == 0:
            rest()


def count_right(folder: Path, truth: np.ndarray) -> None:
    """Fit as the page did, and print how many guesses without a label are right."""
    job = open_job([folder / "scans.csv", folder / "letters.csv"], label="digit")
    labels, learner = Task.of(job.open_labels().answers).labels, Learner(job)
    for n in range(0, N_LABELS + 1, 10):
        known = dict(list(labels.items())[:n])
        *_, found = learner.learn(Task(known))
        right = np.array(job.classes)[found.codes] == truth
        share = right[np.setdiff1d(np.arange(N_TARGET), list(known))].mean()
        sys.stdout.write(f"{n} labels: {share:.1%} right, estimated {found.accuracy}\n")


def main() -> None:
    """Write the files, label, and keep the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a new one")
    folder = parser.parse_args().folder
    folder.mkdir()
    truth = write_tables(folder)
    command = [sys.executable, "-m", "ilspace.cli", "label", "scans.csv", "letters.csv"]
    server = subprocess.Popen(
        [*command, "--label", "digit"], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    browser = open_browser()
    try:
        assert server.stderr is not None
        address = re.search(r"http://\S+", server.stderr.readline())
        assert address is not None
        size = {"width": 1180, "height": 820, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(address[0])
        label_rows(browser, truth)
        shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        image = Image.open(io.BytesIO(base64.b64decode(shot["data"])))
        image.convert("RGB").save(PICTURE, quality=80, method=6)
        sys.stdout.write(f"{PICTURE}: {PICTURE.stat().st_size} bytes\n")
    finally:
        browser.quit()
        server.terminate()
        server.communicate()
    count_right(folder, truth)


if __name__ == "__main__":
    main()
