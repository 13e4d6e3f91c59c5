"""Transformers of public architectures with random weights, exported by PyTorch."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

WORDS, HEADS, WIDTH, LAYERS = 1000, 4, 256, 4
"""The sizes of the decoder."""

Feed = dict[str, Any]


class Network(NamedTuple):
    """A module of PyTorch, its inputs by name, the names of its outputs, and the names of dynamic dimensions."""

    module: Any
    inputs: Feed
    outputs: Sequence[str]
    axes: Mapping[str, Mapping[int, str]] = {}


def wrap(model: Any, names: Sequence[str], output: str = "last_hidden_state") -> Any:
    """Return a model of transformers as a module of positional inputs with one output."""
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *given: Any) -> Any:
            return getattr(self.model(**dict(zip(names, given, strict=True))), output)

    return Wrapped()


def make_text(hidden: int, layers: int, heads: int, length: int, *, is_dynamic: bool) -> Network:
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * hidden
    )
    config._attn_implementation = "eager"
    names = "input_ids", "attention_mask"
    inputs = {names[0]: torch.randint(5, 30000, (1, length)), names[1]: torch.ones(1, length).long()}
    axes = {name: {1: "sequence"} for name in (*names, "output")} if is_dynamic else {}
    return Network(wrap(BertModel(config), names), inputs, ["output"], axes)


def make_vit() -> Network:
    import torch
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(hidden_size=192, num_hidden_layers=12, num_attention_heads=3, intermediate_size=768)
    config._attn_implementation = "eager"
    return Network(wrap(ViTModel(config), ["pixel_values"]), {"pixel_values": torch.randn(1, 3, 224, 224)}, ["output"])


def make_whisper() -> Network:
    import torch
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig()  # the tiny one
    config._attn_implementation = "eager"
    inputs = {"input_features": torch.randn(1, 80, 3000)}
    return Network(wrap(WhisperEncoder(config), ["input_features"]), inputs, ["output"])


def make_segformer() -> Network:
    import torch
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    model = SegformerForSemanticSegmentation(SegformerConfig(num_labels=150))  # B0
    inputs = {"pixel_values": torch.randn(1, 3, 256, 256)}
    return Network(wrap(model, ["pixel_values"], "logits"), inputs, ["output"])


def make_decoder() -> Network:
    """Return a decoder with rotary embeddings that reads past keys and values, and returns them with one more token."""
    import torch

    def rotate(x: Any, cosine: Any, sine: Any) -> Any:
        low, high = x.chunk(2, -1)
        return x * cosine + torch.cat([-high, low], -1) * sine

    class Decoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            linear = torch.nn.Linear
            self.embed, self.head = torch.nn.Embedding(WORDS, WIDTH), linear(WIDTH, WORDS)
            self.frequencies = torch.nn.Parameter(1e4 ** -torch.linspace(0, 1, WIDTH // HEADS // 2))
            self.blocks = torch.nn.ModuleList(
                torch.nn.ModuleDict(
                    {
                        "norm": torch.nn.LayerNorm(WIDTH),
                        "in": linear(WIDTH, 3 * WIDTH),
                        "out": linear(WIDTH, WIDTH),
                        "next": torch.nn.LayerNorm(WIDTH),
                        "up": linear(WIDTH, 4 * WIDTH),
                        "down": linear(4 * WIDTH, WIDTH),
                    }
                )
                for _ in range(LAYERS)
            )

        def forward(self, ids: Any, mask: Any, *past: Any) -> Any:
            x, present = self.embed(ids), []
            bias = ((1 - mask.float()) * -1e9)[:, None, None, :]
            position = mask.float().sum(1, keepdim=True)[:, :, None] - 1
            angles = torch.cat([position * self.frequencies] * 2, -1)[:, None]
            cosine, sine = angles.cos(), angles.sin()
            for block, keys, values in zip(self.blocks, past[::2], past[1::2], strict=True):
                parts = block["in"](block["norm"](x)).view(1, -1, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
                query = rotate(parts[0], cosine, sine)
                keys = torch.cat([keys, rotate(parts[1], cosine, sine)], 2)
                values = torch.cat([values, parts[2]], 2)
                scores = query @ keys.transpose(2, 3) / (WIDTH // HEADS) ** 0.5 + bias
                x = x + block["out"]((scores.softmax(-1) @ values).transpose(1, 2).reshape(x.shape))
                x = x + block["down"](torch.nn.functional.gelu(block["up"](block["next"](x))))
                present += [keys, values]
            return self.head(x), *present

    names = [f"past{i}" for i in range(2 * LAYERS)]
    past = {name: torch.randn(1, HEADS, 32, WIDTH // HEADS) for name in names}
    inputs = {"ids": torch.ones(1, 1).long(), "mask": torch.ones(1, 33).long(), **past}
    present_names = [f"present{i}" for i in range(2 * LAYERS)]
    axes = {
        "mask": {1: "total"},
        **{name: {2: "past"} for name in names},
        **{name: {2: "total"} for name in present_names},
    }
    return Network(Decoder(), inputs, ["logits", *present_names], axes)


NETWORKS: dict[str, Callable[[], Network]] = {
    "bert-mini": lambda: make_text(256, 4, 4, 128, is_dynamic=False),
    "minilm": lambda: make_text(384, 6, 12, 128, is_dynamic=True),
    "vit-tiny": make_vit,
    "whisper-tiny": make_whisper,
    "decoder": make_decoder,
    "segformer-b0": make_segformer,
}


def make(name: str, folder: Path) -> tuple[Path, Feed]:
    """Return the .onnx file of a network and arrays to run it with; make both if necessary."""
    import torch

    path, arrays = folder / f"{name}.onnx", folder / f"{name}.npz"
    if not arrays.exists():
        torch.manual_seed(0)
        network = NETWORKS[name]()
        np.savez(arrays, **{key: value.numpy() for key, value in network.inputs.items()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            logging.disable(logging.WARNING)
            torch.onnx.export(
                network.module.eval(), tuple(network.inputs.values()), str(path), input_names=[*network.inputs],
                output_names=network.outputs, dynamic_axes=network.axes, opset_version=17, dynamo=False,
            )  # fmt: skip
    return path, dict(np.load(arrays))
