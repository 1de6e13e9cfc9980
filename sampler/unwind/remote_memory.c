// SPDX-License-Identifier: MIT
#include "sampler/unwind/remote_memory.h"

#include <string.h>
#include <sys/uio.h>

void remote_memory_begin(struct remote_memory *m, remote_read_function *read, void *context)
{
	m->read = read;
	m->context = context;
	m->look++;
	m->reads = 0;
}

static bool read_now(struct remote_memory *m, uint64_t address, void *to, size_t size)
{
	return m->reads++ < REMOTE_READS_MAX && m->read(m->context, address, to, size);
}

static const uint8_t *page_of(struct remote_memory *m, uint64_t number)
{
	size_t slot = number % REMOTE_PAGES;

	if (m->looks[slot] == m->look && m->numbers[slot] == number)
		return m->pages[slot];
	m->looks[slot] = 0;
	if (!read_now(m, number * REMOTE_PAGE, m->pages[slot], REMOTE_PAGE))
		return NULL;
	m->numbers[slot] = number;
	m->looks[slot] = m->look;
	return m->pages[slot];
}

bool remote_memory_read(struct remote_memory *m, uint64_t address, void *to, size_t size)
{
	uint8_t *at = to;

	if (size > UINT64_MAX - address)
		return false;
	if (size > REMOTE_PAGE)
		return read_now(m, address, to, size);
	while (size) {
		size_t offset = address % REMOTE_PAGE;
		size_t part = size < REMOTE_PAGE - offset ? size : REMOTE_PAGE - offset;
		const uint8_t *page = page_of(m, address / REMOTE_PAGE);
		if (!page)
			return false;
		memcpy(at, page + offset, part);
		at += part;
		address += part;
		size -= part;
	}
	return true;
}

uint64_t remote_memory_word(struct remote_memory *m, uint64_t address)
{
	uint64_t word;

	return remote_memory_read(m, address, &word, sizeof(word)) ? word : 0;
}

bool remote_memory_of_process(void *context, uint64_t address, void *to, size_t size)
{
	struct iovec local = { to, size };
	// NOLINTNEXTLINE(performance-no-int-to-ptr): an address in the other process
	struct iovec remote = { (void *)(uintptr_t)address, size };

	return process_vm_readv(*(const int *)context, &local, 1, &remote, 1, 0) == (ssize_t)size;
}
