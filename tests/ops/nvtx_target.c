// SPDX-License-Identifier: MIT
/*
 * nvtx_target [PART…]: calls NVTX in every way there is; what the agent should say of each part is
 * in nvtx/PART.txt. Ends with 1 if a call returns what it should not. Compiled with NVIDIA's
 * headers where they are there, and with nvtx_shim.h.
 */
#ifdef NVTX_HEADERS
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#else
#include "tests/ops/nvtx_shim.h"
#endif

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

static void expect_is(const char *what, long is, long should)
{
	if (is == should)
		return;
	fprintf(stderr, "%s: %ld instead of %ld\n", what, is, should);
	failures++;
}
#define EXPECT(call, value) expect_is(#call, (long)(call), (long)(value))

static nvtxEventAttributes_t event(const char *text)
{
	nvtxEventAttributes_t e;

	memset(&e, 0, sizeof(e));
	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = NVTX_MESSAGE_TYPE_ASCII;
	e.message.ascii = text;
	return e;
}

static nvtxEventAttributes_t valued(const char *text, int type)
{
	nvtxEventAttributes_t e = event(text);

	e.payloadType = type;
	return e;
}

static void stacks(void)
{
	nvtxEventAttributes_t e = event("events");

	errno = 77;
	EXPECT(nvtxRangePushA("outer"), 0);
	EXPECT(nvtxRangePushW(L"wide \u00e4\u20ac\U0001f600"), 1);
	EXPECT(nvtxRangePushEx(&e), 2);
	EXPECT(nvtxRangePop(), 2);
	EXPECT(nvtxRangePop(), 1);
	nvtxMarkA("here");
	nvtxMarkW(L"h\u00f6r");
	nvtxMarkEx(&e);
	EXPECT(nvtxRangePop(), 0);
	EXPECT(nvtxRangePop() < 0, 1);
	EXPECT(nvtxRangePushA(NULL), 0);
	EXPECT(nvtxRangePushW(NULL), 1);
	EXPECT(nvtxRangePushEx(NULL), 2);
	for (int i = 0; i < 3; i++)
		nvtxRangePop();
	EXPECT(errno, 77);
}

static void texts(void)
{
	char text[16] = "first";
	wchar_t wide[8] = L"a";
	char longest[1200];

	nvtxRangePushA(text);
	strcpy(text, "second");
	nvtxRangePushA(text);
	nvtxRangePop();
	nvtxRangePop();
	nvtxMarkW(wide);
	wide[0] = L'b';
	nvtxMarkW(wide);
	nvtxMarkW((const wchar_t[]){ 0xd800, 0x110000, 0x7fffffff, L'!', 0 });
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	nvtxMarkA(longest);
}

static void values(void)
{
	nvtxEventAttributes_t e = valued("u64", NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);

	e.payload.ullValue = 1ull << 40;
	nvtxMarkEx(&e);
	e = valued("i64", NVTX_PAYLOAD_TYPE_INT64);
	e.payload.llValue = -5;
	nvtxMarkEx(&e);
	e = valued("double", NVTX_PAYLOAD_TYPE_DOUBLE);
	e.payload.dValue = 0.125;
	nvtxMarkEx(&e);
	e = valued("u32", NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
	e.payload.ullValue = ~0ull;
	e.payload.uiValue = 4000000000u;
	nvtxMarkEx(&e);
	e = valued("i32", NVTX_PAYLOAD_TYPE_INT32);
	e.payload.ullValue = 0;
	e.payload.iValue = -7;
	nvtxMarkEx(&e);
	e = valued("float", NVTX_PAYLOAD_TYPE_FLOAT);
	e.payload.fValue = 1.5f;
	nvtxMarkEx(&e);
	e = valued("unknown", 99);
	nvtxMarkEx(&e);
}

// Attributes that end early: what lies beyond is another's.
static void sizes(void)
{
	static const uint16_t ends[] = { 0, 4, 8, 24, 32, 40, 47, 48 };
	nvtxEventAttributes_t e = valued("text", NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);

	e.category = 3;
	e.payload.ullValue = 5;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		e.size = ends[i];
		EXPECT(nvtxRangePushEx(&e), 0);
		EXPECT(nvtxRangePop(), 0);
	}
	e.size = 200; // a newer one
	nvtxMarkEx(&e);
	e.messageType = 9;
	nvtxMarkEx(&e);
	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = NULL;
	nvtxMarkEx(&e);
	e.message.registered = (nvtxStringHandle_t)(uintptr_t)12345; // nobody's
	nvtxMarkEx(&e);
	EXPECT(nvtxDomainRangePushEx((nvtxDomainHandle_t)(uintptr_t)54321, &e), 0);
	EXPECT(nvtxDomainRangePop((nvtxDomainHandle_t)(uintptr_t)54321), 0);
}

