// TensorFlow Lite's operator tests of the delegate without its interpreter's sources: each test's model is run by the
// interpreter of the Python process that loaded this library, which gives it functions for that (operators.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "taken.h"
#include "tflite/delegates/external/external_delegate_interface.h"
#include "tflite/kernels/test_util.h"
#include "tflite/tools/versioning/op_version.h"

namespace {

// What the Python process does with an interpreter, which has a number; of a status 0 is good.
struct Host {
    int64_t (*create)(const uint8_t *model, size_t size);
    int (*apply)(int64_t number);
    int (*resize)(int64_t number, int index, const int *dimensions, size_t count);
    int (*allocate)(int64_t number);
    int (*invoke)(int64_t number);
    void (*close)(int64_t number);
};

Host host;
// What is about to be given to an interpreter, and to which.
TfLiteDelegate *pending = nullptr;
tflite::Interpreter *awaiting = nullptr;

TfLiteStatus status_of(int answer) { return answer == 0 ? kTfLiteOk : kTfLiteError; }

}  // namespace

extern "C" {

TFL_EXTERNAL_DELEGATE_EXPORT TfLiteDelegate *tflite_plugin_create_delegate(const char *const *, const char *const *, size_t,
                                                                           void (*)(const char *)) {
    return pending;
}

TFL_EXTERNAL_DELEGATE_EXPORT void tflite_plugin_destroy_delegate(TfLiteDelegate *) {}  // the test owns it

TFL_EXTERNAL_DELEGATE_EXPORT int run_tests(const Host *given, int count, char **words) {
    host = *given;
    testing::InitGoogleTest(&count, words);
    return RUN_ALL_TESTS();
}

}  // extern "C"

