"""docs/configuration.md: every key of a run's configuration, from config.py."""

from method_pages import escaped, table

from uegr.training.config import RECOMMENDED
from uegr.training.keys import Key, keys
from uegr.training.template import written

NOTE = "<!-- Written by docs/generate.py from src/uegr/training/config.py; change it there. -->"
MEANINGS = {
    "model": "The model, and how it is loaded. [models.md](models.md) has more.",
    "dataset": "The data, and how a file is read. [data.md](data.md) has more.",
    "training": "How it is trained. The optimizer is AdamW; the learning rate rises, then falls to 0 in a line.",
    "augment": "An attack before each epoch, whose finds are further training rows. [attacks.md](attacks.md) has more.",
}
START = f"""\
A run has a configuration of five sections and a seed. `uegr init` writes it as a YAML file in which every key has a
comment, and `uegr train --config uegr.yaml` trains it. A flag or `--set section.key=value` overrides the file:

    uegr init my.yaml --dataset snippets
    uegr train --config my.yaml --set training.warmup=0.1 --seed 1

The run's folder keeps the whole configuration as `config.yaml`, with nothing left to a default. `seed` (default 0)
determines every random number. The `method` section has a `name` and the options of that method:
[methods/README.md](methods/README.md) lists them. Without a name, it is what the [study](results.md) recommends:
`{written(RECOMMENDED)}`. In a file, a section that is only a name may be that name: `model: minilm`."""


def page() -> str:
    """The page."""
    sections = dict.fromkeys(key.section for key in keys())
    parts = [NOTE, "# Configuration", START]
    for section in sections:
        rows = [row(key) for key in keys() if key.section == section]
        parts += [f"## {section}", MEANINGS[section], table(["key", "value", "default", "meaning"], rows)]
    return "\n\n".join(parts) + "\n"


def row(key: Key) -> list[str]:
    """One key."""
    default = "required" if key.required else f"`{written(key.default)}`"
    return [f"`{key.path}`", escaped(key.kind), default, escaped(key.meaning)]
