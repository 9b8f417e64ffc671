#!/usr/bin/env bash
# onnxruntime 1.32.0 (PyPI), on the CPU: TopK and ArgMax choose differently where a logit is NaN,
# and ReduceMax sees NaN only in the first place.
#
# Expected: one rule for NaN: it wins everywhere, or nowhere.
# Seen for [1, NaN, 3]: TopK with k=1 gives NaN (index 1), ArgMax gives index 2, ReduceMax 3;
# for [NaN, 1, 3] ReduceMax gives NaN. Greedy search by the one is not beam search of width 1.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0
"$folder/venv/bin/python" - <<'PYTHON'
import numpy
import onnxruntime
from onnx import TensorProto, helper


def run(operator, row, k=None):
    inputs = ["x"] if k is None else ["x", "k"]
    outputs = ["y"] if k is None else ["y", "indices"]
    kind = TensorProto.INT64 if operator == "ArgMax" else TensorProto.FLOAT
    node = helper.make_node(operator, inputs, outputs)
    counts = [] if k is None else [helper.make_tensor("k", TensorProto.INT64, [1], [k])]
    results = [helper.make_tensor_value_info("y", kind, None)]
    if k is not None:
        results.append(helper.make_tensor_value_info("indices", TensorProto.INT64, None))
    rows = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])]
    graph = helper.make_graph([node], "graph", rows, results, counts)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": numpy.array(row, numpy.float32)})


row = [1, numpy.nan, 3]
value, index = run("TopK", row, 1)
greedy = run("ArgMax", row)[0]
highest = run("ReduceMax", row)[0]
first = run("ReduceMax", [numpy.nan, 1, 3])[0]
print("TopK:", value, index, "ArgMax:", greedy, "ReduceMax:", highest, "NaN first:", first)
assert numpy.isnan(value[0])
assert index[0] == 1
assert greedy[0] == 2
assert highest[0] == 3
assert numpy.isnan(first[0])
PYTHON