static void domains(void)
{
	nvtxDomainHandle_t one = nvtxDomainCreateA("one"), two = nvtxDomainCreateW(L"zw\u00f6lf");
	nvtxEventAttributes_t e = event("step");

	EXPECT(one && two && one != two, 1);
	EXPECT(nvtxDomainRangePushEx(one, &e), 0);
	EXPECT(nvtxDomainRangePushEx(two, &e), 0);
	EXPECT(nvtxDomainRangePushEx(one, &e), 1);
	EXPECT(nvtxRangePushA("step"), 0);
	EXPECT(nvtxDomainRangePop(two), 0); // the others go on
	EXPECT(nvtxDomainRangePop(two) < 0, 1);
	EXPECT(nvtxDomainRangePop(one), 1);
	EXPECT(nvtxDomainRangePop(one), 0);
	EXPECT(nvtxRangePop(), 0);
	EXPECT(nvtxDomainRangePushEx(NULL, &e), 0);
	EXPECT(nvtxRangePop(), 0); // without a domain is without a domain
	nvtxDomainMarkEx(two, &e);
	nvtxDomainDestroy(two);
	EXPECT(nvtxDomainIsEnabled(one), 1);
	EXPECT(nvtxDomainCreateA(NULL), NULL);
}

static void strings(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("strings");
	char text[16] = "narrow";
	nvtxStringHandle_t narrow = nvtxDomainRegisterStringA(domain, text);
	nvtxStringHandle_t wide = nvtxDomainRegisterStringW(domain, L"w\u012bde");
	nvtxEventAttributes_t e = event(NULL);

	strcpy(text, "other"); // it has been copied
	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = narrow;
	nvtxDomainRangePushEx(domain, &e);
	nvtxDomainRangePop(domain);
	nvtxDomainRangePushEx(domain, &e);
	nvtxDomainRangePop(domain);
	e.message.registered = wide;
	nvtxDomainMarkEx(domain, &e);
	nvtxMarkEx(&e); // where it does not belong
	EXPECT(nvtxDomainRegisterStringA(domain, NULL), NULL);
}

static void categories(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("categories");
	nvtxEventAttributes_t e = event("solve");

	nvtxNameCategoryA(1, "numerics");
	nvtxNameCategoryW(2, L"m\u00fcll");
	nvtxDomainNameCategoryA(domain, 1, "inner");
	nvtxDomainNameCategoryW(domain, 2, L"\u00e4u\u00dfer");
	for (e.category = 1; e.category <= 3; e.category++) {
		static const char *const texts[] = { "a", "b", "c" };
		e.message.ascii = texts[e.category - 1];
		nvtxRangePushEx(&e);
		nvtxDomainMarkEx(domain, &e);
		nvtxRangePop();
	}
}

static nvtxRangeId_t open_range;

static void *end_range(void *unused)
{
	nvtxRangeEnd(open_range);
	return unused;
}

static void ranges(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("ranges");
	nvtxEventAttributes_t e = valued("third", NVTX_PAYLOAD_TYPE_INT32);
	pthread_t thread;
	nvtxRangeId_t ids[4];

	e.payload.iValue = 3;
	ids[0] = nvtxRangeStartA("first");
	ids[1] = nvtxRangeStartW(L"second");
	ids[2] = nvtxRangeStartEx(&e);
	e.message.ascii = "fourth";
	ids[3] = nvtxDomainRangeStartEx(domain, &e);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			EXPECT(ids[i] != ids[j], 1);
	nvtxRangeEnd(ids[0]);
	nvtxDomainRangeEnd(domain, ids[3]);
	nvtxRangeEnd(ids[0]); // again
	nvtxRangeEnd(ids[2]);
	nvtxRangeEnd(0);
	nvtxRangeEnd(~0ull);
	nvtxRangeEnd(123456789);
	open_range = ids[1];
	pthread_create(&thread, NULL, end_range, NULL);
	pthread_join(thread, NULL);
}

