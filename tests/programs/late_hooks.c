// Knows what an agent that joins it has to record: locks and who holds them, allocations, calls of
// BLAS. Each call looks first whether it goes by way of somebody else than before.
//
// late_hooks FILE LETTERS: writes the addresses of all places that hold functions' addresses into
// FILE, says "ready", and at the end of its input what it has counted and what was wrong.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PLACES 65536
#define BLOCKS 64

static volatile int over;
static unsigned wrong, begun; // atomic

static struct place {
	uint64_t *at, before;
	uint64_t start, end; // of its object
	const char *name;
} places[PLACES];
static unsigned place_count;

#define EXPECT(what)                                                                               \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			printf("line %d: not %s\n", __LINE__, #what);                              \
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);                           \
		}                                                                                  \
	} while (0)

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	const ElfW(Rela) * tables[2] = { NULL };
	size_t bytes[2] = { 0 };
	const ElfW(Sym) *symbols = NULL;
	const char *strings = NULL;
	const ElfW(Dyn) *d = NULL;
	uint64_t start = UINT64_MAX, end = 0;

	(void)size;
	(void)context;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t from = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)from;
		if (p->p_type != PT_LOAD)
			continue;
		start = from < start ? from : start;
		end = from + p->p_memsz > end ? from + p->p_memsz : end;
	}
	if (!d || strstr(info->dlpi_name, "linux-vdso"))
		return 0;
	for (; d->d_tag; d++) {
		if (d->d_tag == DT_RELA)
			tables[0] = (const void *)d->d_un.d_ptr;
		if (d->d_tag == DT_RELASZ)
			bytes[0] = d->d_un.d_val;
		if (d->d_tag == DT_JMPREL)
			tables[1] = (const void *)d->d_un.d_ptr;
		if (d->d_tag == DT_PLTRELSZ)
			bytes[1] = d->d_un.d_val;
		if (d->d_tag == DT_SYMTAB)
			symbols = (const void *)d->d_un.d_ptr;
		if (d->d_tag == DT_STRTAB)
			strings = (const void *)d->d_un.d_ptr;
	}
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < bytes[k] / sizeof(ElfW(Rela)); i++) {
			const ElfW(Rela) *r = &tables[k][i];
			uint64_t type = ELF64_R_TYPE(r->r_info);
			if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
			     type == R_X86_64_64) &&
			    place_count < PLACES) {
				uint64_t *at = (uint64_t *)(info->dlpi_addr + r->r_offset);
				places[place_count++] = (struct place){
					at, *at, start, end,
					strings + symbols[ELF64_R_SYM(r->r_info)].st_name
				};
			}
		}
	return 0;
}

// What calls of NAME in this program go by.
static uint64_t *place_of(const char *name)
{
	for (unsigned i = 0; i < place_count; i++)
		if (strcmp(places[i].name, name) == 0 &&
		    (uint64_t)(uintptr_t)&visit - places[i].start < places[i].end - places[i].start)
			return places[i].at;
	return NULL;
}

// Where it was bound to the address before, and else where it is bound by now.
static bool is_as_before(const struct place *p)
{
	uint64_t now = *p->at;
	Dl_info info;

	if (now == p->before)
		return true;
	return p->before - p->start < p->end - p->start && dladdr((void *)now, &info) &&
	       !strstr(info.dli_fname, "libbottleneck-agent");
}

static struct watched {
	const char *name;
	uint64_t *place, real;
	uint64_t through, all;
} watched[] = { { .name = "malloc" },
	        { .name = "free" },
	        { .name = "cblas_ddot" },
	        { .name = "fftw_execute" } };

static void watch(void)
{
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
		uint64_t *place = place_of(watched[i].name);
		watched[i].real = place ? *place : 0;
		__atomic_store_n(&watched[i].place, place, __ATOMIC_RELEASE);
	}
}

// A call is about to be made: by one thread each.
static void count(int which)
{
	struct watched *w = &watched[which];

	if (w->place && *(volatile uint64_t *)w->place != w->real)
		w->through++;
	w->all++;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static void ready(void)
{
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
}

static pthread_mutex_t fought = PTHREAD_MUTEX_INITIALIZER;
static uint64_t turns, waits; // of who wants it

__attribute__((noinline)) static void *hold(void *unused)
{
	for (bool first = true; !over; first = false) {
		pthread_mutex_lock(&fought);
		if (first)
			ready();
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL); // HELD
		turns++;
		pthread_mutex_unlock(&fought);
		pause_ms(2);
	}
	return unused;
}

