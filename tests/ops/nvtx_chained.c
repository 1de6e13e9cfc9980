// SPDX-License-Identifier: MIT
// An NVTX program for nvtx_chain.c: prints what it gets, which is what that library gives.
#include "tests/ops/nvtx_shim.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
	nvtxEventAttributes_t event;
	nvtxPayloadSchemaEntry_t entry;
	nvtxPayloadSchemaAttr_t schema;
	uint32_t value = 5;

	memset(&event, 0, sizeof(event));
	memset(&entry, 0, sizeof(entry));
	memset(&schema, 0, sizeof(schema));
	fprintf(stderr, "push %d\n", nvtxRangePushA("a"));
	fprintf(stderr, "wide push %d\n", nvtxRangePushW(L"w") >= 0);
	fprintf(stderr, "pop %d\n", nvtxRangePop());
	fprintf(stderr, "pop %d\n", nvtxRangePop());
	nvtxRangeId_t one = nvtxRangeStartA("one"), two = nvtxRangeStartA("two");
	fprintf(stderr, "ids %d %d\n", (int)one, (int)two);
	nvtxRangeEnd(one);
	nvtxRangeEnd(two);
	nvtxDomainHandle_t domain = nvtxDomainCreateA("domain");
	event.version = NVTX_VERSION;
	event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	event.messageType = NVTX_MESSAGE_TYPE_ASCII;
	event.message.ascii = "step";
	fprintf(stderr, "domain push %d\n", nvtxDomainRangePushEx(domain, &event));
	fprintf(stderr, "domain pop %d\n", nvtxDomainRangePop(domain)); // theirs has none
	entry.type = 16;
	schema.fieldMask = NVTX_SCHEMA_TYPE | NVTX_SCHEMA_ENTRIES | NVTX_SCHEMA_COUNT;
	schema.name = "values";
	schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
	schema.entries = &entry;
	schema.numEntries = 1;
	nvtxPayloadData_t data = { nvtxPayloadSchemaRegister(domain, &schema), sizeof(value),
		                   &value };
	fprintf(stderr, "schema %d\n", (int)data.schemaId);
	nvtxMarkPayload(domain, &data, 1);
	return 0;
}