static uint32_t own_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static void *be_named(void *unused)
{
	nvtxNameOsThreadA(own_tid(), "worker");
	nvtxRangePushA("left open");
	return unused;
}

static void names(void)
{
	nvtxResourceAttributes_t resource;
	pthread_t thread;

	nvtxNameOsThreadW(own_tid(), L"m\u00e4in");
	nvtxNameOsThreadA(own_tid(), NULL);
	pthread_create(&thread, NULL, be_named, NULL);
	pthread_join(thread, NULL);
	memset(&resource, 0, sizeof(resource));
	resource.version = NVTX_VERSION;
	resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
	resource.identifierType = NVTX_RESOURCE_TYPE_GENERIC_HANDLE;
	resource.identifier.ullValue = 4711;
	resource.messageType = NVTX_MESSAGE_TYPE_ASCII;
	resource.message.ascii = "big lock";
	nvtxResourceHandle_t handle =
		nvtxDomainResourceCreate(nvtxDomainCreateA("locks"), &resource);
	EXPECT(handle != NULL, 1);
	nvtxDomainResourceDestroy(handle);
	resource.identifierType = NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE;
	resource.identifier.ullValue = own_tid();
	resource.message.ascii = "renamed";
	nvtxDomainResourceCreate(NULL, &resource);
	nvtxDomainResourceCreate(NULL, NULL);
}

struct body {
	int8_t kind;
	int32_t ids[2];
	uint64_t bytes;
};

struct message {
	const char *text;
	float ratio;
	struct body body;
	uint32_t category;
};

static nvtxPayloadSchemaEntry_t entry(uint64_t flags, uint64_t type, uint64_t detail,
                                      uint64_t offset)
{
	nvtxPayloadSchemaEntry_t e;

	memset(&e, 0, sizeof(e));
	e.flags = flags;
	e.type = type;
	e.arrayOrUnionDetail = detail;
	e.offset = offset;
	return e;
}

static uint64_t add_schema(nvtxDomainHandle_t domain, const char *name,
                           const nvtxPayloadSchemaEntry_t *entries, size_t count, uint64_t id)
{
	nvtxPayloadSchemaAttr_t schema;

	memset(&schema, 0, sizeof(schema));
	schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME |
	                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
	                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
	                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
	                   (id ? NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID : 0);
	schema.name = name;
	schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
	schema.entries = entries;
	schema.numEntries = count;
	schema.schemaId = id;
	return nvtxPayloadSchemaRegister(domain, &schema);
}

// The offsets within a body are those that a compiler makes.
static uint64_t add_body(nvtxDomainHandle_t domain)
{
	nvtxPayloadSchemaEntry_t entries[] = {
		entry(0, NVTX_PAYLOAD_ENTRY_TYPE_INT8, 0, 0),
		entry(NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_INT32, 2,
		      0),
		entry(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, 0, 0),
	};

	return add_schema(domain, "body", entries, 3, NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 1);
}

