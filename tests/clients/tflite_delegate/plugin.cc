// TensorFlow Lite's NNAPI delegate as an external delegate: a library that any interpreter loads, with options as text.
#include <cstdlib>
#include <map>
#include <string>

#include "tflite/core/subgraph.h"
#include "tflite/delegates/external/external_delegate_interface.h"
#include "tflite/delegates/nnapi/nnapi_delegate.h"

namespace {

using Options = tflite::StatefulNnApiDelegate::Options;

// The options that have text keep pointers to it: a delegate and its texts live together.
struct Plugged {
    std::map<std::string, std::string> texts;
    tflite::StatefulNnApiDelegate *delegate;
};

std::map<TfLiteDelegate *, Plugged *> &plugged() {
    static std::map<TfLiteDelegate *, Plugged *> all;
    return all;
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

// What the delegate's helpers ask of the interpreter's own class, which an external delegate cannot reach. It is about
// delegating control flow across subgraphs, which this delegate does not do.
TfLiteStatus tflite::Subgraph::AcquireSubgraphContext(int, TfLiteContext **) { return kTfLiteError; }
TfLiteStatus tflite::Subgraph::ReleaseSubgraphContext(int) { return kTfLiteError; }
TfLiteStatus tflite::Subgraph::MarkSubgraphAsDelegationSkippable(int) { return kTfLiteError; }

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
