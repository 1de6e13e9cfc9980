// SPDX-License-Identifier: MIT
#include "tracer/reader/reader.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/record.h"
#include "base/record_gpu.h"
#include "tracer/protocol.h"
#include "tracer/reader/op_names.h"
#include "tracer/reader/owners.h"
#include "tracer/reader/ring_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

// What short processes, which have no rings, say at their end of the memory that they allocated,
// and what processes say that cannot make any: they append it to one file for each user.
//
// Nothing in it is trusted. What has been read is given back to the file system. One thread at a
// time.

struct totals_file {
	char name[32];
	int fd;
	uid_t user;
	off_t at, freed; /* read so far; given back to the file system */
};

#define AT_ONCE 64
#define KEPT    ((off_t)1 << 20)

// Opens NAME of DIRECTORY. False if it is no such file.
static bool totals_file_open(struct totals_file *t, int directory, const char *name)
{
	struct stat status;

	if (strlen(name) >= sizeof(t->name))
		return false;
	cleanup_close int fd =
		openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	// A link may lead to a file of somebody else's, in which holes are made below.
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1)
		return false;
	*t = (struct totals_file){ .fd = steal_fd(&fd), .user = status.st_uid };
	strcpy(t->name, name);
	return true;
}

static void totals_file_close(struct totals_file *t)
{
	close(t->fd);
}

// Writers append to the file at any moment, so it is never cut: it becomes hollow.
static void free_read(struct totals_file *t)
{
	if (t->at - t->freed < KEPT)
		return;
	fallocate(t->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, t->freed, t->at - t->freed);
	t->freed = t->at;
}

// GIVE gets each record that has come to the file since the last call.
static void totals_file_read(struct totals_file *t,
                             void give(void *context, const struct record *record), void *context)
{
	struct record_memory some[AT_ONCE];
	ssize_t got;

	while ((got = pread(t->fd, some, sizeof(some), t->at)) >= (ssize_t)sizeof(some[0])) {
		size_t count = (size_t)got / sizeof(some[0]);
		for (size_t i = 0; i < count; i++)
			if (some[i].head.size == sizeof(some[i]) &&
			    (some[i].head.type == RECORD_MEMORY ||
			     some[i].head.type == RECORD_LOST))
				give(context, &some[i].head);
		t->at += (off_t)(count * sizeof(some[0]));
	}
	free_read(t);
}

#define FILES_MAX  65536
#define TOTALS_MAX 4 // files of one user: by that number in as many user namespaces

/* A ring with something to read, by the time of its next record. */
struct entry {
	uint64_t time_ns;
	struct ring *ring;
	struct ring_file *file;
};

struct reader {
	int directory;
	/* All that it had when it was changed then is known; 0: list it again. */
	uint64_t listed_ns;
	struct ring_file **files;
	size_t file_count, file_capacity;
	struct entry *heap; /* the oldest first */
	size_t heap_count, heap_capacity;
	uint8_t *record; /* the copy given out */
	size_t record_capacity;
	/* To be given out before it: what it needs to be understood, an image and a record each. */
	uint8_t *told;
	size_t told_bytes, told_capacity, told_at;
	uint64_t telling_ns;        // the image that is told of
	const struct record *after; /* given out when all has been told */
	uint64_t image_ns;          // of the record that was read last
	struct totals_file *totals; // one of each user
	size_t totals_count, totals_capacity;
	uid_t totals_user; // whose is being read
	/* Of files that are closed. */
	uint64_t past_dropped, past_unsampled, past_handlers_ns;
	uint64_t damaged;
	struct owners *owners; // NULL: what files say of their processes is believed
	uint64_t strangers;
};

struct reader *reader_new(const char *directory, struct error *err)
{
	cleanup(reader) struct reader *r = calloc(1, sizeof(*r));

	if (!r) {
		error_set(err, errno, "could not start the reader of the agent's rings");
		return NULL;
	}
	r->directory = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->directory < 0) {
		error_set(err, errno, "could not open \"%s\"", directory);
		return NULL;
	}
	return steal(r);
}

int reader_find_owners(struct reader *r, struct error *err)
{
	r->owners = owners_new(r->directory);
	return r->owners
	               ? 0
	               : error_set(err, ENOMEM, "could not start the reader of the agent's rings");
}

void reader_take_older(struct reader *r)
{
	if (r->owners)
		owners_take_older(r->owners);
}

