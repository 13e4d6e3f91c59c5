"""Decoders of public architectures with random weights, exported by PyTorch as files with dynamic lengths."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

LAYERS, HEADS, WORDS, SOURCE = 4, 4, 1000, 24
"""Sizes of all decoders; SOURCE is the number of positions that an encoder gives."""


def make_cache(tensors: Sequence[Any]) -> Any:
    """Return a cache of transformers with the keys and values of each layer."""
    from transformers.cache_utils import DynamicCache, DynamicLayer

    cache = DynamicCache()
    cache.layers = []
    for keys, values in zip(tensors[::2], tensors[1::2], strict=True):
        layer = DynamicLayer()
        layer.keys, layer.values, layer.dtype, layer.device = keys, values, keys.dtype, keys.device
        layer.is_initialized = True
        cache.layers.append(layer)
    return cache


def wrap(model: Any, forward: Callable[..., tuple[Any, ...]]) -> Any:
    """Return a module of positional inputs that calls ``forward`` with the model."""
    import torch

    class Wrapped(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model.eval()

        def forward(self, *given: Any) -> Any:
            return forward(self.model, *given)

    return Wrapped()


def list_present(cache: Any) -> list[Any]:
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


def save_text(path: Path, model: Any, heads: int, width: int, *, positions: bool) -> None:
    """Export a decoder with an attention mask and past keys and values."""
    import torch

    def forward(model: Any, ids: Any, mask: Any, *rest: Any) -> tuple[Any, ...]:
        places, past = (rest[0], rest[1:]) if positions else (None, rest)
        cache = make_cache(past)
        found = model(input_ids=ids, attention_mask=mask, position_ids=places, past_key_values=cache, use_cache=True)
        return found.logits, *list_present(cache)

    inputs = {"ids": torch.ones(1, 2).long(), "mask": torch.ones(1, 5).long()}
    if positions:
        inputs["position_ids"] = torch.tensor([[3, 4]])
    inputs |= {f"past{i}": torch.randn(1, heads, 3, width // HEADS) for i in range(2 * LAYERS)}
    save(path, wrap(model, forward), inputs)


def save_translator(path: Path, model: Any, width: int, *, positions: bool) -> None:
    """Export the decoder of an encoder, whose keys and values are inputs too."""
    import torch
    from transformers.cache_utils import EncoderDecoderCache

    def forward(model: Any, ids: Any, *rest: Any) -> tuple[Any, ...]:
        further = {"decoder_position_ids": rest[0]} if positions else {}
        past = rest[1:] if positions else rest
        own, cross = make_cache(past[: 2 * LAYERS]), make_cache(past[2 * LAYERS :])
        cache = EncoderDecoderCache(own, cross)
        cache.is_updated = dict.fromkeys(range(LAYERS), True)
        encoded = torch.zeros(1, past[-1].shape[2], width)
        found = model(
            encoder_outputs=(encoded,), decoder_input_ids=ids, past_key_values=cache, use_cache=True, **further
        )
        return found.logits, *list_present(own)

    inputs = {"ids": torch.ones(1, 2).long()}
    if positions:
        inputs["position_ids"] = torch.tensor([[3, 4]])
    for name, length in (("past", 3), ("cross", SOURCE)):
        inputs |= {f"{name}{i}": torch.randn(1, HEADS, length, width // HEADS) for i in range(2 * LAYERS)}
    save(path, wrap(model, forward), inputs)


def save(path: Path, module: Any, inputs: Mapping[str, Any]) -> None:
    import torch

    present = [name.replace("past", "present") for name in inputs if name.startswith("past")]
    lengths = {"ids": {1: "length"}, "position_ids": {1: "length"}, "mask": {1: "total"}}
    kinds = {"past": {2: "past"}, "cross": {2: "source"}, "present": {2: "total"}}
    axes = {name: lengths.get(name) or kinds[name.rstrip("0123456789")] for name in (*inputs, *present)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        torch.onnx.export(
            module, tuple(inputs.values()), str(path), input_names=[*inputs], output_names=["found", *present],
            dynamic_axes=axes | {"found": {1: "length"}}, opset_version=17, dynamo=False,
        )  # fmt: skip


def save_gpt2(path: Path, width: int, *, positions: bool) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_embd=width, n_layer=LAYERS, n_head=HEADS, vocab_size=WORDS, attn_implementation="eager")
    save_text(path, GPT2LMHeadModel(config), HEADS, width, positions=positions)


def save_qwen2(path: Path, width: int, *, positions: bool) -> None:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        hidden_size=width, num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=2,
        intermediate_size=4 * width, vocab_size=WORDS, attn_implementation="eager",
    )  # fmt: skip
    save_text(path, Qwen2ForCausalLM(config), 2, width, positions=positions)


def save_whisper(path: Path, width: int, *, positions: bool) -> None:
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        d_model=width, decoder_layers=LAYERS, encoder_layers=1, decoder_attention_heads=HEADS,
        encoder_attention_heads=HEADS, decoder_ffn_dim=4 * width, encoder_ffn_dim=width, vocab_size=WORDS,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, max_source_positions=SOURCE,
        attn_implementation="eager",
    )  # fmt: skip
    save_translator(path, WhisperForConditionalGeneration(config), width, positions=positions)


def save_t5(path: Path, width: int, *, positions: bool) -> None:
    """Export T5's decoder, which takes no positions: its scores have a bias by distance."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        d_model=width, num_layers=1, num_decoder_layers=LAYERS, num_heads=HEADS, d_kv=width // HEADS, d_ff=4 * width,
        vocab_size=WORDS, attn_implementation="eager",
    )  # fmt: skip
    save_translator(path, T5ForConditionalGeneration(config), width, positions=False)


