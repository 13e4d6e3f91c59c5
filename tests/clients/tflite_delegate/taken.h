// What a delegate took of a graph: said on stderr when it is asked to prepare, as the interpreter keeps it to itself.
#pragma once
#include <cstdio>

#include "tflite/core/c/common.h"

using Prepare = TfLiteStatus (*)(TfLiteContext *, TfLiteDelegate *);

// Prepares the delegate by its own function; the number of operations that it took, -1 where it failed.
inline int prepare_and_tell(TfLiteContext *context, TfLiteDelegate *delegate, Prepare prepare, TfLiteStatus *status) {
    TfLiteIntArray *plan;
    context->GetExecutionPlan(context, &plan);
    const int all = plan->size;
    *status = prepare(context, delegate);
    if (*status != kTfLiteOk) return -1;
    context->GetExecutionPlan(context, &plan);
    int taken = 0, parts = 0;
    for (int i = 0; i < plan->size; i++) {
        TfLiteNode *node;
        TfLiteRegistration *registration;
        if (context->GetNodeAndRegistration(context, plan->data[i], &node, &registration) != kTfLiteOk) continue;
        if (node->delegate != delegate) continue;
        taken += static_cast<TfLiteDelegateParams *>(node->builtin_data)->nodes_to_replace->size;
        parts++;
    }
    std::fprintf(stderr, "the delegate took %d of %d operations in %d parts\n", taken, all, parts);
    return taken;
}
