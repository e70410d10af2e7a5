"""The tool for GradBench, spoken to as the suite does, held against NumPy and SciPy and differences of them."""

import json
import math
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import scipy.special
import scipy.stats
from scipy.spatial.transform import Rotation

TOOL = Path(__file__).parent.parent / "benchmarks" / "gradbench"


def lse(given):
    return scipy.special.logsumexp(given["x"])


def llsq(given):
    t = np.linspace(-1.0, 1.0, given["n"])
    return 0.5 * np.sum((np.sign(t) - np.polynomial.Polynomial(given["x"])(t)) ** 2)


def ode(given):
    x, h = np.array(given["x"]), 2.0 / given["s"]
    y = np.zeros(x.size)
    for _ in range(given["s"]):
        k1 = x * np.append(1.0, y[:-1])
        k2 = x * np.append(1.0, (y + h * k1 / 2)[:-1])
        k3 = x * np.append(1.0, (y + h * k2 / 2)[:-1])
        k4 = x * np.append(1.0, (y + h * k3)[:-1])
        y = y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
    return y


def gmm(given):
    d, total = given["d"], 0.0
    weights = scipy.special.softmax(given["alpha"])
    precisions = []
    for diagonal, below in zip(given["q"], given["l"], strict=True):
        factor = np.diag(np.exp(diagonal))
        factor.T[np.triu_indices(d, 1)] = below
        precisions.append(factor.T @ factor)
    for x in given["x"]:
        total += np.log(
            sum(
                weight * scipy.stats.multivariate_normal(mu, np.linalg.inv(precision)).pdf(x)
                for weight, mu, precision in zip(weights, given["mu"], precisions, strict=True)
            )
        )
    prior = scipy.stats.wishart(d + given["m"] + 1, np.identity(d) / given["gamma"] ** 2)
    return total + sum(prior.logpdf(precision) for precision in precisions)