def save_vits(path: Path, width: int, *, positions: bool) -> None:
    """Export VITS' text encoder, flow and decoder, without the durations: the sound has one frame for each letter."""
    import torch
    from transformers import VitsConfig, VitsModel

    def forward(model: Any, ids: Any) -> tuple[Any, ...]:
        mask = torch.ones_like(ids).unsqueeze(-1).float()
        found = model.text_encoder(input_ids=ids, padding_mask=mask, attention_mask=mask[..., 0], return_dict=False)
        latents = model.flow(found[1].transpose(1, 2), mask.transpose(1, 2), None, reverse=True)
        return (model.decoder(latents, None),)

    config = VitsConfig(
        hidden_size=width, num_hidden_layers=LAYERS, num_attention_heads=2, ffn_dim=2 * width, flow_size=width,
        vocab_size=40, upsample_initial_channel=64, prior_encoder_num_flows=2, prior_encoder_num_wavenet_layers=2,
        upsample_rates=[8, 4], upsample_kernel_sizes=[16, 8], resblock_kernel_sizes=[3],
        resblock_dilation_sizes=[[1, 3]],
    )  # fmt: skip
    save(path, wrap(VitsModel(config), forward), {"ids": torch.ones(1, 9).long()})


def save_speech(path: Path, width: int, *, positions: bool) -> None:
    """Export a network that aligns frames of sound with letters by durations, which depend on the letters."""
    import torch
    from torch import nn

    class Speech(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.encoder = nn.Embedding(40, width), nn.Conv1d(width, width, 5, padding=2)
            self.durations, self.statistics = nn.Conv1d(width, 1, 3, padding=1), nn.Conv1d(width, 2 * width, 1)
            self.flow = nn.Conv1d(width, width, 5, padding=2)
            self.first, self.second = nn.ConvTranspose1d(width, 32, 16, 8, 4), nn.ConvTranspose1d(32, 16, 8, 4, 2)
            self.last = nn.Conv1d(16, 1, 7, padding=3)

        def forward(self, ids: Any) -> tuple[Any, ...]:
            x = torch.relu(self.encoder(self.embedding(ids).transpose(1, 2)))
            durations = torch.ceil(torch.exp(self.durations(x) * 0.2) * 1.5)
            frames = torch.arange(durations.sum().clamp_min(1).long())
            valid = (frames < durations.cumsum(-1).transpose(1, 2)).float()
            path = valid - nn.functional.pad(valid, (0, 0, 1, 0))[:, :-1]
            mean, spread = self.statistics(x).chunk(2, 1)
            latents = mean @ path + torch.exp(spread @ path) * 0.1
            latents = latents - self.flow(latents)
            sound = self.second(nn.functional.leaky_relu(self.first(latents), 0.1))
            return (torch.tanh(self.last(sound)),)

    save(path, Speech().eval(), {"ids": torch.ones(1, 9).long()})


FAMILIES: dict[str, Callable[..., None]] = {
    "gpt2": save_gpt2,
    "qwen2": save_qwen2,
    "whisper": save_whisper,
    "t5": save_t5,
    "vits": save_vits,
    "speech": save_speech,
}
WITHOUT_POSITIONS = {"t5", "vits", "speech"}
"""Families that take no positions as an input."""


def make(name: str, width: int, folder: Path, *, positions: bool) -> Path:
    """Return the .onnx file of a decoder, which is made if necessary."""
    import torch

    path = folder / f"{name}_{width}{'_positions' * positions}.onnx"
    if not path.exists():
        torch.manual_seed(0)
        FAMILIES[name](path, width, positions=positions)
    return path
