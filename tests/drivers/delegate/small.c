/* A delegate for tests: it computes ADD and CONV_2D of float32, and fails where its options say so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "litert.h"

#define EXPORT __attribute__((visibility("default")))

enum { OK, FAILED, FLOAT32 = 1, ADD = 0, CONV_2D = 3, SAME = 1, RANK = 6 };

struct add_options { int activation; bool pot_scale; };
struct conv_options { int padding, stride_width, stride_height, activation, dilation_width, dilation_height; };

struct small {
    TfLiteDelegate base;
    const char *mode; /* refuse, break, abort in prepare, abort in take, abort at conv, abort in invoke */
};

struct step { int code, inputs[3], output; void *options; float *own; };
struct part { int count; const struct small *small; struct step steps[]; };

static bool is(const struct small *small, const char *mode) { return !strcmp(small->mode, mode); }

static void die(const char *where) {
    fprintf(stderr, "INFO: small: here comes %s\nERROR: small: the chip burns in %s\nINFO: small: bye\n", where, where);
    abort();
}

static bool takes(const struct small *small, TfLiteContext *context, const TfLiteNode *node,
                  const TfLiteRegistration *registration) {
    int code = registration->builtin_code;
    if (is(small, "abort at conv") && code == CONV_2D) die("CONV_2D");
    if (code != ADD && code != CONV_2D) {
        fprintf(stderr, "WARNING: small: there is no kernel for operator %d\n", code);
        return false;
    }
    for (int i = 0; i < node->inputs->size; i++)
        if (context->tensors[node->inputs->data[i]].type != FLOAT32) {
            fprintf(stderr, "WARNING: small: input %d of operator %d is not float32\n", i, code);
            return false;
        }
    return true;
}

static float activate(float x, int kind) {
    float low = kind == 1 || kind == 3 ? 0 : kind == 2 ? -1 : x, high = kind == 2 ? 1 : kind == 3 ? 6 : x;
    return x < low ? low : x > high ? high : x;
}

static int dimension(const TfLiteTensor *tensor, int place, int rank) {
    int at = place - (rank - tensor->dims->size);
    return at < 0 ? 1 : tensor->dims->data[at];
}

static size_t place_of(const TfLiteTensor *tensor, const int *index, int rank) {
    size_t place = 0;
    for (int i = 0; i < rank; i++) {
        int size = dimension(tensor, i, rank);
        place = place * size + (size == 1 ? 0 : index[i]);
    }
    return place;
}

static void add(const TfLiteTensor *x, const float *a, const TfLiteTensor *y, const float *b, const TfLiteTensor *z,
                float *c, const struct add_options *options) {
    int rank = z->dims->size, index[RANK] = {0};
    for (size_t n = 0, count = z->bytes / sizeof *c; n < count; n++) {
        c[n] = activate(a[place_of(x, index, rank)] + b[place_of(y, index, rank)], options->activation);
        for (int i = rank - 1; i >= 0 && ++index[i] == z->dims->data[i]; i--) index[i] = 0;
    }
}

static int before(int in, int out, int filter, int stride, int dilation, int padding) {
    int all = (out - 1) * stride + (filter - 1) * dilation + 1 - in;
    return padding == SAME && all > 0 ? all / 2 : 0;
}

static void convolve(const TfLiteTensor *x, const float *a, const TfLiteTensor *w, const float *f, const float *bias,
                     const TfLiteTensor *z, float *c, const struct conv_options *o) {
    const int *in = x->dims->data, *fd = w->dims->data, *out = z->dims->data;
    int top = before(in[1], out[1], fd[1], o->stride_height, o->dilation_height, o->padding);
    int left = before(in[2], out[2], fd[2], o->stride_width, o->dilation_width, o->padding);
    int groups = in[3] / fd[3], each = out[3] / groups;
    for (int n = 0; n < out[0]; n++) for (int i = 0; i < out[1]; i++) for (int j = 0; j < out[2]; j++)
        for (int k = 0; k < out[3]; k++) {
            float sum = bias ? bias[k] : 0;
            for (int p = 0; p < fd[1]; p++) for (int q = 0; q < fd[2]; q++) {
                int row = i * o->stride_height - top + p * o->dilation_height;
                int column = j * o->stride_width - left + q * o->dilation_width;
                if (row < 0 || row >= in[1] || column < 0 || column >= in[2]) continue;
                const float *pixel = a + (((size_t)n * in[1] + row) * in[2] + column) * in[3] + k / each * fd[3];
                const float *weights = f + (((size_t)k * fd[1] + p) * fd[2] + q) * fd[3];
                for (int channel = 0; channel < fd[3]; channel++) sum += pixel[channel] * weights[channel];
            }
            *c++ = activate(sum, o->activation);
        }
}

