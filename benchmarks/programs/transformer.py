"""A language model: blocks of causal attention and a perceptron, with norms ahead of each, over a batch of texts."""

import numpy as np

from benchmarks.programs.libraries import anp, functional, jax, jnp
from benchmarks.programs.program import ARRAYS, Program, Size

WEIGHTS = ("embedding", "places", "scales", "w_qkv", "w_out", "w_up", "b_up", "w_down", "b_down", "head")


def normed(x, scale):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return scale * centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def attention(x, w_qkv, w_out, heads):
    batch, length, width = x.shape
    qkv = (x @ w_qkv).reshape(batch, length, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    scores = qkv[0] @ qkv[1].transpose(0, 1, 3, 2) / np.sqrt(width // heads)
    scores = np.where(np.tril(np.ones((length, length), dtype=bool)), scores, -np.inf)
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    return (weights @ qkv[2]).transpose(0, 2, 1, 3).reshape(batch, length, width) @ w_out


def transformer(embedding, places, scales, w_qkv, w_out, w_up, b_up, w_down, b_down, head, texts, heads):
    x = embedding[texts[:, :-1]] + places
    for k in range(w_qkv.shape[0]):
        x = x + attention(normed(x, scales[k, 0]), w_qkv[k], w_out[k], heads)
        x = x + gelu(normed(x, scales[k, 1]) @ w_up[k] + b_up[k]) @ w_down[k] + b_down[k]
    logits = x @ head
    logits = logits - np.max(logits, axis=-1, keepdims=True)
    chosen = np.take_along_axis(logits, texts[:, 1:, None], axis=-1)[..., 0]
    return np.mean(np.log(np.sum(np.exp(logits), axis=-1)) - chosen)


def data(rng, layers, batch, length, width, heads, letters):
    def weights(*shape):
        return rng.normal(size=shape) / np.sqrt(shape[-2])

    return (
        0.5 * rng.normal(size=(letters, width)), 0.1 * rng.normal(size=(length, width)), np.ones((layers, 2, width)),
        weights(layers, width, 3 * width), weights(layers, width, width), weights(layers, width, 4 * width),
        0.1 * rng.normal(size=(layers, 4 * width)), weights(layers, 4 * width, width),
        0.1 * rng.normal(size=(layers, width)), weights(width, letters),
        rng.integers(0, letters, (batch, length + 1)), heads,
    )  # fmt: skip


def in_jax(embedding, places, scales, w_qkv, w_out, w_up, b_up, w_down, b_down, head, texts, heads):
    def norm(x, scale):
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        return scale * centred / jnp.sqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)

    x = embedding[texts[:, :-1]] + places
    batch, length, width = x.shape
    allowed = jnp.tril(jnp.ones((length, length), dtype=bool))
    for k in range(w_qkv.shape[0]):
        qkv = norm(x, scales[k, 0]) @ w_qkv[k]
        qkv = qkv.reshape(batch, length, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
        scores = qkv[0] @ qkv[1].transpose(0, 1, 3, 2) / jnp.sqrt(width // heads)
        weights = jax.nn.softmax(jnp.where(allowed, scores, -jnp.inf), axis=-1)
        x = x + (weights @ qkv[2]).transpose(0, 2, 1, 3).reshape(batch, length, width) @ w_out[k]
        x = x + jax.nn.gelu(norm(x, scales[k, 1]) @ w_up[k] + b_up[k]) @ w_down[k] + b_down[k]
    logits = x @ head
    chosen = jnp.take_along_axis(logits, texts[:, 1:, None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - chosen)


def in_torch(embedding, places, scales, w_qkv, w_out, w_up, b_up, w_down, b_down, head, texts, heads):
    x = embedding[texts[:, :-1]] + places
    batch, length, width = x.shape
    for k in range(w_qkv.shape[0]):
        qkv = functional.layer_norm(x, (width,), scales[k, 0]) @ w_qkv[k]
        q, key, value = qkv.reshape(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, key, value, is_causal=True)
        x = x + seen.transpose(1, 2).reshape(batch, length, width) @ w_out[k]
        up = functional.layer_norm(x, (width,), scales[k, 1]) @ w_up[k] + b_up[k]
        x = x + functional.gelu(up, approximate="tanh") @ w_down[k] + b_down[k]
    return functional.cross_entropy((x @ head).flatten(0, 1), texts[:, 1:].flatten())


def in_autograd(embedding, places, scales, w_qkv, w_out, w_up, b_up, w_down, b_down, head, texts, heads):
    def norm(x, scale):
        centred = x - anp.mean(x, axis=-1, keepdims=True)
        return scale * centred / anp.sqrt(anp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)

    x = embedding[texts[:, :-1]] + places
    batch, length, width = x.shape
    allowed = np.tril(np.ones((length, length), dtype=bool))
    for k in range(w_qkv.shape[0]):
        qkv = anp.matmul(norm(x, scales[k, 0]), w_qkv[k])
        qkv = anp.transpose(qkv.reshape((batch, length, 3, heads, width // heads)), (2, 0, 3, 1, 4))
        scores = anp.matmul(qkv[0], anp.transpose(qkv[1], (0, 1, 3, 2))) / np.sqrt(width // heads)
        weights = anp.exp(anp.where(allowed, scores, -np.inf) - anp.max(scores, axis=-1, keepdims=True))
        weights = weights / anp.sum(weights, axis=-1, keepdims=True)
        seen = anp.transpose(anp.matmul(weights, qkv[2]), (0, 2, 1, 3)).reshape((batch, length, width))
        x = x + anp.matmul(seen, w_out[k])
        up = anp.matmul(norm(x, scales[k, 1]), w_up[k]) + b_up[k]
        up = 0.5 * up * (1.0 + anp.tanh(0.7978845608028654 * (up + 0.044715 * up**3)))
        x = x + anp.matmul(up, w_down[k]) + b_down[k]
    logits = anp.matmul(x, head)
    logits = logits - anp.max(logits, axis=-1, keepdims=True)
    rows, columns = np.arange(batch)[:, None], np.arange(length)
    return anp.mean(anp.log(anp.sum(anp.exp(logits), axis=-1)) - logits[rows, columns, texts[:, 1:]])


PROGRAMS = (
    Program(
        "transformer", ARRAYS, transformer, data, WEIGHTS, (2, 2, 3, 4, 2, 5), (Size(2, 4, 64, 64, 4, 256),),
        jax=in_jax, torch=in_torch, autograd=in_autograd,
    ),
)  # fmt: skip
