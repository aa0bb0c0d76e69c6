"""Makes the files of the package: `python export.py contextual.npz TOKENIZER OUT`.

One ONNX graph: pieces in four bits a number, MiniLM's body in eight, and the short path beside it.
The second matrix of the first three layers stays as it is: rounding what goes into it to eight bits
costs more than all the rest (cosine to the exact vector .974 with it, .993 with all six left).
It runs as MiniLM does: token ids and mask in, one vector of length one a text out.
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnxruntime.quantization import QuantType, quantize_dynamic

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "pecia-minilm"))

from build_model import HIDDEN, Graph, encoded
from lessons import BEGIN, END, MAX_TOKENS
from students import GROUP

MICROSOFT = "com.microsoft"
EXACT_LAYERS = 3
# What a saved student calls its layers, and what the graph of MiniLM does.
NAMES = {
    "out": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm2": "output.LayerNorm",
}


def body_weights(arrays: dict[str, Any]) -> dict[str, Any]:
    """The body's weights under the names that the graph of MiniLM reads."""
    found: dict[str, Any] = {}
    for name in {it.rpartition(".")[0] for it in arrays if it.startswith("rest.body.layers.")}:
        number, _, layer = name.removeprefix("rest.body.layers.").partition(".")
        for part in ("weight", "bias"):
            value = arrays[f"{name}.{part}"].astype(np.float32)
            if layer == "qkv":
                for kind, third in zip(("query", "key", "value"), np.split(value, 3), strict=True):
                    found[f"encoder.layer.{number}.attention.self.{kind}.{part}"] = third
            else:
                found[f"encoder.layer.{number}.{NAMES[layer]}.{part}"] = value
    for name in ("straight", "up", "down"):
        for part in ("weight", "bias"):
            found[f"short.{name}.{part}"] = arrays[f"rest.{name}.{part}"].astype(np.float32)
    for part in ("weight", "bias"):
        found[f"norm.{part}"] = arrays[f"rest.body.norm.{part}"].astype(np.float32)
    return found


def length_one(graph: Graph, x: str) -> str:
    squares = graph.step(
        "ReduceSum", graph.step("Mul", x, x), graph.numbers("across", [1]), keepdims=1
    )
    floor = graph.constant("floor", np.float32(1e-12))
    return graph.step("Div", x, graph.step("Max", graph.step("Sqrt", squares), floor))


def pieces(graph: Graph, arrays: dict[str, Any]) -> str:
    """The vectors of the pieces, gathered from four bits a number."""
    # A nibble holds a number and eight; the operator reads two's complement.
    table = arrays["table"] ^ 0x88
    packed = TensorProto(
        name="pieces",
        data_type=TensorProto.INT4,
        dims=[len(table), HIDDEN],
        raw_data=np.ascontiguousarray(table).tobytes(),
    )
    graph.constants["pieces"] = packed
    scales = graph.constant("piece_scales", arrays["scale"].astype(np.float32))
    graph.nodes.append(
        helper.make_node(
            "GatherBlockQuantized",
            ["pieces", "input_ids", scales],
            ["piece_vectors"],
            domain=MICROSOFT,
            gather_axis=0,
            quantize_axis=1,
            block_size=GROUP,
        )
    )
    return "piece_vectors"


def build(arrays: dict[str, Any]) -> onnx.ModelProto:
    graph = Graph(body_weights(arrays))
    mask = graph.step("Cast", "attention_mask", to=TensorProto.FLOAT)
    found = pieces(graph, arrays)
    tokens, last = graph.numbers("tokens", [1]), graph.numbers("last", [2])
    # The short path: a weighted sum of the pieces, and a small layer.
    share = np.log1p(np.exp(arrays["rest.weights"].astype(np.float32)))
    share = graph.step(
        "Mul", graph.step("Gather", graph.constant("share", share), "input_ids"), mask
    )
    weighted = graph.step("Mul", found, graph.step("Unsqueeze", share, last))
    x = length_one(graph, graph.step("ReduceSum", weighted, tokens, keepdims=0))
    inner = graph.step("Gelu", graph.dense(x, "short.up"))
    short = graph.step("Add", graph.dense(x, "short.straight"), graph.dense(inner, "short.down"))
    # The body.
    length = graph.step("Gather", graph.step("Shape", "input_ids"), graph.numbers("one", 1))
    length = graph.step("Reshape", length, graph.numbers("flat", [1]))
    first, axis = graph.numbers("first", [0]), graph.numbers("rows", [0])
    positions = graph.constant("positions", arrays["rest.body.positions"].astype(np.float32))
    places = graph.step("Slice", positions, first, length, axis)
    x = encoded(graph, graph.normed(graph.step("Add", found, places), "norm"), mask)
    weight = graph.step("Unsqueeze", mask, last)
    total = graph.step("ReduceSum", graph.step("Mul", x, weight), tokens, keepdims=0)
    body = length_one(graph, total)
    both = length_one(graph, graph.step("Add", body, short))
    graph.nodes.append(helper.make_node("Identity", [both], ["embedding"]))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", HIDDEN])]
    made = helper.make_graph(
        graph.nodes, "polyglot", inputs, outputs, list(graph.constants.values())
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=10)


def left_exact(model: onnx.ModelProto) -> list[str]:
    weights = {f"encoder.layer.{it}.output.dense.turned" for it in range(EXACT_LAYERS)}
    found = [it for it in model.graph.node if it.op_type == "MatMul" and it.input[1] in weights]
    for node in found:
        node.name = node.input[1]
    return [it.name for it in found]


def quantised(model: onnx.ModelProto) -> bytes:
    exact = left_exact(model)
    with tempfile.TemporaryDirectory() as scratch:
        full, small = Path(scratch) / "full.onnx", Path(scratch) / "small.onnx"
        onnx.save(model, full)
        quantize_dynamic(
            full,
            small,
            weight_type=QuantType.QInt8,
            per_channel=True,
            op_types_to_quantize=["MatMul"],
            nodes_to_exclude=exact,
            extra_options={"DefaultTensorType": TensorProto.FLOAT},
        )
        return small.read_bytes()


def framed_tokenizer(path: Path) -> str:
    """The tokenizer with the signs around a text, cut to what the model reads."""
    from tokenizers import Tokenizer, processors

    tokenizer = Tokenizer.from_file(str(path))
    begin, end = ((it, tokenizer.token_to_id(it)) for it in (BEGIN, END))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A {END}", special_tokens=[begin, end]
    )
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    return tokenizer.to_str(pretty=False)


def main() -> None:
    source, tokenizer, out = (Path(it) for it in sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    with np.load(source) as arrays:
        model = quantised(build({name: arrays[name] for name in arrays.files}))
    (out / "model.onnx").write_bytes(model)
    (out / "tokenizer.json").write_text(framed_tokenizer(tokenizer), encoding="utf-8")
    digests = {
        it: hashlib.sha256((out / it).read_bytes()).hexdigest()
        for it in ("model.onnx", "tokenizer.json")
    }
    sys.stdout.write(json.dumps(digests) + "\n")


if __name__ == "__main__":
    main()
