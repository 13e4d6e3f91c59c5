#ifndef NNAPI_ANDROID_TRACE_H
#define NNAPI_ANDROID_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return whether sections are recorded, by NNAPI_TRACE or by Python code in the same process. */
bool ATrace_isEnabled(void);

/* Begin a section on this thread. The prefixes [NN_LA_PI], [NN_LA_PP], [NN_LA_PC] and [NN_LA_PE] of its name mean the
   phases initialization, preparation, compilation and execution. */
void ATrace_beginSection(const char* sectionName);

/* End the section that this thread has begun last. */
void ATrace_endSection(void);

/* Begin a section that may end on another thread; the cookie distinguishes sections with the same name. */
void ATrace_beginAsyncSection(const char* sectionName, int32_t cookie);

/* End the section with this name and cookie. */
void ATrace_endAsyncSection(const char* sectionName, int32_t cookie);

#ifdef __cplusplus
}
#endif

#endif
