"""Reasons why some operators of ONNX have no rule."""

BY_REASON = {
    "NNAPI has no sequences": "SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength "
    "SequenceMap SplitToSequence ConcatFromSequence",
    "NNAPI has no optional values": "Optional OptionalGetElement OptionalHasElement",
    "NNAPI has no strings": "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer",
    "NNAPI has no maps from names to numbers": "DictVectorizer CastMap CategoryMapper",
    "NNAPI's only random operation is RANDOM_MULTINOMIAL": "Bernoulli Multinomial RandomNormal RandomNormalLike "
    "RandomUniform RandomUniformLike",
    "NNAPI has no training": "Adagrad Adam Gradient Momentum",
    "NNAPI does not decode images": "ImageDecoder",
    "NNAPI has no convolution with computed offsets": "DeformConv",
}

REASONS = {kind: reason for reason, kinds in BY_REASON.items() for kind in kinds.split()}
