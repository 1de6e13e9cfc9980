// SPDX-License-Identifier: MIT
// The lengths of records are those of the structs in CUPTI's headers; from which version on each is
// used was asked of cuptiActivityGetNextRecord() of 11.8, 12.1, 12.4, 12.6, 12.8, 12.9 and 13.0.
#include "tests/gpu/record_kinds.h"
#include "tracer/agent/cupti/cupti_abi.h"

#include <cupti.h>
#include <stdio.h>

static int failures;

static void expect(uint32_t kind, uint32_t cuda, size_t bytes, const char *name)
{
	if (record_bytes(kind, cuda) == bytes)
		return;
	failures++;
	printf("%s: %zu bytes, not %zu\n", name, bytes, record_bytes(kind, cuda));
}
#define EXPECT(kind, cuda, theirs) expect(CUPTI_KIND_##kind, cuda, sizeof(theirs), #theirs)

int main(void)
{
	EXPECT(CONCURRENT_KERNEL, 1100, CUpti_ActivityKernel5);
	EXPECT(CONCURRENT_KERNEL, 1102, CUpti_ActivityKernel6);
	EXPECT(CONCURRENT_KERNEL, 1106, CUpti_ActivityKernel7);
	EXPECT(CONCURRENT_KERNEL, 1108, CUpti_ActivityKernel8);
	EXPECT(CONCURRENT_KERNEL, 1200, CUpti_ActivityKernel9);
	EXPECT(CONCURRENT_KERNEL, 1300, CUpti_ActivityKernel10);
	EXPECT(MEMCPY, 1100, CUpti_ActivityMemcpy3);
	EXPECT(MEMCPY, 1101, CUpti_ActivityMemcpy4);
	EXPECT(MEMCPY, 1106, CUpti_ActivityMemcpy5);
	EXPECT(MEMCPY, 1208, CUpti_ActivityMemcpy6);
	EXPECT(PEER_MEMCPY, 1100, CUpti_ActivityMemcpyPtoP2);
	EXPECT(PEER_MEMCPY, 1101, CUpti_ActivityMemcpyPtoP3);
	EXPECT(PEER_MEMCPY, 1106, CUpti_ActivityMemcpyPtoP4);
	EXPECT(MEMSET, 1100, CUpti_ActivityMemset2);
	EXPECT(MEMSET, 1101, CUpti_ActivityMemset3);
	EXPECT(MEMSET, 1106, CUpti_ActivityMemset4);
	EXPECT(RUNTIME, 1100, CUpti_ActivityAPI);
	EXPECT(OVERHEAD, 1100, CUpti_ActivityOverhead);
	EXPECT(OVERHEAD, 1202, CUpti_ActivityOverhead2);
	EXPECT(OVERHEAD, 1204, CUpti_ActivityOverhead3);
	EXPECT(SYNCHRONIZATION, 1100, CUpti_ActivitySynchronization);
	EXPECT(SYNCHRONIZATION, 1208, CUpti_ActivitySynchronization2);
	EXPECT(MEMORY, 1102, CUpti_ActivityMemory2);
	EXPECT(MEMORY, 1104, CUpti_ActivityMemory3);
	EXPECT(MEMORY, 1206, CUpti_ActivityMemory4);
	EXPECT(MEMORY_POOL, 1102, CUpti_ActivityMemoryPool);
	EXPECT(MEMORY_POOL, 1104, CUpti_ActivityMemoryPool2);
	EXPECT(MEMORY_POOL, 1300, CUpti_ActivityMemoryPool3);
	EXPECT(GRAPH_TRACE, 1107, CUpti_ActivityGraphTrace);
	EXPECT(GRAPH_TRACE, 1203, CUpti_ActivityGraphTrace2);
	EXPECT(JIT, 1200, CUpti_ActivityJit);
	EXPECT(JIT, 1204, CUpti_ActivityJit2);
	EXPECT(DEVICE, 1100, CUpti_ActivityDevice4);
	EXPECT(DEVICE, 1204, CUpti_ActivityDevice5);
	EXPECT(CONTEXT, 1100, CUpti_ActivityContext);
	EXPECT(CONTEXT, 1204, CUpti_ActivityContext2);
	EXPECT(CONTEXT, 1206, CUpti_ActivityContext3);
	EXPECT(STREAM, 1100, CUpti_ActivityStream);
	EXPECT(MANAGED, 1100, CUpti_ActivityUnifiedMemoryCounter2);
	EXPECT(MANAGED, 1208, CUpti_ActivityUnifiedMemoryCounter3);
	return failures != 0;
}