static void payloads(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("payloads");
	uint64_t body_id = add_body(domain);
	nvtxPayloadSchemaEntry_t entries[] = {
		entry(NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE | NVTX_PAYLOAD_ENTRY_FLAG_POINTER,
		      NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, 0, 0),
		entry(0, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, 0, offsetof(struct message, ratio)),
		entry(0, body_id, 0, offsetof(struct message, body)),
		entry(0, NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY, 0, offsetof(struct message, category)),
	};
	uint64_t message_id = add_schema(domain, "message", entries, 4, 0);
	struct message message = { "send", 0.5f, { -1, { 10, -20 }, 4096 }, 8 };
	nvtxPayloadData_t data[] = { { message_id, sizeof(message), &message },
		                     { body_id, sizeof(message.body), &message.body } };
	nvtxEventAttributes_t e = event("extended");
	nvtxPayloadEnumAttr_t kinds;
	uint32_t plain[3] = { 1, 2, 3 };

	EXPECT(body_id, NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 1);
	EXPECT(message_id != 0 && message_id != body_id, 1);
	EXPECT(nvtxRangePushPayload(domain, data, 1), 0);
	EXPECT(nvtxRangePushPayload(domain, data + 1, 1), 1);
	EXPECT(nvtxRangePopPayload(domain, data, 1), 1);
	EXPECT(nvtxRangePopPayload(domain, NULL, 0), 0);
	nvtxMarkPayload(domain, data, 2);
	nvtxRangeId_t id = nvtxRangeStartPayload(domain, data, 1);
	nvtxRangeEndPayload(domain, id, data + 1, 1);
	e.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	e.reserved0 = 1;
	e.payload.ullValue = (uint64_t)(uintptr_t)&data[1];
	nvtxDomainMarkEx(domain, &e);
	nvtxMarkEx(&e); // the schema is another domain's

	memset(&kinds, 0, sizeof(kinds));
	kinds.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
	kinds.sizeOfEnum = 1;
	nvtxPayloadData_t odd[] = {
		{ 16, sizeof(plain), plain }, // three of a predefined type
		{ nvtxPayloadEnumRegister(domain, &kinds), 1, &message.body.kind },
		{ message_id, 12, &message }, // cut
		{ body_id, SIZE_MAX, &message.body },
		{ body_id, sizeof(message.body), NULL },
		{ 999999, 8, &message },
		{ 0, SIZE_MAX, NULL },
	};
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		nvtxMarkPayload(domain, &odd[i], 1);
	nvtxMarkPayload(domain, NULL, 1);
	EXPECT(nvtxPayloadSchemaRegister(domain, NULL), 0);
}

static void forks(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("family");
	nvtxEventAttributes_t e = event("work");
	nvtxRangeId_t id = nvtxRangeStartA("parent's");

	nvtxDomainRangePushEx(domain, &e);
	pid_t child = fork();
	if (child == 0) {
		nvtxRangeEnd(id);                             // not the child's
		EXPECT(nvtxDomainRangePushEx(domain, &e), 0); // its stacks are empty
		nvtxMarkA("child");
		nvtxDomainRangePop(domain);
		_exit(failures);
	}
	int status = 1;
	waitpid(child, &status, 0);
	EXPECT(status, 0);
	EXPECT(nvtxDomainRangePop(domain), 0);
	nvtxRangeEnd(id);
}

static pthread_key_t late_key;

static void late(void *unused)
{
	(void)unused;
	EXPECT(nvtxRangePushA("too late"), NVTX_NO_PUSH_POP_TRACKING);
	EXPECT(nvtxRangePop(), NVTX_NO_PUSH_POP_TRACKING);
}

// A destructor that runs after ours: keys made later are destroyed later.
static void *end_late(void *unused)
{
	nvtxRangePushA("thread");
	nvtxRangePop();
	pthread_setspecific(late_key, &late_key);
	return unused;
}

static void ends(void)
{
	pthread_t thread;

	pthread_key_create(&late_key, late);
	pthread_create(&thread, NULL, end_late, NULL);
	pthread_join(thread, NULL);
	nvtxRangePushA("open at exit");
}

#define CROWD_THREADS 100
#define CROWD_OPS     2000

static void *be_busy(void *unused)
{
	for (int i = 0; i < CROWD_OPS; i++) {
		nvtxRangePushA("crowd");
		nvtxRangePushA("inner");
		nvtxRangePop();
		nvtxRangePop();
		nvtxRangeEnd(nvtxRangeStartA("range"));
	}
	return unused;
}

// All begin at once, before there is a ring for any of them.
static void crowd(void)
{
	pthread_t threads[CROWD_THREADS];

	for (int i = 0; i < CROWD_THREADS; i++)
		pthread_create(&threads[i], NULL, be_busy, NULL);
	for (int i = 0; i < CROWD_THREADS; i++)
		pthread_join(threads[i], NULL);
}

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "stacks", stacks },         { "texts", texts },     { "values", values },
	{ "sizes", sizes },           { "domains", domains }, { "strings", strings },
	{ "categories", categories }, { "ranges", ranges },   { "names", names },
	{ "payloads", payloads },     { "forks", forks },     { "ends", ends },
	{ "crowd", crowd },
};

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		for (size_t j = 0; j < sizeof(parts) / sizeof(parts[0]); j++)
			if (strcmp(argv[i], parts[j].name) == 0)
				parts[j].run();
	return failures != 0;
}
