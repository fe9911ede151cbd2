/* A CUDA driver that does nothing: libcuda.so.1 of the capturing child process, and of no other.
 *
 * cuTile's launch path and torch's fake CUDA tensors ask the driver about devices, contexts and streams; every
 * answer here is a constant. The architecture and the number of SMs come from the environment.
 *
 * A launch through it is written to the file TILEPORT_LAUNCHES, one line each. What it loads as a module is no
 * cubin but the note that our stand-in for tileiras leaves: a hash, then the types of the kernel's parameters.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
typedef void *Handle;

enum { ATTRIBUTE_SM_COUNT = 16, ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 };

static char context[64], library[64], kernel[64], function[64], stream[64];

static int setting(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static Result nothing(void) { return 0; }

static void *bytes(size_t size) { return aligned_alloc(256, (size + 255) & ~(size_t)255); }

Result cuInit(unsigned flags) { return 0; }
Result cuDriverGetVersion(int *version) { *version = 13040; return 0; }
Result cuDeviceGetCount(int *count) { *count = 1; return 0; }
Result cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
Result cuDeviceGetAttribute(int *value, int attribute, int device) {
    int capability = setting("TILEPORT_CAPABILITY", 90);
    if (attribute == ATTRIBUTE_MAJOR) *value = capability / 10;
    else if (attribute == ATTRIBUTE_MINOR) *value = capability % 10;
    else if (attribute == ATTRIBUTE_SM_COUNT) *value = setting("TILEPORT_SMS", 132);
    else *value = 1 << 16;
    return 0;
}
Result cuDevicePrimaryCtxRetain(Handle *c, int device) { *c = context; return 0; }
Result cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    if (flags) *flags = 0;
    *active = 1;
    return 0;
}
Result cuCtxGetCurrent(Handle *c) { *c = context; return 0; }
Result cuCtxSetCurrent(Handle c) { return 0; }
Result cuCtxGetDevice(int *device) { *device = 0; return 0; }
Result cuCtxGetId(Handle c, unsigned long long *id) { *id = 1; return 0; }
Result cuCtxPopCurrent(Handle *c) { if (c) *c = context; return 0; }
Result cuStreamGetCtx(Handle s, Handle *c) { *c = context; return 0; }
Result cuStreamGetId(Handle s, unsigned long long *id) { *id = 1; return 0; }
Result cuStreamIsCapturing(Handle s, int *status) { *status = 0; return 0; }
Result cuStreamCreate(Handle *s, unsigned flags) { *s = stream; return 0; }
Result cuEventCreate(Handle *event, unsigned flags) { *event = function; return 0; }
Result cuLibraryLoadData(Handle *l) { *l = library; return 0; }
Result cuLibraryGetKernel(Handle *k) { *k = kernel; return 0; }
Result cuKernelGetFunction(Handle *f) { *f = function; return 0; }
Result cuKernelGetAttribute(int *value) { *value = 0; return 0; }
Result cuGetErrorString(Result error, const char **text) { *text = "no driver"; return 0; }
Result cuGetErrorName(Result error, const char **text) { *text = "NO_DRIVER"; return 0; }
Result cuMemAlloc(Handle *address, size_t size) { *address = bytes(size); return 0; }
Result cuMemAllocHost(Handle *address, size_t size) { *address = bytes(size); return 0; }

enum { LARGEST_NOTE = 4096, NO_SUCH_FILE = 301, INVALID_IMAGE = 200 };

/* "<sha256> <type> <type> ...\n" */
typedef struct { char note[LARGEST_NOTE]; } Module;
typedef struct { const Module *module; char name[256]; } Function;

Result cuModuleLoad(Handle *made, const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) return NO_SUCH_FILE;
    Module *module = calloc(1, sizeof *module);
    char *read = fgets(module->note, LARGEST_NOTE, file);
    fclose(file);
    if (!read) return INVALID_IMAGE;
    module->note[strcspn(module->note, "\n")] = 0;
    *made = module;
    return 0;
}
Result cuModuleUnload(Handle module) { return 0; }
Result cuModuleGetFunction(Handle *made, Handle module, const char *name) {
    Function *found = calloc(1, sizeof *found);
    found->module = module;
    snprintf(found->name, sizeof found->name, "%s", name);
    *made = found;
    return 0;
}
static unsigned long long value_of(const char *type, const void *at) {
    unsigned long long value = 0;
    size_t size = !strcmp(type, "ptr") || strstr(type, "64") ? 8 : strstr(type, "16") ? 2 : strstr(type, "32") ? 4 : 1;
    memcpy(&value, at, size);
    return value;
}
Result cuLaunchKernel(Handle launched, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, Handle s, void **parameters, void **extra) {
    const Function *found = launched;
    const char *path = getenv("TILEPORT_LAUNCHES");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return 0;
    char note[LARGEST_NOTE], *rest = note;
    memcpy(note, found->module->note, sizeof note);
    fprintf(file, "%s %s %u %u %u", strtok_r(rest, " ", &rest), found->name, x, y, z);
    for (char *type; (type = strtok_r(rest, " ", &rest)); parameters++)
        fprintf(file, " %s:%llx", type, value_of(type, *parameters));
    fputc('\n', file);
    return fclose(file) ? INVALID_IMAGE : 0;
}
/* Memory is the host's, so that what a program copies there can be copied back. */
Result cuMemAllocAsync(Handle *address, size_t size, Handle s) { *address = bytes(size); return 0; }
Result cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t size, Handle s) { memcpy(to, from, size); return 0; }
Result cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t size, Handle s) { memcpy(to, from, size); return 0; }
Result cuStreamSynchronize(Handle s) { return 0; }
Result cuCtxSynchronize(void) { return 0; }
Result cuDeviceGetName(char *name, int size, int device) { snprintf(name, size, "no device"); return 0; }
Result cuFuncSetAttribute(Handle f, int attribute, int value) { return 0; }
Result cuFuncSetCacheConfig(Handle f, int config) { return 0; }
Result cuDevicePrimaryCtxRelease_v2(int device) { return 0; }

#define ENTRY(name) {#name, (Handle)name}
static const struct { const char *name; Handle address; } entries[] = {
    ENTRY(cuInit), ENTRY(cuDriverGetVersion), ENTRY(cuDeviceGetCount), ENTRY(cuDeviceGet),
    ENTRY(cuDeviceGetAttribute), ENTRY(cuDevicePrimaryCtxRetain), ENTRY(cuDevicePrimaryCtxGetState),
    ENTRY(cuCtxGetCurrent), ENTRY(cuCtxSetCurrent), ENTRY(cuCtxGetDevice), ENTRY(cuCtxGetId),
    ENTRY(cuCtxPopCurrent), ENTRY(cuStreamGetCtx), ENTRY(cuStreamGetId), ENTRY(cuStreamIsCapturing),
    ENTRY(cuStreamCreate), ENTRY(cuEventCreate), ENTRY(cuLibraryLoadData), ENTRY(cuLibraryGetKernel),
    ENTRY(cuKernelGetFunction), ENTRY(cuKernelGetAttribute), ENTRY(cuGetErrorString), ENTRY(cuGetErrorName),
    ENTRY(cuMemAlloc), ENTRY(cuMemAllocHost),
};

Result cuGetProcAddress_v2(const char *name, Handle *address, int version, unsigned long flags, int *status) {
    if (status) *status = 0;
    *address = (Handle)nothing;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (!strcmp(name, entries[i].name)) *address = entries[i].address;
    return 0;
}
