"""Your own CSV, on the command line's path: look, train, measure, attack, use. docs/tutorial.md does the same by hand.

python examples/own_csv.py [reviews.csv] [runs/own_csv]
"""

import subprocess
import sys
from pathlib import Path

from uegr import open_run

file = sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).with_name("reviews.csv"))
run = sys.argv[2] if len(sys.argv) > 2 else "runs/own_csv"

for command in (
    f"data check {file} --label-column verdict",
    f"train --dataset {file} --label-column verdict --model minilm-l3 --learning-rate 2e-4 --output {run}",
    f"evaluate {run}",
    f"attack {run} --attack deepwordbug --examples 20",
):
    print("$ uegr", command, flush=True)
    subprocess.run([sys.executable, "-m", "uegr.cli", *command.split()], check=True)

for prediction in open_run(run).predict(["It broke after two days.", "I would buy it again."]):
    print(
        prediction.label, "probabilities", {name: round(share, 3) for name, share in prediction.probabilities.items()}
    )