void reader_free(struct reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->file_count; i++)
		ring_file_free(r->files[i]);
	free(r->files);
	free(r->heap);
	free(r->record);
	free(r->told);
	if (r->directory >= 0)
		close(r->directory);
	for (size_t i = 0; i < r->totals_count; i++)
		totals_file_close(&r->totals[i]);
	free(r->totals);
	owners_free(r->owners);
	free(r);
}

static void take_owner(struct ring_file *file, struct owner *owner)
{
	file->owner = owner;
	file->pending = false;
	file->pid = owner_pid(owner);
	file->ahead_ns = file->claim.namespaces.monotonic_ns;
}

// The process may be known by another of its files, even if it has ended since.
static void share_owner(const struct reader *r, struct ring_file *file)
{
	for (size_t i = 0; i < r->file_count && file->pending; i++) {
		struct owner *owner = r->files[i] ? r->files[i]->owner : NULL;
		if (owner && owner_is(owner, &file->claim) &&
		    owners_may_write(owner_pid(owner), file->user))
			take_owner(file, owner_share(owner));
	}
}

// False if it is not of a process of ours.
static bool find_owner(struct reader *r, struct ring_file *file)
{
	struct owner *owner = NULL;

	share_owner(r, file);
	if (!file->pending)
		return true;
	enum owner_answer answer =
		owners_find(r->owners, &file->claim, file->user, &file->tries, &owner);
	if (answer == OWNER_FOUND && !owners_may_write(owner_pid(owner), file->user)) {
		owner_release(owner);
		file->first = false; // a forgery: no process has lost anything
		r->damaged++;
		return false;
	}
	if (answer == OWNER_FOUND)
		take_owner(file, owner);
	return answer != OWNER_REFUSED;
}

static void find_pending(struct reader *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->file_count; i++) {
		struct ring_file *file = r->files[i];
		if (!file->pending || find_owner(r, file)) {
			r->files[kept++] = file;
			continue;
		}
		r->strangers += file->first;
		ring_file_free(file);
		r->files[i] = NULL; // the next ones look through all of them
	}
	r->file_count = kept;
}

// False if it has to be tried again: its agent may still be making it.
static bool add_file(struct reader *r, const char *name)
{
	if (r->file_count == FILES_MAX ||
	    !array_reserve(&r->files, &r->file_capacity, r->file_count + 1))
		return false;
	struct ring_file *file = ring_file_open(r->directory, name);
	if (!file)
		return false;
	unlinkat(r->directory, name, 0);
	file->pending = r->owners != NULL;
	if (file->pending) {
		file->pid = 0;
		share_owner(r, file);
	}
	r->files[r->file_count++] = file;
	return true;
}

static bool add_totals(struct reader *r, const char *name)
{
	size_t of_user = 0;

	for (size_t i = 0; i < r->totals_count; i++)
		if (strcmp(r->totals[i].name, name) == 0)
			return true;
	if (!array_reserve(&r->totals, &r->totals_capacity, r->totals_count + 1))
		return false;
	struct totals_file *file = &r->totals[r->totals_count];
	if (!totals_file_open(file, r->directory, name))
		return false;
	for (size_t i = 0; i < r->totals_count; i++)
		of_user += r->totals[i].user == file->user;
	if (of_user < TOTALS_MAX)
		r->totals_count++;
	else
		totals_file_close(file);
	return true;
}

static bool is_totals(const char *name)
{
	return strncmp(name, PROTOCOL_TOTALS_FILE, strlen(PROTOCOL_TOTALS_FILE)) == 0;
}

// When DIRECTORY was changed last. With *SETTLED, another change that comes from now on has another
// time: times of files move by ticks of the kernel's clock, or by seconds where those are all that
// the file system keeps.
static uint64_t changed_ns(int directory, bool *settled)
{
	uint64_t now_ns = clock_ns(CLOCK_REALTIME_COARSE);
	struct stat status;

	*settled = false;
	if (fstat(directory, &status) < 0)
		return 0;
	uint64_t tick_ns = status.st_mtim.tv_nsec ? 0 : 2 * NS_PER_SEC;
	uint64_t changed =
		(uint64_t)status.st_mtim.tv_sec * NS_PER_SEC + (uint64_t)status.st_mtim.tv_nsec;
	*settled = changed + tick_ns < now_ns;
	return changed;
}

