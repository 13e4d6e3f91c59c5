/* The structures of LiteRT's interface for delegates that this library uses, with the same layout. LiteRT only adds members
 * at their ends. This file has only declarations, because cffi reads it too. */
#ifndef NNAPI_LITERT_H
#define NNAPI_LITERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct { int size; int data[]; } TfLiteIntArray;
typedef struct { int size; float data[]; } TfLiteFloatArray;

/* `params` is a TfLiteAffineQuantization if `type` is 1, and a TfLiteBlockwiseQuantization if it is 2. */
typedef struct { int type; void *params; } TfLiteQuantization;
typedef struct { TfLiteFloatArray *scale; TfLiteIntArray *zero_point; int32_t quantized_dimension; } TfLiteAffineQuantization;
typedef struct { int32_t scale, zero_point, blocksize, quantized_dimension; } TfLiteBlockwiseQuantization;

typedef struct TfLiteTensor {
    int type;
    void *data;
    TfLiteIntArray *dims;
    struct { float scale; int32_t zero_point; } params;
    int allocation_type;
    size_t bytes;
    const void *allocation;
    const char *name;
    void *delegate;
    int buffer_handle;
    bool data_is_stale, is_variable;
    TfLiteQuantization quantization;
    void *sparsity;
    const TfLiteIntArray *dims_signature;
} TfLiteTensor;

typedef struct TfLiteNode {
    TfLiteIntArray *inputs, *outputs, *intermediates, *temporaries;
    void *user_data, *builtin_data;
    const void *custom_initial_data;
    int custom_initial_data_size;
    void *delegate;
    bool might_have_side_effect;
} TfLiteNode;

typedef struct TfLiteContext TfLiteContext;
typedef struct TfLiteDelegate TfLiteDelegate;

typedef struct TfLiteRegistration {
    void *(*init)(TfLiteContext *, const char *, size_t);
    void (*free)(TfLiteContext *, void *);
    int (*prepare)(TfLiteContext *, TfLiteNode *);
    int (*invoke)(TfLiteContext *, TfLiteNode *);
    const char *(*profiling_string)(const TfLiteContext *, const TfLiteNode *);
    int32_t builtin_code;
    const char *custom_name;
    int version;
    void *registration_external;
    void *async_kernel;
    uint64_t inplace_operator;
} TfLiteRegistration;

typedef struct { TfLiteDelegate *delegate; TfLiteIntArray *nodes_to_replace, *input_tensors, *output_tensors; } TfLiteDelegateParams;

struct TfLiteContext {
    size_t tensors_size;
    int (*GetExecutionPlan)(TfLiteContext *, TfLiteIntArray **);
    TfLiteTensor *tensors;
    void *impl;
    int (*ResizeTensor)(TfLiteContext *, TfLiteTensor *, TfLiteIntArray *);
    void (*ReportError)(TfLiteContext *, const char *, ...);
    int (*AddTensors)(TfLiteContext *, int, int *);
    int (*GetNodeAndRegistration)(TfLiteContext *, int, TfLiteNode **, TfLiteRegistration **);
    int (*ReplaceNodeSubsetsWithDelegateKernels)(TfLiteContext *, TfLiteRegistration, const TfLiteIntArray *, TfLiteDelegate *);
    int recommended_num_threads;
    void *GetExternalContext, *SetExternalContext;
    bool allow_fp32_relax_to_fp16;
    void *profiler;
    void *AllocatePersistentBuffer, *AllocateBufferForEval, *RequestScratchBufferInArena, *GetScratchBuffer;
    void *ResizeTensorExplicit;
    int (*PreviewDelegatePartitioning)(TfLiteContext *, const TfLiteIntArray *, TfLiteDelegateParams **, int *);
};

struct TfLiteDelegate {
    void *data;
    int (*Prepare)(TfLiteContext *, TfLiteDelegate *);
    void *CopyFromBufferHandle, *CopyToBufferHandle, *FreeBufferHandle;
    int64_t flags;
    void *opaque_delegate_builder;
};

#endif
