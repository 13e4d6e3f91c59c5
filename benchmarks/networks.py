"""Functions that make networks of many kinds with random weights, for :mod:`benchmarks.architectures`.

Each function returns a PyTorch module and its inputs. Some need torchvision or transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Made = tuple[Any, list[Any]]
SMALL = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256}


def wrap(model: Any, *names: str, pick: Callable[[Any], Any] = lambda found: found[0]) -> Any:
    """Wrap a model as a module with positional inputs that returns one of its results."""
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *inputs: Any) -> Any:
            return pick(self.model(**dict(zip(names, inputs, strict=True))) if names else self.model(*inputs))

    return Wrapped()


def image(size: int, channels: int = 3) -> list[Any]:
    import torch

    return [torch.randn(1, channels, size, size)]


def words(length: int = 32) -> list[Any]:
    import torch

    return [torch.randint(5, 90, (1, length))]


def transformer(kind: str, inputs: Sequence[Any], name: str = "input_ids", config: str = "", **settings: Any) -> Made:
    """Make a model of transformers that returns its first result; by default its configuration has the same name."""
    import transformers

    made = getattr(transformers, f"{config or kind}Config")(**settings)
    made._attn_implementation = "eager"
    model = getattr(transformers, kind if config else f"{kind}Model")(made)
    return wrap(model, name), list(inputs)


def segmentation(kind: str) -> Made:
    import torchvision

    model = torchvision.models.get_model(kind, weights=None, weights_backbone=None)
    return wrap(model, pick=lambda found: found["out"]), image(224)


def video(kind: str, frames: int = 8, size: int = 64) -> Made:
    import torch
    import torchvision

    return torchvision.models.get_model(kind, weights=None), [torch.randn(1, 3, frames, size, size)]


def c3d() -> Made:
    """Make C3D with a quarter of its channels: convolutions of volumes, each pair behind a pooling."""
    import torch
    from torch import nn

    layers, channels = [], 3
    for wider, depth in ((16, 1), (32, 2), (64, 2), (128, 2)):
        layers += [nn.Conv3d(channels, wider, 3, padding=1), nn.ReLU(), nn.MaxPool3d((depth, 2, 2))]
        channels = wider
    head = [nn.Flatten(), nn.Linear(128 * 2 * 4 * 4, 256), nn.ReLU(), nn.Linear(256, 101)]
    return nn.Sequential(*layers, *head), [torch.randn(1, 3, 16, 64, 64)]


def volumes() -> Made:
    """Make a 3-D U-Net of medicine: two scales, instance normalization, transposed convolution."""
    import torch
    from torch import nn

    def block(given: int, wanted: int) -> Any:
        norm, act = nn.InstanceNorm3d, nn.LeakyReLU
        first, second = nn.Conv3d(given, wanted, 3, padding=1), nn.Conv3d(wanted, wanted, 3, padding=1)
        return nn.Sequential(first, norm(wanted), act(), second, norm(wanted), act())

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fine, self.coarse, self.again = block(1, 16), block(16, 32), block(32, 16)
            self.down, self.up, self.out = nn.MaxPool3d(2), nn.ConvTranspose3d(32, 16, 2, 2), nn.Conv3d(16, 4, 1)

        def forward(self, x: Any) -> Any:
            fine = self.fine(x)
            return self.out(self.again(torch.cat([fine, self.up(self.coarse(self.down(fine)))], 1)))

    return UNet(), [torch.randn(1, 1, 16, 48, 48)]


def slowfast() -> Made:
    """Make SlowFast's two paths, of few wide frames and of many narrow ones, joined by a convolution along time."""
    import torch
    from torch import nn

    class SlowFast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            conv, norm = nn.Conv3d, nn.BatchNorm3d
            self.slow = nn.Sequential(conv(3, 32, (1, 7, 7), (1, 2, 2), (0, 3, 3)), norm(32), nn.ReLU())
            self.fast = nn.Sequential(conv(3, 8, (5, 7, 7), (1, 2, 2), (2, 3, 3)), norm(8), nn.ReLU())
            self.pool = nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1))
            self.lateral = conv(8, 16, (5, 1, 1), (4, 1, 1), (2, 0, 0))
            self.slow2 = nn.Sequential(conv(48, 64, (1, 3, 3), (1, 2, 2), (0, 1, 1)), norm(64), nn.ReLU())
            self.fast2 = nn.Sequential(conv(8, 16, 3, (1, 2, 2), 1), norm(16), nn.ReLU())
            self.out = nn.Linear(80, 101)

        def forward(self, x: Any) -> Any:
            slow, fast = self.pool(self.slow(x[:, :, ::4])), self.pool(self.fast(x))
            slow = self.slow2(torch.cat([slow, self.lateral(fast)], 1))
            return self.out(torch.cat([slow.mean((2, 3, 4)), self.fast2(fast).mean((2, 3, 4))], 1))

    return SlowFast(), [torch.randn(1, 3, 16, 64, 64)]


