"""Functions that make detectors with random weights, for :mod:`benchmarks.architectures`.

Their results are boxes, scores, labels and perhaps masks, in an order that rounding may change. They need torchvision,
transformers or ultralytics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.networks import Made, image, wrap


def detector(kind: str, size: int, *found: str, **settings: float) -> Made:
    """Make a detector without a threshold, whose number of boxes depends on the picture; ``found`` are its results."""
    import torch
    import torchvision

    model = torchvision.models.get_model(kind, weights=None, weights_backbone=None, num_classes=6, **settings)
    listed, picture = _Listed(model), torch.nn.functional.interpolate(torch.rand(1, 3, 16, 16), size)
    _spread(model.eval(), "head", lambda: listed(picture))
    return wrap(listed, pick=lambda results: tuple(results[0][name] for name in found)), [picture]


def _spread(model: Any, heads: str, run: Callable[[], Any]) -> None:
    """Give each channel of the heads' layers a mean of 0 and a deviation of 1: initial weights make all scores nearly
    equal."""
    import torch

    def normalize(layer: Any, inputs: Any, output: Any) -> None:
        if len(output) == 0:
            return
        center = output.mean([axis for axis in range(output.ndim) if axis != 1])
        deviation = (output.transpose(1, -1) - center).std().clamp(min=1e-6)
        layer.weight.data /= deviation
        layer.bias.data = (layer.bias.data - center) / deviation

    layers = [layer for name, layer in model.named_modules() if heads in name and _has_bias(layer)]
    hooks = [layer.register_forward_hook(normalize) for layer in layers]
    with torch.no_grad():
        for _ in range(3):
            run()
    for hook in hooks:
        hook.remove()


def _has_bias(layer: Any) -> bool:
    import torch

    kinds = torch.nn.Linear, torch.nn.Conv2d, torch.nn.ConvTranspose2d
    return isinstance(layer, kinds) and layer.bias is not None


class _Listed:
    """Makes a detector take a batch instead of a list of pictures."""

    def __new__(cls, model: Any) -> Any:
        import torch

        class Listed(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def forward(self, x: Any) -> Any:
                return self.model([x[0]])

        return Listed()


def yolo(kind: str, size: int = 160) -> Made:
    """Make YOLO with its suppression of boxes inside, as its exporter wraps it for ``nms=True``."""
    import torch
    from ultralytics.cfg import get_cfg
    from ultralytics.engine.exporter import NMSModel
    from ultralytics.nn.tasks import DetectionModel

    model = DetectionModel(f"{kind}.yaml", verbose=False)
    model.task = "detect"
    pictures = torch.nn.functional.interpolate(torch.rand(8, 3, 20, 20), size)
    for layer in model.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.momentum = None  # averages the statistics of all pictures
    for branch in model.model[-1].cv3:
        branch[-1].weight.data.normal_(0, 0.08)
        branch[-1].bias.data.zero_()
    with torch.no_grad():
        model.train()(pictures)
    model.eval().model[-1].export, model.model[-1].format = True, "onnx"
    settings = get_cfg(overrides={"conf": 0.25, "iou": 0.5, "max_det": 50, "nms": True, "imgsz": size})
    settings.imgsz = [size, size]
    module = wrap(NMSModel(model, settings), pick=_divide_rows)
    with torch.no_grad():
        module(pictures[:1])  # computes the centers of cells, which its exporter does before it traces
    return module, [pictures[:1]]


def _divide_rows(rows: Any) -> Any:
    """Return the boxes, scores and labels of the first picture, in rows of six numbers."""
    return rows[0, :, :4], rows[0, :, 4], rows[0, :, 5].long()


def rt_detr() -> Made:
    """Make RT-DETR with a small backbone; its boxes are the best of all scores."""
    import torch
    import transformers

    backbone = transformers.RTDetrResNetConfig(
        embedding_size=32, hidden_sizes=[32, 64, 96, 128], depths=[2, 2, 2, 2], layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    config = transformers.RTDetrConfig(
        backbone_config=backbone, encoder_hidden_dim=64, encoder_in_channels=[64, 96, 128], encoder_ffn_dim=128,
        encoder_attention_heads=4, d_model=64, num_queries=50, decoder_in_channels=[64, 64, 64],
        decoder_ffn_dim=128, decoder_layers=2, decoder_attention_heads=4, num_labels=6, num_denoising=0,
    )  # fmt: skip

    class Best(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = transformers.RTDetrForObjectDetection(config)

        def forward(self, x: Any) -> Any:
            found = self.model(pixel_values=x)
            scores, at = found.logits.sigmoid().flatten(1).topk(50)
            centers, halves = found.pred_boxes[..., :2], found.pred_boxes[..., 2:] / 2
            boxes = torch.cat([centers - halves, centers + halves], -1)[0]
            return boxes[at[0] // 6], scores[0], at[0] % 6

    return Best(), image(128)


BOXES = ("boxes", "scores", "labels")
SIZES: Mapping[str, Any] = {"min_size": 128, "max_size": 160}
REGIONS: Mapping[str, Any] = {"box_score_thresh": 0.0, **SIZES}
DETECTORS: Mapping[str, Callable[[], Made]] = {
    "ssdlite": lambda: detector("ssdlite320_mobilenet_v3_large", 320, *BOXES, score_thresh=0.0),
    "retinanet": lambda: detector("retinanet_resnet50_fpn", 128, *BOXES, score_thresh=0.0, **SIZES),
    "faster rcnn": lambda: detector("fasterrcnn_mobilenet_v3_large_320_fpn", 128, *BOXES, **REGIONS),
    "faster rcnn resnet": lambda: detector("fasterrcnn_resnet50_fpn", 128, *BOXES, **REGIONS),
    "mask rcnn": lambda: detector("maskrcnn_resnet50_fpn", 128, *BOXES, "masks", **REGIONS),
    "yolov8 nms": lambda: yolo("yolov8n"),
    "yolo11 nms": lambda: yolo("yolo11n"),
    "rt-detr": rt_detr,
}
"""The functions by name of the detector."""
