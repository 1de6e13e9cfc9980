// SPDX-License-Identifier: MIT
#include "symbolize/names_cache.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/new_file.h"
#include "base/strings.h"
#include "symbolize/symbolizer.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC     "bnames03"
#define FILE_MAX  (UINT64_C(16) << 20) // bytes; a file that would be larger is not written
#define FRAME_MAX 1024                 // of one address

// A file: this, addresses in ascending order, frames, texts. A text is its offset there, 0: none.
struct header {
	char magic[8];
	uint64_t key;
	uint32_t address_count, frame_count, text_bytes;
	uint32_t level, has_lines;
	uint32_t source, reason, remedy;
};

struct stored_address {
	uint64_t address;
	uint32_t first, count; // of its frames
};

#define INLINED     1
#define UNOPTIMIZED 2

struct stored_frame {
	uint32_t function, file, declared;
	int32_t line;
	uint32_t flags;
};

_Static_assert(sizeof(struct header) == 48, "what is in the files");
_Static_assert(sizeof(struct stored_address) == 16, "what is in the files");
_Static_assert(sizeof(struct stored_frame) == 20, "what is in the files");

// A file that was read, and the symbols made of it.
struct stored_names {
	const struct header *header;
	const struct stored_address *addresses;
	const struct stored_frame *frames;
	const char *texts;
	struct symbol *symbols;
	uint64_t bytes[];
};

void stored_names_free(struct stored_names *s)
{
	if (!s)
		return;
	free(s->symbols);
	free(s);
}

static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 077) &&
	       (size_t)st->st_size >= sizeof(struct header) && (uint64_t)st->st_size <= FILE_MAX;
}

static struct stored_names *load(const char *file, size_t *size)
{
	cleanup_close int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !is_ours(&st))
		return NULL;
	*size = (size_t)st.st_size;
	cleanup(stored_names) struct stored_names *s = calloc(1, sizeof(*s) + *size);
	if (!s || read(fd, s->bytes, *size) != st.st_size)
		return NULL;
	return steal(s);
}

// False if its parts are not what its header says.
static bool find_parts(struct stored_names *s, size_t size, uint64_t key)
{
	const struct header *h = (const void *)s->bytes;
	uint64_t addresses = (uint64_t)h->address_count * sizeof(*s->addresses);
	uint64_t frames = (uint64_t)h->frame_count * sizeof(*s->frames);

	if (memcmp(h->magic, MAGIC, sizeof(h->magic)) != 0 || h->key != key ||
	    h->level > DEBUG_LINES || !h->text_bytes ||
	    size != sizeof(*h) + addresses + frames + h->text_bytes)
		return false;
	s->header = h;
	s->addresses = (const void *)(h + 1);
	s->frames = (const void *)(s->addresses + h->address_count);
	s->texts = (const char *)(s->frames + h->frame_count);
	return s->texts[h->text_bytes - 1] == '\0';
}

static bool get_text(const struct stored_names *s, uint32_t at, const char **text)
{
	*text = at && at < s->header->text_bytes ? s->texts + at : NULL;
	return at < s->header->text_bytes;
}

static bool read_frame(const struct stored_names *s, const struct stored_frame *from,
                       struct symbol *to)
{
	*to = (struct symbol){ .line = from->line,
		               .inlined = from->flags & INLINED,
		               .unoptimized = from->flags & UNOPTIMIZED };
	return from->line >= 0 && get_text(s, from->function, &to->function) &&
	       get_text(s, from->file, &to->file) && get_text(s, from->declared, &to->declared);
}

static bool read_frames(struct stored_names *s)
{
	s->symbols = calloc((size_t)s->header->frame_count + 1, sizeof(*s->symbols));
	for (uint32_t i = 0; s->symbols && i < s->header->frame_count; i++)
		if (!read_frame(s, &s->frames[i], &s->symbols[i]))
			return false;
	return s->symbols != NULL;
}

