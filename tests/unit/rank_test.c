// SPDX-License-Identifier: MIT
#include "base/rank.h"

#include "base/error.h"
#include "cli/file_name.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const variables[] = {
	"RANK",
	"WORLD_SIZE",
	"TORCHELASTIC_RUN_ID",
	"OMPI_COMM_WORLD_RANK",
	"PMIX_RANK",
	"OMPI_COMM_WORLD_SIZE",
	"PMI_RANK",
	"PMI_SIZE",
	"PMIX_SIZE",
	"SLURM_PROCID",
	"SLURM_NTASKS",
	"MV2_COMM_WORLD_RANK",
	"WORLD_SIZE",
	"MV2_COMM_WORLD_SIZE",
};

static void forget(void)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
}

Test(rank, there_is_none_without_a_launcher, .init = forget)
{
	cr_expect(not(rank_now().known));
	setenv("RANK", "3", 1); // a word that programs use for other things
	cr_expect(not(rank_now().known));
	setenv("PMI_RANK", "three", 1);
	cr_expect(not(rank_now().known));
	setenv("PMI_RANK", "-1", 1);
	cr_expect(not(rank_now().known));
	setenv("PMI_RANK", "", 1);
	cr_expect(not(rank_now().known));
}

Test(rank, each_launcher_has_its_variables, .init = forget)
{
	const char *const pairs[][2] = {
		{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE" },
		{ "PMI_RANK", "PMI_SIZE" },
		{ "SLURM_PROCID", "SLURM_NTASKS" },
		{ "RANK", "WORLD_SIZE" },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		setenv(pairs[i][0], "5", 1);
		setenv(pairs[i][1], "8", 1);
		struct rank rank = rank_now();
		cr_expect(rank.known, "%s", pairs[i][0]);
		cr_expect(eq(u32, rank.number, 5), "%s", pairs[i][0]);
		cr_expect(eq(u32, rank.world, 8), "%s", pairs[i][0]);
		forget();
	}
	setenv("PMIX_RANK", "2", 1); // Open MPI says no more than that
	cr_expect(eq(u32, rank_now().number, 2));
	cr_expect(eq(u32, rank_now().world, 0));
}

Test(rank, the_innermost_launcher_counts, .init = forget)
{
	setenv("SLURM_PROCID", "1", 1);
	setenv("SLURM_NTASKS", "2", 1);
	setenv("RANK", "11", 1);
	setenv("WORLD_SIZE", "16", 1);
	cr_expect(eq(u32, rank_now().number, 1));
	setenv("TORCHELASTIC_RUN_ID", "none", 1);
	cr_expect(eq(u32, rank_now().number, 11));
	cr_expect(eq(u32, rank_now().world, 16));
}

Test(rank, a_list_has_numbers_and_ranges)
{
	const struct {
		const char *list;
		uint32_t number;
		int wanted;
	} rows[] = {
		{ "0", 0, 1 },         { "0", 1, 0 },
		{ "0,3,8-15", 3, 1 },  { "0,3,8-15", 8, 1 },
		{ "0,3,8-15", 15, 1 }, { "0,3,8-15", 16, 0 },
		{ "0,3,8-15", 4, 0 },  { "", 0, -1 },
		{ "1-", 0, -1 },       { "5-3", 4, -1 },
		{ "1,", 1, -1 },       { "1;2", 1, -1 },
		{ "-3", 1, -1 },       { "99999999999", 1, -1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error err;
		cr_expect(eq(int, rank_in_list(rows[i].list, rows[i].number, &err), rows[i].wanted),
		          "%s: %u", rows[i].list, rows[i].number);
	}
}

Test(file_name, each_sign_is_filled_in)
{
	struct rank rank = { true, 7, 16 };
	struct error err;
	char name[256], wanted[256];

	setenv("FILE_NAME_TEST", "a/b", 1);
	cr_assert(eq(int,
	             file_name_fill("x/%r.%%.%q{FILE_NAME_TEST}", false, &rank, name, sizeof(name),
	                            &err),
	             0));
	cr_expect(eq(str, name, "x/7.%.a_b"));
	snprintf(wanted, sizeof(wanted), "%d", getpid());
	cr_assert(eq(int, file_name_fill("%p", false, &rank, name, sizeof(name), &err), 0));
	cr_expect(eq(str, name, wanted));
	cr_assert(eq(int, gethostname(wanted, sizeof(wanted)), 0));
	cr_assert(eq(int, file_name_fill("%h", false, &rank, name, sizeof(name), &err), 0));
	cr_expect(eq(str, name, wanted));
	cr_assert(eq(int, file_name_fill("plain", false, &rank, name, sizeof(name), &err), 0));
	cr_expect(eq(str, name, "plain"));
}

Test(file_name, what_is_not_known_is_said)
{
	const char *const patterns[] = {
		"%r", "%q{FILE_NAME_NOT_SET}", "%", "%x", "%q{open", "%q"
	};
	struct rank none = { 0 };

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		struct error err;
		char name[64];
		cr_expect(eq(int,
		             file_name_fill(patterns[i], false, &none, name, sizeof(name), &err),
		             -1),
		          "%s", patterns[i]);
		cr_expect(err.text[0] != '\0');
	}
}

Test(file_name, a_name_that_does_not_fit_is_an_error)
{
	struct rank rank = { true, 123, 0 };
	struct error err;
	char name[8];

	cr_expect(eq(int, file_name_fill("12345%r", false, &rank, name, sizeof(name), &err), -1));
	cr_expect(eq(int, file_name_fill("1234%r", false, &rank, name, sizeof(name), &err), 0));
	cr_expect(eq(str, name, "1234123"));
}

Test(file_name, the_cycle_is_left_to_exports)
{
	const struct rank none = { 0 };
	struct error err;
	char name[32];

	cr_assert(eq(int, file_name_fill("t.%c.%%", true, &none, name, sizeof(name), &err), 0));
	cr_expect(eq(str, name, "t.%c.%"));
	cr_expect(eq(int, file_name_fill("t.%c", false, &none, name, sizeof(name), &err), -1));
}

Test(rank, a_process_has_its_own, .init = forget)
{
	static const char words[] = "HOME=/\0OMPI_COMM_WORLD_RANK=3\0OMPI_COMM_WORLD_SIZE=4\0";
	static const char others[] = "RANK=3\0XOMPI_COMM_WORLD_RANK=3\0";

	setenv("PMI_RANK", "1", 1);
	struct rank rank = rank_of(words, sizeof(words) - 1);
	cr_expect(rank.known && rank.number == 3 && rank.world == 4);
	cr_expect(not(rank_of(others, sizeof(others) - 1).known));
	cr_expect(not(rank_of("", 0).known));
}

Test(rank, a_title_says_which)
{
	char title[24] = "app [rank 1]";
	uint32_t number = 7;

	rank_add_to_title(title, sizeof(title), 3);
	cr_expect(eq(str, title, "app [rank 1] [rank 3]"));
	cr_expect(rank_of_title(title, &number) && number == 3);
	rank_add_to_title(title, sizeof(title), 4); // there is no room
	cr_expect(eq(str, title, "app [rank 1] [rank 3]"));
	cr_expect(not(rank_of_title("app", &number)));
	cr_expect(not(rank_of_title("app [rank x]", &number)));
	cr_expect(not(rank_of_title("app [rank 3] more", &number)));
	cr_expect(not(rank_of_title(NULL, &number)));
}
