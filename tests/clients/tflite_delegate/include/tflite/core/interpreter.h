// The class by which the tests reach their interpreter, which runs in the Python process that loaded them. Tensors are
// read and written where they are: in the context that the interpreter gives to delegates.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tflite/core/c/common.h"
#include "tflite/portable_type_to_tflitetype.h"

namespace tflite {
namespace impl {

class SignatureRunner;

class Interpreter {
 public:
    using TfLiteDelegatePtr = std::unique_ptr<TfLiteDelegate, std::function<void(TfLiteDelegate *)>>;

    Interpreter(const uint8_t *model, size_t size, bool is_relaxed);
    ~Interpreter();

    TfLiteStatus ModifyGraphWithDelegate(TfLiteDelegate *delegate);
    TfLiteStatus ResizeInputTensor(int index, const std::vector<int> &dimensions);
    TfLiteStatus AllocateTensors();
    TfLiteStatus Invoke();

    TfLiteTensor *tensor(int index) const { return context_ ? &context_->tensors[index] : nullptr; }
    template <typename T>
    T *typed_tensor(int index) const {
        TfLiteTensor *found = tensor(index);
        return found && found->type == typeToTfLiteType<T>() ? reinterpret_cast<T *>(found->data.raw) : nullptr;
    }
    void SetBufferHandle(int index, TfLiteBufferHandle handle, TfLiteDelegate *delegate) {
        tensor(index)->delegate = delegate;
        tensor(index)->buffer_handle = handle;
    }

    // What the header of the tests mentions and these tests do not use.
    TfLiteTensor *input_tensor(int) { return nullptr; }
    TfLiteTensor *output_tensor(int) { return nullptr; }
    void SetNumThreads(int) {}
    void AddSubgraphs(int, int *) {}

 private:
    int64_t number_ = 0;
    TfLiteDelegate observer_;  // takes nothing: it is there for the context
    TfLiteContext *context_ = nullptr;
    TfLiteStatus (*prepare_)(TfLiteContext *, TfLiteDelegate *) = nullptr;
};

}  // namespace impl

using Interpreter = impl::Interpreter;

}  // namespace tflite