def lstm(given):
    main, extra, sequence = (np.array(given[name]) for name in ("main_params", "extra_params", "sequence"))
    state, total = np.array(given["state"]), 0.0
    for now, then in zip(sequence[:-1], sequence[1:], strict=True):
        x = now * extra[0]
        for layer in range(len(main) // 2):
            hidden, cell = state[2 * layer], state[2 * layer + 1]
            gates = np.concatenate([x, hidden, x, hidden]) * main[2 * layer] + main[2 * layer + 1]
            forget, ingate, outgate = scipy.special.expit(gates[: 3 * x.size]).reshape(3, -1)
            cell = cell * forget + ingate * np.tanh(gates[3 * x.size :])
            x = outgate * np.tanh(cell)
            state[2 * layer], state[2 * layer + 1] = x, cell
        predicted = x * extra[1] + extra[2]
        total += then @ (predicted - np.log(np.sum(np.exp(predicted)) + 2.0))
    return -total / (sequence[1:].size)


def det(given):
    return np.linalg.det(np.reshape(given["A"], (given["ell"], given["ell"])))


def ba_errors(camera, point, w, feat):
    eye = Rotation.from_rotvec(camera[:3]).apply(np.array(point) - camera[3:6])
    flat = eye[:2] / eye[2]
    radius = flat @ flat
    distorted = flat * (1.0 + camera[9] * radius + camera[10] * radius**2)
    return w * (distorted * camera[6] + camera[7:9] - feat)


def ba(given):
    error = ba_errors(*(np.array(given[name]) for name in ("cam", "x", "w", "feat")))
    return {
        "reproj_error": {"elements": error, "repeated": given["p"]},
        "w_err": {"element": 1.0 - given["w"] ** 2, "repeated": given["p"]},
    }


def slope(f, x, h=1e-6):
    """The derivative of f by central differences, an axis for its output first."""
    x = np.array(x, dtype=float)
    columns = []
    for i in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[i] = h
        columns.append((np.asarray(f(x + step)) - f(x - step)) / (2.0 * h))
    return np.moveaxis(np.array(columns), 0, -1)


def part(f, given, name):
    """The derivative of f by one of its inputs."""
    return slope(lambda x: f({**given, name: x.tolist()}), given[name]).reshape(np.shape(given[name]))


def ba_jacobian(given):
    n, m, p = given["n"], given["m"], given["p"]
    own = np.concatenate([given["cam"], given["x"], [given["w"]]])
    blocks = slope(lambda own: ba_errors(own[:11], own[11:14], own[14], np.array(given["feat"])), own)
    columns = [*range(11), *range(11 * n, 11 * n + 3), 11 * n + 3 * m]
    return {
        "rows": [*range(0, 30 * 15, 15), 31 * p],
        "cols": [*columns, *columns, 11 * n + 3 * m + p - 1],
        "vals": [*blocks.ravel(), -2.0 * given["w"]],
    }


EXPECTED = {
    ("hello", "square"): lambda x: x * x,
    ("hello", "double"): lambda x: 2.0 * x,
    ("lse", "primal"): lse,
    ("lse", "gradient"): lambda given: part(lse, given, "x"),
    ("llsq", "primal"): llsq,
    ("llsq", "gradient"): lambda given: part(llsq, given, "x"),
    ("ode", "primal"): ode,
    ("ode", "gradient"): lambda given: part(lambda given: ode(given)[-1], given, "x"),
    ("gmm", "objective"): gmm,
    ("gmm", "jacobian"): lambda given: {name: part(gmm, given, name) for name in ("alpha", "mu", "q", "l")},
    ("lstm", "objective"): lstm,
    ("lstm", "jacobian"): lambda given: [
        *part(lstm, given, "main_params").ravel(),
        *part(lstm, given, "extra_params").ravel(),
    ],
    ("det", "primal"): det,
    ("det", "gradient"): lambda given: part(det, given, "A"),
    ("ba", "objective"): ba,
    ("ba", "jacobian"): ba_jacobian,
}


def example(module):
    return runpy.run_path(str(TOOL / f"{module}.py"))["EXAMPLE"]


def asked(messages, folder):
    """What the tool answers, run from some other folder."""
    text = "".join(json.dumps({"id": number, **message}) + "\n" for number, message in enumerate(messages))
    done = subprocess.run(
        [sys.executable, str(TOOL / "run.py")], input=text, stdout=subprocess.PIPE, text=True, cwd=folder, check=True
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == list(range(len(messages)))
    return answers


def test_every_function_answers_what_numpy_says(tmp_path):
    """Each eval's example, answered by one process."""
    messages = [{"kind": "start", "eval": "all"}]
    messages += [{"kind": "define", "module": module} for module in dict.fromkeys(module for module, _ in EXPECTED)]
    for module, function in EXPECTED:
        given = example(module)
        given = {**given, "min_runs": 3, "min_seconds": 0} if isinstance(given, dict) else given
        messages.append({"kind": "evaluate", "module": module, "function": function, "input": given})
    heard = asked(messages, tmp_path)
    assert heard[0] == {"id": 0, "tool": "srcgrad"}
    for (module, function), answer in zip(EXPECTED, heard[-len(EXPECTED) :], strict=True):
        assert answer["success"], (module, function, answer["error"])
        same(answer["output"], EXPECTED[module, function](example(module)))
        assert len(answer["timings"]) == (1 if module == "hello" else 3)
        assert all(timing["name"] == "evaluate" and timing["nanoseconds"] > 0 for timing in answer["timings"])


def same(output, expected):
    if isinstance(expected, dict):
        assert output.keys() == expected.keys()
        for name, value in expected.items():
            same(output[name], value)
    else:
        np.testing.assert_allclose(output, expected, rtol=1e-6, atol=1e-8)


def test_runs_go_on_until_enough_seconds_have_passed_and_what_it_does_not_know_is_an_answer_too(tmp_path):
    given = {"x": [1.0, 2.0], "min_runs": 1, "min_seconds": 0.01}
    messages = [
        {"kind": "define", "module": "lse"},
        {"kind": "evaluate", "module": "lse", "function": "primal", "input": given},
    ]
    messages += [
        {"kind": "define", "module": "kmeans"},
        {"kind": "define", "module": "hello"},
        {"kind": "evaluate", "module": "hello", "function": "triple", "input": 1.0},
        {"kind": "analysis", "of": 4, "valid": False},
    ]
    _, answer, unknown, _, wrong, analysis = asked(messages, tmp_path)
    spent = [timing["nanoseconds"] for timing in answer["timings"]]
    assert sum(spent[:-1]) < 1e7 <= sum(spent)
    assert math.isclose(answer["output"], lse(given))
    assert not unknown["success"] and "kmeans" in unknown["error"]
    assert not wrong["success"] and "triple" in wrong["error"]
    assert analysis == {"id": 5}
