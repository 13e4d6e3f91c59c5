#ifndef NNAPI_ANDROID_SHAREDMEM_H
#define NNAPI_ANDROID_SHAREDMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A descriptor of size bytes of anonymous memory that processes can share; -1, with errno, on failure. */
int ASharedMemory_create(const char* name, size_t size);

/* Bytes behind such a descriptor; 0 for any other. */
size_t ASharedMemory_getSize(int fd);

#ifdef __cplusplus
}
#endif

#endif
