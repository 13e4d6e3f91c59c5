"""The purposes of models that can be shown."""

from enum import StrEnum


class Task(StrEnum):
    """The purpose of a model."""

    DETECTION = "detection"
    SEGMENTATION = "segmentation"
    POSE = "pose"
    LANDMARKS = "landmarks"
    CLASSIFICATION = "classification"
    IMAGE = "image"
    DEPTH = "depth"
    AUDIO_EVENTS = "audio-events"
    EMBEDDING = "embedding"
