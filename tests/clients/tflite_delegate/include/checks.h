// The checks of Abseil's and TensorFlow's logging that the tests use, for systems whose Abseil has none.
#pragma once
#include <cstdlib>
#include <iostream>

namespace checks {

// Says what was streamed into it and ends the program.
struct Failure {
    explicit Failure(const char *what) { std::cerr << what << ": "; }
    ~Failure() {
        std::cerr << std::endl;
        std::abort();
    }
    template <typename T>
    Failure &operator<<(const T &text) {
        std::cerr << text;
        return *this;
    }
};

}  // namespace checks

#define ABSL_CHECK(condition) \
    if (!(condition)) checks::Failure(#condition)
#define ABSL_CHECK_EQ(a, b) ABSL_CHECK((a) == (b))
#define ABSL_CHECK_LE(a, b) ABSL_CHECK((a) <= (b))
#define ABSL_CHECK_GE(a, b) ABSL_CHECK((a) >= (b))
#define ABSL_LOG(level) checks::Failure(#level)
#define LOG(level) checks::Failure(#level)
#define CHECK ABSL_CHECK
#define CHECK_EQ ABSL_CHECK_EQ
