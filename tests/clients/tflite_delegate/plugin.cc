// TensorFlow Lite's NNAPI delegate as an external delegate: a library that any interpreter loads, with options as text.
#include <cstdlib>
#include <map>
#include <string>

#include "taken.h"
#include "tflite/delegates/external/external_delegate_interface.h"
#include "tflite/delegates/nnapi/nnapi_delegate.h"

namespace {

using Options = tflite::StatefulNnApiDelegate::Options;

// The options that have text keep pointers to it: a delegate and its texts live together.
struct Plugged {
    std::map<std::string, std::string> texts;
    tflite::StatefulNnApiDelegate *delegate;
    Prepare prepare;
};

std::map<TfLiteDelegate *, Plugged *> &plugged() {
    static std::map<TfLiteDelegate *, Plugged *> all;
    return all;
}

TfLiteStatus prepare(TfLiteContext *context, TfLiteDelegate *delegate) {
    TfLiteStatus status;
    prepare_and_tell(context, delegate, plugged().at(delegate)->prepare, &status);
    return status;
}

bool is_on(const std::string &text) { return text == "1" || text == "true"; }

// Whether there is an option of that name.
bool set(Options &options, const std::string &name, const std::string &text) {
    if (name == "accelerator_name")
        options.accelerator_name = text.c_str();
    else if (name == "cache_dir")
        options.cache_dir = text.c_str();
    else if (name == "model_token")
        options.model_token = text.c_str();
    else if (name == "disallow_nnapi_cpu")
        options.disallow_nnapi_cpu = is_on(text);
    else if (name == "allow_fp16")
        options.allow_fp16 = is_on(text);
    else if (name == "allow_dynamic_dimensions")
        options.allow_dynamic_dimensions = is_on(text);
    else if (name == "use_burst_computation")
        options.use_burst_computation = is_on(text);
    else if (name == "max_number_delegated_partitions")
        options.max_number_delegated_partitions = std::atoi(text.c_str());
    else if (name == "execution_preference")
        options.execution_preference = static_cast<Options::ExecutionPreference>(std::atoi(text.c_str()));
    else
        return false;
    return true;
}

}  // namespace

extern "C" {

TFL_EXTERNAL_DELEGATE_EXPORT TfLiteDelegate *tflite_plugin_create_delegate(
    const char *const *names, const char *const *values, size_t count, void (*report)(const char *)) {
    auto *made = new Plugged();
    Options options;
    for (size_t i = 0; i < count; i++) {
        std::string &text = made->texts[names[i]] = values[i];
        if (set(options, names[i], text)) continue;
        if (report) report((std::string("the NNAPI delegate has no option ") + names[i]).c_str());
        delete made;
        return nullptr;
    }
    made->delegate = new tflite::StatefulNnApiDelegate(options);
    made->prepare = made->delegate->Prepare;
    made->delegate->Prepare = prepare;
    plugged()[made->delegate] = made;
    return made->delegate;
}

TFL_EXTERNAL_DELEGATE_EXPORT void tflite_plugin_destroy_delegate(TfLiteDelegate *delegate) {
    auto found = plugged().find(delegate);
    if (found == plugged().end()) return;
    delete found->second->delegate;
    delete found->second;
    plugged().erase(found);
}

}  // extern "C"
