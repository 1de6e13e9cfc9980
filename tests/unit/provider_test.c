// SPDX-License-Identifier: MIT
// What the table of providers says, and that the texts beside it say the same.
#include "base/provider.h"

#include "base/op.h"
#include "tests/support/expect.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The file below the root of the sources.
static char *read_text(const char *path)
{
	char whole[512];
	char *text = NULL;
	size_t size = 0, used = 0;

	snprintf(whole, sizeof(whole), "%s/../%s", TESTS_DIR, path);
	FILE *file = fopen(whole, "r");
	cr_assert(file != NULL, "%s", whole);
	FILE *copy = open_memstream(&text, &size);
	for (int c; (c = fgetc(file)) != EOF; used++)
		fputc(c, copy);
	fclose(copy);
	fclose(file);
	cr_assert(used > 0, "%s", whole);
	return text;
}

__attribute__((format(printf, 2, 3))) static bool says(const char *text, const char *format, ...)
{
	char wanted[512];
	va_list args;

	va_start(args, format);
	vsnprintf(wanted, sizeof(wanted), format, args);
	va_end(args);
	return strstr(text, wanted);
}

// The sections of a page from FROM to TO.
static char *part_of(char *page, const char *from, const char *to)
{
	char *start = strstr(page, from), *end = start ? strstr(start, to) : NULL;

	cr_assert(end != NULL, "%s … %s", from, to);
	*end = '\0';
	return start;
}

Test(provider, each_number_and_name_is_one_providers)
{
	for (size_t i = 0; i < provider_count; i++) {
		const struct provider *p = &providers[i];
		cr_expect(eq(ptr, (void *)provider_get(p->id), (void *)p), "%s", p->name);
		cr_expect(eq(ptr, (void *)provider_called(p->name), (void *)p), "%s", p->name);
		cr_expect(p->option ? p->help != NULL : p->help == NULL, "%s", p->name);
		cr_expect(p->injection ? p->chain != NULL : p->chain == NULL, "%s", p->name);
	}
	cr_expect(eq(sz, provider_count, OP_PROVIDERS_ALL - 1));
	cr_expect(eq(ptr, (void *)provider_get((enum op_provider)0), NULL));
	cr_expect(eq(ptr, (void *)provider_get((enum op_provider)200), NULL));
	cr_expect(eq(ptr, (void *)provider_called("nobody"), NULL));
}

// Profiles hold them.
Test(provider, numbers_stay)
{
	const char *const names[] = { "nvtx",     "itt",   "blas",   "lapack", "fftw",
		                      "function", "torch", "python", "cuda",   "gpu",
		                      "mpi",      "api",   "shell" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect(eq(u32, provider_called(names[i])->id, (uint32_t)i + 1), "%s", names[i]);
}

Test(provider, what_has_no_option_goes_with_another)
{
	const struct provider *blas = provider_get(OP_BLAS);

	cr_expect(eq(ptr, (void *)provider_switch(blas), (void *)blas));
	cr_expect(eq(ptr, (void *)provider_switch(provider_get(OP_FFTW)), (void *)blas));
	cr_expect(eq(ptr, (void *)provider_switch(provider_get(OP_TRACE)), NULL));
	cr_expect(eq(int, provider_get(OP_LAPACK)->hooks_of, OP_BLAS));
	cr_expect(eq(int, provider_get(OP_FFTW)->hooks_of, OP_FFTW));
}

Test(provider, the_manual_has_the_options)
{
	char *page = read_text("man/bottleneck.1");

	for (size_t i = 0; i < provider_count; i++) {
		const struct provider *p = &providers[i];
		cr_expect(p->option == NULL || says(page, "\n.It Fl -%s\n", p->option), "%s",
		          p->option);
	}
	free(page);
}

Test(provider, the_manual_has_the_providers_and_their_prices)
{
	char *page = read_text("man/bottleneck-ops.7"), *again = read_text("man/bottleneck-ops.7");
	const char *entries = part_of(page, "\n.Ss Providers\n", "\n.Ss Calls of MPI\n");
	const char *cost = part_of(again, "\n.Sh COST\n", "\n.Sh EXAMPLES\n");

	for (size_t i = 0; i < provider_count; i++) {
		const struct provider *p = &providers[i];
		cr_expect(p->title == NULL || says(entries, "\n.It %s\n", p->title), "%s",
		          p->title);
		cr_expect(p->injection == NULL || says(entries, "\n.Ev %s", p->injection), "%s",
		          p->injection);
		if (!p->price_of)
			continue;
		const char *measured = strstr(cost, p->price_of);
		cr_assert(measured != NULL, "%s", p->price_of);
		// A row of the table, or a sentence of its own.
		cr_expect(says(cost, "\n.It %s Ta %u\n", p->price_of, p->price_ns) ||
		                  says(measured, " costs %u ns", p->price_ns),
		          "%s: %u", p->price_of, p->price_ns);
	}
	free(page);
	free(again);
}

Test(provider, the_manual_has_the_fields_of_hooks)
{
	char *page = read_text("man/bottleneck-profile.5");

	for (size_t i = 0; i < provider_count; i++) {
		const struct provider *p = &providers[i];
		if (p->id < OP_PROVIDERS && p->hooks_of == p->id)
			cr_expect(says(page, "hooks_%s_ns", p->name), "%s", p->name);
	}
	free(page);
}

// The other shells ask --help.
Test(provider, fish_completes_the_options_with_their_help)
{
	char *script = read_text("cli/completion/bottleneck.fish");

	for (size_t i = 0; i < provider_count; i++) {
		const struct provider *p = &providers[i];
		char quoted[256];
		size_t used = 0;
		for (const char *c = p->help ? p->help : ""; *c; c++) {
			if (*c == '\'')
				quoted[used++] = '\\';
			quoted[used++] = *c;
		}
		quoted[used] = '\0';
		cr_expect(p->option == NULL || says(script, " -l %s -d '%s'\n", p->option, quoted),
		          "%s", p->option);
	}
	free(script);
}