static void add_files(struct reader *r)
{
	bool settled;
	uint64_t changed = changed_ns(r->directory, &settled);
	if (r->listed_ns && r->listed_ns == changed)
		return;
	r->listed_ns = 0;
	// A stream of its own, as each has one position.
	int fd = openat(r->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (!directory) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(directory));) {
		if (is_totals(entry->d_name))
			settled &= add_totals(r, entry->d_name);
		else if (entry->d_name[0] != '.' &&
		         strcmp(entry->d_name, PROTOCOL_ALIVE_FILE) != 0 &&
		         strcmp(entry->d_name, PROTOCOL_DOOR) != 0)
			settled &= add_file(r, entry->d_name);
	}
	closedir(directory);
	r->listed_ns = settled ? changed : 0;
}

static void sift_up(struct entry *heap, size_t at)
{
	struct entry moved = heap[at];

	for (; at && heap[(at - 1) / 2].time_ns > moved.time_ns; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = moved;
}

static void sift_down(struct entry *heap, size_t count)
{
	struct entry moved = heap[0];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && heap[child + 1].time_ns < heap[child].time_ns)
			child++;
		if (heap[child].time_ns >= moved.time_ns)
			break;
		heap[at] = heap[child];
	}
	heap[at] = moved;
}

// The time of the ring's next record. False if it has none, or is damaged.
static bool next_time(struct reader *r, const struct ring_file *file, struct ring *ring,
                      uint64_t *time_ns)
{
	struct error err = { 0 };
	const struct record *record = ring_peek(ring, &err);

	if (!record) {
		r->damaged += err.text[0] != '\0';
		return false;
	}
	*time_ns = *(const volatile uint64_t *)&record->time_ns - (uint64_t)file->ahead_ns;
	return true;
}

static void push_ring(struct reader *r, struct ring_file *file, struct ring *ring)
{
	struct entry entry = { 0, ring, file };

	if (!next_time(r, file, ring, &entry.time_ns) ||
	    !array_reserve(&r->heap, &r->heap_capacity, r->heap_count + 1))
		return;
	r->heap[r->heap_count] = entry;
	sift_up(r->heap, r->heap_count++);
}

// Returns whether there is something left to read.
static bool push_file(struct reader *r, struct ring_file *file)
{
	size_t before = r->heap_count;

	uint32_t open = file->open_mask;

	r->damaged += ring_file_open_rings(file);
	if (file->owner && file->open_mask != open)
		owner_look(file->owner);
	for (uint32_t i = 0; i < file->ring_count; i++)
		if (file->open_mask & UINT32_C(1) << i)
			push_ring(r, file, &file->rings[i]);
	return r->heap_count > before;
}

static void close_file(struct reader *r, struct ring_file *file)
{
	r->past_dropped += ring_file_dropped(file);
	r->past_unsampled += ring_file_unsampled(file);
	r->past_handlers_ns += ring_file_handlers_ns(file);
	ring_file_free(file);
}

static void keep_told(void *context, const struct record *record)
{
	struct reader *r = context;

	size_t bytes = sizeof(r->telling_ns) + record->size;

	if (!array_reserve(&r->told, &r->told_capacity, r->told_bytes + bytes))
		return;
	memcpy(r->told + r->told_bytes, &r->telling_ns, sizeof(r->telling_ns));
	memcpy(r->told + r->told_bytes + sizeof(r->telling_ns), record, record->size);
	r->told_bytes += bytes;
}

// What a process without rings has told at its end.
static void keep_memory(struct reader *r, const struct record_memory *memory)
{
	struct record_memory copy = *memory;
	struct owner_claim claim = { .pid = copy.head.pid, .namespaces.pid = copy.head.tid };

	if (r->owners)
		copy.head.pid = owners_pid_now(r->owners, &claim, r->totals_user);
	if (!copy.head.pid) {
		r->strangers++;
		return;
	}
	copy.head.tid = copy.head.pid;
	if (owners_may_write(copy.head.pid, r->totals_user))
		keep_told(r, &copy.head);
}

static void keep_total(void *context, const struct record *record)
{
	struct reader *r = context;

	if (record->type == RECORD_LOST)
		r->past_unsampled++;
	else
		keep_memory(r, (const struct record_memory *)record);
}

