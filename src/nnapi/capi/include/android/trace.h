#ifndef NNAPI_ANDROID_TRACE_H
#define NNAPI_ANDROID_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Are sections being recorded, by NNAPI_TRACE or a Python program around the client? */
bool ATrace_isEnabled(void);

/* Begin a section on this thread. [NN_LA_PI], [NN_LA_PP], [NN_LA_PC] and [NN_LA_PE] in front of its name say that it
   initializes, prepares, compiles or executes. */
void ATrace_beginSection(const char* sectionName);

/* End the section that this thread began last. */
void ATrace_endSection(void);

/* Begin a section that may end on another thread; the cookie tells apart those of one name. */
void ATrace_beginAsyncSection(const char* sectionName, int32_t cookie);

/* End the section of that name and cookie. */
void ATrace_endAsyncSection(const char* sectionName, int32_t cookie);

#ifdef __cplusplus
}
#endif

#endif
