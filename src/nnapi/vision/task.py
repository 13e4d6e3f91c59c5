"""The tasks of models."""

from enum import StrEnum


class Task(StrEnum):
    DETECTION = "detection"
    SEGMENTATION = "segmentation"
    POSE = "pose"
    LANDMARKS = "landmarks"
    CLASSIFICATION = "classification"
    IMAGE = "image"
    DEPTH = "depth"
    AUDIO_EVENTS = "audio-events"
    EMBEDDING = "embedding"