static void forget_told(struct reader *r)
{
	if (r->told_at == r->told_bytes)
		r->told_at = r->told_bytes = 0;
}

static void tell_counts(struct reader *r, const struct ring_file *file, uint64_t now_ns)
{
	r->telling_ns = file->claim.image_ns;
	op_names_tell_counts(file->names, file->pid, now_ns, keep_told, r);
}

void reader_count_ops(struct reader *r, uint64_t now_ns)
{
	forget_told(r);
	for (size_t i = 0; i < r->file_count; i++)
		if (r->files[i]->names && !r->files[i]->pending)
			tell_counts(r, r->files[i], now_ns);
}

void reader_count_ops_of(struct reader *r, uint32_t pid, uint64_t now_ns)
{
	forget_told(r);
	for (size_t i = 0; i < r->file_count; i++)
		if (r->files[i]->names && r->files[i]->pid == pid)
			tell_counts(r, r->files[i], now_ns);
}

static bool is_same_image(const struct ring_file *a, const struct ring_file *b)
{
	return a->pid == b->pid && a->claim.image_ns == b->claim.image_ns;
}

static bool has_rings(const struct reader *r, const struct ring_file *names)
{
	for (size_t i = 0; i < r->file_count; i++) {
		const struct ring_file *file = r->files[i];
		if (file && !file->names && is_same_image(file, names))
			return true;
	}
	return false;
}

// Names go when all rings have been drained that use them.
static void close_names(struct reader *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->file_count; i++) {
		struct ring_file *file = r->files[i];
		if (!file->names || !file->gone || has_rings(r, file)) {
			r->files[kept++] = file;
			continue;
		}
		tell_counts(r, file, clock_now_ns());
		close_file(r, file);
		r->files[i] = NULL; // the next ones look through all of them
	}
	r->file_count = kept;
}

void reader_poll(struct reader *r)
{
	size_t kept = 0;

	if (r->owners)
		owners_begin_round(r->owners);
	add_files(r);
	find_pending(r);
	forget_told(r);
	for (size_t i = 0; i < r->totals_count; i++) {
		r->totals_user = r->totals[i].user;
		totals_file_read(&r->totals[i], keep_total, r);
	}
	r->heap_count = 0;
	for (size_t i = 0; i < r->file_count; i++) {
		struct ring_file *file = r->files[i];
		bool was_gone = file->gone; // a look after it was gone sees all that it wrote
		if (mapped_shrank(&file->map)) {
			r->damaged++;
			close_file(r, file);
		} else if (!file->pending && !file->names && !push_file(r, file) && was_gone)
			close_file(r, file);
		else
			r->files[kept++] = file;
	}
	r->file_count = kept;
	close_names(r);
}

// Copies the record that the ring has peeked: the target can still write to the original.
static struct record *copy_record(struct reader *r, const struct ring *ring,
                                  const struct record *record)
{
	uint32_t size = ring->peeked;

	if (!array_reserve(&r->record, &r->record_capacity, size))
		return NULL;
	memcpy(r->record, record, size);
	struct record *copy = (struct record *)r->record;
	copy->size = size;
	return copy;
}

// Takes the first record of the first ring, and gives the ring its new place.
static struct record *take_first(struct reader *r, struct ring_file **file)
{
	struct entry *first = &r->heap[0];
	const struct record *record = ring_peek(first->ring, NULL);
	struct record *copy = record ? copy_record(r, first->ring, record) : NULL;

	if (copy) {
		*file = first->file;
		ring_advance(first->ring);
	}
	if (!copy || !next_time(r, first->file, first->ring, &first->time_ns))
		*first = r->heap[--r->heap_count];
	if (r->heap_count)
		sift_down(r->heap, r->heap_count);
	return copy;
}

static struct op_names *find_names(const struct reader *r, uint32_t pid, uint64_t image_ns)
{
	for (size_t i = 0; i < r->file_count; i++)
		if (r->files[i]->names && r->files[i]->pid == pid &&
		    r->files[i]->claim.image_ns == image_ns)
			return r->files[i]->names;
	return NULL;
}