def front_end() -> Made:
    """Make the front end of speech recognition: frames, their spectrum, mel bands, logarithms."""
    import torch

    class FrontEnd(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            mel = torch.linspace(0, 2595 * 2**0.5, 82)
            edges = 700 * (10 ** (mel / 2595) - 1)
            bins, low, middle, high = torch.linspace(0, 8000, 257)[:, None], edges[:-2], edges[1:-1], edges[2:]
            rising, falling = (bins - low) / (middle - low), (high - bins) / (high - middle)
            self.register_buffer("bands", torch.minimum(rising, falling).clamp(min=0))
            self.register_buffer("window", torch.hann_window(400))

        def forward(self, x: Any) -> Any:
            spectrum = torch.stft(x, 512, 160, 400, self.window, return_complex=True)
            power = torch.view_as_real(spectrum).square().sum(-1)
            return (power.transpose(1, 2) @ self.bands + 1e-6).log()

    return FrontEnd(), sound(16000)


def tagger(kind: str, layers: int = 1) -> Made:
    """Make a tagger, which computes a class for each word: embedding, bidirectional recurrent cells, linear layer."""
    import torch

    class Tagger(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = torch.nn.Embedding(1000, 64)
            self.cells = getattr(torch.nn, kind)(64, 96, layers, batch_first=True, bidirectional=True)
            self.out = torch.nn.Linear(192, 17)

        def forward(self, ids: Any) -> Any:
            return self.out(self.cells(self.embed(ids))[0]).softmax(-1)

    return Tagger(), words(40)


def generator() -> Made:
    """Make DCGAN's generator: a picture from 100 values."""
    import torch

    layers, channels = [], 100
    for wider, stride, margin in ((256, 1, 0), (128, 2, 1), (64, 2, 1), (32, 2, 1)):
        layers += [torch.nn.ConvTranspose2d(channels, wider, 4, stride, margin, bias=False)]
        layers += [torch.nn.BatchNorm2d(wider), torch.nn.ReLU()]
        channels = wider
    layers += [torch.nn.ConvTranspose2d(channels, 3, 4, 2, 1), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers), [torch.randn(1, 100, 1, 1)]


def waves() -> Made:
    """Make WaveNet's gated convolutions, dilated by 1 to 32, over one second of 8 kHz."""
    import torch

    class Waves(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Conv1d(1, 32, 1)
            self.gates = torch.nn.ModuleList(torch.nn.Conv1d(32, 64, 2, dilation=2**k) for k in range(6))
            self.mixes = torch.nn.ModuleList(torch.nn.Conv1d(32, 32, 1) for _ in range(6))
            self.last = torch.nn.Conv1d(32, 64, 1)

        def forward(self, x: Any) -> Any:
            x, total = self.first(x), 0
            for k, (gate, mix) in enumerate(zip(self.gates, self.mixes, strict=True)):
                signal, weight = gate(torch.nn.functional.pad(x, (2**k, 0))).chunk(2, 1)
                found = mix(signal.tanh() * weight.sigmoid())
                x, total = x + found, total + found
            return self.last(total.relu())

    return Waves(), [torch.randn(1, 1, 8000)]


def denoiser() -> Made:
    """Make a diffusion U-Net: two scales, group normalization, a time step, attention at the coarser scale."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, given: int, wanted: int) -> None:
            super().__init__()
            self.norms = nn.ModuleList([nn.GroupNorm(8, given), nn.GroupNorm(8, wanted)])
            self.convs = nn.ModuleList([nn.Conv2d(given, wanted, 3, 1, 1), nn.Conv2d(wanted, wanted, 3, 1, 1)])
            self.time, self.skip = nn.Linear(128, wanted), nn.Conv2d(given, wanted, 1)

        def forward(self, x: Any, time: Any) -> Any:
            found = self.convs[0](nn.functional.silu(self.norms[0](x))) + self.time(time)[:, :, None, None]
            return self.skip(x) + self.convs[1](nn.functional.silu(self.norms[1](found)))

    class Denoiser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.begin, self.down, self.less = nn.Conv2d(3, 64, 3, 1, 1), Block(64, 64), nn.Conv2d(64, 128, 3, 2, 1)
            self.middle, self.norm, self.attend = (
                Block(128, 128),
                nn.GroupNorm(8, 128),
                nn.MultiheadAttention(128, 4, batch_first=True),
            )
            self.wide, self.up, self.end = nn.Conv2d(128, 64, 3, 1, 1), Block(128, 64), nn.Conv2d(64, 3, 3, 1, 1)
            self.time = nn.Linear(64, 128)

        def forward(self, x: Any, step: Any) -> Any:
            angles = step[:, None] * torch.exp(torch.arange(32) * -0.29)
            time = nn.functional.silu(self.time(torch.cat([angles.sin(), angles.cos()], 1)))
            fine = self.down(self.begin(x), time)
            coarse = self.middle(self.less(fine), time)
            rows = self.norm(coarse).flatten(2).transpose(1, 2)
            coarse = coarse + self.attend(rows, rows, rows)[0].transpose(1, 2).view(coarse.shape)
            again = self.wide(nn.functional.interpolate(coarse, scale_factor=2.0))
            return self.end(self.up(torch.cat([fine, again], 1), time))

    return Denoiser(), [*image(32), torch.tensor([7.0])]


def upscaler() -> Made:
    """Make ESPCN: convolutions and a depth-to-space rearrangement."""
    from torch import nn

    tanh = nn.Tanh
    layers = [nn.Conv2d(1, 64, 5, 1, 2), tanh(), nn.Conv2d(64, 32, 3, 1, 1), tanh(), nn.Conv2d(32, 9, 3, 1, 1)]
    return nn.Sequential(*layers, nn.PixelShuffle(3)), image(96, 1)


def detr() -> Made:
    """Make DETR with a small backbone."""
    import transformers

    backbone = transformers.ResNetConfig(
        embedding_size=32, hidden_sizes=[32, 64, 128, 256], depths=[1, 1, 1, 1], out_features=["stage4"]
    )
    config = transformers.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone,
        d_model=64, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=128, decoder_ffn_dim=128,
        encoder_attention_heads=4, decoder_attention_heads=4, num_queries=20,
    )  # fmt: skip
    return wrap(transformers.DetrModel(config), "pixel_values"), image(128)


def translator() -> Made:
    """Make T5's encoder and decoder."""
    import transformers

    settings = {"d_model": 128, "d_kv": 32, "d_ff": 256, "num_layers": 2, "num_heads": 4, "use_cache": False}
    model = transformers.T5Model(transformers.T5Config(**settings))
    return wrap(model, "input_ids", "decoder_input_ids"), [*words(24), *words(8)]


def sound(samples: int) -> list[Any]:
    import torch

    return [torch.randn(1, samples)]


def codec() -> Made:
    """Make Encodec's encoder and decoder without the quantizer between them."""
    import torch
    import transformers

    model = transformers.EncodecModel(
        transformers.EncodecConfig(num_filters=8, hidden_size=32, upsampling_ratios=[4, 2])
    )
    return torch.nn.Sequential(model.encoder, model.decoder), [torch.randn(1, 1, 1600)]


def hifigan() -> Made:
    """Make the vocoder of SpeechT5: a wave from 20 frames of a spectrogram."""
    import torch
    import transformers

    config = transformers.SpeechT5HifiGanConfig(upsample_initial_channel=64, model_in_dim=40)
    return transformers.SpeechT5HifiGan(config), [torch.randn(20, 40)]


DEPTH: Mapping[str, Any] = SMALL | {"num_hidden_layers": 12, "image_size": 64, "patch_size": 8}
NETWORKS: Mapping[str, Callable[[], Made]] = {
    "deeplabv3": lambda: segmentation("deeplabv3_mobilenet_v3_large"),
    "fcn": lambda: segmentation("fcn_resnet50"),
    "lraspp": lambda: segmentation("lraspp_mobilenet_v3_large"),
    "r3d": lambda: video("r3d_18"),
    "s3d": lambda: video("s3d", 16, 224),
    "c3d": c3d,
    "3d unet": volumes,
    "slowfast": slowfast,
    "speech front end": front_end,
    "segformer": lambda: transformer("Segformer", image(128), "pixel_values"),
    "detr": detr,
    "yolos": lambda: transformer("Yolos", image(64), "pixel_values", image_size=[64, 64], **SMALL),
    "dpt": lambda: transformer("DPTForDepthEstimation", image(64), "pixel_values", "DPT", **DEPTH),
    "wav2vec2": lambda: transformer("Wav2Vec2", sound(8000), "input_values", conv_dim=[64] * 7, **SMALL),
    "hubert": lambda: transformer("Hubert", sound(8000), "input_values", conv_dim=[64] * 7, **SMALL),
    "hifigan": hifigan,
    "encodec": codec,
    "llama": lambda: transformer("Llama", words(), num_key_value_heads=2, use_cache=False, **SMALL),
    "t5": translator,
    "mamba": lambda: transformer("Mamba", words(8), hidden_size=64, num_hidden_layers=2, use_cache=False),
    "clip text": lambda: transformer("CLIPTextModel", words(), config="CLIPText", **SMALL),
    "lstm tagger": lambda: tagger("LSTM", 2),
    "gru tagger": lambda: tagger("GRU"),
    "dcgan": generator,
    "wavenet": waves,
    "diffusion": denoiser,
    "espcn": upscaler,
}
"""The functions by name of the network: segmentation, speech, text, video, image generation, state space."""