namespace tflite {

Interpreter::Interpreter(const uint8_t *model, size_t size, bool is_relaxed) : observer_(TfLiteDelegateCreate()) {
    number_ = host.create(model, size);
    observer_.data_ = this;
    observer_.flags = kTfLiteDelegateFlagsAllowDynamicTensors;
    observer_.Prepare = [](TfLiteContext *context, TfLiteDelegate *observer) {
        static_cast<Interpreter *>(observer->data_)->context_ = context;
        return kTfLiteOk;
    };
    pending = &observer_;
    ABSL_CHECK(number_ && AllocateTensors() == kTfLiteOk && status_of(host.apply(number_)) == kTfLiteOk);
    context_->allow_fp32_relax_to_fp16 = is_relaxed;
}

Interpreter::~Interpreter() { host.close(number_); }

TfLiteStatus Interpreter::ModifyGraphWithDelegate(TfLiteDelegate *delegate) {
    prepare_ = delegate->Prepare;
    delegate->Prepare = [](TfLiteContext *context, TfLiteDelegate *given) {
        TfLiteStatus status;
        const int taken = prepare_and_tell(context, given, awaiting->prepare_, &status);
        testing::Test::RecordProperty("delegated", taken);
        return status;
    };
    pending = delegate;
    awaiting = this;
    const TfLiteStatus status = status_of(host.apply(number_));
    return status == kTfLiteOk ? AllocateTensors() : status;
}

TfLiteStatus Interpreter::ResizeInputTensor(int index, const std::vector<int> &dimensions) {
    return status_of(host.resize(number_, index, dimensions.data(), dimensions.size()));
}

TfLiteStatus Interpreter::AllocateTensors() { return status_of(host.allocate(number_)); }

TfLiteStatus Interpreter::Invoke() { return status_of(host.invoke(number_)); }

// From here on the tests' own helpers, as far as these tests use them.

bool AllowFp16PrecisionForFp32() { return false; }

SingleOpModel::~SingleOpModel() = default;

int SingleOpModel::AddInput(const TensorData &t) {
    inputs_.push_back(t.per_channel_quantization ? AddTensorPerChannelQuant(t) : AddTensor<float>(t, nullptr, 0));
    return inputs_.back();
}

int SingleOpModel::AddVariableInput(const TensorData &t) {
    inputs_.push_back(AddTensor<float>(t, nullptr, 0, true));
    return inputs_.back();
}

int SingleOpModel::AddNullInput() {
    inputs_.push_back(kTfLiteOptionalTensor);
    return kTfLiteOptionalTensor;
}

int SingleOpModel::AddOutput(const TensorData &t) {
    outputs_.push_back(AddTensor<float>(t, nullptr, 0));
    return outputs_.back();
}

void SingleOpModel::SetBuiltinOp(BuiltinOperator type, BuiltinOptions kind, flatbuffers::Offset<void> options) {
    opcodes_.push_back(CreateOperatorCode(builder_, type, 0, 0));
    const auto inputs = builder_.CreateVector(inputs_), outputs = builder_.CreateVector(outputs_);
    operators_.push_back(CreateOperator(builder_, 0, inputs, outputs, kind, options));
}

// An operation of one's own would need the interpreter's registry: the test that has one is left out.
void SingleOpModel::SetCustomOp(const string &, const std::vector<uint8_t> &, const std::function<TfLiteRegistration *()> &) {
    ABSL_LOG(FATAL) << "there are no custom operations here";
}

namespace ops::builtin {
TfLiteRegistration *Register_FLOOR() { return nullptr; }
}  // namespace ops::builtin

void SingleOpModel::BuildInterpreter(std::vector<std::vector<int>> shapes, int, bool is_relaxed, bool, bool) {
    const auto opcodes = builder_.CreateVector(opcodes_);
    const auto tensors = builder_.CreateVector(tensors_);
    const auto inputs = builder_.CreateVector(inputs_), outputs = builder_.CreateVector(outputs_);
    const auto subgraph = CreateSubGraph(builder_, tensors, inputs, outputs, builder_.CreateVector(operators_));
    const auto subgraphs = builder_.CreateVector(std::vector<flatbuffers::Offset<SubGraph>>{subgraph});
    if (buffers_.empty()) buffers_.push_back(CreateBuffer(builder_));  // the one of what has no value
    const auto buffers = builder_.CreateVector(buffers_);
    builder_.Finish(CreateModel(builder_, 3, opcodes, subgraphs, builder_.CreateString("test"), buffers), "TFL3");
    UpdateOpVersion(builder_.GetBufferPointer());
    // the tensors are allocated at once, and so the inputs have their shapes from the beginning
    std::unique_ptr<ModelT> model(GetModel(builder_.GetBufferPointer())->UnPack());
    for (size_t i = 0; i < shapes.size(); i++)
        if (inputs_[i] >= 0 && !shapes[i].empty()) model->subgraphs[0]->tensors[inputs_[i]]->shape = shapes[i];
    flatbuffers::FlatBufferBuilder packed;
    packed.Finish(Model::Pack(packed, model.get()), "TFL3");
    interpreter_ = std::make_unique<Interpreter>(packed.GetBufferPointer(), packed.GetSize(), is_relaxed);
}

// An interpreter that does not give its graph to the delegate, as it has dynamic tensors, runs it itself.
TfLiteStatus SingleOpModel::ApplyDelegate() { return interpreter_->ModifyGraphWithDelegate(delegate_.get()); }

TfLiteStatus SingleOpModel::Invoke() { return interpreter_->Invoke(); }

int32_t SingleOpModel::GetTensorSize(int index) const {
    const TfLiteIntArray *extents = interpreter_->tensor(index)->dims;
    int32_t size = 1;
    for (int i = 0; i < extents->size; i++) size *= extents->data[i];
    return size;
}

namespace optimize::utils {

void SymmetricPerChannelQuantizeValues(const float *values, const std::vector<float> &inverse_scales,
                                       const std::vector<int32_t> &shape, int32_t axis, std::vector<int8_t> *codes,
                                       TfLiteType) {
    size_t inner = 1;
    for (size_t i = axis + 1; i < shape.size(); i++) inner *= shape[i];
    for (size_t i = 0; i < codes->size(); i++) {
        const float code = std::round(values[i] * inverse_scales[i / inner % shape[axis]]);
        (*codes)[i] = static_cast<int8_t>(std::clamp(code, -127.0f, 127.0f));
    }
}

}  // namespace optimize::utils
}  // namespace tflite
