// SPDX-License-Identifier: MIT
// To be preloaded behind the agent: ends the process, and says by what, when something in one of
// the agent's signal handlers allocates, or asks the loader. What the handler has interrupted may
// be in the middle of just that.
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// NOLINTBEGIN(bugprone-reserved-identifier)
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *p);
// NOLINTEND(bugprone-reserved-identifier)

static __thread int inside __attribute__((tls_model("initial-exec")));
static void (*handlers[NSIG + 1])(int number, siginfo_t *info, void *context);

static void put(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(99);
}

static void look(const char *name)
{
	if (!inside)
		return;
	inside = 0;
	put("handler_watch: a handler of the agent's calls ");
	put(name);
	put("()\n");
	abort();
}

static void handler(int number, siginfo_t *info, void *context)
{
	inside++;
	handlers[number](number, info, context);
	inside--;
}

int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	static int (*next)(int, const struct sigaction *, struct sigaction *);
	struct sigaction watched;

	if (!next)
		next = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(
			RTLD_NEXT, "sigaction");
	if (!action || (number != SIGTRAP && number != SIGURG) || !(action->sa_flags & SA_SIGINFO))
		return next(number, action, old);
	watched = *action;
	handlers[number] = action->sa_sigaction;
	watched.sa_sigaction = handler;
	return next(number, &watched, old);
}

void *malloc(size_t size)
{
	look("malloc");
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	look("calloc");
	return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	look("realloc");
	return __libc_realloc(p, size);
}

void free(void *p)
{
	look("free");
	__libc_free(p);
}

void *memalign(size_t alignment, size_t size)
{
	look("memalign");
	return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	look("aligned_alloc");
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
	look("posix_memalign");
	*p = __libc_memalign(alignment, size);
	return *p ? 0 : 12;
}

int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *context)
{
	static int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *);

	look("dl_iterate_phdr");
	if (!next)
		next = (int (*)(int (*)(struct dl_phdr_info *, size_t, void *), void *))dlsym(
			RTLD_NEXT, "dl_iterate_phdr");
	return next(visit, context);
}
