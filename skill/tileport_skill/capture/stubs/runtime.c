/* The CUDA runtime calls that torch makes while it handles fake CUDA tensors: device guards, streams, events.
 *
 * Loaded before torch into the capturing child process only, so that these names win over the real runtime's.
 */
#include <stddef.h>
#include <stdlib.h>

typedef int Result;
typedef void *Handle;

enum { ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 };

static char thing[256];

static int setting(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

Result cudaGetDevice(int *device) { *device = 0; return 0; }
Result cudaSetDevice(int device) { return 0; }
Result cudaGetDeviceCount(int *count) { *count = 1; return 0; }
Result cudaDeviceGetAttribute(int *value, int attribute, int device) {
    int capability = setting("TILEPORT_CAPABILITY", 90);
    if (attribute == ATTRIBUTE_MAJOR) *value = capability / 10;
    else if (attribute == ATTRIBUTE_MINOR) *value = capability % 10;
    else *value = setting("TILEPORT_SMS", 132);
    return 0;
}
Result cudaDeviceCanAccessPeer(int *can, int a, int b) { *can = 0; return 0; }
Result cudaDeviceSynchronize(void) { return 0; }
Result cudaDriverGetVersion(int *version) { *version = 13040; return 0; }
Result cudaGetLastError(void) { return 0; }
Result cudaPeekAtLastError(void) { return 0; }
Result cudaThreadExchangeStreamCaptureMode(int *mode) { return 0; }
Result cudaMemGetInfo(size_t *free, size_t *total) { *free = *total = (size_t)141 << 30; return 0; }
Result cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { *least = 0; *greatest = -5; return 0; }
Result cudaStreamCreate(Handle *stream) { *stream = thing; return 0; }
Result cudaStreamCreateWithPriority(Handle *stream, unsigned flags, int priority) { *stream = thing; return 0; }
Result cudaStreamDestroy(Handle stream) { return 0; }
Result cudaStreamQuery(Handle stream) { return 0; }
Result cudaStreamSynchronize(Handle stream) { return 0; }
Result cudaStreamWaitEvent(Handle stream, Handle event, unsigned flags) { return 0; }
Result cudaStreamIsCapturing(Handle stream, int *status) { *status = 0; return 0; }
Result cudaEventCreateWithFlags(Handle *event, unsigned flags) { *event = thing; return 0; }
Result cudaEventDestroy(Handle event) { return 0; }
Result cudaEventRecord(Handle event, Handle stream) { return 0; }
Result cudaEventRecordWithFlags(Handle event, Handle stream, unsigned flags) { return 0; }
Result cudaEventQuery(Handle event) { return 0; }
Result cudaEventSynchronize(Handle event) { return 0; }
Result cudaEventElapsedTime(float *milliseconds, Handle start, Handle end) { *milliseconds = 1; return 0; }