__attribute__((noinline)) static void *want(void *unused)
{
	ready();
	while (!over) {
		uint64_t before = turns;
		pthread_mutex_lock(&fought);
		waits += turns != before;
		pthread_mutex_unlock(&fought);
		pause_ms(1);
	}
	return unused;
}

// All through the run, but for its end, it is in one wait.
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;

static void *rest(void *unused)
{
	pthread_mutex_lock(&idle_lock);
	ready();
	while (!over)
		pthread_cond_wait(&idle, &idle_lock);
	pthread_mutex_unlock(&idle_lock);
	return unused;
}

// Of all kinds, and each as it was when nobody is there.
static void *sync_all(void *unused)
{
	static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
	static pthread_mutex_t recursive;
	pthread_mutexattr_t kind;
	struct timespec until;
	pthread_cond_t cond;

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
	for (bool first = true; !over; first = false) {
		pthread_mutex_init(&recursive, &kind);
		EXPECT(pthread_mutex_lock(&recursive) == 0);
		EXPECT(pthread_mutex_trylock(&recursive) == 0);
		EXPECT(pthread_rwlock_wrlock(&rwlock) == 0);
		EXPECT(pthread_rwlock_unlock(&rwlock) == 0);
		EXPECT(pthread_rwlock_rdlock(&rwlock) == 0);
		EXPECT(pthread_rwlock_trywrlock(&rwlock) == EBUSY);
		EXPECT(pthread_rwlock_unlock(&rwlock) == 0);
		pthread_cond_init(&cond, NULL);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		EXPECT(pthread_mutex_unlock(&recursive) == 0);
		errno = 77;
		EXPECT(pthread_cond_timedwait(&cond, &recursive, &until) == ETIMEDOUT);
		EXPECT(errno == 77);
		EXPECT(pthread_mutex_unlock(&recursive) == 0);
		EXPECT(pthread_mutex_destroy(&recursive) == 0);
		EXPECT(pthread_cond_destroy(&cond) == 0);
		if (first)
			ready();
	}
	return unused;
}

// Blocks that live for longer than anybody stays, and others.
__attribute__((noinline)) static void *allocate(void *unused)
{
	static unsigned char *blocks[BLOCKS];

	for (unsigned turn = 0; !over; turn++) {
		for (unsigned i = turn % 3; i < BLOCKS; i += 1 + turn % 3) {
			size_t size = 16 + (size_t)(turn * 31 + i * 137) % 5000;
			if (blocks[i]) {
				EXPECT(blocks[i][0] == (unsigned char)i && blocks[i][15] == 0x5a);
				count(1);
				free(blocks[i]);
			}
			count(0);
			blocks[i] = malloc(size); // ALLOCATED
			memset(blocks[i], 0x5a, size);
			blocks[i][0] = (unsigned char)i;
		}
		if (turn == 3)
			ready();
		pause_ms(1);
	}
	return unused;
}

// Few and small ones.
static void *dribble(void *unused)
{
	for (bool first = true; !over; first = false) {
		count(0);
		void *block = malloc(40);
		count(1);
		free(block);
		if (first)
			ready();
		pause_ms(20);
	}
	return unused;
}

double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);

__attribute__((noinline)) static void *multiply(void *unused)
{
	static double x[64], y[64];

	for (int i = 0; i < 64; i++)
		x[i] = y[i] = i;
	for (bool first = true; !over; first = false) {
		count(2);
		EXPECT(cblas_ddot(64, x, 1, y, 1) == 85344);
		if (first)
			ready();
		pause_ms(1);
	}
	return unused;
}

void *fftw_plan_dft_1d(int n, void *in, void *out, int sign, unsigned flags);
void fftw_execute(void *plan);
void fftw_destroy_plan(void *plan);

