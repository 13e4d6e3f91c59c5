// What the delegate's helpers ask of the interpreter's own class, which an external delegate cannot reach. It is about
// delegating control flow across subgraphs, which this delegate does not do.
#include "tflite/core/subgraph.h"

TfLiteStatus tflite::Subgraph::AcquireSubgraphContext(int, TfLiteContext **) { return kTfLiteError; }
TfLiteStatus tflite::Subgraph::ReleaseSubgraphContext(int) { return kTfLiteError; }
TfLiteStatus tflite::Subgraph::MarkSubgraphAsDelegationSkippable(int) { return kTfLiteError; }