static bool read_addresses(const struct stored_names *s, struct answers *answers)
{
	const struct header *h = s->header;

	for (uint32_t i = 0; i < h->address_count; i++) {
		const struct stored_address *a = &s->addresses[i];
		struct symbol_chain chain = { a->count, a->count ? s->symbols + a->first : NULL };
		if ((i && a->address <= s->addresses[i - 1].address) || a->count > FRAME_MAX ||
		    a->first > h->frame_count || a->count > h->frame_count - a->first ||
		    !answers_add(answers, a->address, chain))
			return false;
	}
	return true;
}

static bool read_facts(const struct stored_names *s, struct names_cache_facts *facts)
{
	struct {
		uint32_t at;
		char *to;
	} texts[] = { { s->header->source, facts->status.source },
		      { s->header->reason, facts->status.reason },
		      { s->header->remedy, facts->status.remedy } };

	facts->status.level = (enum debug_level)s->header->level;
	facts->has_lines = s->header->has_lines;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text;
		if (!get_text(s, texts[i].at, &text))
			return false;
		snprintf(texts[i].to, sizeof(facts->status.source), "%s", text ? text : "");
	}
	return true;
}

struct stored_names *names_cache_read(const char *file, uint64_t key, struct answers *answers,
                                      struct names_cache_facts *facts)
{
	size_t size;
	cleanup(stored_names) struct stored_names *s = load(file, &size);

	*facts = (struct names_cache_facts){ 0 };
	if (s && find_parts(s, size, key) && read_frames(s) && read_addresses(s, answers) &&
	    read_facts(s, facts))
		return steal(s);
	answers_fini(answers);
	*facts = (struct names_cache_facts){ 0 };
	return NULL;
}

// What a file is made of.
struct made {
	struct header header;
	struct stored_address *addresses;
	struct stored_frame *frames;
	size_t frame_capacity;
	char *texts;
	size_t text_capacity;
	struct strings *known; // texts, by number
	uint32_t *places;      // where they are, by number
	size_t place_capacity;
};

static void made_at_scope_end(struct made *m)
{
	free(m->addresses);
	free(m->frames);
	free(m->texts);
	free(m->places);
	strings_free(m->known);
}

static bool append(struct made *m, const char *text, uint32_t *at)
{
	size_t bytes = strlen(text) + 1;

	if (m->header.text_bytes + bytes > FILE_MAX ||
	    !array_reserve(&m->texts, &m->text_capacity, m->header.text_bytes + bytes))
		return false;
	memcpy(m->texts + m->header.text_bytes, text, bytes);
	*at = m->header.text_bytes;
	m->header.text_bytes += (uint32_t)bytes;
	return true;
}

static bool put_text(struct made *m, const char *text, uint32_t *at)
{
	uint32_t before = strings_count(m->known);
	uint32_t id = strings_add(m->known, text);

	*at = 0;
	if (!text || !*text)
		return true;
	if (!id || !array_reserve(&m->places, &m->place_capacity, (size_t)id + 1))
		return false;
	if (id > before && !append(m, text, &m->places[id]))
		return false;
	*at = m->places[id];
	return true;
}

static bool put_frame(struct made *m, const struct symbol *symbol)
{
	if (!array_reserve(&m->frames, &m->frame_capacity, (size_t)m->header.frame_count + 1))
		return false;
	struct stored_frame *frame = &m->frames[m->header.frame_count++];
	*frame = (struct stored_frame){ .line = symbol->line > 0 ? symbol->line : 0,
		                        .flags = (symbol->inlined ? INLINED : 0) |
		                                 (symbol->unoptimized ? UNOPTIMIZED : 0) };
	return put_text(m, symbol->function, &frame->function) &&
	       put_text(m, symbol->file, &frame->file) &&
	       put_text(m, symbol->declared, &frame->declared);
}