static void close_part(TfLiteContext *context, void *data) {
    struct part *part = data;
    (void)context;
    for (int i = 0; i < part->count; i++) free(part->steps[i].own);
    free(part);
}

static void *open_part(TfLiteContext *context, const char *buffer, size_t length) {
    const TfLiteDelegateParams *params = (const TfLiteDelegateParams *)buffer;
    int count = params->nodes_to_replace->size;
    struct part *part = calloc(1, sizeof *part + count * sizeof *part->steps);
    (void)length;
    part->count = count;
    part->small = (const struct small *)params->delegate;
    for (int i = 0; i < count; i++) {
        struct step *step = &part->steps[i];
        TfLiteNode *node;
        TfLiteRegistration *registration;
        context->GetNodeAndRegistration(context, params->nodes_to_replace->data[i], &node, &registration);
        step->code = registration->builtin_code;
        step->options = node->builtin_data;
        for (int k = 0; k < 3; k++) step->inputs[k] = k < node->inputs->size ? node->inputs->data[k] : -1;
        step->output = node->outputs->data[0];
    }
    return part;
}

static int prepare_part(TfLiteContext *context, TfLiteNode *node) {
    struct part *part = node->user_data;
    (void)context;
    if (is(part->small, "abort in prepare")) die("prepare");
    return OK;
}

/* Where a tensor lies: tensors between steps are the part's own. */
static float *find(TfLiteContext *context, struct part *part, int tensor) {
    for (int i = 0; i < part->count; i++)
        if (part->steps[i].output == tensor && part->steps[i].own) return part->steps[i].own;
    return tensor < 0 ? NULL : context->tensors[tensor].data;
}

static int invoke_part(TfLiteContext *context, TfLiteNode *node) {
    struct part *part = node->user_data;
    if (is(part->small, "abort in invoke")) die("invoke");
    if (is(part->small, "break")) {
        context->ReportError(context, "small: the chip is too warm");
        return FAILED;
    }
    for (int i = 0; i < part->count; i++) {
        struct step *step = &part->steps[i];
        TfLiteTensor *x = &context->tensors[step->inputs[0]], *y = &context->tensors[step->inputs[1]];
        TfLiteTensor *z = &context->tensors[step->output];
        bool is_given = false;
        for (int k = 0; k < node->outputs->size; k++) is_given |= node->outputs->data[k] == step->output;
        if (!is_given) step->own = realloc(step->own, z->bytes);
        float *a = find(context, part, step->inputs[0]), *b = find(context, part, step->inputs[1]);
        float *c = is_given ? z->data : step->own;
        if (step->code == ADD) add(x, a, y, b, z, c, step->options);
        else convolve(x, a, y, b, find(context, part, step->inputs[2]), z, c, step->options);
    }
    return OK;
}

static int prepare(TfLiteContext *context, TfLiteDelegate *delegate) {
    struct small *small = (struct small *)delegate;
    TfLiteIntArray *plan, *taken;
    if (is(small, "abort in take")) die("take");
    if (context->GetExecutionPlan(context, &plan)) return FAILED;
    taken = calloc(1, sizeof *taken + plan->size * sizeof *taken->data);
    for (int i = 0; i < plan->size; i++) {
        TfLiteNode *node;
        TfLiteRegistration *registration;
        context->GetNodeAndRegistration(context, plan->data[i], &node, &registration);
        if (!is(small, "refuse") && takes(small, context, node, registration)) taken->data[taken->size++] = plan->data[i];
    }
    TfLiteRegistration ours = {
        .init = open_part, .free = close_part, .prepare = prepare_part, .invoke = invoke_part, .custom_name = "small", .version = 1
    };
    int status = context->ReplaceNodeSubsetsWithDelegateKernels(context, ours, taken, delegate);
    free(taken);
    return status;
}

EXPORT TfLiteDelegate *tflite_plugin_create_delegate(char **keys, char **values, size_t count, void (*report)(const char *)) {
    const char *mode = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(keys[i], "mode")) {
            report("small: there is no such option: ");
            report(keys[i]);
            return NULL;
        }
        mode = values[i];
    }
    if (!strcmp(mode, "absent")) {
        fprintf(stderr, "INFO: small: looking for the chip\nERROR: small: there is no /dev/small0\n");
        return NULL;
    }
    if (!strcmp(mode, "abort")) die("the beginning");
    struct small *small = calloc(1, sizeof *small);
    small->base.Prepare = prepare;
    small->mode = strdup(mode);
    return &small->base;
}

EXPORT void tflite_plugin_destroy_delegate(TfLiteDelegate *delegate) {
    struct small *small = (struct small *)delegate;
    free((char *)small->mode);
    free(small);
}