// The name that RECORD uses; 0: none.
static uint32_t name_of(const struct record *record)
{
	switch (record->type) {
	case RECORD_OP_BEGIN:
	case RECORD_OP_MARK:
		return ((const struct record_op_begin *)record)->name;
	case RECORD_OP_END:
		return ((const struct record_op_end *)record)->name;
	case RECORD_OP_SITE:
		return ((const struct record_op_site *)record)->name;
	case RECORD_GPU_KERNEL:
		return ((const struct record_gpu_kernel *)record)->name;
	case RECORD_GPU_PC:
		return ((const struct record_gpu_pc *)record)->function;
	case RECORD_GPU_STALL:
		return ((const struct record_gpu_stall *)record)->reason;
	default:
		return 0;
	}
}

// What has to be known before RECORD; returns whether there is something.
static bool tell_name(struct reader *r, const struct record *record, uint64_t image_ns)
{
	uint32_t name = name_of(record);

	if (!name)
		return false;
	struct op_names *names = find_names(r, record->pid, image_ns);
	if (!names) {
		add_files(r); // it has come since the last look
		names = find_names(r, record->pid, image_ns);
	}
	forget_told(r);
	r->telling_ns = image_ns;
	if (names)
		op_names_tell(names, name, record, keep_told, r);
	return r->told_at < r->told_bytes;
}

static const struct record *next_told(struct reader *r, uint64_t *image_ns)
{
	*image_ns = r->image_ns;
	if (r->told_at < r->told_bytes) {
		memcpy(image_ns, r->told + r->told_at, sizeof(*image_ns));
		r->told_at += sizeof(*image_ns);
		const struct record *told = (const struct record *)(r->told + r->told_at);
		r->told_at += told->size;
		return told;
	}
	const struct record *after = r->after;
	r->after = NULL;
	return after;
}

// Into our own numbers and times, before anything else looks at it.
static void translate(struct reader *r, const struct ring_file *file, struct record *record)
{
	record->pid = file->pid;
	record_shift(record, -file->ahead_ns);
	if (file->owner)
		owner_translate(r->owners, file->owner, record);
}

// The next sound record of a ring.
static const struct record *next_written(struct reader *r, uint64_t until_ns)
{
	while (r->heap_count && r->heap[0].time_ns <= until_ns) {
		struct ring_file *file = NULL;
		struct record *record = take_first(r, &file);
		if (!record || !record_is_sound(record))
			continue;
		translate(r, file, record);
		r->image_ns = file->claim.image_ns;
		return record;
	}
	return NULL;
}

const struct record *reader_next(struct reader *r, uint64_t until_ns, uint64_t *image_ns)
{
	uint64_t image;
	const struct record *record = next_told(r, &image);

	if (!record) {
		record = next_written(r, until_ns);
		image = r->image_ns;
		if (record && tell_name(r, record, image)) {
			r->after = record;
			record = next_told(r, &image);
		}
	}
	if (record && image_ns)
		*image_ns = image;
	return record;
}

void reader_process_gone(struct reader *r, uint32_t pid)
{
	for (size_t i = 0; i < r->file_count; i++)
		r->files[i]->gone |= r->files[i]->pid == pid;
}

bool reader_has_process(const struct reader *r, uint32_t pid)
{
	for (size_t i = 0; i < r->file_count; i++)
		if (r->files[i]->pid == pid)
			return true;
	return false;
}

uint64_t reader_dropped(const struct reader *r)
{
	uint64_t dropped = r->past_dropped;

	for (size_t i = 0; i < r->file_count; i++)
		dropped += ring_file_dropped(r->files[i]);
	return dropped;
}

uint64_t reader_unsampled(const struct reader *r)
{
	uint64_t unsampled = r->past_unsampled;

	for (size_t i = 0; i < r->file_count; i++)
		unsampled += ring_file_unsampled(r->files[i]);
	return unsampled;
}

uint64_t reader_strangers(const struct reader *r)
{
	uint64_t strangers = r->strangers;

	for (size_t i = 0; i < r->file_count; i++)
		strangers += r->files[i]->pending && r->files[i]->first;
	return strangers;
}

uint64_t reader_handlers_ns(const struct reader *r)
{
	uint64_t ns = r->past_handlers_ns;

	for (size_t i = 0; i < r->file_count; i++)
		ns += ring_file_handlers_ns(r->files[i]);
	return ns;
}

uint64_t reader_damaged(const struct reader *r)
{
	uint64_t damaged = r->damaged;

	for (size_t i = 0; i < r->file_count; i++)
		damaged += mapped_shrank(&r->files[i]->map);
	return damaged;
}