static int by_address(const void *a, const void *b)
{
	const struct answer *x = *(const struct answer *const *)a;
	const struct answer *y = *(const struct answer *const *)b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static bool put_answers(struct made *m, const struct answers *answers)
{
	cleanup_free const struct answer **sorted = calloc(answers->count + 1, sizeof(*sorted));

	m->addresses = calloc(answers->count + 1, sizeof(*m->addresses));
	if (!sorted || !m->addresses || answers->count > UINT32_MAX)
		return false;
	for (size_t i = 0; i < answers->count; i++)
		sorted[i] = &answers->items[i];
	qsort(sorted, answers->count, sizeof(*sorted), by_address);
	for (size_t i = 0; i < answers->count; i++) {
		const struct symbol_chain *chain = &sorted[i]->chain;
		uint32_t count = chain->count < FRAME_MAX ? chain->count : FRAME_MAX;
		m->addresses[i] =
			(struct stored_address){ sorted[i]->address, m->header.frame_count, count };
		for (uint32_t k = 0; k < count; k++)
			if (!put_frame(m, &chain->symbols[k]))
				return false;
	}
	m->header.address_count = (uint32_t)answers->count;
	return true;
}

static bool make(struct made *m, uint64_t key, const struct answers *answers,
                 const struct names_cache_facts *facts)
{
	uint32_t none;

	memcpy(m->header.magic, MAGIC, sizeof(m->header.magic));
	m->header.key = key;
	m->header.level = (uint32_t)facts->status.level;
	m->header.has_lines = facts->has_lines;
	m->known = strings_new();
	return m->known && append(m, "", &none) && put_answers(m, answers) &&
	       put_text(m, facts->status.source, &m->header.source) &&
	       put_text(m, facts->status.reason, &m->header.reason) &&
	       put_text(m, facts->status.remedy, &m->header.remedy);
}

static bool write_made(struct new_file *f, const struct made *m)
{
	const struct header *h = &m->header;
	size_t addresses = h->address_count * sizeof(*m->addresses);
	size_t frames = h->frame_count * sizeof(*m->frames);

	return sizeof(*h) + addresses + frames + h->text_bytes <= FILE_MAX &&
	       new_file_write(f, h, sizeof(*h)) == 0 &&
	       new_file_write(f, m->addresses, addresses) == 0 &&
	       new_file_write(f, m->frames, frames) == 0 &&
	       new_file_write(f, m->texts, h->text_bytes) == 0;
}

void names_cache_write(const char *file, uint64_t key, const struct answers *answers,
                       const struct names_cache_facts *facts)
{
	cleanup(made) struct made m = { .header = { .key = key } };
	struct new_file new;

	if (!make(&m, key, answers, facts) || new_file_open(&new, file, 0600) < 0)
		return;
	if (write_made(&new, &m))
		new_file_commit_unsynced(&new);
	else
		new_file_discard(&new);
}

struct old_file {
	char name[NAME_MAX + 1];
	uint64_t bytes;
	struct timespec written;
};

static int by_age(const void *a, const void *b)
{
	const struct timespec *x = &((const struct old_file *)a)->written;
	const struct timespec *y = &((const struct old_file *)b)->written;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

void names_cache_bound(const char *directory, uint64_t bytes)
{
	cleanup_free struct old_file *files = NULL;
	size_t count = 0, capacity = 0;
	uint64_t sum = 0;
	DIR *d = opendir(directory);

	for (const struct dirent *entry; d && (entry = readdir(d));) {
		struct stat st;
		if (fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode) || !array_reserve(&files, &capacity, count + 1))
			continue;
		struct old_file *file = &files[count++];
		snprintf(file->name, sizeof(file->name), "%s", entry->d_name);
		file->bytes = (uint64_t)st.st_size;
		file->written = st.st_mtim;
		sum += file->bytes;
	}
	if (count)
		qsort(files, count, sizeof(*files), by_age);
	for (size_t i = 0; d && i < count && sum > bytes; i++) {
		unlinkat(dirfd(d), files[i].name, 0);
		sum -= files[i].bytes;
	}
	if (d)
		closedir(d);
}