// By a plan from before somebody is there, and by new ones, which lie where that was.
__attribute__((noinline)) static void *transform(void *unused)
{
	static double x[128];
	void *plan = fftw_plan_dft_1d(64, x, x, -1, 0);

	for (int i = 0; !over; i++) {
		x[0] = 1;
		count(3);
		fftw_execute(plan);
		EXPECT(x[0] == 64);
		if (i % 50 == 49) {
			fftw_destroy_plan(plan);
			plan = fftw_plan_dft_1d(64, x, x, -1, 0);
		}
		if (i == 0)
			ready();
		pause_ms(1);
	}
	fftw_destroy_plan(plan);
	return unused;
}

// A library that is opened while somebody may be there, and called before it is closed again.
static void *load(void *unused)
{
	const char *path = getenv("LATE_PLUGIN");

	for (bool first = true; !over; first = false) {
		void *handle = path ? dlopen(path, RTLD_NOW) : NULL;
		int (*work)(void) = handle ? (int (*)(void))dlsym(handle, "plugin_work") : NULL;
		EXPECT(work && work() == 0);
		if (handle)
			EXPECT(dlclose(handle) == 0);
		if (first)
			ready();
		pause_ms(5);
	}
	return unused;
}

// Once somebody is there, it forbids itself all system calls that it does not need.
static void *forbid(void *unused)
{
	static const int needed[] = {
		SYS_futex,          SYS_clock_nanosleep, SYS_exit,    SYS_exit_group,
		SYS_rt_sigprocmask, SYS_munmap,          SYS_madvise, SYS_mmap,
		SYS_mprotect,       SYS_restart_syscall, SYS_brk,     SYS_rt_sigreturn
	};
	enum {
		COUNT = sizeof(needed) / sizeof(needed[0])
	};
	struct sock_filter code[COUNT + 3] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0) };
	struct sock_fprog filter = { COUNT + 3, code };
	bool done = false;

	for (int i = 0; i < COUNT; i++)
		code[i + 1] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)needed[i],
		                                     (unsigned char)(COUNT - i), 0);
	code[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	ready();
	while (!over) {
		void *block = malloc(100);
		pthread_mutex_lock(&fought);
		memset(block, 1, 100);
		pthread_mutex_unlock(&fought);
		free(block);
		pause_ms(1);
		if (done || !watched[0].place || *watched[0].place == watched[0].real)
			continue;
		EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
		done = true;
	}
	return unused;
}

static void *(*const ways[])(void *) = { ['h' - 'a'] = hold,     ['w' - 'a'] = want,
	                                 ['r' - 'a'] = rest,     ['s' - 'a'] = sync_all,
	                                 ['a' - 'a'] = allocate, ['l' - 'a'] = load,
	                                 ['b' - 'a'] = multiply, ['x' - 'a'] = transform,
	                                 ['f' - 'a'] = forbid,   ['d' - 'a'] = dribble };

int main(int argc, char **argv)
{
	const char *letters = argc > 2 ? argv[2] : "";
	pthread_t threads[16];
	unsigned count = 0, changed = 0;
	char byte;

	if (argc < 2 || strlen(letters) > 16)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (; letters[count]; count++)
		pthread_create(&threads[count], NULL, ways[letters[count] - 'a'], NULL);
	while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < count)
		usleep(1000);
	dl_iterate_phdr(visit, NULL);
	watch();
	FILE *file = fopen(argv[1], "w");
	for (unsigned i = 0; file && i < place_count; i++)
		fprintf(file, "%#lx %#lx %#lx %s\n", (unsigned long)(uintptr_t)places[i].at,
		        (unsigned long)places[i].start, (unsigned long)places[i].end,
		        places[i].name);
	if (!file || fclose(file) != 0)
		return 2;
	puts("ready");
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	for (unsigned i = 0; i < place_count; i++) {
		changed += !is_as_before(&places[i]);
		if (!is_as_before(&places[i]))
			printf("changed: %s\n", places[i].name);
	}
	over = 1;
	pthread_mutex_lock(&idle_lock);
	pthread_cond_broadcast(&idle);
	pthread_mutex_unlock(&idle_lock);
	while (count)
		pthread_join(threads[--count], NULL);
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		printf("%s %lu of %lu\n", watched[i].name, (unsigned long)watched[i].through,
		       (unsigned long)watched[i].all);
	printf("%u wrong, %u changed\n", wrong, changed);
	return wrong || changed;
}
