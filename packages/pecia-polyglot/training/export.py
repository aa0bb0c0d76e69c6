"""Makes the files of the package: `python export.py static.npz TOKENIZER OUT`.

The weight of a piece goes into the scales of its row, so that a text is a plain sum of rows.
"""

import sys
from pathlib import Path

import numpy as np


def main() -> None:
    source, tokenizer, out = (Path(it) for it in sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    with np.load(source) as arrays:
        share = np.log1p(np.exp(arrays["rest.weights"].astype(np.float32)))
        scales = arrays["scale"].astype(np.float32) * share[:, None]
        np.save(out / "pieces.npy", arrays["table"])
        np.save(out / "scales.npy", scales.astype(np.float16))
        layers = {
            it: arrays[f"rest.{it}"] for it in ("up.weight", "up.bias", "down.weight", "down.bias")
        }
    np.savez(out / "layer.npz", **layers)
    (out / "tokenizer.json").write_bytes(tokenizer.read_bytes())


if __name__ == "__main__":
    main()
