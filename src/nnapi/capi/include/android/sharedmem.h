#ifndef NNAPI_ANDROID_SHAREDMEM_H
#define NNAPI_ANDROID_SHAREDMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return a descriptor of `size` bytes of anonymous memory that processes can share; -1, with errno, on failure. */
int ASharedMemory_create(const char* name, size_t size);

/* Return the bytes of such a descriptor's memory; 0 for other descriptors. */
size_t ASharedMemory_getSize(int fd);

/* Forbid later mappings to write, in all processes, unless `prot` has PROT_WRITE. Mappings that exist keep their rights,
   and reading cannot be forbidden. Return 0; -1, with errno, on failure or if writing was forbidden and is requested. */
int ASharedMemory_setProt(int fd, int prot);

#ifdef __cplusplus
}
#endif

#endif
